"""One way on one case in a process of its own: `python -m peers.worker LABEL PROBLEM T TARGET SECONDS BUILD RTOL ...`.

Prints one line of JSON for each run, from loose to tight, and ends with the first that does not finish: a tighter one
would need more. A run whose tool cannot be asked between steps is ended by the system's own processor-time signal.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
from pathlib import Path
from time import process_time

import numpy as np

import problems
import reluflow as rf
from peers import WAYS, Way
from peers.run import Answer, Budget, Run
from points import Point, Target, event_error, timed

GRACE = 1.5  # a way that looks at its budget itself is not killed just before


def judged(answer: Answer, way: Way, rtol: float, right: Target, seconds: tuple[float, float]) -> Point:
    """The answer as a point; only a state at the end time has an error."""
    error = np.inf
    if answer.ended == "finished":
        W, a = answer.theta[: right.W.size].reshape(right.W.shape), answer.theta[right.W.size :]
        error = rf.analysis.relative_error(rf.Network(W, a), right.net) if np.isfinite(answer.theta).all() else np.inf
    n_events, times = None, None
    if answer.event_t is not None:
        n_events, times = len(answer.event_t), event_error(np.array(answer.event_t), right.event_t)
        times = times if np.isfinite(times) else None
    return Point(
        way.label, rtol, float(error), seconds[0], answer.n_steps, float(answer.reached), n_events, times,
        build=seconds[1], ended=answer.ended,
    )  # fmt: skip


def limit(seconds: float) -> None:
    """End this process after so many processor seconds (0: no end)."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def one(run: Run, rtol: float, seconds: float, build_seconds: float) -> tuple[Answer, tuple[float, float]]:
    """The fastest of a few repeats if they are short, and the seconds of building for this tolerance."""
    begin = process_time()
    if hasattr(run, "build"):
        limit(build_seconds)
        run.build(rtol)
    built = process_time() - begin
    limit(GRACE * seconds)
    answer, spent = timed(lambda: run(rtol, Budget(seconds)), max_repeats=3, max_seconds=min(0.3, seconds))
    limit(0)
    return answer, (spent, built)


def main(arguments: list[str]) -> None:
    label, name, t, target, seconds, build_seconds, *rtols = arguments
    way, problem = WAYS[label], problems.load(name)
    with np.load(Path(target)) as stored:
        right = Target(stored["W"], stored["a"], stored["event_t"])
    limit(float(build_seconds))
    begin = process_time()
    run: Run = importlib.import_module(f"peers.{way.module}").prepare(way, problem, float(t))
    built = process_time() - begin
    print(json.dumps({"built": built}), flush=True)
    for rtol in map(float, rtols):
        answer, (spent, more) = one(run, rtol, float(seconds), float(build_seconds))
        point = judged(answer, way, rtol, right, (spent, built + more))
        print(json.dumps(point.as_json(), allow_nan=False), flush=True)
        if not point.finished:
            break


if __name__ == "__main__":
    main(sys.argv[1:])
