"""Whatever the linear algebra of a machine adds first, policies ask and decide the same.

OpenBLAS has kernels for each kind of processor, whose sums differ in the last bits;
OPENBLAS_CORETYPE chooses between them. Where it has no effect, on other processors or with another
library, the three runs are one and the same and agree for that reason. Whoever asks for one
evaluation at a time is broken off after 200 (by day 25): a tie that hangs on rounding shows long
before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_features__

import evenhand

WIDEST = "SkylakeX" if __cpu_features__["AVX512_SKX"] else "Sandybridge"  # that runs here
KERNELS = ("Nehalem", "Haswell", WIDEST)

PLAY = """
import json
import sys

from evenhand.research.comparison import chosen, entrants
from evenhand.research.environments import SimulatedEvaluations
from evenhand.errors import EvenhandError
from evenhand.policies import registered_policies

asked, (one_in, most) = {}, map(int, sys.argv[1:])
for instance in chosen().over([4_000]).instances[::one_in]:
    problem = instance.problems()[0]
    for entrant in entrants(registered_policies()):
        player, name = entrant.with_options(value_bound=instance.value_bound), entrant.name
        try:
            policy = player.policy(problem, instance.horizon, seed=1)
        except EvenhandError as refusal:
            asked[f"{instance.words}: {name}"] = str(refusal)
            continue
        evaluations, asks = SimulatedEvaluations(problem, seed=1), []
        while not policy.finished and len(asks) < most:
            allocation = policy.ask()
            asks.append(allocation.counts.tolist())
            policy.tell(evaluations.evaluate(allocation))
        asked[f"{instance.words}: {name}"] = [asks, policy.recommend().option]
print(json.dumps(asked))
"""


@pytest.mark.parametrize(
    ("one_in", "most"), [(16, 25), pytest.param(1, 200, marks=pytest.mark.nightly)]
)
def test_policies_ask_and_decide_the_same_on_every_kernel(one_in: int, most: int) -> None:
    """On every instance, or on one of several, with so many asks at most."""
    source = str(Path(evenhand.__file__).parents[1])
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PLAY, str(one_in), str(most)],
            env=os.environ
            | {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": source},
            stdout=subprocess.PIPE,
            text=True,
        )
        for kernel in KERNELS
    ]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    first, *others = map(json.loads, outputs)
    assert sum(isinstance(found, list) for found in first.values()) > 100 / one_in
    for other in others:
        assert [name for name in first if other[name] != first[name]] == []
