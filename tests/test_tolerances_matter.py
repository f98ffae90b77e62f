"""Each tolerance of cpp/src/base/tolerances.hpp, at the place where it can be seen.

`make mutants` builds the core with each of them changed a thousandfold and expects that these or others fail.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expi

import compare
import hostile
import reluflow as rf
from toys import digits_like, one_neuron, one_neuron_time

ROOT = Path(__file__).parents[1]
ULP = np.finfo(float).eps
RTOLS = [1e-4, 1e-6, 1e-8, 1e-10]


@pytest.mark.parametrize("rtol", RTOLS)
def test_truncation_is_a_small_part_of_rtol(rtol):
    """kTruncationPart: one neuron on one sample in closed form."""
    for w in (1.0, 1.5, 2.0):
        sol = rf.integrate(*one_neuron(), until=one_neuron_time(w), loss="exponential", rtol=rtol)
        assert abs(sol.final.W[0, 0] / w - 1) <= 3e-3 * rtol


@pytest.mark.parametrize("rtol", RTOLS[:3])
@pytest.mark.parametrize("margin", [30.0, 300.0])
def test_the_late_phase_is_a_small_part_of_rtol(rtol, margin):
    """kLatePart: t = (Ei(q) - Ei(q₀)) / (2 x) under the exponential loss."""
    x, scale = 0.7, 0.5
    log_t = float(np.log((expi(margin) - expi(scale**2 * x)) / (2 * x)))
    data, net = rf.Dataset([[x]], [1]), rf.Network([[scale]], [scale])
    sol = rf.integrate(data, net, until=rf.Stop(log_time=log_t), loss="exponential", rtol=rtol)
    assert abs(float(sol.final(data.X)[0]) / margin - 1) <= 0.02 * rtol + 4 * ULP


def test_what_local_events_neglect_is_a_part_of_rtol():
    """kCouplingPart: hundreds of events of small neurons, each neglected in the others."""
    data, net = digits_like()
    exact = rf.integrate(data, net, until=8.0, rtol=1e-13)
    for rtol in RTOLS:
        sol = rf.integrate(data, net, until=8.0, rtol=rtol)
        error = compare.state_error(sol.final.W, sol.final.a, exact.final.W, exact.final.a)
        assert np.max(error) <= 0.5 * rtol


@pytest.mark.parametrize("rtol", RTOLS[2:])
def test_local_events_are_kept_on_in_a_step(rtol):
    """kCouplingPart, from below: while neurons are small, many events fit into what a step may neglect."""
    data, net = digits_like()
    small = rf.Network(1e-4 * net.W, 1e-4 * net.a)
    sol = rf.integrate(data, small, until=1.0, rtol=rtol)
    assert sol.stats["steps"] < 0.03 * len(sol.events)


@pytest.mark.parametrize("seed", [13, 26, 28])
def test_a_stalled_loss_is_followed_as_far_as_rounding_lets_it(seed):
    """kRoundingPart: the neuron grows by weights that cancel, and the order of samples changes their rounding alone."""
    problem = hostile.problem("contradictory", seed, log_t=30.0)
    order = np.random.default_rng(0).permutation(problem.data.n)
    permuted = rf.Dataset(problem.data.X[order], problem.data.y[order])
    options = {**problem.options, "rtol": 1e-10}
    one = rf.integrate(problem.data, problem.net, until=problem.until, **options)
    other = rf.integrate(permuted, problem.net, until=problem.until, **options)
    assert one.status == other.status
    compare.assert_same_state(one.final.W, one.final.a, other.final.W, other.final.a, 1e-8, "at the end")


@pytest.mark.parametrize("ulps", [0, 1, 3])
def test_balance_to_rounding_is_balance(ulps):
    """kBalanceUlps, from below: the neuron decays tenfold and |a| = |w| stands."""
    sol = decayed(1 + ulps * ULP)
    assert abs(sol.final.a[0] ** 2 - np.sum(sol.final.W**2)) <= 4 * ULP * sol.final.a[0] ** 2


@pytest.mark.parametrize("ulps", [64, 1000, 1e6])
def test_what_is_more_than_rounding_is_no_balance(ulps):
    """kBalanceUlps, from above: a² - |w|² is an invariant, however small."""
    sol = decayed(1 + ulps * ULP)
    assert sol.final.a[0] ** 2 - np.sum(sol.final.W**2) == pytest.approx(2 * ulps * ULP, rel=0.3, abs=0.0)


def decayed(size: float) -> rf.Solution:
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1, 1])
    return rf.integrate(data, rf.Network([[0.6, 0.8]], [-size]), until=60.0)


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-8])
def test_boundaries_a_small_angle_apart_are_two(angle):
    """kRankTol: the neuron meets both, the second later by the angle times |w| over its speed."""
    data = rf.Dataset([[1.0, 0.0], [1.0, -angle], [1.0, 0.3]], [1, 1, 1])
    sol = rf.integrate(data, rf.Network([[-0.5, 2.0]], [2.1]), until=5.0)
    first, second = sol.events.t[:2]
    assert sol.events.sample[:2].tolist() == [0, 1]
    between = sol(first)
    lam = 1.0 / (1.0 + np.exp(between(data.X)))
    speed = between.a[0] * (lam[0] + lam[2])
    assert second - first == pytest.approx(angle * between.W[0, 1] / speed, rel=0.02, abs=20 * ULP)


@pytest.mark.parametrize("ulps", [1, 16, 1000, 1e6])
@pytest.mark.parametrize("side", [1, -1])
def test_a_start_beside_a_boundary_is_not_on_it(ulps, side):
    """kZeroUlps: the sign of an exact pre-activation is its sign."""
    data = rf.Dataset([[1.0, 0.0], [-1.0, 1.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[side * ulps * ULP, 2.0]], [2.1]), until=0.1)
    assert sol.pattern0[0, 0] == side


def mutants():
    path = ROOT / "tools" / "mutate_tolerances"
    loader = importlib.machinery.SourceFileLoader("mutate_tolerances", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_every_tolerance_of_the_settings_can_be_mutated():
    tool = mutants()
    text = (ROOT / tool.SETTINGS).read_text(encoding="utf-8")
    opened = tool.open_settings(text)
    for name in tool.CONSTANTS:
        (line,) = [line for line in opened.splitlines() if f" {name} = " in line]
        assert line == f'inline const double {name} = from_environment("{tool.variable(name)}", {line.split()[-1]}'
        assert float(line.split()[-1].removesuffix(");")) == tool.value(text, name)


def test_no_constant_made_of_a_mutated_one_stays_known_to_the_compiler():
    tool = mutants()
    for file in (ROOT / "cpp" / "src").rglob("*.[ch]pp"):
        opened = tool.open_users(file.read_text(encoding="utf-8"))
        known = [line for line in opened.splitlines() if "constexpr" in line and any(n in line for n in tool.CONSTANTS)]
        assert not known or file == ROOT / tool.SETTINGS


def test_each_bound_to_be_loosened_is_in_its_source_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    mutants = importlib.import_module("bounds_to_mutate").MUTANTS
    sources = {m.file: (ROOT / "cpp/src" / m.file).read_text(encoding="utf-8") for m in mutants}
    assert [m.what for m in mutants if sources[m.file].count(m.old) != 1] == []
