"""Change states of policies at random, and see that none does harm: a state is data, never trusted.

    python tests/mutants.py --number 10000 --seed 7
    python tests/mutants.py --seed 7 --first 4711 --number 1       # one of them again

A mutant is the state of a policy, as JSON would carry it, with one or two changes. It is restored,
asked, told, asked again and looked at, in a process of its own with a limit of time and memory. It
must be refused in words (an `EvenhandError`), or be a policy that works. Whatever else happens,
a signal, a hang, too much memory, another exception or a nonsensical answer, is bad: it is printed
by where it happened, and the exit code is 1.

States are those of every registered policy, on options and on a panel where it plays that, with
all the settings of `SETTINGS` that it knows, at several moments of a run.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import numpy as np

import evenhand as eh
from evenhand.errors import EvenhandError
from evenhand.policies import policy_class

SECONDS = 10.0  # of the processor for one mutant; the slowest sound state takes a tenth of it
MEMORY = 2 << 30  # bytes beyond what the process has
HORIZON = 400
MOMENTS = (0, 1, 4, 40)  # rounds that were told
OPTIONS = eh.ActionSet(
    [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.5, 0.5]], ["home", "away", "away", "home"]
)
PANEL = eh.Questions.panel(
    {"Ann": "fr", "Bo": "it", "Cy": "us"}, {"P": "fr", "Q": "it"}, capacity=None
)
LIMITED = eh.Questions.panel(
    {"Ann": "fr", "Bo": "it", "Cy": "us"}, {"P": "fr", "Q": "it"}, capacity=9, prices=[1.0, 2.0]
)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"noise_scale": 0.5},
    {"noise_scale": 0.5, "budget": 0.05},  # of an envelope: its core plays
    {"budget": 70.0},
    {"horizon_known": False},
    {"batch": 3},
    {"cost": "evaluation", "worth": 50.0},
    {"ridge": 0.5, "switching": 0.1},
    {"comparisons": "pairs", "beta": "log", "factor": 0.5},
    {"bias_bound": 2.0, "scale": 0.5},
    {"exploration": 50.0, "delta": 0.1, "value_bound": 2.0, "seed": 5},
    {"threshold": "usual", "confidence": 0.9, "tolerance": 0.1},
    {"deviation": 0.3},
    {"noise_scale": 0.5},
)

State = dict[str, Any]
Place = tuple[Any, ...]


class Sample(NamedTuple):
    """A sound state, and whose it is."""

    policy: str
    name: str
    state: State


# ------------------------------------------------------------------------------ sound states


def samples() -> list[Sample]:
    """Return the states of all policies, each once."""
    found: dict[str, Sample] = {}
    for name, policy, where in _policies():
        for before, moment in pairwise((0, *MOMENTS)):
            _play(policy, moment - before)
            for asked in (False, True):
                if asked:
                    policy.ask(2, policy.ask().counts // 2)
                text = json.dumps(policy.state())
                called = f"{where}, {moment} rounds{', asked' * asked}"
                found.setdefault(text, Sample(name, called, json.loads(text)))
    return list(found.values())


def _policies() -> Iterator[tuple[str, Any, str]]:
    """Yield fresh policies: of every name, on all that it plays, with all settings it knows."""
    for name in eh.registered_policies():
        cls = policy_class(name)
        for where, asked in (("options", OPTIONS), ("a panel", PANEL), ("a few", LIMITED)):
            for settings in SETTINGS:
                for told in ({}, {"omega": 0.25}):  # which an oracle must know, and others refuse
                    try:
                        policy = cls(asked, HORIZON, **settings, **told)
                    except (TypeError, EvenhandError):  # it knows none of that, or cannot play it
                        continue
                    yield name, policy, f"{name} on {where} {settings or ''}"
    for inside in ("uniform", "phased-elimination"):
        policy = eh.policies.Certified(
            eh.policy(inside, OPTIONS, HORIZON, noise_scale=0.5), budget=0.05
        )
        yield "certified", policy, f"certified {inside}"


def _play(policy: Any, rounds: int) -> None:
    for _ in range(rounds):
        counts = policy.ask().counts
        if not counts.any():
            return
        policy.tell(_scores(counts, policy.spent))


def _scores(counts: Any, seed: int) -> eh.Feedback:
    """Return scores by the number of the question and a little noise, however many they are."""
    rng = np.random.default_rng(seed % 2**32)
    means = np.sin(np.arange(len(counts))) + 0.3 * rng.standard_normal(len(counts))
    squares = counts * (means**2 + np.where(counts > 1, 0.1, 0.0))
    return eh.Feedback(counts, counts * means, squares)


# ------------------------------------------------------------------------------ changes


def mutated(state: State, rng: np.random.Generator, within: Place = ()) -> tuple[State, str]:
    """Return the state with one or two changes, and what they are."""
    changed, said = copy.deepcopy(state), []
    for _ in range(int(rng.integers(1, 3))):
        inside = _at(changed, within)
        if not isinstance(inside, dict | list) or not inside:
            break  # there is nothing, or the first change has left nothing
        place = (*within, *_place(inside, rng))
        holder = _at(changed, place[:-1])
        old = holder[place[-1]]
        changes = _changes(holder, place[-1], rng)
        what = list(changes)[int(rng.integers(len(changes)))]
        changes[what]()
        said.append(f"{'.'.join(map(str, place))}: {old!r:.40} {what}")
    return changed, "; ".join(said)


def _place(state: State, rng: np.random.Generator) -> Place:
    """Return a place in a state: as often a random walk, which is soon there, as any place."""
    if rng.random() < 0.5:
        every = list(_places(state))
        return every[int(rng.integers(len(every)))]
    place: Place = ()
    inner: Any = state
    while isinstance(inner, dict | list) and inner:
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        place = (*place, keys[int(rng.integers(len(keys)))])
        inner = inner[place[-1]]
        if rng.random() < 0.1:
            break
    return place


def _places(value: Any, before: Place = ()) -> Iterator[Place]:
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in inside:
        yield (*before, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*before, key))


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _changes(holder: Any, key: Any, rng: np.random.Generator) -> dict[str, Callable[[], None]]:
    """Return what can be done to one place, by what it is called."""
    old = holder[key]

    def put(value: Any) -> Callable[[], None]:
        return lambda: holder.__setitem__(key, copy.deepcopy(value))

    values: dict[str, Any] = {}
    if isinstance(old, int | float) and abs(old) < 1e300:
        values |= {
            "as a float": float(old),
            "with a half": old + 0.5,
            "with the other sign": -old,
            "one more": old + 1,
            "one less": old - 1,
            "nearly": old * (1.0 + 1e-12),
            "a million times": old * 10**6,
            "a millionth": old * 1e-6,
            "huge": old * 10**15 + 10**15,
            "becomes 0": 0,
            "becomes 1": 1,
            "becomes 2": 2,
        }
    if isinstance(old, bool):
        values["the other"] = not old
    if isinstance(old, list) and old:
        values |= {
            "without its last": old[:-1],
            "without its first": old[1:],
            "with its last twice": [*old, old[-1]],
            "twice": old + old,
            "backwards": old[::-1],
            "with None behind": [*old, None],
        }
    if not values or rng.random() < 0.4:
        values = {
            "becomes None": None,
            "becomes 0": 0,
            "becomes -1": -1,
            "becomes 0.5": 0.5,
            "becomes true": True,
            "becomes NaN": {"number": "nan"},
            "becomes inf": {"number": "inf"},
            "becomes -inf": {"number": "-inf"},
            "becomes 1e308": 1e308,
            "becomes -1e308": -1e308,
            "becomes 1e-320": 1e-320,
            "becomes 2**63": 2**63,
            "becomes 10**400": 10**400,
            "becomes a text": "nonsense",
            "becomes no text": "",
            "becomes half a character": "\ud800",
            "becomes the text of it": str(old),
            "becomes []": [],
            "becomes {}": {},
            "becomes deep": _deep(900),  # about what JSON can carry
            "is nested": [old],
        }
    changes = {what: put(value) for what, value in values.items()}
    if isinstance(holder, dict):
        changes["is deleted"] = lambda: holder.pop(key)
        changes["is renamed"] = lambda: holder.__setitem__(f"{key}s", holder.pop(key))
        changes["has a companion"] = lambda: holder.__setitem__(f"{key}s", 1)
        other = list(holder)[int(rng.integers(len(holder)))]
        changes[f"becomes what {other!r} is"] = put(holder[other])
    else:
        changes["is dropped"] = lambda: holder.pop(key)
        changes["is doubled"] = lambda: holder.insert(key, copy.deepcopy(old))
    return changes


def _deep(n: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(n):
        deep = [deep]
    return deep


# ------------------------------------------------------------------------------ what becomes of it


def tried(state: State) -> str:
    """Restore a state and use it; return what came of it."""
    step = "restore"
    try:
        policy = eh.restore(state)
        for _ in range(3):
            step = "ask"
            counts = _sound(policy, policy.ask())
            _sound(policy, policy.ask(2))
            some = np.minimum(counts, 5)
            if some.any():
                step = "ask with some pending"
                _sound(policy, policy.ask(2, some))
                step = "tell"
                policy.tell(_scores(some, policy.spent))
                if (rest := np.minimum(counts - some, policy.limits.outstanding)).any():
                    step = "tell the rest"
                    policy.tell(_scores(rest, policy.spent))
            step = "recommend"
            decision = policy.recommend()
            if not 0 <= decision.option < len(policy.options):
                return f"nonsense at recommend: option {decision.option}"
            step = "bias"
            if (bias := policy.bias()).low > bias.high:
                return f"nonsense at bias: {bias}"
        step = "state"
        json.dumps(policy.state())
    except EvenhandError as error:
        if not str(error).strip():
            return f"no words at {step}"
        return f"refused{f' at {step}' * (step != 'restore')}: {error}"
    except MemoryError:
        return f"memory at {step}{_where()}"
    except Exception as error:
        return f"{type(error).__name__} at {step}{_where()}: {error!s:.120}"
    return "works"


def _where() -> str:
    """Return the last place in evenhand that an exception came through."""
    places = [
        (f.filename.split("/evenhand/")[-1], f) for f in traceback.extract_tb(sys.exc_info()[2])
    ]
    within = [f" in {file}:{f.lineno}" for file, f in places if file != f.filename]
    return within[-1] if within else ""


def _sound(policy: Any, allocation: Any) -> Any:
    """Return the counts of an answer; an error if they are none."""
    counts = allocation.counts
    if counts.shape != (len(policy.actions),) or counts.dtype != np.int64 or (counts < 0).any():
        raise AssertionError(f"asked for {counts!r}")
    if int(counts.sum()) > policy.remaining:
        raise AssertionError(f"asked for {counts!r} with {policy.remaining} left")
    return counts


def alone(work: Callable[[], str]) -> str:
    """Run in a copy of this process, with limits; return what it says, or how it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, whoever shares it
            signal.setitimer(signal.ITIMER_REAL, 20.0 * SECONDS)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY,) * 2)
            sys.setrecursionlimit(1000)
            os.write(writer, work().encode("utf-8", "replace"))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hangs" if name in ("SIGPROF", "SIGALRM") else name
    return said or "says nothing"


def is_bad(outcome: str) -> bool:
    return outcome != "works" and not outcome.startswith("refused")


def kind(outcome: str) -> str:
    """Return an outcome in a word or two."""
    if not is_bad(outcome) or outcome.startswith("SIG") or outcome == "hangs":
        what, _, _ = outcome.partition(":")
        return what.split(" at ")[0] + " later" * (" at " in what)
    return "raw"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=1000, help="how many mutants")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=None, help="a fresh one if not given")
    parser.add_argument("--policy", help="only mutants of this policy")
    parser.add_argument("--within", default="", help="only changes within, such as run.memory")
    parser.add_argument("--sound", action="store_true", help="the states as they are, no mutants")
    asked = parser.parse_args()
    seed = asked.seed
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    within = tuple(filter(None, asked.within.split(".")))
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10_000)  # for what makes deep mutants, not for what reads them
    states = [one for one in samples() if asked.policy in (None, one.policy)]
    print(f"{len(states)} states, seed {seed}", flush=True)
    by_policy: dict[str, list[Sample]] = defaultdict(list)
    for one in states:
        by_policy[one.policy].append(one)
    names = sorted(by_policy)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    bad: dict[str, list[str]] = defaultdict(list)
    with contextlib.suppress(KeyboardInterrupt):  # what was tried until then is shown
        for number in range(asked.first, asked.first + asked.number):
            if asked.sound:
                if number >= len(states):
                    break
                sample, (mutant, said) = states[number], (states[number].state, "as it is")
            else:
                rng = np.random.default_rng([seed, number])
                of_one = by_policy[names[int(rng.integers(len(names)))]]
                sample = of_one[int(rng.integers(len(of_one)))]
                mutant, said = mutated(sample.state, rng, within)
            outcome = alone(lambda state=mutant: tried(state))
            table[sample.policy][kind(outcome)] += 1
            if is_bad(outcome) or (asked.sound and outcome != "works"):
                bad[outcome.split(": ")[0]].append(f"{number}: {sample.name}: {said}: {outcome}")
    _print(table, bad)
    return 1 if bad else 0


def _print(table: dict[str, Counter[str]], bad: dict[str, list[str]]) -> None:
    columns = sorted({what for row in table.values() for what in row})
    print(f"{'':24}" + "".join(f"{what:>16}" for what in columns))
    for name in sorted(table):
        print(f"{name:24}" + "".join(f"{table[name][what] or '':>16}" for what in columns))
    total = sum(table.values(), Counter())
    print(f"{'all':24}" + "".join(f"{total[what]:>16}" for what in columns))
    for where, mutants in sorted(bad.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(mutants)} × {where}", *mutants[:3], sep="\n    ")


if __name__ == "__main__":
    sys.exit(main())
