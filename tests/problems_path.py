"""Makes `bench/problems.py` importable from the tests: the data of the benchmark problems has one home."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_path = Path(__file__).parents[1] / "bench" / "problems.py"
_spec = importlib.util.spec_from_file_location("bench_problems", _path)
assert _spec is not None
assert _spec.loader is not None
problems = importlib.util.module_from_spec(_spec)
sys.modules["bench_problems"] = problems
_spec.loader.exec_module(problems)
