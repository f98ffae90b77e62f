"""Every run is a solution of the flow, judged by an oracle that knows the states alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import agree
import defect
import discrete
import families
import reluflow as rf
from toys import digits_like

# Runs at rtol 1e-10 obey the flow to this part of each neuron between two events.
TOL = 1e-8


def test_it_is_small_on_a_closed_form():
    sol = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[0.5]], [0.5]), until=10.0, loss="exponential")
    assert defect.of(sol).worst.size < 1e-11


@pytest.mark.parametrize("family", families.FAMILIES)
@pytest.mark.parametrize("seed", range(2))
def test_runs_of_every_family_obey_the_flow(family, seed):
    setup = families.make(family, seed)
    defect.assert_small(agree.core(replace(setup, t_end=min(setup.t_end, 30.0))), TOL, max_intervals=10)


def problem(n: int, d: int, m: int, seed: int, scale: float, **options) -> rf.Solution:
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))
    return rf.integrate(data, rf.Network.init(m, d, scale=scale, seed=seed), **{"until": 3.0, **options})


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("scale", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("seed", [0, 8])
def test_large_starts_obey_the_flow(scale, seed, loss):
    if loss == "exponential" and scale > 1:
        scale = 2.0
    defect.assert_small(problem(3, 2, 3, seed, scale, until=1.0, loss=loss), 1e-7, max_intervals=15)


@pytest.mark.parametrize("log_time", [20.0, 300.0])
def test_late_runs_obey_the_flow(log_time):
    """Late, an error of the weights is one of the duals log t times as large."""
    sol = problem(6, 3, 8, 1, 0.1, until=rf.Stop(log_time=log_time))
    assert sol.success, sol.message
    defect.assert_small(sol, 1e-9 * 100 * log_time, max_intervals=25)


def test_a_run_of_real_size_obeys_the_flow():
    defect.assert_small(rf.integrate(*digits_like(), until=10.0), 1e-7)


DISCRETE = [
    "parity2_d6_signs",
    "majority_d5_bits_bias",
    "ternary_20x4",
    "line_12_bias",
    "plane_5_bias_leak0.1",
    "twohot_30x6",
]


@pytest.mark.parametrize("name", DISCRETE)
def test_runs_on_integers_obey_the_flow(name):
    kind = next(k for k in discrete.kinds() if k.name == name)
    data = kind.data(0)
    sol = rf.integrate(data, kind.net(data, 0, 6), until=20.0)
    defect.assert_small(sol, 1e-7, max_intervals=15)


# --- the oracle notices ---


def bent(sol: rf.Solution, bend) -> rf.Solution:
    """A solution whose states are moved by `bend`, a function of the time."""

    class Moved(rf.Solution):
        def states(self, times=None, *, log_times=None):
            W, a = sol.states(times, log_times=log_times)
            t = np.asarray(times if times is not None else np.exp(log_times))
            return bend(W.copy(), a.copy(), t)

    return Moved(sol.data, sol.initial, sol.settings, sol._raw)


@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_it_notices_a_neuron_that_moves_too_fast(size):
    sol = problem(6, 3, 4, 2, 0.1)

    def bend(W, a, t):
        W[:, 1] *= (1 + size * np.sin(3 * t))[:, None]
        return W, a

    found = defect.of(bent(sol, bend)).findings
    assert found["velocity"].size > 0.01 * size
    assert found["velocity"].neuron == 1


def test_it_notices_a_neuron_that_stays_where_it_must_leave():
    """Two samples hold against one that pulls harder than both: no multipliers."""
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.5], [-3.0, 0.2]], [-1, -1, -1])
    sol = rf.integrate(data, rf.Network([[0.5, 1.0]], [1.0]), until=0.5)
    judge = defect.Judge(sol)
    judge.multipliers(0.0, np.array([[0.0, 1.0]]), np.array([1.0]), np.array([[0, 1, 1]]))
    assert judge.found.findings["multipliers"].size > 0.1
