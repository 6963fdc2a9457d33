"""The code that runs stand on, by fingerprints: which of it has changed since runs were stored?

A policy stands on evenhand, as one (`build`), and on its own modules: the one that it is defined
in, those of its base classes, and whatever these import, wherever in them an import stands. Of
what is installed from elsewhere only the policy's own package counts. A policy of a notebook or of
a script that is run (`__main__`) stands on its own byte code and on that of what it names there,
so that other cells and the call of `simulate` may change.

What is imported by a name that is put together at run time, and files that are read, are not seen.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from evenhand.errors import InputError
from evenhand.policies.registry import policy_class, registered_policies

_INTERACTIVE = "__main__"
_OURS = "evenhand"
# Rooms that only show or keep what others have worked out: no run goes through them.
_APART = ("cli", "report", "cases", "campaigns", "research/comparison", "research/reproduction")
NO_MODULES = (_OURS, _INTERACTIVE)
"""What fingerprints are of besides the modules of the user."""
NO_FILE = "no file"
"""The fingerprint of a module that cannot be read in a process."""
_DIGITS = 16  # of a fingerprint; enough to tell changes, short enough to be read


def fingerprints(parts: Iterable[object]) -> dict[str, str]:
    """Return the fingerprint of everything that policies, or what makes them, stand on, by name:
    ``evenhand``, modules, and what a notebook defines as ``__main__.Name``.

    Examples
    --------
    >>> list(fingerprints(["uniform"]))
    ['evenhand']
    """
    found, modules, own = {_OURS: build()}, set[str](), set[str]()
    for part in _callables(parts):
        own.add(_top(part.__module__))
        for origin in part.__mro__ if isinstance(part, type) else (part,):
            if origin.__module__ == _INTERACTIVE:
                meaning = _meaning(origin, modules, set())
                found[f"{_INTERACTIVE}.{origin.__qualname__}"] = _short(repr(meaning))
            else:
                modules.add(origin.__module__)
    for name in sorted(_closure(modules, own)):
        found[name] = module_fingerprint(name)
    return found


def module_fingerprint(name: str) -> str:
    """Return the fingerprint of a module's file; says so, if there is none in this process."""
    file = _file(name)
    if file is None:
        return NO_FILE
    content = file.read_bytes()
    _refuse_outdated(name, content)
    return _short(content)


@cache
def build(*, kernels: bool = True) -> str:
    """Return which evenhand this is: its version, and a fingerprint of its code; without
    ``kernels``, which are compiled anew on every machine, for others than this one.
    """
    home = Path(__file__).resolve().parents[2]
    endings = (".py", *EXTENSION_SUFFIXES) if kernels else (".py",)
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        place = path.relative_to(home).as_posix()
        if place.endswith(endings) and not place.startswith(_APART):
            digest.update(f"{place}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return f"{version(_OURS)}, {digest.hexdigest()[:_DIGITS]}"


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return what has another fingerprint now, or stands on one side only, in words."""
    names = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    return [
        f"evenhand ({then.get(_OURS)}; now {now.get(_OURS)})" if name == _OURS else name
        for name in names
    ]


def _callables(parts: Iterable[object]) -> Iterator[Any]:
    """Yield the classes and functions among some values: inside of partials and lists, too, and
    by the names of policies.
    """
    for part in parts:
        if isinstance(part, partial):
            yield from _callables([part.func, *part.args, *part.keywords.values()])
        elif isinstance(part, list | tuple):
            yield from _callables(part)
        elif isinstance(part, str) and part in registered_policies():
            yield policy_class(part)
        elif callable(part) and hasattr(part, "__qualname__"):
            yield part


def _closure(names: Iterable[str], own: Container[str]) -> set[str]:
    """Return the modules of the user's own among some, and among all that these import."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in seen or (_top(name) not in own and _is_installed(_top(name))):
            continue
        if _file(name) is not None and _top(name) != _OURS:
            seen.add(name)
            waiting += [*_imports(name), name.rpartition(".")[0]]
    return seen


def _top(module: str) -> str:
    return module.partition(".")[0]


@cache
def _is_installed(top: str) -> bool:
    """Tell whether a package came with Python, or was installed by somebody, or is not there."""
    if top in sys.stdlib_module_names:
        return True
    file = _file(top)
    places = getattr(sys.modules.get(top), "__path__", ()) if file is None else [file]
    return all(
        not _INSTALLED.isdisjoint(Path(place).parents) or not _FOLDERS.isdisjoint(Path(place).parts)
        for place in places
    )


_INSTALLED = {Path(p) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
    if (p := sysconfig.get_path(kind))}  # fmt: skip
_FOLDERS = {"site-packages", "dist-packages"}


def _file(name: str) -> Path | None:
    """Return the file of a module; None if it has none, or cannot be found."""
    module = sys.modules.get(name)
    origin = getattr(module, "__file__", None)
    if module is None and name:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec is not None and spec.has_location else None
    return Path(origin) if origin is not None and os.path.isfile(origin) else None


def _refuse_outdated(name: str, content: bytes) -> None:
    """Raise `InputError` if what is loaded of a module is not what its file says now."""
    module = sys.modules.get(name)
    # others, such as that of pytest, compile something else than what is written
    if module is None or type(module.__loader__) is not SourceFileLoader:
        return
    path = str(module.__file__)
    said = set(_codes(compile(content, path, "exec", dont_inherit=True)))
    for value in _members(module):
        if value.__code__.co_filename == path and _code(value.__code__) not in said:
            raise InputError(
                f"the file of module {name!r} was changed after it was loaded ({value.__qualname__}"
                " is not what stands there), so that runs of it cannot be told from those of the "
                "new one. Start Python again, or reload the module and what uses it."
            )


def _members(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods that a module defines."""
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        parts = vars(value).values() if isinstance(value, type) else (value,)
        yield from (part for part in parts if isinstance(part, FunctionType))


def _imports(name: str) -> Iterator[str]:
    """Yield what a module's source imports, for types alone or not; names may be no modules."""
    file = _file(name)
    if file is None or file.suffix != ".py":
        return
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                start = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*start, base] if base else start)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _meaning(value: Any, modules: set[str], seen: set[int]) -> object:
    """Return what something that a notebook or script defines does, as nested tuples; ``modules``
    is told what it uses from elsewhere.
    """
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, staticmethod | classmethod | property):
        inner = value.fget if isinstance(value, property) else value.__func__
        return type(value).__name__, _meaning(inner, modules, seen)
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype), value.shape, _short(value.tobytes())
    if value is None or isinstance(value, int | float | complex | str | bytes):
        return repr(value)
    name = getattr(value, "__qualname__", type(value).__qualname__)
    if id(value) in seen:
        return name
    seen.add(id(value))
    if isinstance(value, list | tuple | dict):
        parts = list(value.items()) if isinstance(value, dict) else value
        return tuple(_meaning(part, modules, seen) for part in parts)
    if isinstance(value, ModuleType):
        modules.add(value.__name__)
    if not isinstance(value, type | FunctionType) or value.__module__ != _INTERACTIVE:
        modules.add(getattr(value, "__module__", None) or type(value).__module__)
        return name
    if isinstance(value, type):
        kept = sorted((n, v) for n, v in vars(value).items() if n not in _INCIDENTAL)
        within = tuple((name, _meaning(part, modules, seen)) for name, part in kept)
        return tuple(_meaning(base, modules, seen) for base in value.__bases__), within
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    known = value.__globals__ | {name: cell.cell_contents for name, cell in cells}
    used = sorted(_names(value.__code__) & known.keys())
    around = tuple((name, _meaning(known[name], modules, seen)) for name in used)
    given = (value.__defaults__, value.__kwdefaults__)
    return _code(value.__code__), _meaning(given, modules, seen), around


_INCIDENTAL = ("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__",
    "__static_attributes__", "__abstractmethods__", "_abc_impl", "__annotations__")  # fmt: skip


def _names(code: CodeType) -> set[str]:
    """Return the names of what a function uses from around it, and what is defined inside it."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in _OUTSIDE}
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return found.union(code.co_freevars, *map(_names, inner))


_OUTSIDE = ("LOAD_GLOBAL", "LOAD_NAME")


def _code(code: CodeType) -> str:
    """Return a fingerprint of what a function does, wherever it stands and whatever it says."""
    constants = [
        _code(part)
        if isinstance(part, CodeType)
        else repr(sorted(map(repr, part)) if isinstance(part, frozenset) else part)
        for part in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return _short(repr((code.co_code, constants, names, code.co_flags)))


def _codes(code: CodeType) -> Iterator[str]:
    """Yield the fingerprints of a module's code and of all that is defined in it."""
    yield _code(code)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _short(content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
