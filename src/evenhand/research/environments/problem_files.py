"""Problems on disk, as JSON: parameters that name a table of options, and whole problems.

Parameters are a JSON object with `gamma`, `omega` and `noise_scale` (1 if not given). `gamma` is
either a list over the encoded features, or an object over the columns of the table in the user's
own units: what one more unit of a column is worth, "column=category" for a category compared to
the reference category, "(constant)" for what all options share.

A file that names a table has its path, beside the file, as `options`, its columns as `group` and
perhaps `label` and `features`, and the group that a positive ω favours as `positive`. A file of a
whole problem holds everything: features, groups or attributes, names and parameters. Numbers
are written in full, so a problem comes back the same to the last bit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.files import write_atomically
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.tables.encoding import CONSTANT

_KIND = "evenhand problem, version 1"
_PARAMETERS = {"gamma", "omega", "noise_scale"}
_TABLE, _COLUMNS = {"options", "group"}, ("label", "features", "positive")


def problem_with_parameters(
    actions: ActionSet, parameters: Mapping[str, Any], source: str = "the parameters"
) -> BiasedLinearBandit:
    """Return the problem of these options with parameters as in a parameter file; ``source`` is
    what messages call them.
    """
    _refuse_unknown(parameters, _PARAMETERS, source)
    for name in ("gamma", "omega"):
        if name not in parameters:
            raise InputError(f"{source}: there is no {name!r}; give gamma and omega.")
    gamma = parameters["gamma"]
    if isinstance(gamma, Mapping):
        gamma = _from_user_units(actions, gamma, source)
    try:
        return BiasedLinearBandit(
            actions, gamma, parameters["omega"], parameters.get("noise_scale", 1.0)
        )
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def load_problem(path: str | os.PathLike[str]) -> BiasedLinearBandit:
    """Return the problem that `save_problem` wrote, or one of a table of options."""
    content = _json_object(path)
    parameters = {name: content.pop(name) for name in _PARAMETERS if name in content}
    try:
        actions = _of_table(content, path) if _TABLE & content.keys() else _of_problem(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return problem_with_parameters(actions, parameters, str(path))


def _of_table(content: Mapping[str, Any], path: str | os.PathLike[str]) -> ActionSet:
    """Return the options of a table that a file names, beside it or by a whole path."""
    _refuse_unknown(content, {*_TABLE, *_COLUMNS, *_PARAMETERS}, "a problem of a table")
    lacking = [name for name in _TABLE if not isinstance(content.get(name), str)]
    if lacking:
        raise InputError(f"there is no {lacking[0]!r}; name the table and its column of groups.")
    table = Path(path).parent / content["options"]
    return ActionSet.from_table(
        table, **{n: given for n, given in content.items() if n != "options"}
    )


def _of_problem(content: dict[str, Any]) -> ActionSet:
    if content.pop("kind", None) != _KIND:
        raise InputError(
            "it is not a problem file: it neither names a table (options, group) nor was it "
            "written by `save_problem`."
        )
    return ActionSet.from_dict(content)


def save_problem(problem: BiasedLinearBandit, path: str | os.PathLike[str]) -> None:
    """Write a problem as JSON, to be read by `load_problem` or by anything else."""
    content: dict[str, Any] = {"kind": _KIND} | problem.actions.to_dict()
    content |= {
        "gamma": problem.gamma.tolist(),
        "omega": np.asarray(problem.omega).tolist(),
        "noise_scale": problem.noise_scale,
    }
    with write_atomically(path, "the problem") as draft:
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _from_user_units(actions: ActionSet, worth: Mapping[str, Any], source: str) -> Floats:
    """Return γ over the encoded features from what a unit of each column is worth."""
    encoding = actions.encoding
    if encoding is None:
        columns: Sequence[str] = actions.feature_names
        means, scales = np.zeros(len(columns)), np.ones(len(columns))
        has_intercept = False
    else:
        columns = [column.name for column in encoding.features]
        means = np.array([column.mean for column in encoding.features])
        scales = np.array([column.scale for column in encoding.features])
        has_intercept = encoding.intercept
    own = columns[1:] if has_intercept else columns
    unknown = [name for name in worth if name not in own and name != CONSTANT]
    missing = [name for name in own if name not in worth]
    if unknown or missing:
        wrong = [f"gamma has no {name!r}" for name in missing[:3]]
        wrong += [f"gamma names {name!r}, which is no feature" for name in unknown[:3]]
        raise InputError(
            f"{source}: {'; '.join(wrong)}. Give one number for each of {', '.join(own)}"
            f"{' and, if you like, ' + repr(CONSTANT) if has_intercept else ''}."
        )
    numbers = {name: _number(value, f"gamma of {name!r}", source) for name, value in worth.items()}
    slopes = np.array([0.0] * has_intercept + [numbers[name] for name in own])
    constant = numbers.get(CONSTANT, 0.0) + float(slopes @ means)
    gamma = slopes * scales
    if has_intercept:
        gamma[0] = constant
    elif constant != 0.0:
        raise InputError(
            f"{source}: the values have a constant, but the features have no intercept to carry "
            "it. Leave the intercept in, or do not standardise and give no '(constant)'."
        )
    return gamma


def _number(value: object, what: str, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise InputError(f"{source}: {what} must be a finite number; it is {value!r}.")
    return float(value)


def _refuse_unknown(found: Mapping[str, Any], known: set[str], source: str) -> None:
    for name in found:
        if name not in known:
            raise InputError(
                f"{source}: {name!r} means nothing here; there may be {', '.join(sorted(known))}."
            )


def _json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold a JSON object; it holds a {type(content).__name__}.")
    return content
