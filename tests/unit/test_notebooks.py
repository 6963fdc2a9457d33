"""What notebooks show of options, designs, geometry and results."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import evenhand as eh
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
    cells = read(eh.ActionSet.from_table(frame, group="side")._repr_html_()).cells
    assert cells[:4] == ["option", "side", "age", "club"]
    assert cells[8:12] == ["option 2", "1", "40", "b"]


def test_many_options_and_columns_are_cut_and_said_to_be() -> None:
    rng = np.random.default_rng(1)
    wide = eh.ActionSet(rng.random((1_234, 20)), attributes=rng.random((1_234, 2)))
    reader = read(wide._repr_html_())
    assert "1,224 more" in reader.text
    assert reader.cells[:12] == ["option", "z1", "z2", *(f"x{i}" for i in range(1, 9)), "…"]


def test_results_show_their_summary() -> None:
    problem = eh.families.random(k=5, d=2, seed=1)
    results = eh.simulate(problem, ["uniform", "oful"], [50, 100], replications=2, progress=False)
    cells = read(results._repr_html_()).cells
    summary = results.summary()
    assert cells[:6] == ["policy", "T", "regret ± s.e.", "90%", "best", "bias"]
    assert cells.count("oful") == 4  # and all numbers, folded
    mean, error = (number(summary[column][0]) for column in ("mean_regret", "se_regret"))
    assert f"{mean} ± {error}" in cells
