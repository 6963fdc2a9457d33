"""Settings shared by all tests; its place puts `reference` and `instances` on the import path."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples on every machine and run; solves vary in time, so no deadline.
settings.register_profile(
    "evenhand",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("evenhand")
