"""Results show themselves in a line: what was found, not every array."""

from __future__ import annotations

import pytest

import reluflow as rf

DATA = rf.datasets.wang_pilanci("obtuse")
NET = rf.Network([[1e-3, 0.0], [-2e-3, 1e-3]], [1e-3, -2e-3])


def certificate() -> rf.convex.Certificate:
    return rf.certify(rf.convex.to_network(rf.convex.max_margin(DATA)), DATA)


@pytest.mark.parametrize(
    ("result", "start", "end"),
    [
        (lambda: rf.convex.max_margin(DATA), "MaxMarginSolution(optimal, value=1.28243222", ", 2 neurons)"),
        (lambda: rf.convex.arrangements(DATA.X), "Arrangements(4 patterns, n=2, d=2, complete)", ""),
        (lambda: rf.convex.sample_arrangements(DATA.X, 1, seed=0), "Arrangements(1 patterns, n=2, d=2, coverage=", ")"),
        (certificate, "Certificate(global: P = 1.28243222", ")"),
        (
            lambda: rf.descend(DATA, NET, step=0.1, n_steps=10),
            "DescentResult(reached_steps, 10 steps to t=1, ",
            "dim=2)",
        ),
        (lambda: rf.conditions.report(DATA), "Report(Wang-Pilanci, obtuse (n = 2, d = 2), ", " theorems apply)"),
        (lambda: rf.integrate_many(DATA, [NET, NET], until=0.1), "Runs(2 runs)", ""),
    ],
    ids=lambda value: "" if callable(value) else None,
)
def test_a_result_is_one_line(result, start, end):
    text = repr(result())
    assert text.startswith(start)
    assert text.endswith(end)
    assert "\n" not in text
    assert "array(" not in text


def test_certificates_of_classes_are_a_line_each():
    data = rf.datasets.orthogonally_separable(6, 3, classes=3)
    nets = rf.Network.init(4, data.d, scale=1e-2, classes=3, seed=0)
    lines = repr(rf.certify(nets, data)).splitlines()
    assert lines[0] == "MultiClassCertificate(K=3)"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [str(label) for label in data.classes]


def test_times_that_overflow_are_powers_of_e_with_one_reading():
    data = rf.datasets.orthogonally_separable(6, 8, seed=0)
    net = rf.Network.init(4, 8, scale=1e-2, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e9))
    assert "t from 0 to e^(1e+09)," in repr(sol)
    assert "from 0 to e^(1e+09) (log t = 1000000000)" in sol.summary()
