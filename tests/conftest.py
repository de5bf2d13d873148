"""Settings that every test shares: no network, one thread per test run, hypothesis without deadlines."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")

settings.register_profile(
    "passnet",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],  # says how busy the machine is, not what is wrong
)
settings.load_profile("passnet")
