"""What the stubs say of compiled modules is what is in them."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import evenhand

(PACKAGE,) = map(Path, evenhand.__path__)
STUBS = sorted(PACKAGE.rglob("_*.pyi"))
STUBS.remove(PACKAGE / "__init__.pyi")  # of no compiled module; see test_imports


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_a_stub_says_what_is_there(stub: Path) -> None:
    parts = stub.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts))
    declared = {node.name: node for node in ast.parse(stub.read_text()).body if has_name(node)}
    assert declared
    for name, node in declared.items():
        thing = getattr(module, name, None)
        assert thing is not None, name
        if isinstance(node, ast.FunctionDef):
            assert arguments(node) == list(inspect.signature(thing).parameters)
            continue
        for member in node.body:
            if isinstance(member, ast.AnnAssign):
                assert hasattr(thing, member.target.id), f"{name}.{member.target.id}"
            elif has_name(member):
                assert hasattr(thing, member.name), f"{name}.{member.name}"
                found = inspect.getattr_static(thing, member.name)
                if inspect.isfunction(found) or inspect.ismethoddescriptor(found):
                    told = getattr(found, "__signature__", None)
                    assert told is None or arguments(member) == list(told.parameters)


def has_name(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def arguments(function: ast.FunctionDef) -> list[str]:
    given = function.args
    return [argument.arg for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
