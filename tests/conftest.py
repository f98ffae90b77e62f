"""What every test may rely on."""

from __future__ import annotations

import signal

# A shell starts background jobs with Ctrl-C ignored, and Python then installs no handler for it: the tests that
# interrupt a run would wait for ever. Some CI systems start their scripts this way.
signal.signal(signal.SIGINT, signal.default_int_handler)
