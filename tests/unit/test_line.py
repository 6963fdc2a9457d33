"""Who is surely among the m best, and how probably: levels, closed forms and invariants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from evenhand.report.model import Table
from rotation import nightly

Rng = np.random.Generator


def panel(rng: Rng, worth: np.ndarray, judges: int, noise: float = 1.0) -> pd.DataFrame:
    """Return a table in which everybody scored every option."""
    k = len(worth)
    y = worth[:, None] + rng.normal(size=judges) + noise * rng.normal(size=(k, judges))
    option, judge = np.indices(y.shape).reshape(2, -1)
    return pd.DataFrame(
        {
            "option": [f"o{x}" for x in option],
            "evaluator": [f"j{x}" for x in judge],
            "score": y.ravel(),
        }
    )


TIED = {
    "two": [9.0, 2.0, 2.0, -5.0, -12.0],
    "all": [0.0] * 5,
    "three": [4.0, 0.0, 0.0, 0.0, -4.0],
}


@pytest.mark.parametrize("tables", [40, *nightly([250])])
def test_ties_at_the_line_are_called_in_or_out_no_more_often_than_said(tables: int) -> None:
    rng, wrong = np.random.default_rng(3), 0
    for worth in TIED.values():
        for _ in range(tables):
            table = panel(rng, np.array(worth), 6)
            found = eh.decide(table, top=2, confidence=0.9, next_n=0)
            # ties are near ties, in the order of their numbers
            wrong += bool({*found.inside} - {"o0", "o1"} or {*found.outside} & {"o0", "o1"})
    assert wrong <= stats.binom.isf(1e-3, 3 * tables, 0.1)


@pytest.mark.parametrize("tables", [40, *nightly([250])])
def test_with_a_tolerance_what_is_settled_is_wrong_no_more_often_than_said(tables: int) -> None:
    """The better of two at the line is so by just more than the tolerance."""
    rng, wrong = np.random.default_rng(5), 0
    for tolerance in (0.05, 1.0):
        for _ in range(tables):
            table = panel(rng, np.array([9.0, tolerance + 1e-6, 0.0, -9.0, -12.0]), 6)
            found = eh.decide(table, top=2, tolerance=tolerance, confidence=0.9, next_n=0)
            wrong += found.sure and "o2" in found.chosen
    assert wrong <= stats.binom.isf(1e-3, 2 * tables, 0.1)


@pytest.mark.parametrize("seed", range(8))
def test_in_and_out_never_contradict_and_grow_with_doubt(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 9))
    m, table = int(rng.integers(1, k)), panel(rng, 1.5 * rng.normal(size=k), 5)
    inside, outside = set[str](), set[str]()
    for confidence in (0.99, 0.95, 0.8, 0.6):
        answer = eh.decide(table, top=m, confidence=confidence, next_n=0)
        assert inside <= set(answer.inside)
        assert outside <= set(answer.outside)
        inside, outside = set(answer.inside), set(answer.outside)
        assert not inside & outside
        assert len(inside) <= m
        assert len(outside) <= k - m
        found = answer.standings
        place = found["value"].rank(ascending=False)
        assert found["chance"].sum() == pytest.approx(m, abs=0.01 * k)
        assert ((found["rank_low"] <= place) & (place <= found["rank_high"])).all()


def test_chances_are_as_probable_as_they_say() -> None:
    rng = np.random.default_rng(2)
    said, true = [], []
    for _ in range(60):
        worth = rng.normal(size=12)
        found = eh.decide(panel(rng, worth, 4, noise=1.6), top=4, noise_scale=1.6, next_n=0)
        chance = found.standings.set_index("option")["chance"]
        said.append(chance[[f"o{x}" for x in range(12)]].to_numpy())
        true.append(worth >= np.sort(worth)[-4])
    p, t = np.concatenate(said), np.concatenate(true)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        some = (p >= low) & (p < low + 0.2 + (low == 0.8))
        error = np.sqrt(np.mean(p[some] * (1 - p[some])) / some.sum())
        assert abs(p[some].mean() - t[some].mean()) < 4 * error


def test_the_best_one_is_what_it_was_to_the_last_digit() -> None:
    rng = np.random.default_rng(1)
    for spread in (0.3, 3.0):
        table = panel(rng, spread * np.arange(5.0), 6)
        plain, best = eh.decide(table), eh.decide(table, top=1)
        for name in ("option", "sure", "certainty", "loss", "confidence", "assumed", "withstands"):
            assert getattr(plain, name) == getattr(best, name)
        assert (plain.conclusion.leads == best.conclusion.leads).all()
        assert list(plain.next_questions) == list(best.next_questions)
        assert best.inside == ((plain.label,) if plain.sure else ())
        if plain.sure:
            assert len(best.outside) == 4


def test_a_bar_is_a_one_sided_test_of_each_option() -> None:
    """With the noise known, and nobody lenient: a z test of each mean, at δ/k."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"option": np.repeat(list("abcdef"), 5), "score": rng.normal(size=30)})
    table["score"] += np.repeat([3.0, 1.3, 0.9, 0.2, -0.8, -2.0], 5)
    answer = eh.decide(table, bar=0.4, noise_scale=1.0)
    z = (table.groupby("option")["score"].mean() - 0.4) * np.sqrt(5.0)
    c = stats.norm.ppf(1 - 0.05 / 6)
    assert set(answer.inside) == set(z.index[z > c])
    assert set(answer.outside) == set(z.index[z < -c])
    assert answer.inside
    assert answer.undecided
    assert set(answer.chosen) == set(z.index[z > 0])


def test_against_one_of_two_is_their_difference() -> None:
    rng = np.random.default_rng(6)
    seen = set()
    for lead in (-3.0, -0.4, 0.0, 3.0):
        table = panel(rng, np.array([lead, 0.0]), 8)
        answer = eh.decide(table, against="o1", tolerance=2.0)
        two = answer.compare("o0", "o1")
        verdict = answer.standings.set_index("option").loc["o0", "verdict"]
        seen.add(verdict)
        assert (verdict == "surely better") == (two.low > 0.0)
        assert (verdict == "surely worse") == (two.high < 0.0 and two.at_least <= -2.0)
        assert (verdict == "not worse") == (two.at_least > -2.0 and two.low <= 0.0)
    assert {"surely better", "surely worse", "not worse"} <= seen


def test_an_alarm_withdraws_what_was_sure() -> None:
    rng = np.random.default_rng(4)
    table = panel(rng, np.arange(10.0) * 2.0, 6, noise=0.5)
    assert eh.decide(table, top=3).inside
    table.loc[table.index[7], "score"] = 400.0
    answer = eh.decide(table, top=3)
    assert answer.alarms
    assert "o1" in answer.undecided
    assert not answer.sure
    assert answer.standings.set_index("option")["chance"].isna()["o1"]


def test_who_is_trusted_has_to_confirm_the_line() -> None:
    rng = np.random.default_rng(9)
    worth = np.array([6.0, 4.0, 2.0, 0.0])
    liked = panel(rng, worth, 12, noise=0.3)
    people = panel(rng, worth[::-1], 4, noise=0.3)
    people["evaluator"] = "p" + people["evaluator"]
    both = pd.concat([liked, people], ignore_index=True)
    answer = eh.decide(both, top=2, trusted=sorted(set(people["evaluator"])))
    assert "o0" not in answer.inside
    assert "o1" not in answer.inside


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top": 0}, "1 or more; got 0"),
        ({"top": 2.5}, "whole number"),
        ({"top": True}, "whole number"),
        ({"top": 4}, "less than the number of options, which is 4"),
        ({"bar": float("inf")}, "bar must be a number"),
        ({"bar": "6"}, "bar must be a number"),
        ({"against": "zz"}, "'o0', 'o1'"),
        ({"against": 3}, "name of an option"),
        ({"top": 2, "bar": 1.0}, "got top and bar"),
        ({"top": 2, "assigned": "adaptively"}, "assigned before any was seen"),
        ({"against": "o1", "tolerance": -1.0}, "tolerance must be"),
    ],
)
def test_bad_targets_are_refused_in_words(given: dict[str, object], said: str) -> None:
    table = panel(np.random.default_rng(0), np.arange(4.0), 3)
    with pytest.raises(eh.InputError, match=said):
        eh.decide(table, **given)  # type: ignore[arg-type] # that is what is refused


def test_a_bar_is_refused_where_only_differences_are_known() -> None:
    table = pd.DataFrame(
        {"option": ["a", "b", "a"], "rival": ["b", "c", "c"], "score": [1.0, 0.0, 1.0]}
    )
    with pytest.raises(eh.InputError, match="against"):
        eh.decide(table, bar=0.5)


@pytest.mark.parametrize("given", [{"top": 2}, {"top": 1}, {"bar": 1.0}, {"against": "o1"}])
def test_every_rendering_names_the_same(given: dict[str, object], tmp_path: object) -> None:
    rng = np.random.default_rng(2)
    answer = eh.decide(panel(rng, np.array([4.0, 3.0, 0.5, -2.0]), 6), **given)  # type: ignore[arg-type] # as above
    record = answer.to_dict()["target"]
    assert tuple(record["inside"]) == answer.inside
    page = answer._repr_html_()
    for name in answer.chosen:
        assert name in page
    assert "chance" in page
    figure = answer.plot()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == answer.standings["option"].tolist()
    assert str(answer).startswith(answer._report().verdict[:20])


@pytest.mark.parametrize("top", [None, 2])
def test_the_next_question_lowers_the_expected_loss_most(top: int | None) -> None:
    """Beside the posterior of every question written out anew."""
    rng, noise = np.random.default_rng(11), 0.9
    table = panel(rng, np.array([2.0, 1.2, 1.0, 0.0, -1.0]), 4)
    table = table.drop(index=[1, 6, 7, 12, 15, 19]).reset_index(drop=True)
    answer = eh.decide(table, top=top, next_n=1, noise_scale=noise)
    k, p = 5, 4
    pairs = [(f"o{o}", f"j{j}") for o in range(k) for j in range(p)]
    X = np.eye(k)
    rows = np.hstack([np.repeat(X, p, axis=0), np.tile(np.eye(p), (k, 1))])
    told = {(row.option, row.evaluator): row.score for row in table.itertuples()}
    counts = np.array([pair in told for pair in pairs], dtype=float)
    means = np.array([told.get(pair, 0.0) for pair in pairs]) - table["score"].mean() * counts
    scatter = max(float(np.std(means[counts > 0])), noise)
    spread = answer.conclusion.spread
    H = np.hstack([X - X.mean(axis=0), np.zeros((k, p))])
    V = (rows.T * counts) @ rows / noise**2 + H.T @ H / spread**2
    V += np.diag([1e-9 / noise**2] * k + [1.0 / scatter**2] * p)
    H = H if top else H - H[answer.option]
    v = H @ np.linalg.solve(V, rows.T @ (counts * means) / noise**2)
    line = np.sort(v)[-2:-4:-1].mean() if top else 0.0

    def loss(information: np.ndarray) -> float:
        s = np.sqrt(np.maximum(np.diag(H @ np.linalg.inv(information) @ H.T), 1e-300))
        z = np.minimum(np.abs(v - line) / s, 1e9)
        return float((s * (stats.norm.pdf(z) - z * stats.norm.sf(z))).sum())

    after = [
        loss(V + np.outer(row, row) / noise**2) if counts[x] == 0 else np.inf
        for x, row in enumerate(rows)
    ]
    (found,) = answer.next_questions
    assert (*found.options, found.evaluator) == pairs[int(np.argmin(after))]
    assert found.error_after < found.error


def test_changes_are_put_down_to_what_makes_them() -> None:
    """Each reviewer reads two; who is severe, and who favours the own group, is known exactly."""
    names, judges = list("abcd"), {"P": "x", "Q": "y", "R": "z"}
    groups = dict(zip(names, ["x", "y", "z", "w"], strict=True))
    worth = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}

    def table(lenient: dict[str, float], favour: float, pairs: list[str]) -> pd.DataFrame:
        rows = [
            (o, j, worth[o] + lenient[j] + favour * (groups[o] == judges[j]), groups[o], judges[j])
            for o, j in pairs
        ]
        columns = ["option", "evaluator", "score", "option_group", "evaluator_group"]
        return pd.DataFrame(rows, columns=columns)

    every = [o + j for o in names for j in judges]
    by_bias = eh.audit(table(dict.fromkeys(judges, 0.0), 9.0, every), top=2).shortlist
    assert by_bias is not None
    assert (by_bias["changed_by"] == "").all()  # a, b and c all have one review by their own
    some = [pair for pair in every if pair not in ("aP", "dQ")]
    by_bias = eh.audit(table(dict.fromkeys(judges, 0.0), 9.0, some), top=2).shortlist
    assert by_bias is not None
    changed = by_bias[by_bias["changed_by"] != ""]
    assert set(changed["changed_by"]) == {"the bias"}
    assert set(changed["option"]) == {"a", "c"}
    severe = {"P": -9.0, "Q": 0.0, "R": 0.0}
    by_leniency = eh.audit(
        table(severe, 0.0, [pair for pair in every if pair not in ("cP", "dP")]), top=2
    ).shortlist
    assert by_leniency is not None
    assert set(by_leniency["changed_by"]) == {"", "leniency"}
    with pytest.raises(eh.InputError, match="which is 4 at most"):
        eh.audit(table(severe, 0.0, every), top=4)


def _biased_panel(seed: int, left_out: str = "", events: int = 1) -> pd.DataFrame:
    """Return scores of eight options by six judges, who favour their own and are not as lenient."""
    rng = np.random.default_rng(seed)
    lenient = dict(zip("PQRSTU", rng.normal(size=6), strict=True))
    homes = dict(zip("abcdefgh", "xyzwxyzw", strict=True))
    own = dict(zip("PQRSTU", "xyzxxv", strict=True))
    rows = [
        (o, j, e, 8 - 0.6 * x + lenient[j] + (of == own[j]) + 0.3 * rng.normal(), of, own[j])
        for e in range(events)
        for x, (o, of) in enumerate(homes.items())
        for j in lenient
        if o + j not in left_out.split()
    ]
    columns = ["option", "evaluator", "event", "score", "option_group", "evaluator_group"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame if events > 1 else frame.drop(columns="event")


def _chosen(found: pd.DataFrame, rule: str) -> set[str]:
    flags = found["verdict"] == "in" if rule == "inside" else found[rule]
    return set(found["option"][flags])


@pytest.mark.parametrize("left_out", ["", "aP cQ dP eR gU"])
@pytest.mark.parametrize("tolerance", [0.0, 0.7])
def test_an_audit_holds_options_against_a_bar_or_another_as_decide_does(
    left_out: str, tolerance: float
) -> None:
    """By the mean as means are; with both off, as `decide` values them on the same scores."""
    table = _biased_panel(1, left_out)
    means = table.groupby("option")["score"].mean()
    audit = eh.audit(table)
    partial = table["option_group"] == table["evaluator_group"]
    unbiased = (
        table.assign(score=table["score"] - audit.bias.value * partial)
        .groupby("option")["score"]
        .mean()
    )
    bars = (means.sort_values().to_numpy()[1:] + means.sort_values().to_numpy()[:-1]) / 2
    for bar in bars[::3].tolist():
        found = eh.audit(table, bar=bar, tolerance=tolerance).shortlist
        answer = eh.decide(table, bar=bar, tolerance=tolerance, next_n=0)
        assert found is not None
        least = bar - tolerance
        assert _chosen(found, "by_mean") == set(means.index[means > least])
        assert _chosen(found, "without_bias") == set(means.index[unbiased > least])
        assert _chosen(found, "fair") == set(answer.chosen)
        assert _chosen(found, "inside") <= set(answer.chosen)
    for name in "ah":
        found = eh.audit(table, against=name, tolerance=tolerance).shortlist
        answer = eh.decide(table, against=name, tolerance=tolerance, next_n=0)
        assert found is not None
        rest = means.drop(name)
        ahead = set(rest.index[rest > means[name] - tolerance])
        assert _chosen(found, "by_mean") == ahead
        assert _chosen(found, "fair") == set(answer.chosen)
        assert found["verdict"]["abcdefgh".index(name)] == "itself"


def test_what_is_sure_of_a_bar_and_of_another_option() -> None:
    """Where noise is small and judges are equally severe, who is above is surely so, and who is
    just above stands at the line."""
    table = _biased_panel(2, "aP cQ")
    severe = table.score - table.groupby("option").score.transform("mean")
    table["score"] -= severe.groupby(table.evaluator).transform("mean")
    values = eh.decide(table, top=2, next_n=0).standings.set_index("option")["value"]
    for away in (-6.0, 6.0):
        found = eh.audit(table, bar=float(values.mean()) + away).shortlist
        assert found is not None
        assert (found["verdict"] == ("out" if away > 0.0 else "in")).all()
    near = eh.audit(table, bar=float(values["d"]) - 0.01).shortlist
    assert near is not None
    assert near["verdict"][3] == "at the line"
    assert _chosen(near, "inside") == {"a", "b", "c"}
    beside = eh.audit(table, against="h").shortlist
    assert beside is not None
    assert _chosen(beside, "inside") >= set("abcdef")


def test_a_bias_that_lifts_an_option_over_a_bar_is_named() -> None:
    """Half of the judges favour a by 4, which gives it 2 of its 6."""
    judges, worth = (
        {j: "x" if j in "PQR" else "y" for j in "PQRSTU"},
        {"a": 4.0, "b": 6.0, "c": 3.0},
    )
    groups = {"a": "x", "b": "w", "c": "w"}
    rng = np.random.default_rng(0)
    rows = [
        (o, j, worth[o] + 4.0 * (groups[o] == of) + 0.01 * rng.normal(), groups[o], of)
        for o in worth
        for j, of in judges.items()
    ]
    table = pd.DataFrame(
        rows, columns=["option", "evaluator", "score", "option_group", "evaluator_group"]
    )
    for wanted in ({"bar": 5.0}, {"against": "b", "tolerance": 1.0}):
        audit = eh.audit(table, **wanted)
        found = audit.shortlist
        assert found is not None
        assert found["changed_by"].tolist() == ["the bias", "", ""]
        assert found["verdict"][0] == "out"


def test_every_event_has_its_own_bar_and_refuses_what_it_cannot_have() -> None:
    """An event by itself gives the same list; options that are nowhere, and two targets, do not."""
    both = _biased_panel(4, events=2)
    beta = eh.audit(both)
    for wanted in ({"bar": 6.0}, {"against": "d"}):
        audit = eh.audit(both, **wanted)
        frame = audit.shortlist
        for event, part in both.groupby("event"):
            means = part.groupby("option")["score"].mean()
            line = wanted.get("bar", means["d"])
            here = frame[frame["event"] == str(event)].set_index("option")
            assert (here["by_mean"] == (means > line).loc[here.index]).all()
    assert beta.shortlist is None
    with pytest.raises(eh.InputError, match="got top and bar"):
        eh.audit(both, top=2, bar=3.0)
    with pytest.raises(eh.InputError, match="against must be the name of an option"):
        eh.audit(both, against="nobody")
    with pytest.raises(eh.InputError, match="tolerance goes with bar or against"):
        eh.audit(both, top=2, tolerance=0.5)
    duels = pd.DataFrame(
        {"option": list("aab"), "rival": list("bcc"), "evaluator": list("PQP"), "score": [1, 0, 1]}
    )
    with pytest.raises(eh.InputError, match="comparisons tell differences only"):
        eh.audit(duels, bar=0.0)


def test_the_chance_of_clearing_a_bar_has_the_error_that_all_share_in_it() -> None:
    """Options alike on 40 items: the chance is that of the mean over items, not of its sign."""
    rng = np.random.default_rng(9)
    hard = rng.normal(size=40)
    rows = [(name, item, hard[item] + 0.1 * rng.normal()) for name in "abc" for item in range(40)]
    table = pd.DataFrame(rows, columns=["option", "item", "score"])
    error = hard.std(ddof=1) / np.sqrt(40)
    for away in (-1.0, 0.5):
        answer = eh.decide(table, bar=float(table["score"].mean() - away * error), next_n=0)
        assert answer.standings["chance"].to_numpy() == pytest.approx(
            stats.norm.cdf(away), abs=0.06
        )


def test_an_option_to_beat_with_few_scores_makes_nothing_falsely_sure() -> None:
    """Two reviews of each, all options worth the same: its own noise is in every comparison."""
    false = 0
    for seed in range(30):
        rng = np.random.default_rng((5, seed))
        readers = np.concatenate([rng.permutation(8).reshape(4, 2) for _ in range(6)])
        rows = [
            (f"A{x}", f"J{judge}", 0.5 * judge + rng.normal())
            for x, pair in enumerate(readers.tolist())
            for judge in pair
        ]
        table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
        answer = eh.decide(table, against="A1", next_n=0)
        false += bool(answer.inside or answer.outside)
    assert false <= 4, false


def test_an_audit_lists_all_options_of_an_event_those_who_are_wanted_first() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (f"f{i:02}", f"j{j}", event, 6.0 - 0.25 * ((5 * i) % 12) + 0.5 * rng.normal())
        for event in ("may", "june") for i in range(12) for j in range(5)
    ]  # fmt: skip
    scores = pd.DataFrame(rows, columns=["option", "evaluator", "event", "score"])
    for table, one in ((scores[scores["event"] == "may"], True), (scores, False)):
        audit = eh.audit(table, columns={"event": "event"}, top=3)
        parts = [part for section in audit._report().sections for part in section.filled]
        (found,) = (p for p in parts if getattr(p, "caption", "").startswith("Who is among the"))
        whole = audit.shortlist
        assert (whole["verdict"] == "at the line").any()
        if one:
            names = [row[0] for row in found.rows]
            assert sorted(names) == sorted(whole["option"])
            assert set(names[:3]) == set(whole["option"][whole["fair"]])
        else:
            assert len(found.rows) < len(whole)


@pytest.mark.parametrize("top", [None, 3])
def test_questions_that_change_nothing_that_is_shown_are_not_asked_next(top: int | None) -> None:
    shown = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        rows = [
            (f"f{i}", f"j{j}", 6.0 - 0.5 * i + 0.5 * rng.normal())
            for i in range(12) for j in range(5) if (5 * i + j) % 9
        ]  # fmt: skip
        answer = eh.decide(pd.DataFrame(rows, columns=["option", "evaluator", "score"]), top=top)
        (section,) = (one for one in answer._report().sections if one.title == "Ask next")
        for part in section.filled:
            shown += [row[2:6] for row in part.rows] if isinstance(part, Table) else []
        assert bool(section.filled) == bool(answer.next_questions)
    assert shown
    for error, then, chance, chance_then in shown:
        changes = round(error, 3) != round(then, 3), chance != chance_then
        assert any(changes)


def test_votes_that_all_agree_have_the_error_of_a_share() -> None:
    """Of n who all say yes: the interval of Clopper and Pearson, and the sign test against ½."""
    for n, sure in ((5, False), (8, True)):
        rows = [(name, f"e{e}", vote) for e in range(n) for name, vote in (
            ("all", 1), ("none", 0), ("some", int(e % 2)))]  # fmt: skip
        answer = eh.decide(pd.DataFrame(rows, columns=["option", "evaluator", "score"]), bar=0.5)
        values = answer.conclusion.values
        whole = stats.binomtest(n, n).proportion_ci()
        assert values[0, 1] <= whole.low + 1e-9
        assert ("all" in answer.inside) is sure  # 3 · 2⁻⁷ < .05 < 3 · 2⁻⁴
        assert ("none" in answer.outside) is sure
        assert "some" in answer.undecided


def test_who_leads_by_luck_is_not_chosen() -> None:
    """One score of 10 beside forty of 9.7, where options differ by much less than scores do."""
    rng = np.random.default_rng(1)
    rows = [("Lucky", "e0", 10.0), *(("Solid", f"e{e}", 9.0 + rng.normal()) for e in range(40))]
    rows += [(f"o{o}", f"e{e}", 8.5 + rng.normal()) for o in range(8) for e in range(40)]
    answer = eh.decide(pd.DataFrame(rows, columns=["option", "evaluator", "score"]))
    chance = answer.conclusion.chances
    assert answer.ranking[0].option == "Lucky"
    assert answer.label == "Solid"
    assert chance[answer.option] == chance.max()


def test_where_options_are_not_compared_no_number_of_questions_is_promised() -> None:
    rows = [("A", "P", 1.0), ("B", "P", 2.0), ("C", "Q", 3.0)]
    answer = eh.decide(pd.DataFrame(rows, columns=["option", "evaluator", "score"]))
    assert not answer.comparable
    assert np.isnan(answer.next_questions.until_sure)
    assert answer.next_questions
