"""The picture of κ_*: the groups, what keeps them apart, and the evaluations to buy.

For any number of features: the horizontal axis is the distance from the separating hyperplane,
the vertical one the direction in which the options differ most besides. Margin and radius are
those of the paper's Lemma 1; `bias_picture` works out what to draw, `draw_bias_picture` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.assumptions import hardly_checked
from evenhand.errors import InputError
from evenhand.geometry.bias import (
    BiasGeometry,
    separating_hyperplane,
    unit_of_distance,
    varying_features,
)
from evenhand.geometry.sections import explanation, headline
from evenhand.report.pictures import (
    FAINT,
    INK,
    STYLES,
    frame,
    literal,
    new_figure,
    shares_figure,
    subtitle,
)
from evenhand.report.words import number, short, visible
from evenhand.tables import linear_rule

_MOST_DRAWN = 3000  # options; more are a blot
_MOST_NAMED = 12  # options of the design that carry their name
_LONGEST_NAME = 28
_CLOSE = 0.05  # of the height: names that stand nearer are moved apart
_LETTER = 0.013  # of the width, about
_STYLES = {-1: STYLES[0], 1: STYLES[1]}


@dataclass(frozen=True, eq=False)
class BiasPicture:
    """What the picture of κ_* shows, in numbers."""

    options: NDArray[np.intp]  # (n,) indices of the options drawn, of ``n_options``
    n_options: int
    horizontal: Floats  # (n,) where they stand
    vertical: Floats  # (n,)
    groups: NDArray[np.int8]  # (n,) −1 or +1
    shares: Floats  # (n,) their shares of the evaluations
    names: dict[int, str]  # by position in ``options``, of those that carry a name
    # distance of the nearest option from the hyperplane at 0; None without one
    margin: float | None
    radius: float | None  # and of the farthest
    origin: bool  # whether the point (0, 0) is the origin of the features (a hyperplane through it)
    # share of the variation not seen horizontally that the vertical axis shows; None where nothing
    # is left to show and the groups stand in two rows
    spread: float | None
    group_names: tuple[str, str]  # of −1 and +1
    title: str
    subtitle: str
    horizontal_label: str
    vertical_label: str


def bias_picture(geometry: BiasGeometry) -> BiasPicture:
    """Work out where the options stand beside the hyperplane that separates the groups."""
    actions = geometry.actions
    if actions.group_names is None:
        raise InputError("the picture shows two groups; make the options with group=.")
    options = _options_to_draw(geometry)
    X, z = actions.features[options], actions.groups[options]
    varying = varying_features(actions)
    through_zero = bool(varying.all())
    hyperplane = separating_hyperplane(geometry)
    if hyperplane is not None:
        normal = hyperplane.normal
        horizontal = X @ normal
        horizontal_label = _distance_label(geometry, normal, hyperplane.importance)
    else:
        normal = _between_means(X, z, varying)
        middle = (X[z > 0].mean(axis=0) + X[z < 0].mean(axis=0)) / 2
        horizontal = (X - middle) @ normal
        horizontal_label = (
            f"← {_short(actions.group_names[0])}      along the difference of the group means "
            f"({unit_of_distance(actions)})      {_short(actions.group_names[1])} →"
        )
    across, spread = _largest_rest(X, np.where(varying, normal, 0.0), varying)
    centred = through_zero and hyperplane is not None
    vertical = X @ across if centred else (X - X.mean(axis=0)) @ across
    vertical_label = _rest_label(actions, across, spread)
    if spread is None:
        vertical = 0.5 * z
    return BiasPicture(
        options=options,
        n_options=len(actions),
        horizontal=horizontal,
        vertical=vertical,
        groups=z,
        shares=geometry.design.weights[options],
        names=_names_to_write(geometry, options),
        margin=None if hyperplane is None else hyperplane.margin,
        radius=None if hyperplane is None else hyperplane.radius,
        origin=centred and spread is not None,
        spread=spread,
        group_names=actions.group_names,
        title=_title(geometry),
        subtitle=_subtitle(geometry),
        horizontal_label=horizontal_label,
        vertical_label=vertical_label,
    )


def draw(geometry: BiasGeometry, axes: Axes | None = None) -> Figure:
    """Draw two groups and what keeps them apart; where there are none, the evaluations to buy."""
    actions = geometry.actions
    if actions.group_names is not None:
        return draw_bias_picture(bias_picture(geometry), axes)
    support = geometry.design.support.tolist()
    names, shares = [actions.labels[x] for x in support], geometry.design.weights[support]
    return shares_figure(_title(geometry), names, shares.tolist(), axes)


def draw_bias_picture(picture: BiasPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture, into axes of the user's if there are any."""
    figure = new_figure(8.4, 5.8, picture.title) if axes is None else axes.figure.figure
    axes = figure.subplots() if axes is None else axes
    _draw_frame(axes, picture)
    if picture.margin is not None and picture.radius is not None:
        _draw_distances(axes, picture.margin, picture.radius, picture.origin)
    _draw_options(axes, picture)
    _draw_names(axes, picture)
    return figure


def _title(geometry: BiasGeometry) -> str:
    return f"{headline(geometry)} (κ* = {number(geometry.kappa_star)})"


def _subtitle(geometry: BiasGeometry) -> str:
    """Return what κ_* means here; where nothing can check the model, also that it rests on it."""
    said = explanation(geometry)
    if hardly_checked(geometry.actions) is not None:
        said += " Values are taken to be linear in the features."
    return said


def _options_to_draw(geometry: BiasGeometry) -> NDArray[np.intp]:
    """Return all options, or the design's and evenly spaced ones of both groups."""
    z = geometry.actions.groups
    if len(z) <= _MOST_DRAWN:
        return np.arange(len(z))
    chosen = [geometry.design.support]
    for sign in (-1, 1):
        members = np.flatnonzero(z == sign)
        places = np.linspace(0, len(members) - 1, min(len(members), _MOST_DRAWN // 2))
        chosen.append(members[places.astype(np.intp)])
    return np.unique(np.concatenate(chosen))


def _names_to_write(geometry: BiasGeometry, options: NDArray[np.intp]) -> dict[int, str]:
    support, weights = geometry.design.support, geometry.design.weights
    heaviest = support[np.argsort(-weights[support], kind="stable")][:_MOST_NAMED]
    return {int(np.searchsorted(options, x)): geometry.actions.labels[x] for x in heaviest.tolist()}


def _between_means(X: Floats, z: NDArray[np.int8], varying: NDArray[np.bool_]) -> Floats:
    """Return the unit vector from one group's mean to the other's, or any if they coincide."""
    difference = np.where(varying, X[z > 0].mean(axis=0) - X[z < 0].mean(axis=0), 0.0)
    length = float(np.linalg.norm(difference))
    if length > 1e-9 * float(np.abs(X).max(initial=0.0)):
        return np.asarray(difference / length)
    return _largest_rest(X, np.zeros(X.shape[1]), varying)[0]


def _largest_rest(
    X: Floats, normal: Floats, varying: NDArray[np.bool_]
) -> tuple[Floats, float | None]:
    """Return the direction across ``normal`` in which options differ most, and its share of all
    variation across; None if there is none.
    """
    centred = (X - X.mean(axis=0)) * varying
    size = float(np.linalg.norm(centred))
    rest = centred - np.outer(centred @ normal, normal)
    if float(np.linalg.norm(rest)) <= 1e-9 * size:
        return np.zeros(X.shape[1]), None
    _, values, directions = np.linalg.svd(rest, full_matrices=False)
    # a direction and its opposite are the same line; take the one that points up
    direction = directions[0] * np.sign(directions[0][np.argmax(np.abs(directions[0]))])
    return direction, float(values[0] ** 2 / (values**2).sum())


def _distance_label(geometry: BiasGeometry, normal: Floats, importance: Floats) -> str:
    actions = geometry.actions
    assert actions.group_names is not None
    negative, positive = (_short(name) for name in actions.group_names)
    first = (
        f"← {negative}      distance from the hyperplane ({unit_of_distance(actions)})      "
        f"{positive} →"
    )
    if np.count_nonzero(importance) <= 4:
        return f"{first}\n= {visible(linear_rule(actions.in_user_units(normal)))}"
    main = np.argsort(-importance, kind="stable")[:4]
    listed = " ".join(
        f"{'+' if normal[i] > 0 else '−'} {_short(actions.feature_names[i])}" for i in main
    )
    return f"{first}\nmade of {np.count_nonzero(importance)} features, mostly {listed}"


def _rest_label(actions: ActionSet, across: Floats, spread: float | None) -> str:
    if spread is None:
        return ""
    main = np.argsort(-np.abs(across), kind="stable")[:3]
    main = main[np.abs(across[main]) > 0.25 * np.abs(across).max()]
    listed = ", ".join(_short(actions.feature_names[i]) for i in main)
    of = "all the rest" if spread > 0.995 else f"{spread:.0%} of the rest"
    return f"direction of largest remaining variation\n({of}; mostly {listed})"


def _short(name: str) -> str:
    """Cut a name that would not fit."""
    return short(name, _LONGEST_NAME)


def _draw_frame(axes: Axes, picture: BiasPicture) -> None:
    thinned = ""
    if picture.n_options > len(picture.options):
        thinned = f" {len(picture.options):,} of {picture.n_options:,} options are drawn."
    subtitle(axes, picture.subtitle + thinned)
    literal(axes.set_xlabel(picture.horizontal_label, fontsize=9, color=INK))
    literal(axes.set_ylabel(picture.vertical_label, fontsize=9, color=INK))
    frame(axes)
    low, high = float(picture.vertical.min()), float(picture.vertical.max())
    if picture.spread is None:
        low, high = -1.0, 1.0
        axes.set_yticks([-0.5, 0.5])
        for text in axes.set_yticklabels([_short(name) for name in picture.group_names]):
            literal(text)
    height = (high - low) or 1.0
    # above the options is room for the two measures
    room = 0.32 if picture.margin is not None else 0.1
    axes.set_ylim(low - 0.12 * height, high + room * height)
    left, right = float(picture.horizontal.min()), float(picture.horizontal.max())
    if picture.radius is not None:
        left, right = -picture.radius, picture.radius
    width = (right - left) or 1.0
    outside = [len(_caption(picture, i)) for i in picture.names if _is_far(picture, i)]
    beyond = width * max(0.12, 0.05 + _LETTER * max(outside, default=0))
    axes.set_xlim(left - beyond, right + beyond)


def _draw_distances(axes: Axes, margin: float, radius: float, origin: bool) -> None:
    axes.axvspan(-margin, margin, color="#e9e9e9", zorder=0, lw=0)
    axes.axvline(0.0, color=INK, lw=1.4, zorder=1)
    for side in (-1, 1):
        axes.axvline(side * radius, color=FAINT, lw=1.0, ls=(0, (5, 4)), zorder=1)
    across = axes.get_xaxis_transform()
    for distance, height, name in ((margin, 0.90, "margin"), (radius, 0.96, "radius")):
        axes.annotate(
            "",
            xy=(distance, height),
            xytext=(0.0, height),
            xycoords=across,
            textcoords=across,
            arrowprops={"arrowstyle": "<->", "color": INK, "lw": 0.9, "shrinkA": 0, "shrinkB": 0},
        )
        axes.text(
            -0.012 * (axes.get_xlim()[1] - axes.get_xlim()[0]),
            height,
            f"{name} {distance:.3g}",
            transform=across,
            ha="right",
            va="center",
            fontsize=8.5,
            color=INK,
        )
    axes.text(0.0, 0.012, " hyperplane", transform=across, va="bottom", fontsize=8, color=FAINT)
    if origin:
        axes.plot([0.0], [0.0], marker="_", color=INK, ms=9, mew=1.4, zorder=2)
        axes.annotate(
            "0", (0.0, 0.0), (6, 0), textcoords="offset points", va="center", fontsize=8.5
        )


def _draw_options(axes: Axes, picture: BiasPicture) -> None:
    many = len(picture.options) > 200
    handles = []
    for sign, name in zip((-1, 1), picture.group_names, strict=True):
        colour, marker = _STYLES[sign]
        own = picture.groups == sign
        axes.scatter(
            picture.horizontal[own],
            picture.vertical[own],
            s=10 if many else 30,
            marker=marker,
            color=colour,
            alpha=0.45 if many else 0.95,
            lw=0,
            zorder=3,
        )
        bought = own & (picture.shares > 0)
        axes.scatter(
            picture.horizontal[bought],
            picture.vertical[bought],
            s=_areas(picture.shares[bought]),
            facecolor=colour + "30",
            edgecolor=colour,
            lw=1.1,
            zorder=2,
        )
        if many:
            axes.scatter(
                picture.horizontal[bought],
                picture.vertical[bought],
                s=26,
                marker=marker,
                color=colour,
                lw=0,
                zorder=4,
            )
        handles.append(Line2D([], [], ls="", marker=marker, color=colour, label=_short(name)))
    handles.append(
        Line2D(
            [],
            [],
            ls="",
            marker="o",
            ms=13,
            markerfacecolor="#00000018",
            markeredgecolor=FAINT,
            label="circle area: share of the evaluations to buy",
        )
    )
    legend = axes.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3, frameon=False,
        fontsize=9,
    )  # fmt: skip
    for text in legend.get_texts():
        literal(text)


def _areas(shares: Floats | float) -> Floats | float:
    """Areas of the circles in square points: half of the evaluations is a circle of 42 points."""
    return 2800.0 * shares


def _draw_names(axes: Axes, picture: BiasPicture) -> None:
    """Write names and shares where nobody stands: within the margin, or beyond the radius."""
    place = axes.transLimits.transform(np.column_stack([picture.horizontal, picture.vertical]))
    above: dict[tuple[int, int], float] = {}
    for i in sorted(picture.names, key=lambda i: place[i, 1]):
        x, sign = float(picture.horizontal[i]), int(picture.groups[i])
        side = sign if _is_far(picture, i) else -sign
        # those at one line stand above each other: two that are close are moved apart
        line = round(20 * float(place[i, 0])), side
        height = max(float(place[i, 1]), above.get(line, -np.inf) + _CLOSE)
        above[line] = height
        away = 3.0 + float(np.sqrt(_areas(picture.shares[i]) / np.pi))
        text = axes.annotate(
            _caption(picture, i),
            (x, height),
            (side * away, 0.0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=8.5,
            color=_STYLES[sign][0],
            zorder=5,
        )
        literal(text).set_path_effects([withStroke(linewidth=2.2, foreground="white")])


def _is_far(picture: BiasPicture, i: int) -> bool:
    """Tell whether an option of the design is at the radius and not at the margin."""
    middle = 0.0 if picture.radius is None else (picture.radius + (picture.margin or 0.0)) / 2
    return bool(abs(picture.horizontal[i]) >= middle)


def _caption(picture: BiasPicture, i: int) -> str:
    share = float(picture.shares[i])
    return f"{_short(picture.names[i])}: {f'{share:.0%}' if share >= 0.005 else '<1%'}"
