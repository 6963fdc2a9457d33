"""What notebooks show of options, designs, geometry, results and policies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.policies.sections import how_sure, in_words
from evenhand.report.words import number
from pages import read

EVIL = '<script>alert("&amp;")</script>'


def options(**more) -> eh.ActionSet:
    return eh.ActionSet(
        [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.3, 0.4]],
        [EVIL, "away", "away", "away"],
        labels=["Ann & Co", "<b>Bo</b>", "Cy", "Di"],
        **more,
    )


def test_options_show_names_groups_and_features() -> None:
    cells = read(options(feature_names=["<u>", "v"])._repr_html_()).cells
    assert cells[:4] == ["option", "group", "<u>", "v"]
    assert cells[4:8] == ["Ann & Co", EVIL, "1", "0"]
    assert len(cells) == 4 * 5


def test_options_of_a_table_are_shown_in_the_users_units() -> None:
    frame = pa.table({"side": [0, 1, 1], "age": [30, 40, 60], "club": ["a", "b", "a"]})
    cells = read(eh.ActionSet.from_frame(frame, group="side")._repr_html_()).cells
    assert cells[:4] == ["option", "side", "age", "club"]
    assert cells[8:12] == ["option 2", "1", "40", "b"]


def test_many_options_and_columns_are_cut_and_said_to_be() -> None:
    rng = np.random.default_rng(1)
    wide = eh.ActionSet(rng.random((1_234, 20)), attributes=rng.random((1_234, 2)))
    reader = read(wide._repr_html_())
    assert "1,224 more" in reader.text
    assert reader.cells[:12] == ["option", "z1", "z2", *(f"x{i}" for i in range(1, 9)), "…"]


def test_designs_show_the_largest_shares_first_and_their_proof() -> None:
    actions = options()
    geometry = eh.bias_geometry(actions)
    design = geometry.design
    reader = read(geometry._repr_html_())
    order = design.support[np.argsort(-design.weights[design.support], kind="stable")]
    names = [cell for cell in reader.cells if cell in actions.labels]
    assert names == [actions.labels[x] for x in order]
    assert f"κ* = {geometry.kappa_star:.3g}" in reader.text
    assert f"no design has less than {design.certificate.bound:.3g}" in reader.text
    alone = read(design._repr_html_())
    shares = [float(cell[:-1]) / 100 for cell in alone.cells if cell.endswith("%")]
    assert shares == pytest.approx(design.weights[order], abs=5e-3)


def test_results_show_their_summary() -> None:
    problem = eh.families.random(k=5, d=2, seed=1)
    results = eh.simulate(problem, ["uniform", "oful"], [50, 100], replications=2, progress=False)
    cells = read(results._repr_html_()).cells
    summary = results.summary()
    assert cells[:6] == ["policy", "T", "regret ± s.e.", "90%", "best", "bias"]
    assert cells.count("oful") == 2
    mean, error = (number(summary[column][0]) for column in ("mean_regret", "se_regret"))
    assert f"{mean} ± {error}" in cells


@pytest.mark.parametrize("name", sorted({*eh.registered_policies()} - {"oracle"}))
def test_policies_show_where_they_stand_at_any_time(name: str) -> None:
    policy = eh.policy(name, options(), horizon=300)
    rng = np.random.default_rng(0)
    for _ in range(4):
        cells = read(policy._repr_html_()).cells
        shown = dict(zip(cells[0::2], cells[1::2], strict=False))
        assert shown["evaluations"] == f"{policy.spent} of at most 300"
        decision = policy.recommend()
        assert shown["choice now"] == decision.label
        assert shown["how sure"] == how_sure(decision)
        assert shown["bias"] == in_words(policy.bias())
        if policy.finished:
            break
        counts = policy.ask().counts
        sums = counts * rng.random(4)
        policy.tell(
            eh.Feedback(counts, sums, sums**2 / np.maximum(counts, 1) + np.maximum(counts - 1, 0))
        )


def test_warnings_are_shown_and_escaped() -> None:
    class Worried(eh.Policy):
        name = "worried"

        def play(self):
            yield {0: self.remaining}

        def recommend(self):
            return eh.Decision.of(self, 0)

        def bias(self):
            return eh.Estimate(np.nan, -np.inf, np.inf, 0.95)

        def findings(self):
            return (eh.Finding("drift", f"Scores rise. {EVIL}"),)

        def values(self):
            return np.array(
                [[1.0, 0.0, 2.0], [3.0, 2.0, 4.0], [np.nan, -np.inf, np.inf], [0, 0, 0]]
            )

    reader = read(Worried(options(), horizon=7)._repr_html_())
    assert f"Scores rise. {EVIL}" in reader.text
    ranked = [cell for cell in reader.cells[-24:] if cell in options().labels]
    assert ranked == ["<b>Bo</b>", "Ann & Co", "Di", "Cy"]  # by value, the unknown last


def test_how_sure_a_decision_and_an_estimate_are_is_said_in_words() -> None:
    sure = eh.Decision(0, "Ann", loss=0.0, level=0.95, certainty="own scores")
    assert how_sure(sure) == "the best, with probability at least 95%, by its own scores"
    loses = eh.Decision(0, "Ann", loss=1.5, level=0.95)
    assert how_sure(loses) == "loses at most 1.5, with probability at least 95%"
    assert how_sure(eh.Decision(0, "Ann", level=0.95)) == "nothing is certain yet"
    assert how_sure(eh.Decision(0, "Ann")) == "not said"
    between = eh.Estimate(1.6, 1.1, 2.1, 0.95)
    assert in_words(between) == "1.6, from 1.1 to 2.1 with probability at least 95%"
    assert in_words(eh.Estimate(1.6, -np.inf, np.inf, 0.0)) == "1.6, without an interval"
    assert in_words(eh.Estimate(np.nan, -np.inf, np.inf, 0.95)) == "not known yet"
