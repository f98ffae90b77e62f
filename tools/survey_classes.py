"""How runs of several outputs end that cannot separate their classes: survey_classes.py [TIME [SECONDS]].

    python tools/survey_classes.py           # cross-entropy and squared loss to t = 10^4, at most 20 seconds each
    python tools/survey_classes.py 1e6 60

One line for each: status, steps, events, seconds, the logarithm of the loss at the end, and how far the end of the
outputs is from that at a hundredth of the tolerance, as a part of the largest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time

import numpy as np
from sklearn.datasets import load_iris, make_blobs, make_moons

import reluflow as rf


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    X, labels = load_iris(return_X_y=True)
    yield "iris", (X - X.mean(axis=0)) / X.std(axis=0), labels
    X, labels = make_blobs(60, centers=3, cluster_std=2.5, random_state=0)
    yield "blobs", np.c_[(X - X.mean(axis=0)) / X.std(axis=0), np.ones(60)], labels
    X, labels = make_moons(60, noise=0.3, random_state=0)
    yield "moons", np.c_[(X - X.mean(axis=0)) / X.std(axis=0), np.ones(60)], labels
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (20, 3)).astype(float)
    X[(X == 0).all(axis=1), 0] = 1.0
    yield "whole_numbers", X, rng.integers(0, 3, 20)


def main() -> None:
    t = float(sys.argv[1]) if len(sys.argv) > 1 else 1e4
    longest = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    for name, X, labels in data_sets():
        K = int(labels.max()) + 1
        net = rf.Network.init(10, X.shape[1], scale=0.1, seed=0, outputs=K)
        for loss, targets in (("cross_entropy", labels), ("squared", np.eye(K)[labels])):
            ends = []
            for rtol in (1e-9, 1e-11):
                begin = process_time()
                sol = rf.integrate(
                    (X, targets),
                    net,
                    until=t,
                    loss=loss,
                    rtol=rtol,
                    callback=lambda _, begin=begin: process_time() - begin > longest,
                )
                ends.append((sol, process_time() - begin, sol.final(X)))
            sol, seconds, outputs = ends[0]
            off = np.abs(outputs - ends[1][2]).max() / np.abs(outputs).max()
            print(
                f"{name:14} {loss:14} {sol.status:13} {sol.stats['steps']:6} steps {len(sol.events):5} events "
                f"{seconds:6.2f} s  log loss {sol.log_loss_end:9.5f}  off {off:.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
