"""JSON: read, or said where it breaks off; nested, where anything may be missing or different."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evenhand.errors import InputError


def reach(thing: Any, *path: str) -> Any:
    """Return what stands at the end of a path of names; None where it breaks off."""
    for name in path:
        thing = thing.get(name) if isinstance(thing, dict) else None
    return thing


def entries(thing: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at the end of a path; an empty one where there is none."""
    found = reach(thing, *path)
    return found if isinstance(found, dict) else {}


def members(thing: Any, *path: str) -> list[Any]:
    """Return the list at the end of a path; an empty one where there is none."""
    found = reach(thing, *path)
    return found if isinstance(found, list) else []


def name_of(thing: Any) -> str | None:
    """Return a name, which is a text or a number; None for anything else and for no text."""
    if isinstance(thing, (str, int)) and not isinstance(thing, bool):
        return str(thing) or None
    return None


def parsed(text: str, where: str) -> Any:
    """Return what JSON holds; an error says where it breaks off."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            said = "the JSON breaks off"
        else:
            said = "this is no JSON"
        raise InputError(
            f"{where}: {said} in line {error.lineno}, column {error.colno} ({error.msg}). Was it "
            "cut off while it was written? Write or copy it again."
        ) from None
    except RecursionError:
        raise InputError(f"{where}: the JSON is nested too deeply; this is no log.") from None
