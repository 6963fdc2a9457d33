"""Ask and tell as `Policy` does them, and policies by name."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from asking import Scripted
from evenhand import policies
from evenhand.policies import Play, registry
from evenhand.research.comparison import entrants

ACTIONS = eh.ActionSet([[1.0], [0.5], [0.25]], ["home", "away", "away"], ["Ada", "Bo", "Cy"])


def feedback(*counts: int) -> eh.Feedback:
    n = np.array(counts)
    return eh.Feedback(n, 0.5 * n, 0.3 * n)


def test_a_generator_becomes_ask_and_tell() -> None:
    policy = Scripted(ACTIONS, 6, [[1, 2, 0], [0, 0, 3]])
    assert policy.ask() is policy.ask()
    assert policy.ask().counts.tolist() == [1, 2, 0]
    assert (policy.ask().round, policy.ask().total, policy.spent) == (0, 3, 0)
    policy.tell(feedback(1, 2, 0))
    assert (policy.ask().round, policy.spent, policy.remaining) == (1, 3, 3)
    assert policy.ask().counts.tolist() == [0, 0, 3]
    assert not policy.finished
    policy.tell(feedback(0, 0, 3))
    assert policy.finished
    assert policy.ask().counts.tolist() == [0, 0, 0]
    assert [told.counts.tolist() for told in policy.told] == [[1, 2, 0], [0, 0, 3]]


def test_telling_without_asking_is_telling_what_would_have_been_asked() -> None:
    policy = Scripted(ACTIONS, 6, [[1, 2, 0]])
    policy.tell(feedback(1, 2, 0))
    assert policy.spent == 3


def test_a_policy_that_ends_early_is_finished_with_evaluations_left() -> None:
    policy = Scripted(ACTIONS, 100, [[1, 0, 0]])
    policy.tell(feedback(1, 0, 0))
    assert policy.finished
    assert policy.remaining == 99
    with pytest.raises(eh.InputError, match="done"):
        policy.tell(feedback(0, 0, 0))


@pytest.mark.parametrize("counts", [[4, 0, 0], [-1, 0, 0], [2, -1, 2]])
def test_a_policy_cannot_ask_for_what_there_is_not(counts: list[int]) -> None:
    """A fault of the policy, not of its user."""
    with pytest.raises(RuntimeError, match="'scripted' asked for"):
        Scripted(ACTIONS, 3, [counts]).ask()


def malformed(good: eh.Feedback) -> dict[str, tuple[Any, Any, Any]]:
    """What `Feedback` would be made of if it were wrong, each in one way, by why it is refused."""
    counts, sums, squares = good.parts
    x, k = int(np.argmax(counts)), len(counts)
    at = np.eye(1, k, x, dtype=np.int64)[0]

    def put(values: Any, value: float) -> Any:
        return np.where(at > 0, value, values)

    return {
        "an option too few": (counts[:-1], sums[:-1], squares[:-1]),
        "an option too many": (np.append(counts, 0), np.append(sums, 0), np.append(squares, 0)),
        "a table of counts": (counts[:, None], sums, squares),
        "a table of sums": (counts, sums[None, :], squares),
        "sums of squares of one option": (counts, sums, squares[x]),
        "half an evaluation too many": (counts + 0.5 * at, sums, squares),
        "counts below zero": (counts - 2 * counts.max(), sums, squares),
        "words for counts": (["one"] * k, sums, squares),
        "words for sums": (counts, ["one"] * k, squares),
        "a sum that is not a number": (counts, put(sums, np.nan), squares),
        "an infinite sum": (counts, put(sums, -np.inf), squares),
        "an infinite sum of squares": (counts, sums, put(squares, np.inf)),
        "a sum of squares below zero": (counts, put(sums, 0.0), put(squares, -1.0)),
        "a sum of squares too small": (
            counts,
            put(sums, 2.0 * counts[x]),
            put(squares, 3.9 * counts[x]),
        ),
        "a sum too large to square": (counts, put(sums, 1e200), put(squares, 1e300)),
        "nothing evaluated": (0 * counts, 0.0 * sums, 0.0 * squares),
        "a sum without evaluations": (counts * (at == 0), sums + at, squares + at),
    }


@pytest.mark.parametrize("name", ["uniform", "phased-elimination", "certain-choice", "oful"])
def test_what_cannot_be_right_is_refused_and_leaves_no_trace(name: str) -> None:
    policy = eh.policy(name, ACTIONS, 60)
    while policy.spent < 6:
        counts = policy.ask(3).counts
        good = eh.Feedback(counts, 0.5 * counts, 0.3 * counts)
        before = json.dumps(policy.state())
        where = f"feedback for option {np.argmax(counts)} cannot be|feedback.* must|no evaluations"
        tell: list[Any] = [policy.tell]
        try:  # some take what nobody asked for
            eh.restore(policy.state()).observe(good)
            tell.append(policy.observe)
        except eh.InputError:
            pass
        for what, parts in malformed(good).items():
            for call in tell:
                with pytest.raises(eh.InputError, match=where):
                    call(eh.Feedback(*parts))
                assert json.dumps(policy.state()) == before, what
        with pytest.raises(eh.InputError, match=r"evaluations, but only . were asked for"):
            policy.tell(eh.Feedback(policy.limits.outstanding + 1, 0.0 * counts, 0.0 * counts))
        out = policy.limits.outstanding
        for pending in (out + 1, -1 - out, [0.5] * 3, ["one"] * 3):
            with pytest.raises(eh.InputError):
                policy.ask(None, pending)
        for n in (0, -1, 1.5, np.nan, True, "many"):
            with pytest.raises(eh.InputError):
                policy.ask(n)  # type: ignore[arg-type] # on purpose
        assert json.dumps(policy.state()) == before
        policy.tell(eh.Feedback(list(counts.astype(float)), list(good.sums), good.sums_of_squares))


@pytest.mark.parametrize(("name", "label", "wrong"), [
    ("uniform", "horizon", (0, -1, 2.5, np.nan, np.inf, True, "many")),
    ("uniform", "noise_scale", (0.0, -1.0, np.nan, np.inf, "loud")),
    ("uniform", "value_bound", (0.0, -1.0, np.nan, np.inf, "high")),
    ("uniform", "budget", (0.0, -1.0, np.nan, "rich")),
    ("oful", "delta", (0.0, 1.0)), ("oful", "ridge", (0.0,)), ("oful", "switching", (-0.1, np.inf)),
    ("oful-debiased", "bias_bound", (0.0,)), ("oracle", "omega", ([0.1, 0.2], np.nan)),
    ("ids-directed", "beta", ("sqrt",)), ("ids-directed", "factor", (0.0, np.nan)),
    ("ids-directed", "comparisons", ("some",)), ("ids-directed", "switching", (-0.1,)),
    ("ids-directed", "bias_bound", (0.0,)), ("ids-directed", "ridge", (-1.0,)),
    ("ids-directed", "delta", (1.0,)), ("thompson-sampling", "scale", (-1.0, np.nan, "wide", None)),
    *((name, label, wrong) for name in ("lingape", "track-and-stop") for label, wrong in (
        ("confidence", (1.0, "high")), ("tolerance", (-1.0,)), ("threshold", ("bold",)))),
    ("explore-then-commit", "exploration", (0, -1.0, 101, np.nan, "some", True)),
    ("careful-choice", "at_most", (10,)), ("careful-choice", "confidence", (0.2, 1.0)),
    ("careful-choice", "tolerance", (-1.0,)), ("careful-choice", "deviation", (-1.0, "small")),
    ("careful-choice", "bounds", ((1.0, 1.0), 7)), ("certain-choice", "at_most", (5,)),
    ("certain-choice", "confidence", (1.0,)), ("certain-choice", "tolerance", (-1.0,)),
    ("certain-choice", "looks", (0.9,)), ("certain-choice", "bounds", ((1.0, 0.0),)),
])  # fmt: skip
def test_bad_arguments_are_named(name: str, label: str, wrong: tuple[Any, ...]) -> None:
    for value in wrong:
        with pytest.raises(eh.InputError, match=label):
            eh.policy(name, ACTIONS, **({"horizon": 100} | {label: value}))


def test_what_is_asked_is_the_same_until_it_is_told_and_cannot_be_written_to() -> None:
    policy = eh.policy("certain-choice", ACTIONS, 60)
    first = policy.ask(2)
    assert policy.ask(2) is first
    with pytest.raises(ValueError, match="read-only"):
        first.counts[0] += 1


def test_sums_of_squares_may_be_as_small_as_rounding_makes_them() -> None:
    """A thousand equal evaluations of 0.1: sum²/n and the sum of squares differ by rounding."""
    policy = Scripted(ACTIONS, 1000, [[1000, 0, 0]])
    values = np.full(1000, 0.1)
    policy.tell(eh.Feedback([1000, 0, 0], [values.sum(), 0, 0], [(values**2).sum(), 0, 0]))
    assert policy.spent == 1000


def test_an_error_in_a_policy_does_not_look_like_its_end() -> None:
    """A policy that breaks stays broken: asking again must not say that it is done."""

    class Broken(Scripted):
        def play(self) -> Play:
            yield {0: 1}
            raise ZeroDivisionError

    policy = Broken(ACTIONS, 5)
    with pytest.raises(ZeroDivisionError):
        policy.tell(feedback(1, 0, 0))
    with pytest.raises((RuntimeError, ZeroDivisionError)):
        policy.tell(feedback(1, 0, 0))
    with pytest.raises((RuntimeError, ZeroDivisionError)):
        policy.ask()


def test_randomness_depends_on_seed_and_round_only() -> None:
    one, two = (Scripted(ACTIONS, 6, [[1, 0, 0]], seed=3) for _ in range(2))
    first = one._rng().random()
    assert one._rng().random() == first == two._rng().random()
    one.tell(feedback(1, 0, 0))
    assert one._rng().random() != first
    assert Scripted(ACTIONS, 6, seed=4)._rng().random() != first


def test_an_estimate_covers_its_ends() -> None:
    estimate = eh.Estimate(0.0, -1.0, 2.0, 0.95)
    assert [estimate.covers(x) for x in (-1.1, -1.0, 0.0, 2.0, 2.1)] == [
        False, True, True, True, False,
    ]  # fmt: skip


def test_policies_by_name() -> None:
    assert {"fair-phased-elimination", "uniform"} <= set(eh.registered_policies())
    for name in eh.registered_policies():
        truth = {"omega": 0.5} if name == "oracle" else {}
        policy = eh.policy(name, ACTIONS, 50, noise_scale=2.0, **truth)
        assert type(policy).name == name
        assert (policy.horizon, policy.noise_scale) == (50, 2.0)


def test_options_reach_the_policy() -> None:
    policy = eh.policy("fair-phased-elimination", ACTIONS, 50, delta=0.25)
    assert isinstance(policy, eh.FairPhasedElimination)
    assert policy.delta == 0.25


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fair-phase-elimination", "Did you mean 'fair-phased-elimination'"),
        ("unifrom", "Did you mean 'uniform'"),
        ("xyz", "no policy 'xyz'. There are: .*fair-phased-elimination.*uniform"),
    ],
)
def test_an_unknown_name_says_what_there_is(given: str, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        eh.policy(given, ACTIONS, 50)


NEW = """
import numpy as np

from evenhand.policies import Decision, Estimate, Policy
from evenhand.policies.registry import registered


@registered
class Newcomer(Policy):
    name = "newcomer"

    def play(self):
        yield {0: self.remaining}

    def recommend(self):
        return Decision.of(self, 0)

    def bias(self):
        return Estimate(np.nan, -np.inf, np.inf, 0.95)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second folder of policies, looked at as if its files lay beside the others."""
    monkeypatch.setattr(policies, "__path__", [*policies.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_BUILT_IN", dict(registry.built_in_policies()))
    registry._import_all.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
        vars(policies).pop(name.rpartition(".")[2], None)


def test_a_new_policy_is_one_file(folder: Path) -> None:
    assert "newcomer" not in eh.registered_policies()
    (folder / "newcomer.py").write_text(NEW)
    importlib.invalidate_caches()
    registry._import_all.cache_clear()
    assert "newcomer" in eh.registered_policies()
    assert eh.policy("newcomer", ACTIONS, 7).ask().total == 7
    assert policies.Newcomer is registry.policy_class("newcomer")
    assert "newcomer" in [entrant.name for entrant in entrants()]
    problem = eh.BiasedLinearBandit(ACTIONS, gamma=[1.0] * ACTIONS.n_features, omega=0.0)
    assert len(eh.simulate(problem, "newcomer", 10, 2, progress=False).outcomes()) == 2


def test_a_file_that_cannot_be_imported_is_not_passed_over(folder: Path) -> None:
    (folder / "broken.py").write_text("import no_such_module_here")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_here"):
        eh.registered_policies()
    with pytest.raises(ModuleNotFoundError, match="no_such_module_here"):
        eh.policy("no-such-policy", ACTIONS, 5)  # nor at the second time of asking


def test_two_files_cannot_have_the_same_name(folder: Path) -> None:
    (folder / "newcomer.py").write_text(NEW.replace('"newcomer"', '"uniform"'))
    with pytest.raises(ValueError, match=r"Newcomer and Uniform are both called 'uniform'"):
        eh.registered_policies()


def test_who_is_registered_has_a_name_of_its_own() -> None:
    class Heir(eh.FairPhasedElimination):
        pass

    with pytest.raises(TypeError, match="Heir has no name of its own"):
        registry.registered(Heir)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([1, 0, 0], "array of 3 whole numbers .* it asked with list"),
        (np.array([1.0, 0.0, 0.0]), "array of 3 whole numbers .* it asked with float64"),
        (np.array([1, 0]), r"one count for each of 3 options; .* shape \(2,\)"),
        (None, "it asked with NoneType"),
    ],
)
def test_an_ask_of_the_wrong_kind_says_so(asked: object, said: str) -> None:
    class Odd(Scripted):
        def propose(self, n: object, pending: object) -> np.ndarray:
            return asked  # type: ignore[return-value]

    with pytest.raises(TypeError, match=f"policy 'scripted' must ask with .*{said}"):
        Odd(ACTIONS, 5).ask()


def test_a_policy_without_a_name_says_so() -> None:
    class Anonymous(eh.Policy):
        def recommend(self) -> eh.Decision:
            return eh.Decision.of(self, 0)

        def bias(self) -> eh.Estimate:
            return eh.Estimate(0.0, 0.0, 0.0, 0.0)

    with pytest.raises(TypeError, match="Anonymous has no name; give the class a text `name`"):
        Anonymous(ACTIONS, 5)

    class Idle(Anonymous):
        name = "idle"

    with pytest.raises(TypeError, match=r"Idle has neither play\(\) nor propose\(\) and learn\(\)"):
        Idle(ACTIONS, 5).ask()


class Restless(Scripted):
    """Asks otherwise each time its script is read: a version that changed its mind."""

    name = "restless"
    reads = 0

    def play(self) -> Play:
        type(self).reads += 1
        yield {self.reads % 3: 2}
        yield {(self.reads + 1) % 3: 2}


def test_what_was_asked_for_is_not_derived_again() -> None:
    for told in ([], [1], [1, 1], [1, 1, 1]):
        policy = Restless(ACTIONS, 6)
        for n in told:
            policy.tell(feedback(*(n * np.sign(policy.ask().counts))))
        asked, beside = policy.ask(), policy.ask(1)
        again = eh.restore(policy.state(), Restless)
        assert again.ask().counts.tolist() == asked.counts.tolist()
        assert again.ask(1).counts.tolist() == beside.counts.tolist()
        assert again.limits.outstanding.tolist() == policy.limits.outstanding.tolist()


def test_arguments_by_place_and_name_survive() -> None:
    class Loose(Scripted):
        name = "loose"

        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type]

    policy = Loose(ACTIONS, 6, [[1, 2, 0]], seed=5)
    again = eh.restore(policy.state())  # the only class of that name
    assert type(again) is Loose
    assert (again.horizon, again.seed, again.ask().counts.tolist()) == (6, 5, [1, 2, 0])


class Inside(Scripted):
    """One whose name nobody else has."""

    name = "inside"


def test_an_envelope_restores_the_policy_inside() -> None:
    policy = eh.policies.Certified(Inside(ACTIONS, 60, [[1, 2, 0], [3, 0, 3]]), budget=0.2)
    policy.tell(feedback(1, 1, 0))
    again = eh.restore(policy.state(), eh.policies.Certified)
    assert again.ask().counts.tolist() == policy.ask().counts.tolist() == [0, 1, 0]
    for each in (policy, again):
        each.tell(feedback(0, 1, 0))
    assert again.ask().counts.tolist() == policy.ask().counts.tolist()


def test_a_state_holds_no_policy_that_its_name_does_not_find() -> None:
    class Heir(eh.policies.Uniform):
        pass

    with pytest.raises(eh.InputError, match="hold a Heir: 'uniform' is the name of another policy"):
        eh.policies.Certified(Heir(ACTIONS, 60)).state()


def test_a_version_that_is_not_ours_is_named() -> None:
    state = Scripted(ACTIONS, 6).state()
    with pytest.raises(eh.InputError, match="of version 7; this evenhand reads version 1"):
        eh.restore(state | {"evenhand": 7})
    with pytest.raises(eh.InputError, match="state of 'scripted', not of 'uniform'"):
        eh.restore(state, eh.policies.Uniform)


def test_the_protocol_is_narrow() -> None:
    """Whoever runs a policy needs twelve names; a class says three things of itself."""
    public = {name for name in vars(eh.Policy) if not name.startswith("_")}
    said = {name for name in eh.Policy.__annotations__ if not name.startswith("_")}
    assert said == {"name", "spends_all", "plays_questions"}
    asked = {"ask", "tell", "observe", "plan", "begin", "state"}
    shown = {"recommend", "bias", "findings", "finished", "spent", "remaining"}
    assert public - said == asked | shown
    policy = eh.policy("uniform", ACTIONS, 10)
    used = {name for name in vars(policy) if not name.startswith("_")} - {"delta"}
    assert used - said == {
        *("actions", "questions", "options", "limits", "horizon", "seed", "observed"),
        *("noise_scale", "value_bound", "stated_noise", "stated_bound", "bounds", "checked"),
    }
