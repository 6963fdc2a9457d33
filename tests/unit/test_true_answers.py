"""What a user is told must be so: answers that were wrong once, through the public door."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import evenhand as eh


def panel(scores):
    """A table of (k, J) scores; NaN was not given."""
    return pd.DataFrame(
        [
            (f"o{option}", f"j{judge}", score)
            for option, row in enumerate(scores)
            for judge, score in enumerate(row)
            if not math.isnan(score)
        ],
        columns=["option", "evaluator", "score"],
    )


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
        assert plain.decision.leads == pytest.approx(moved.decision.leads)

    def test_audits_hold_a_bar_to_the_same(self):
        rng, n = np.random.default_rng(11), 40
        wrong = 0
        for _ in range(n):
            y = 5.0 + rng.normal(size=8) + 0.6 * rng.normal(size=(6, 8))
            table = panel(y).assign(
                option_group=lambda t: t.option.map(lambda o: "ab"[int(o[1:]) % 2]),
                evaluator_group=lambda t: t.evaluator.map(lambda j: "ab"[int(j[1:]) % 2]),
            )
            shortlist = eh.audit(table, bar=5.0).decisions.shortlist
            wrong += bool((shortlist.inside | shortlist.outside).any())
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
        return re.search(r'class="(held|noted|contradicted|not-tested)"', row).group(1)

    def test_drift_needs_times(self, tmp_path):
        rng = np.random.default_rng(1)
        rows = [
            (f"o{i % 3}", f"j{i // 3 % 2}", i, i % 3 + 0.05 * i + 0.3 * rng.normal())
            for i in range(180)
        ]
        table = pd.DataFrame(rows, columns=["option", "evaluator", "when", "score"])
        untimed = eh.decide(table.drop(columns="when"), repeats=True, next_n=0)
        timed = eh.decide(table, repeats=True, time="when", next_n=0)
        assert self.became(untimed, tmp_path) == "not-tested"
        assert self.became(timed, tmp_path) == "contradicted"
        assert "drift" in {one.assumption for one in timed.alarms}
        steady = table.assign(score=[i % 3 + rng.normal() for i in range(180)])
        found = eh.decide(steady, repeats=True, time="when", next_n=0)
        assert self.became(found, tmp_path) == "held"
        assert not found.alarms


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
    """Long tables and equal scores are answered where the scale is stated."""

    def test_many_repeats(self):
        rng, n = np.random.default_rng(0), 2_500
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

    @pytest.mark.parametrize(("n", "sure"), [(148, False), (149, True), (200, True)])
    def test_equal_scores_are_not_worse_as_far_as_so_many_show(self, n, sure):
        """(1 − .02)^n < .05 from n = 149 on."""
        rows = [(name, item, 1.0) for name in ("old", "new") for item in range(n)]
        table = pd.DataFrame(rows, columns=["option", "item", "score"])
        answer = eh.decide(table, against="old", tolerance=0.02, scale=(0, 1), next_n=0)
        assert answer.sure is sure
        assert answer.placing.verdicts == ("itself", "not worse" if sure else "open")
        with pytest.raises(eh.InputError):
            eh.decide(table, against="old", tolerance=0.02)
        assert not eh.decide(table, against="old", scale=(0, 1), next_n=0).sure
