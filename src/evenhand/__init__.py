"""evenhand: the right choice from unfair evaluations.

What a name needs is loaded when the name is first used, so `import evenhand` costs nothing and
whoever never draws a picture never loads what draws. `__init__.pyi` tells type checkers and
editors the same names.
"""

from importlib import import_module

_NAMES = {
    "evenhand.actions": ("ActionSet",),
    "evenhand.answers": (
        "Answer",
        "Failure",
        "NamedBias",
        "NextQuestion",
        "Progress",
        "Question",
        "choose",
        "decide",
    ),
    "evenhand.auditing": ("Audit", "BiasEstimate", "Placebo", "Spread", "audit"),
    "evenhand.campaigns": (
        "Campaign",
        "Imported",
        "NoTicket",
        "Notice",
        "Receipt",
        "RecordVerification",
        "Status",
        "Ticket",
    ),
    "evenhand.certainty": ("CarefulChoice", "CertainBias", "CertainChoice", "PlannedChoice"),
    "evenhand.designs": (
        "Certificate",
        "Design",
        "Verification",
        "c_optimal_design",
        "g_optimal_design",
    ),
    "evenhand.research.environments": ("BiasedLinearBandit", "Latency", "SimulatedEvaluations"),
    "evenhand.errors": (
        "AbsentError",
        "AccuracyError",
        "ConflictError",
        "Confounding",
        "EvenhandError",
        "InputError",
        "NotIdentifiableError",
        "StoreError",
    ),
    "evenhand.geometry": (
        "BiasGeometry",
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
        "Certified",
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
    "evenhand.research.simulation": ("Parallel", "Results", "simulate"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {
    "families": "evenhand.research.environments.families",
    "limits": "evenhand.research.limits",
}
_ROOMS = (  # reached as `evenhand.designs`, though not part of `from evenhand import *`
    "actions",
    "answers",
    "auditing",
    "campaigns",
    "cases",
    "certainty",
    "checks",
    "designs",
    "errors",
    "geometry",
    "inspection",
    "judges",
    "planning",
    "policies",
    "questions",
    "readers",
    "report",
    "research",
    "scores",
    "testing",
)

__all__ = list(_HOMES) + list(_MODULES)


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
