"""An inspection in words: can the bias be told, at what price, why, and by which evaluations?"""

from __future__ import annotations

from evenhand.geometry import BiasGeometry
from evenhand.geometry.bias import unit_of_distance
from evenhand.geometry.sections import meaning_of_bias, verdict
from evenhand.inspection.inspection import CONFIDENCE, InspectedBias, Inspection
from evenhand.report.model import Cell, Note, Picture, Report, Section, Share, Table
from evenhand.report.words import fixed, number, percent, short

_TITLE = "Can the bias be estimated, and at what price?"
_ATTRIBUTES = "Attributes have no margin and no separating hyperplane: these compare two groups."


def report_of(found: Inspection) -> Report:
    """Return what an inspection has to say."""
    several = found.actions.group_names is None
    decimal = found.actions.encoding is not None and found.actions.encoding.decimal == ","
    said: list[tuple[str, str]] = []
    if any(bias.identifiable for bias in found.biases):
        said += [("Assumed", one) for one in found.assumptions]
    sections: list[Section] = []
    for bias in found.biases:
        about = f"{short(bias.name)}: " if several else ""
        if bias.geometry is None:
            said += [("Why not", one) for one in bias.why[1:]]
            continue
        said.append(("Price", f"{about}{price(bias, bias.geometry)}"))
        sections += _of_bias(found, bias, bias.geometry, about)
    if decimal:
        said.append(("Decimals", 'Decimals are read with a comma (decimal="." reads points).'))
    return Report(
        _TITLE,
        " ".join(_verdict(bias) for bias in found.biases),
        said,
        [*sections, *_picture(found), Section("", [Note(_ATTRIBUTES if several else "")], "brief")],
    )


def _verdict(bias: InspectedBias) -> str:
    return bias.why[0] if bias.geometry is None else verdict(bias.geometry)


def price(bias: InspectedBias, geometry: BiasGeometry) -> str:
    """Return what knowing the bias takes, in one sentence."""
    return (
        f"To know the bias to ±{number(bias.precision)} ({percent(CONFIDENCE)}, in standard "
        f"deviations of the noise of one evaluation) takes about "
        f"{number(float(bias.evaluations))} evaluations. A bias of 1 means that "
        f"{meaning_of_bias(geometry)}."
    )


def _of_bias(
    found: Inspection, bias: InspectedBias, geometry: BiasGeometry, about: str
) -> list[Section]:
    """Return the tables of one bias: numbers, what separates the groups, what to buy."""
    bought = sum(one.evaluations or 0 for one in bias.design)
    rounded = f", rounded up to {bought:,}" if bought > bias.evaluations else ""
    first = f"The best {bias.evaluations:,} evaluations to buy{rounded}"
    parts = [Section(f"{about}In numbers", [_numbers(found, bias, geometry)], "print")]
    if found.group_sizes:
        negative, positive = found.group_sizes
        title = f"this sum is above 0 for {short(positive)} and below for {short(negative)}"
        parts.append(Section(f"What separates them: {title}", [_hyperplane(bias)], "print"))
    parts.append(
        Section(f"{about}{first} (±{number(bias.precision)})", [_purchases(bias)], "print")
    )
    return parts


def _numbers(found: Inspection, bias: InspectedBias, geometry: BiasGeometry) -> Table:
    certificate, plane, actions = geometry.design.certificate, bias.hyperplane, geometry.actions
    two = bool(found.group_sizes)
    least = "; 1 is the least" if two else ""
    gap = f"{certificate.gap:.1g}"
    rows: list[list[Cell]] = [
        ["κ*", _long(geometry.kappa_star), f"variance of the bias per evaluation{least}"],
        ["proven", f"≥ {_long(certificate.bound)}", f"by certificate; gap {gap}"],
    ]
    if plane is not None:
        unit = unit_of_distance(actions)
        rows += [
            ["margin", _long(plane.margin), "from the hyperplane to the nearest option"],
            ["radius", _long(plane.radius), f"to the farthest option, in {unit}"],
            ["margin/radius", _long(plane.margin / plane.radius), "(√κ* − 1) / (√κ* + 1)"],
        ]
    sizes = " and ".join(f"{size:,} {short(name)}" for name, size in found.group_sizes.items())
    names = [short(name) for name in actions.feature_names]
    rows += [
        ["options", f"{len(actions):,}", sizes],
        ["features", f"{len(names)}", ", ".join(names[:8]) + (", …" if len(names) > 8 else "")],
        [
            "rank",
            f"{found.rank} of {found.dimension}",
            f"of features and {'group' if two else 'attributes'}",
        ],
    ]
    return Table("The numbers behind it", ["number", "value", "what it is"], rows)


def _long(value: float) -> str:
    """Return a number to four digits and more: these are compared with other programs'."""
    size = abs(value)
    return fixed(value, 4) if 0.01 <= size < 1e4 else number(value)


def _hyperplane(bias: InspectedBias) -> Table:
    """Return the coefficients, the most important first, and the constant whatever is cut."""
    importance = bias.importance
    terms = bias.hyperplane_in_user_units
    rows: list[list[Cell]] = [
        [name, value, Share(importance[name]) if name in importance else ""]
        for name, value in terms.items()
    ]
    must = {place for place, name in enumerate(terms) if name == "(constant)"}
    return Table("What separates the groups", ["feature", "coefficient", "importance"], rows, must)


def _purchases(bias: InspectedBias) -> Table:
    grouped = any(one.group is not None for one in bias.design)
    rows: list[list[Cell]] = [
        [one.option, *([one.group] if grouped else []), Share(one.share), one.evaluations]
        for one in bias.design
    ]
    header = ["option", *(["group"] if grouped else []), "share", "evaluations"]
    return Table("The evaluations to buy", header, rows)


def _picture(found: Inspection) -> list[Section]:
    picture = Picture("inspection", found.plot, "The options, and what to evaluate.")
    return [Section("In a picture", [picture])] if found.told else []
