"""What is exported is documented, with an example that the doctests run."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import pytest

import evenhand as eh
from evenhand import policies
from evenhand.policies import policy_class

VERBS = ["audit", "choose", "connect", "decide", "inspect", "plan", "read_scores"]
NOUNS = ["ActionSet", "Campaign", "Questions", "Scores"]
RESULTS = ["Answer", "Audit", "Decision", "Estimate", "Finding", "Inspection", "Plan", "Question"]
PAPER = [
    "BiasedLinearBandit",
    "FairPhasedElimination",
    "PricedExploration",
    "SimulatedEvaluations",
    "bias_geometry",
    "bias_optimal_design",
    "c_optimal_design",
    "delta_optimal_design",
    "families",
    "g_optimal_design",
    "kappa",
    "limits",
    "minimax_design",
    "simulate",
]
POLICIES = [
    "Allocation",
    "CertainChoice",
    "Feedback",
    "Policy",
    "policy",
    "registered_policies",
    "restore",
]
ERRORS = ["AbsentError", "EvenhandError", "InputError", "NotIdentifiableError", "StoreError"]
ROOMS = [
    "answers",
    "auditing",
    "campaigns",
    "designs",
    "errors",
    "geometry",
    "judges",
    "policies",
    "readers",
    "research",
    "search",
]


def test_the_front_row_has_these_names_and_no_others() -> None:
    named = {*VERBS, *NOUNS, *RESULTS, *PAPER, *POLICIES, *ERRORS}
    assert set(eh.__all__) == named
    seen = {name for name in dir(eh) if not name.startswith("_")} - {"import_module"}
    assert named | set(ROOMS) <= seen
    # beyond these only modules that somebody imported, which Python puts there
    assert all(inspect.ismodule(getattr(eh, name)) for name in seen - named)


@pytest.mark.parametrize("name", eh.__all__)
def test_every_exported_name_has_an_example(name: str) -> None:
    thing = getattr(eh, name)
    if inspect.ismodule(thing):
        public = [f for n, f in vars(thing).items() if not n.startswith("_")]
        own = [f for f in public if getattr(f, "__module__", None) == thing.__name__]
        assert own
        assert all(">>>" in (f.__doc__ or "") for f in own), [f for f in own if not f.__doc__]
    else:
        assert ">>>" in (thing.__doc__ or "")


def test_the_stub_has_the_names_that_the_package_has() -> None:
    """Each name in `__init__.pyi` is the thing that the package gives under that name."""
    stub = Path(eh.__file__).with_suffix(".pyi")
    scope: dict[str, object] = {}
    exec(compile(stub.read_text(), stub, "exec"), scope)
    del scope["__builtins__"]
    assert scope.pop("__annotations__") == {"__version__": "str"}
    assert set(eh.__all__) <= set(scope) <= set(dir(eh))
    assert {name for name, thing in scope.items() if getattr(eh, name) is not thing} == set()
    assert all(inspect.ismodule(getattr(eh, name)) for name in set(scope) - set(eh.__all__))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'evenhand' has no attribute 'ActionSets'"):
        eh.ActionSets  # type: ignore[attr-defined]  # noqa: B018 (the access is what is tested)


@pytest.mark.parametrize("module", [eh, policies])
def test_the_list_is_complete(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)


def test_every_registered_policy_can_be_imported() -> None:
    for name in eh.registered_policies():
        cls = policy_class(name)
        assert getattr(policies, cls.__name__) is cls
        assert cls.__name__ in dir(policies)
        assert any(">>>" in (one.__doc__ or "") for one in cls.__mro__)  # or that of its kind
