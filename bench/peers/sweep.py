"""The sweep of one way over its tolerances in a process of its own, from the side of the bench."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from points import Case, Point, Target

BENCH = Path(__file__).resolve().parent.parent
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def environment() -> dict[str, str]:
    paths = [str(BENCH), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)}


def write_target(path: Path, right: Target) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, W=right.W, a=right.a, event_t=right.event_t)


def ended(code: int, built: bool, errors: str) -> str:
    """Why the process ended early, in words."""
    if code == -signal.SIGPROF:
        return "time limit" if built else "not compiled in time"
    lines = [line for line in errors.splitlines() if "Error" in line] or [f"exit code {code}"]
    return f"failed: {lines[-1][:120]}"


def sweep(label: str, case: Case, rtols: Sequence[float], target: Path, limits: tuple[float, float]) -> Iterator[Point]:
    """The points from loose to tight as they come; `limits` are the seconds of one run and of the compiling."""
    words = [label, case.name, repr(case.t), str(target), *map(repr, limits), *map(repr, rtols)]
    process = subprocess.Popen(
        [sys.executable, "-m", "peers.worker", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    done, built = 0, False
    try:
        assert process.stdout is not None
        for text in process.stdout:
            values = json.loads(text)
            built = True
            if "built" not in values:
                done += 1
                yield Point.from_json(values)
        errors = process.communicate()[1]
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        why = ended(process.returncode, built, errors)
        spent = limits[0] if built else limits[1]
        yield Point(label, rtols[done], np.inf, spent, 0, 0.0, ended=why)
