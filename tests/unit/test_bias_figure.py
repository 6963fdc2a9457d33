"""The picture of κ_*: what it shows is checked on numbers, how it looks on the drawn artists."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from numpy.typing import NDArray

import evenhand as eh
from evenhand.geometry.figure import BiasPicture, bias_picture, draw_bias_picture
from evenhand.report.pictures import save_figure

Floats = NDArray[np.float64]


def separated(k: int, d: int, seed: int, *, intercept: bool = True) -> eh.ActionSet:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((k, d)) * np.geomspace(0.3, 3.0, d)
    z = np.where(X @ rng.standard_normal(d) > (0.4 if intercept else 0.0), 1, -1)
    return eh.ActionSet(np.c_[np.ones(k), X] if intercept else X, z)


def picture_of(actions: eh.ActionSet) -> BiasPicture:
    return bias_picture(eh.bias_geometry(actions))


def slopes(X: Floats, heights: Floats) -> Floats:
    """The linear part of a function of the features, found from its values alone."""
    design = np.c_[np.ones(len(X)), X]
    coefficients = np.linalg.lstsq(design, heights, rcond=None)[0]
    assert np.abs(design @ coefficients - heights).max() < 1e-9
    return coefficients[1:]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("k", "d"), [(12, 2), (40, 3), (300, 6)])
def test_axes_are_distances_in_the_space_of_the_features(k: int, d: int, intercept: bool) -> None:
    actions = separated(k, d, seed=k + d, intercept=intercept)
    picture = picture_of(actions)
    X = actions.features[:, int(intercept) :]
    normal, across = slopes(X, picture.horizontal), slopes(X, picture.vertical)
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert np.linalg.norm(across) == pytest.approx(1.0)
    assert normal @ across == pytest.approx(0.0, abs=1e-9)
    # the largest variance across the normal, by another route
    P = np.eye(d) - np.outer(normal, normal)
    variances = np.linalg.eigvalsh(P @ np.cov(X.T, bias=True) @ P)
    assert picture.vertical.var() == pytest.approx(variances[-1])
    assert picture.spread == pytest.approx(variances[-1] / variances.sum())


@pytest.mark.parametrize("intercept", [True, False])
def test_margin_and_radius_are_those_of_the_lemma(intercept: bool) -> None:
    actions = separated(50, 3, seed=8, intercept=intercept)
    picture = picture_of(actions)
    own_side = picture.horizontal * picture.groups
    assert picture.margin == pytest.approx(own_side.min())
    assert picture.radius == pytest.approx(own_side.max())
    root = math.sqrt(eh.bias_geometry(actions).kappa_star)
    assert picture.margin / picture.radius == pytest.approx((root - 1) / (root + 1))
    # a hyperplane through 0 shows where 0 is; an ordinary one does not
    assert picture.origin is not intercept


def test_without_a_hyperplane_the_means_make_the_axis() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    groups = np.where(rng.random(60) < 0.4, "women", "men")
    picture = picture_of(eh.ActionSet(np.c_[np.ones(60), X], groups))
    assert picture.margin is None
    assert picture.radius is None
    women, men = X[groups == "women"].mean(axis=0), X[groups == "men"].mean(axis=0)
    centres = [picture.horizontal[picture.groups == sign].mean() for sign in (1, -1)]
    assert centres[0] - centres[1] == pytest.approx(np.linalg.norm(women - men))
    assert centres[0] + centres[1] == pytest.approx(0.0, abs=1e-12)
    assert "No hyperplane separates women from men" in picture.subtitle
    assert "κ* = 1" in picture.title


def test_options_without_any_difference_make_a_picture() -> None:
    picture = picture_of(eh.ActionSet([[1.0], [1.0], [1.0]], ["a", "b", "a"]))
    assert picture.horizontal.tolist() == [0.0, 0.0, 0.0]
    assert picture.spread is None
    draw_bias_picture(picture)


def test_one_feature_puts_the_groups_in_two_rows() -> None:
    x = np.array([0.0, 1.0, 3.0, 4.5])
    actions = eh.ActionSet(np.c_[np.ones(4), x], ["low", "low", "top", "top"])
    picture = picture_of(actions)
    np.testing.assert_allclose(picture.horizontal, x - 2.0, atol=1e-9)
    assert picture.vertical.tolist() == [-0.5, -0.5, 0.5, 0.5]
    axes = draw_bias_picture(picture).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["low", "top"]


def test_many_options_are_thinned_but_the_design_stays() -> None:
    actions = separated(20_000, 3, seed=4)
    geometry = eh.bias_geometry(actions)
    picture = bias_picture(geometry)
    assert picture.n_options == 20_000
    assert len(picture.options) <= 3000 + len(geometry.design.support)
    assert set(geometry.design.support) <= set(picture.options)
    assert len(np.unique(picture.options)) == len(picture.options)
    assert {sign: (picture.groups == sign).sum() >= 1500 for sign in (-1, 1)} == {-1: 1, 1: 1}
    np.testing.assert_array_equal(picture.options, bias_picture(geometry).options)
    named = {int(picture.options[i]): name for i, name in picture.names.items()}
    assert named == {x: actions.labels[x] for x in geometry.design.support.tolist()}
    shown = draw_bias_picture(picture).axes[0].get_title(loc="left").replace("\n", " ")
    assert f"{len(picture.options):,} of 20,000 options are drawn" in shown


def names_written(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text().endswith("%")]


def test_every_option_is_drawn_with_its_group_and_every_share_as_an_area() -> None:
    actions = separated(30, 3, seed=5)
    picture = picture_of(actions)
    axes = draw_bias_picture(picture).axes[0]
    clouds = [item for item in axes.collections if isinstance(item, PathCollection)]
    drawn = np.vstack([cloud.get_offsets() for cloud in clouds[::2]])
    wanted = np.c_[picture.horizontal, picture.vertical]
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, wanted.tolist()))
    for sign, circles in zip((-1, 1), clouds[1::2], strict=True):
        shares = picture.shares[(picture.groups == sign) & (picture.shares > 0)]
        np.testing.assert_allclose(
            circles.get_sizes() / circles.get_sizes().sum(), shares / shares.sum()
        )
    # groups differ in colour and in shape, for eyes and printers that see no colour
    away, home = clouds[0], clouds[2]
    assert not np.array_equal(away.get_facecolor(), home.get_facecolor())
    assert len(away.get_paths()[0].vertices) != len(home.get_paths()[0].vertices)


@pytest.mark.parametrize("seed", range(6))
def test_names_of_the_design_stand_clear_of_each_other(seed: int) -> None:
    figure = draw_bias_picture(picture_of(separated(25, 3, seed=seed)))
    axes = figure.axes[0]
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(names_written(axes)) >= 3
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    frame = axes.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


def test_names_are_written_as_they_are() -> None:
    x = [[1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 4.0]]
    names = ["$a_1$", "b & <c>", "d" * 60, "e\\alpha"]
    groups = ["pays $5", "pays $5", "pays $9 or $10", "pays $9 or $10"]
    figure = draw_bias_picture(picture_of(eh.ActionSet(x, groups, labels=names)))
    written = names_written(figure.axes[0])
    assert any(text.startswith("b & <c>: ") for text in written)
    assert any(text.startswith("d" * 27 + "…: ") for text in written)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()][:2] == sorted(
        set(groups)
    )
    assert all(not text.get_parse_math() for text in figure.axes[0].get_legend().get_texts())


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_options_make_the_same_bytes(kind: str, tmp_path: Path) -> None:
    actions = separated(20, 2, seed=1)
    for name in ("one", "two"):
        save_figure(draw_bias_picture(picture_of(actions)), tmp_path / f"{name}.{kind}")
    one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
    assert one == two
    assert one[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
