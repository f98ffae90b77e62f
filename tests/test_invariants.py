"""What every run must keep: balance, a falling loss, exact patterns, the bits of a repeated run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.special import expi

import agree
import compare
import families
import reluflow as rf

FEW = settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
SEEDS = st.integers(min_value=0, max_value=2**31 - 1)
FAMILIES = list(families.FAMILIES)
# The loss is a sum of up to n terms, and its logarithm is asked for: a few roundings of each.
ROUNDING = 1e-14


@pytest.mark.parametrize("family", FAMILIES)
@FEW
@given(seed=SEEDS)
def test_balance_is_kept_and_the_loss_never_rises(family, seed):
    sol = agree.core(families.make(family, seed), rtol=1e-9)
    size = np.sum(sol.W**2, axis=2) + sol.a**2
    balance = sol.a**2 - np.sum(sol.W**2, axis=2)
    assert np.all(np.abs(balance - balance[0]) <= 1e-12 * np.max(size, axis=0))
    rise = np.diff(sol.log_loss)
    assert np.all(rise <= ROUNDING * np.maximum(1.0, np.abs(sol.log_loss[1:]))), rise.max()


@pytest.mark.parametrize("family", FAMILIES)
@FEW
@given(seed=SEEDS)
def test_signs_of_output_weights_stay_where_they_outweigh(family, seed):
    setup = families.make(family, seed)
    sol = agree.core(setup)
    heavy = np.abs(setup.a) >= np.linalg.norm(setup.W, axis=1) * (1 + 1e-12)
    assert np.all(np.sign(sol.a[:, heavy]) == np.sign(setup.a[heavy]))


@pytest.mark.parametrize("family", FAMILIES)
@FEW
@given(seed=SEEDS)
def test_events_lead_from_the_first_pattern_to_the_last(family, seed):
    sol = agree.core(families.make(family, seed))
    pattern = np.array(sol.pattern0, dtype=int)
    last = 0.0
    for e in compare.from_solution(sol):
        assert e.t >= last
        last = e.t
        before = pattern[e.neuron, e.sample]
        assert before in came_from(e.kind), f"{e} with the pair at {before}"
        pattern[e.neuron, e.sample] = compare.sign_after(e.kind)
        if e.kind == "die":
            assert sol.leak == 0.0
    assert np.array_equal(pattern, sol.final.pattern)


def came_from(kind: str) -> tuple[int, ...]:
    if kind.startswith(("start", "leave")):
        return (0,)
    return {"cross_up": (-1,), "cross_down": (1,), "slide": (-1, 1), "die": (1,)}[kind]


@pytest.mark.parametrize("family", FAMILIES)
@FEW
@given(seed=SEEDS)
def test_patterns_are_the_signs_of_the_states(family, seed):
    setup = families.make(family, seed)
    sol = agree.core(setup)
    size = np.sqrt(np.sum(sol.final.W**2, axis=1) + sol.final.a**2)
    Z = sol.final.W @ setup.X.T / np.linalg.norm(setup.X, axis=1) / np.maximum(size, 1e-300)[:, None]
    pattern = np.asarray(sol.final.pattern, dtype=int)
    assert np.all(pattern * Z >= -1e-12)
    assert np.all(np.abs(Z[pattern == 0]) <= 1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_repeated_run_has_the_same_bits(family):
    first, again = (agree.core(families.make(family, 11)) for _ in range(2))
    for name in ("t", "log_t", "W", "a", "log_loss"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert first.events == again.events


@pytest.mark.parametrize("family", ["random", "crowded", "unbalanced", "mirrored"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_cut_at_an_event_equals_the_run_in_one_piece(family, seed):
    setup = families.make(family, seed)
    whole = agree.core(setup)
    n_before = max(1, len(whole.events) // 2)
    data = rf.Dataset(setup.X, setup.y)
    front = rf.integrate(data, agree.network(setup), until=rf.Stop(events=n_before), rtol=1e-10, **setup.options)
    back = rf.integrate(data, front, until=setup.t_end, rtol=1e-10, **setup.options)
    events = compare.from_solution(front) + compare.from_solution(back)
    compare.assert_same_events(compare.from_solution(whole), events, whole.pattern0, rtol=1e-9)
    compare.assert_same_state(back.final.W, back.final.a, whole.final.W, whole.final.a, 1e-9, "at the end")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", FAMILIES)
def test_dense_output_is_the_state_of_a_run_to_that_time(family, seed):
    setup = families.make(family, seed)
    sol = agree.core(setup)
    if len(sol.branchings):
        return
    for t in setup.t_end * np.array([1e-7, 0.05, 0.31, 0.77]):
        stopped = agree.core(replace(setup, t_end=float(t)))
        compare.assert_same_state(sol(t).W, sol(t).a, stopped.final.W, stopped.final.a, 1e-9, f"at t = {t!r}")
        assert np.array_equal(sol.pattern(t), stopped.final.pattern)


@pytest.mark.parametrize("seed", range(4))
def test_identical_neurons_stay_identical_and_tie(seed):
    setup = families.make("random", seed)
    m = len(setup.a)
    sol = agree.core(replace(setup, W=np.vstack([setup.W, setup.W]), a=np.r_[setup.a, setup.a]))
    assert np.array_equal(sol.W[:, :m], sol.W[:, m:])
    assert np.array_equal(sol.a[:, :m], sol.a[:, m:])
    twins: dict[tuple[int, int, str, int], int] = {}
    for neuron, sample, kind, tie in zip(
        sol.events.neuron, sol.events.sample, sol.events.kind, sol.events.tie, strict=True
    ):
        key = (int(neuron) % m, int(sample), str(kind), int(tie))
        twins[key] = twins.get(key, 0) + 1
    assert set(twins.values()) <= {2}


@pytest.mark.parametrize("seed", range(4))
def test_neurons_on_one_ray_have_their_events_together(seed):
    """Multipliers and boundaries do not know the size of a neuron, so a scaled copy shares every event."""
    setup = families.make("random", seed)
    m = len(setup.a)
    shrink = 2.0**-30
    sol = agree.core(replace(setup, W=np.vstack([setup.W, shrink * setup.W]), a=np.r_[setup.a, shrink * setup.a]))
    events = compare.from_solution(sol)
    big = [e for e in events if e.neuron < m]
    small = [replace(e, neuron=e.neuron - m) for e in events if e.neuron >= m]
    compare.assert_same_events(big, small, sol.pattern0[:m], rtol=1e-11)
    compare.assert_same_state(
        sol.final.W[m:] / shrink, sol.final.a[m:] / shrink, sol.final.W[:m], sol.final.a[:m], 1e-9, "of the copies"
    )


def test_dead_neurons_and_neurons_at_zero_never_move():
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((6, 3)))
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    W = np.vstack([-X[0], [0.0, 0.0, 0.0], X[1], [0.1, -0.2, 0.3]])
    a = np.array([0.7, 0.0, 0.5, -0.4])
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=20.0)
    for k in range(len(sol.t)):
        assert np.array_equal(sol.W[k, :2], W[:2])
        assert np.array_equal(sol.a[k, :2], a[:2])
    assert not np.isin(sol.events.neuron, [0, 1]).any()


def test_the_part_of_a_weight_outside_the_data_never_moves():
    setup = families.make("random", 6)
    X = np.c_[setup.X, np.zeros(len(setup.y))]
    W = np.c_[setup.W, np.arange(1.0, len(setup.a) + 1)]
    sol = agree.core(replace(setup, X=X, W=W))
    assert np.all(sol.W[..., -1] == W[:, -1])


@pytest.mark.parametrize("scale", [1e-3, 1e-8, 1e-20])
def test_the_sectors_do_not_depend_on_a_vanishing_scale(scale):
    """Near the origin the directions move as if λ were frozen: event times tend to a limit as the scale falls."""
    setup = replace(families.make("crowded", 1), reduction="sum", t_end=1.0)
    size = np.linalg.norm(setup.W, axis=1)
    unit = replace(setup, W=setup.W / size[:, None], a=np.sign(setup.a))
    shrunk = replace(unit, W=unit.W * scale, a=unit.a * scale)
    limit = replace(unit, W=unit.W * 1e-12, a=unit.a * 1e-12)
    have, want = (compare.from_solution(agree.core(s)) for s in (shrunk, limit))
    assert len(want) > 3
    error = 1e3 * scale**2 + 1e-9
    compare.assert_same_events(want, have, np.sign(setup.W @ setup.X.T).astype(int), rtol=error)


def test_a_tiny_start_escapes_when_the_closed_form_says():
    """One sample, one neuron, exponential loss: q̇ = 2 x e^-q q, so t = (Ei(q) - Ei(q₀)) / (2 x)."""
    x, scale = 1.5, 1e-20
    data = rf.Dataset([[x]], [1])
    for target in (1e-10, 1.0, 5.0):
        t = (expi(target) - expi(scale**2 * x)) / (2 * x)
        sol = rf.integrate(data, rf.Network([[scale]], [scale]), until=float(t), loss="exponential", rtol=1e-12)
        q = float(sol.final(data.X)[0])
        assert q == pytest.approx(target, rel=1e-8)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("margin", [30.0, 1e4, 1e8])
def test_margins_grow_as_the_closed_form_says_to_any_time(loss, margin):
    """t = (Ei(q) - Ei(q₀) [+ log(q/q₀)]) / (2 x); for large q, log Ei(q) = q - log q + log(1 + 1/q + 2/q² + ...)."""
    x, scale = 0.7, 0.5
    q0 = scale**2 * x
    data, net = rf.Dataset([[x]], [1]), rf.Network([[scale]], [scale])
    if margin < 500:
        extra = np.log(margin / q0) if loss == "logistic" else 0.0
        log_t = float(np.log((expi(margin) - expi(q0) + extra) / (2 * x)))
    else:
        log_t = margin - np.log(margin) + np.log1p(1 / margin + 2 / margin**2) - np.log(2 * x)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=log_t), loss=loss)
    q = float(sol.final(data.X)[0])
    assert sol.success, sol.message
    assert q == pytest.approx(margin, rel=1e-8)
    assert sol.log_loss_end == pytest.approx(-q, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("loss", ["logistic"])
def test_huge_negative_margins_are_left_without_overflow(loss):
    """q = -1e8 at the start: the loss is 1e8 and λ = y to the last bit, and nothing overflows on the way up."""
    X = np.array([[1e4, 0.0], [0.0, 1e4]])
    W, a = np.array([[-70.0, -70.0], [70.0, 70.0]]), np.array([140.0, -140.0])
    sol = rf.integrate(rf.Dataset(X, np.array([1.0, 1.0])), rf.Network(W, a), until=rf.Stop(time=1e-3), loss=loss)
    assert sol.log_loss[0] == pytest.approx(np.log(2 * 0.98e8), rel=1e-14)
    assert np.all(np.isfinite(sol.W))
    assert np.all(np.isfinite(sol.log_loss))
    assert np.all(np.diff(sol.log_loss) <= ROUNDING * np.abs(sol.log_loss[1:]))
    assert sol.success, sol.message


def test_exponential_losses_beyond_the_range_of_floats_are_held_in_logarithms():
    data = rf.Dataset([[1.0]], [1])
    until = rf.Stop(time=1.0)
    sol = rf.integrate(data, rf.Network([[100.0]], [100.0]), until=until, loss="exponential")
    assert sol.status == "reached_time", sol.message
    assert sol.log_loss[0] == -1e4
    assert np.array_equal(sol.final.W, [[100.0]])
