"""What every test may rely on."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

# A shell starts background jobs with Ctrl-C ignored, and Python then installs no handler for it: the tests that
# interrupt a run would wait for ever. Some CI systems start their scripts this way.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers side by side have a core each: threads of one that spin on the core of another make both slower.
worker = os.environ.get("PYTEST_XDIST_WORKER", "")
if worker and hasattr(os, "sched_setaffinity"):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close what a test has left open: which tests share a process is chance, and matplotlib warns of twenty."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
