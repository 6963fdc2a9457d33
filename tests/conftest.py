"""Settings shared by all tests; its place puts `reference` and `instances` on the import path."""

from __future__ import annotations

from functools import cache

import typer.testing
from hypothesis import HealthCheck, settings

# The runner makes all commands anew for every call, 60 times the work of the call itself. They are
# values that no call changes.
typer.testing._get_command = cache(typer.testing._get_command)

# The same examples on every machine and run; solves vary in time, so no deadline.
settings.register_profile(
    "evenhand",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

# Other examples in every run, and many, with nothing remembered from the last one: `make fuzz`,
# or pytest's `--hypothesis-profile=fuzz`. A failure prints the line that repeats it.
settings.register_profile(
    "fuzz",
    settings.get_profile("evenhand"),
    derandomize=False,
    database=None,
    max_examples=2000,
    print_blob=True,
)

settings.load_profile("evenhand")
