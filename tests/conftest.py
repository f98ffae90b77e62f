"""What every test may rely on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

# A shell starts background jobs with Ctrl-C ignored, and Python then installs no handler for it: the tests that
# interrupt a run would wait for ever. Some CI systems start their scripts this way.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Close what a test has left open: which tests share a process is chance, and matplotlib warns of twenty."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
