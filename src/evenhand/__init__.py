"""evenhand: the right choice from unfair evaluations.

What a name needs is loaded when the name is first used, so `import evenhand` costs nothing and
whoever never draws a picture never loads what draws. `__init__.pyi` tells type checkers and
editors the same names.
"""

from importlib import import_module

_NAMES = {
    "evenhand.actions": ("ActionSet",),
    "evenhand.answers": ("Answer", "Question", "choose", "decide"),
    "evenhand.auditing": ("Audit", "audit"),
    "evenhand.campaigns": ("Campaign",),
    "evenhand.campaigns.remote": ("connect",),
    "evenhand.search": ("CertainChoice",),
    "evenhand.designs": ("c_optimal_design", "g_optimal_design"),
    "evenhand.errors": (
        "AbsentError",
        "EvenhandError",
        "InputError",
        "NotIdentifiableError",
        "StoreError",
    ),
    "evenhand.geometry": (
        "bias_geometry",
        "bias_optimal_design",
        "delta_optimal_design",
        "kappa",
        "minimax_design",
    ),
    "evenhand.inspection": ("Inspection", "inspect"),
    "evenhand.planning": ("Plan", "plan"),
    "evenhand.policies": (
        "Allocation",
        "Decision",
        "Estimate",
        "FairPhasedElimination",
        "Feedback",
        "Finding",
        "Policy",
        "PricedExploration",
        "policy",
        "registered_policies",
        "restore",
    ),
    "evenhand.questions": ("Questions",),
    "evenhand.readers": ("read_scores",),
    "evenhand.research.environments": ("BiasedLinearBandit", "SimulatedEvaluations"),
    "evenhand.research.simulation": ("simulate",),
    "evenhand.scores": ("Scores",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {
    "families": "evenhand.research.environments.families",
    "limits": "evenhand.research.limits",
}
_ROOMS = (  # reached as `evenhand.designs`, though not part of `from evenhand import *`
    "answers",
    "auditing",
    "campaigns",
    "search",
    "designs",
    "errors",
    "geometry",
    "inspection",
    "judges",
    "policies",
    "readers",
    "research",
)

__all__ = list(_HOMES) + list(_MODULES)
__version__ = "0.2.0"  # as in pyproject.toml: to look it up takes longer than all else here


def __getattr__(name: str) -> object:
    if name in _HOMES:
        thing = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        thing = import_module(_MODULES[name])
    elif name in _ROOMS:
        thing = import_module(f"evenhand.{name}")
    else:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    globals()[name] = thing  # found without this function from now on
    return thing


def __dir__() -> list[str]:
    return list({*globals(), *__all__, *_ROOMS})
