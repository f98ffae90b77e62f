"""How the cost grows: with the width, late, and with the size of the data; each in a process of its own.

`measured(name, ...)` starts `python growth.py NAME ...`, which prints one record as JSON; so a run can be ended when
its processor seconds are over, and its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import problems
import reluflow as rf
from peers.sweep import environment
from points import timed

WIDTH_T = 1e-3
LATE_NORM = 14.0
LATE_LOG_TIMES = (100.0, 1e8)
LATE_REPEATS = 5
SIZE_LOSS = 0.5
Record = dict[str, Any]


def width(m: int, t: float) -> Record:
    """The events of P3 with m neurons up to a fixed time."""
    problem = problems.load("P3")
    W, a = problems.balanced_start(np.random.default_rng(3), m, problem.X.shape[1], 1e-3)
    data, net = rf.Dataset(problem.X, problem.y), rf.Network(W, a)
    sol, seconds = timed(lambda: rf.integrate(data, net, until=t, save_at=[t], n_threads=1))
    return {"good": sol.success, "seconds": seconds, "n_events": len(sol.events), "n_steps": sol.stats["steps"]}


def in_two_sectors(m: int) -> tuple[rf.Dataset, rf.Network]:
    """Orthogonally separable samples, each neuron in the sector of one class, and a large norm: the flow is late."""
    rng, y = np.random.default_rng(5), np.repeat([1.0, -1.0], 3)
    side = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    W = np.abs(rng.standard_normal((m, 4))) * side[:, None]
    W *= LATE_NORM / np.sqrt(2.0 * m) / np.linalg.norm(W, axis=1, keepdims=True)
    X = np.abs(rng.standard_normal((6, 4))) * y[:, None]
    return rf.Dataset(X, y), rf.Network(W, side * np.linalg.norm(W, axis=1))


def late(m: int, *log_times: float) -> Record:
    """Seconds of the steps between two late times of one run, so that reading and writing the state is not counted.

    |θ|² grows like -log loss there, for the margins are of degree two.
    """
    first, last = log_times
    data, net = in_two_sectors(m)
    seconds, n_steps, grown, good = np.inf, 0, 0.0, True
    for _ in range(LATE_REPEATS):
        steps: list[rf.flow.Progress] = []

        def note(progress: rf.flow.Progress, steps: list[rf.flow.Progress] = steps) -> bool:
            steps.append(progress)
            return False

        whole = rf.integrate(
            data, net, until=rf.Stop(log_time=last), save_at_log=[last], n_threads=1, callback=note, callback_period=0
        )
        begin = next(step for step in steps if step.log_t >= first)
        seconds, n_steps = min(seconds, steps[-1].seconds - begin.seconds), steps[-1].steps - begin.steps
        grown, good = 0.5 * float(np.log(steps[-1].log_loss / begin.log_loss)), good and whole.success
    whole_run = whole.stats["seconds"]
    return {"good": good, "seconds": seconds, "whole": whole_run, "grown": grown, "n_steps": n_steps}


def separable(n: int, d: int, m: int) -> tuple[rf.Dataset, rf.Network]:
    rng = np.random.default_rng(0)
    X, teacher = rng.standard_normal((n, d)) / np.sqrt(d), rng.standard_normal(d)
    return rf.Dataset(X, np.where(X @ teacher > 0.0, 1.0, -1.0)), rf.Network.init(m, d, scale=1e-3, seed=0)


def size(n: int, d: int, m: int, n_events: int = 0) -> Record:
    """From a small start to a fixed mean loss, or to a number of events; with the peak memory of the process."""
    data, net = separable(n, d, m)
    until = rf.Stop(events=n_events) if n_events else rf.Stop(mean_loss=SIZE_LOSS)
    sol, seconds = timed(lambda: rf.integrate(data, net, until=until, reduction="mean", n_threads=1), max_repeats=1)
    return {"good": sol.success, "seconds": seconds, "n_events": len(sol.events), "t": sol.t_end, "memory": peak()}


def whole(n: int, d: int, m: int, mean_loss: float, rtol: float) -> Record:
    """The same start to a small mean loss, at a tolerance."""
    data, net = separable(n, d, m)
    until = rf.Stop(mean_loss=mean_loss)
    sol, seconds = timed(
        lambda: rf.integrate(data, net, until=until, reduction="mean", n_threads=1, rtol=rtol), max_repeats=1
    )
    found = {"n_events": len(sol.events), "n_steps": sol.stats["steps"], "t": sol.t_end, "memory": peak()}
    return {"good": sol.success, "seconds": seconds} | found


def peak() -> float:
    """Peak memory of this process in GiB. On Linux ru_maxrss begins with that of the process that started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


MEASUREMENTS = {"width": width, "late": late, "size": size, "whole": whole}


def measured(name: str, *arguments: float, seconds: float) -> Record:
    """The record of one measurement, or why there is none, as `ended`."""
    words = [sys.executable, __file__, name, *map(repr, arguments), "--seconds", repr(seconds)]
    process = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)
    if process.returncode == 0:
        record: Record = json.loads(process.stdout)
        return record | {"ended": "finished" if record.pop("good") else "without success"}
    if process.returncode == -signal.SIGPROF:
        return {"ended": f"not within {seconds:g} s"}
    raise SystemExit(f"{name} {arguments} failed:\n{process.stderr}")


def main(words: list[str]) -> None:
    *words, _, seconds = words
    signal.setitimer(signal.ITIMER_PROF, float(seconds))
    arguments = [int(word) if "." not in word and "e" not in word else float(word) for word in words[1:]]
    print(json.dumps(MEASUREMENTS[words[0]](*arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
