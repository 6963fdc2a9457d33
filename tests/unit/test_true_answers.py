"""What a user is told must be so: answers that were wrong once, through the public door."""

import itertools
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from score_tables import scored as panel


class TestSeverityOfJudgesLikeThese:
    """Values and bars do not take the mean severity of the judges as known."""

    @pytest.mark.parametrize("noise", [1.0, 0.6])
    def test_options_at_the_bar_are_seldom_surely_beside_it(self, noise):
        rng, n = np.random.default_rng(5), 60
        wrong = covered = 0
        for _ in range(n):
            y = 5.0 + rng.normal(size=8) + noise * rng.normal(size=(6, 8))
            answer = eh.decide(panel(y), bar=5.0, next_n=0)
            wrong += bool(answer.inside or answer.outside)
            standings = answer.standings
            covered += bool(standings.low.max() <= 5.0 <= standings.high.min())
        # 22% and 55% without the severities; 5% and three standard errors of it
        assert wrong / n <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)
        assert covered / n >= 0.8  # of six at once, each 95%

    def test_these_judges_have_the_noise_alone(self):
        rng = np.random.default_rng(7)
        y = 5.0 + 3.0 * rng.normal(size=8) + 0.1 * rng.normal(size=(6, 8))
        widths = {
            scope: (one.high - one.low).max()
            for scope in ("these", "like these")
            for one in [eh.decide(panel(y), scope=scope, next_n=0).standings]
        }
        severity = y.mean(axis=0).std(ddof=1) / math.sqrt(8)
        assert widths["these"] < 0.5
        assert widths["like these"] == pytest.approx(2 * 2.365 * severity, rel=0.02)

    def test_leads_know_nothing_of_severity(self):
        rng = np.random.default_rng(7)
        noise = 0.3 * rng.normal(size=(6, 8)) + np.arange(6)[:, None]
        severe = 10.0 * rng.normal(size=8)
        plain, moved = (
            eh.decide(panel(noise + more), against="o2", next_n=0) for more in (0.0, severe)
        )
        assert plain.inside == moved.inside
        assert plain.conclusion.leads == pytest.approx(moved.conclusion.leads)

    def test_audits_hold_a_bar_to_the_same(self):
        rng, n = np.random.default_rng(11), 40
        wrong = 0
        for _ in range(n):
            y = 5.0 + rng.normal(size=8) + 0.6 * rng.normal(size=(6, 8))
            table = panel(y).assign(
                option_group=lambda t: t.option.map(lambda o: "ab"[int(o[1:]) % 2]),
                evaluator_group=lambda t: t.evaluator.map(lambda j: "ab"[int(j[1:]) % 2]),
            )
            shortlist = eh.audit(table, bar=5.0).shortlist
            wrong += bool(shortlist["verdict"].isin(["in", "out"]).any())
        assert wrong / n <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)

    def test_items_have_the_severities_of_their_judges(self):
        rng = np.random.default_rng(3)
        severe = 2.0 * rng.normal(size=4)
        rows = [
            (f"o{o}", f"j{j}", i, 5.0 + severe[j] + rng.normal())
            for o in range(3)
            for j in range(4)
            for i in range(30)
        ]
        table = pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"])
        answer = eh.decide(table, bar=5.0, next_n=0)
        assert (answer.standings.high - answer.standings.low).min() > 3.18 * severe.std(ddof=1)
        alone = eh.decide(table[table.evaluator == "j0"], bar=5.0, next_n=0)
        assert alone.scope == "this judge, items like these"


class TestWhatIsTheSame:
    """Features are compared column by column, in units of the column."""

    def test_nothing_is_sure_without_an_evaluation(self):
        rng = np.random.default_rng(0)
        features = [[1e9, 1e-4], [1e9, 2e-4], [1e9, 5e-4]]
        answer = eh.choose(
            eh.ActionSet(features), lambda _: float(rng.normal()), deviation=0, at_most=30
        )
        assert not answer.sure
        assert answer.spent > 0

    @pytest.mark.parametrize("power", [-12, -3, 0, 7, 12])
    def test_units_do_not_matter(self, power):
        X = np.array([[0.1 + 0.2, 1.0, 5.0], [0.3, 1.0, 5.0], [0.3, 1.0 + 1e-9, 5.0]])
        for column in range(3):
            scaled = X.copy()
            scaled[:, column] *= 10.0**power
            options = eh.Questions.of(eh.ActionSet(scaled)).options
            assert options.same_as(0).tolist() == [True, True, False]


class TestHeldAfterATestThatRan:
    """What was not tested is not said to hold."""

    @staticmethod
    def became(answer, tmp_path):
        """What became of 'no drift', by the class of its row in the report."""
        answer.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        row = page[page.index("Scores do not rise or fall with time.") :]
        return re.search(r'class="chip \w+">(held|seen|contradicted|not tested)', row).group(1)

    def test_drift_needs_times(self, tmp_path):
        rng = np.random.default_rng(1)
        rows = [
            (f"o{i // 60}", f"j{i % 2}", i, i // 60 + 0.05 * i + 0.3 * rng.normal())
            for i in range(180)
        ]
        table = pd.DataFrame(rows, columns=["option", "evaluator", "when", "score"])
        untimed = eh.decide(table.drop(columns="when"), repeats=True, next_n=0)
        timed = eh.decide(table, repeats=True, columns={"time": "when"}, next_n=0)
        assert self.became(untimed, tmp_path) == "not tested"
        assert self.became(timed, tmp_path) == "contradicted"
        assert "drift" in {one.assumption for one in timed.alarms}
        steady = table.assign(score=[i % 3 + rng.normal() for i in range(180)])
        found = eh.decide(steady, repeats=True, columns={"time": "when"}, next_n=0)
        assert self.became(found, tmp_path) == "held"
        assert not found.alarms

    def test_no_drift_where_scores_chose_what_was_scored(self, tmp_path):
        # what looks good by luck is asked again, and falls back
        for seed in range(4):
            rng = np.random.default_rng(seed)
            given = rng.normal(size=160)
            sums, n, asked = given[:40].copy(), np.ones(40), list(range(40))
            for y in given[40:]:
                asked.append(int(np.argmax(sums / n)))
                sums[asked[-1]] += y
                n[asked[-1]] += 1
            frame = {"option": [f"o{x}" for x in asked], "score": given, "when": np.arange(160)}
            frame["evaluator"] = [f"j{i % 4}" for i in range(160)]
            table = pd.DataFrame(frame)
            for time in (None, "when"):
                answer = eh.decide(
                    table, repeats=True, columns={"time": time}, assigned="adaptively", next_n=0
                )
                assert "drift" not in {one.assumption for one in answer.warnings}
                assert self.became(answer, tmp_path) == "not tested"


class TestTrustedBesideOneModel:
    """A model whose family is among the options is used, and corrected as any other."""

    def test_names_of_families_change_nothing(self):
        plain = ["short", "long", "plain", "list"]
        models = ["gpt-4o", "claude-3-opus", "llama-3-70b", "gemini-1.5-pro"]
        widths, gaps = [], [0.0, 0.45, -0.5, -0.4]
        for names, judge in ((plain, "model"), (models, "gpt-4-turbo")):
            rng = np.random.default_rng(3)
            worth = {o: g + rng.normal(size=200) for o, g in zip(names, gaps, strict=True)}
            rows = [
                (o, who, item, x + 0.4 * rng.normal())
                for who, n in ((judge, 200), ("Rosa", 40))
                for o in names
                for item, x in enumerate(worth[o][:n])
            ]
            table = pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"])
            lead = eh.decide(table, trusted=["Rosa"], next_n=0).compare(names[1], names[0])
            widths.append(lead.high - lead.low)
        assert widths[0] == pytest.approx(widths[1])


class TestStatedScale:
    """Long tables are answered where the scale is stated."""

    def test_many_repeats(self):
        rng, n = np.random.default_rng(0), 60_000
        means = np.repeat([1.0, 2.0, 3.0], n)
        table = pd.DataFrame(
            {
                "option": np.repeat(["a", "b", "c"], n),
                "evaluator": "j",
                "score": np.clip(means + rng.normal(size=3 * n), 0, 5),
            }
        )
        answer = eh.decide(table, scale=(0, 5), repeats=True, next_n=0)
        assert (answer.label, answer.sure) == ("c", True)

    @pytest.mark.parametrize("judges", [1, 3])
    @pytest.mark.parametrize(("n", "sure"), [(100, False), (148, False), (149, True)])
    def test_equal_scores_are_not_worse_as_far_as_so_many_items_show(self, n, sure, judges):
        """(1 − .02)^n < .05 from n = 149 on."""
        rows = [
            (name, item, judge, 1.0)
            for name in ("old", "new")
            for item in range(n)
            for judge in "PQR"[:judges]
        ]
        table = pd.DataFrame(rows, columns=["option", "item", "evaluator", "score"])
        answer = eh.decide(table, against="old", tolerance=0.02, scale=(0, 1), next_n=0)
        assert answer.sure is sure
        assert answer.conclusion.verdicts == ("itself", "not worse" if sure else "open")
        assert not eh.decide(table, against="old", scale=(0, 1), next_n=0).sure


def two_committees(seed, step):
    """28 proposals and 12 reviewers, 57 cells empty: the best two, worth the same, before six
    reviewers each, whose steps are as ``step``² to 1.
    """
    rng, k, J = np.random.default_rng(seed), 28, 12
    worth = np.r_[4.2, 4.2, np.linspace(3.7, 1.5, k - 2)]
    slope = np.where(np.arange(J) < 6, step, 1.0 / step)
    y = 3.0 + 0.2 * rng.normal(size=J) + slope * (worth[:, None] - 3.0)
    y += 0.2 * rng.normal(size=(k, J))
    y[0, 6:] = y[1, :6] = np.nan
    rest = y[2:].reshape(-1)
    rest[rng.permutation(len(rest))[:45]] = np.nan
    assert np.isnan(y).sum() == 57
    return panel(y)


def shaped(seed, shape):
    """A table of this shape, and what `decide` is told of it."""
    rng = np.random.default_rng(seed)
    k, judges = int(rng.integers(3, 8)), int(rng.integers(3, 9))
    values, leniency = rng.choice([0.3, 1.0, 2.0]) * rng.normal(size=k), rng.normal(size=judges)
    y = values + leniency[:, None] + rng.choice([0.3, 1.0]) * rng.normal(size=(judges, k))
    if shape == "orders":
        y = np.argsort(np.argsort(y, axis=1), axis=1).astype(float)
    table = panel(y.T)
    if shape == "sparse":
        table = table[(rng.random(len(table)) > 0.3) | (table.evaluator == "j0")]
    if shape == "groups":
        table["option_group"] = table.option.str[1:].astype(int) % 2
        table["evaluator_group"] = table.evaluator.str[1:].astype(int) % 2
    return table, {"trusted": ["j0", "j1"]} if shape == "trusted" else {}


class TestWhatAnAlarmConcerns:
    """An alarm about an option withdraws its leads alone, and a tolerance nothing at all."""

    def test_others_keep_what_is_sure(self):
        table = two_committees(0, 1.0)
        table.loc[table.index[table.option == "o1"][0], "score"] += 40.0
        best = eh.decide(table, next_n=0)
        assert not best.sure
        assert [(one.assumption, one.concerns) for one in best.alarms] == [("outliers", ("o1",))]
        assert math.isinf(best.compare("o0", "o1").high)
        assert math.isfinite(best.compare("o0", "o20").high)
        beside = eh.decide(table, against="o0", next_n=0)
        assert "o1" in beside.undecided
        assert "o27" in beside.outside

    @pytest.mark.parametrize("aim", [{"against": "o10"}, {"top": 6}, {"bar": 3.0}, {}])
    def test_what_is_sure_stays_so_with_a_tolerance(self, aim):
        for seed in (0, 2):
            table = two_committees(seed, 1.0)
            without, within = (
                eh.decide(table, tolerance=tolerance, next_n=0, **aim) for tolerance in (0.0, 0.1)
            )
            assert within.sure >= without.sure
            assert {*within.undecided} <= {*without.undecided}

    @pytest.mark.parametrize("shape", ["complete", "sparse", "groups", "orders", "trusted"])
    def test_nothing_that_is_sure_is_lost_by_a_tolerance(self, shape):
        for seed in (7, 10, 32):
            table, more = shaped(seed, shape)
            for aim in ({}, {"top": 1}, {"top": 2}, {"against": "o1"}, {"bar": 0.0}):
                settings = {"next_n": 0, **aim, **more}
                first = eh.decide(table, **settings)
                for tolerance in (0.05, 0.3, 1.5):
                    then = eh.decide(table, tolerance=tolerance, **settings)
                    assert then.sure >= first.sure
                    assert {*then.undecided} <= {*first.undecided}
                    assert (
                        np.isfinite(then.standings.high).sum()
                        >= np.isfinite(first.standings.high).sum()
                    )
                    for rival in {*first.options.labels} - {then.label}:
                        if first.compare(then.label, rival).low > 0.0:
                            assert then.compare(then.label, rival).low > 0.0

    def test_a_column_of_two_names_is_a_stratum(self):
        rng = np.random.default_rng(2)
        rows = [
            (f"o{o}", f"j{j}", i, "ab"[i % 2], 0.5 * o + 2 * (i % 2 and not o) + 0.5 * rng.normal())
            for i in range(60)
            for o in range(3)
            for j in range(2)
        ]
        table = pd.DataFrame(rows, columns=["option", "evaluator", "item", "dataset", "score"])
        answer = eh.decide(table, next_n=0)
        assert not answer.alarms
        assert np.isfinite(answer.standings.high).all()
        assert "clusters" in {one.assumption for one in answer.warnings}
        named = eh.decide(table, columns={"cluster": "dataset"}, next_n=0)
        assert "clusters" in {one.assumption for one in named.warnings if not one.alarm}


def test_the_export_of_a_campaign_that_asked_again_is_decided_in_one_step(tmp_path):
    panel_of = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    campaign = eh.Campaign.create(tmp_path / "c.db", "it", panel_of, at_most=40, noise_scale=0.3)
    scores = itertools.cycle([7.0, 6.5, 7.2, 6.4, 6.9, 6.6, 7.1, 6.3, 7.3])
    while ticket := campaign.ask("P"):
        campaign.tell(ticket, next(scores))
    campaign.export(tmp_path / "evaluations.csv")
    frame = pd.read_csv(tmp_path / "evaluations.csv")
    assert frame.duplicated(["option", "evaluator"]).any()
    for table in (frame, tmp_path / "evaluations.csv", eh.read_scores(frame)):
        assert eh.decide(table).spent == len(frame)
    with pytest.raises(eh.InputError, match="repeats=True"):
        eh.decide(frame.drop(columns="ticket"))


@pytest.mark.parametrize("target", [{}, {"top": 1}, {"top": 2}, {"against": "B"}, {"bar": 5.0}])
def test_one_judge_speaks_for_no_other(target: dict[str, Any]) -> None:
    marks = {"A": (7, 8, 7), "B": (5, 4, 5), "C": (1, 2, 1)}
    rows = [(name, "P", mark) for name, some in marks.items() for mark in some * 4]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    said = eh.decide(table, repeats=True, **target)
    assert said.scope == "this judge"
    assert "one judge cannot tell" in " ".join(str(said).split())
