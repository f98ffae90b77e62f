"""Every step is checked afterwards: its weights against its margins, and the loss, which falls along the flow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

import reluflow as rf


def rise(sol: rf.Solution) -> float:
    """Return the largest rise of the log loss between kept states."""
    return float(np.max(np.diff(sol.log_loss), initial=0.0))


def drawn(seed: int, scale: float, leak: float = 0.0) -> tuple[rf.Dataset, rf.Network]:
    """Return a random problem of a few samples whose start has neurons of the size `scale`."""
    rng = np.random.default_rng([seed, 11])
    n, d, m = (int(k) for k in rng.integers([2, 2, 1], [10, 6, 7]))
    data = rf.Dataset(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))
    return data, rf.Network.init(m, d, scale=scale, leak=leak, seed=seed)


@pytest.mark.parametrize("rtol", [1e-2, 1e-6, 1e-9, 1e-13])
def test_a_saturated_sample_is_not_stepped_over(rtol: float) -> None:
    """The weights of a start at scale 10 are constant to rounding; one step took a margin from -198 to +1048."""
    rng = np.random.default_rng(8)
    data = rf.Dataset(rng.standard_normal((3, 2)), rng.choice([-1.0, 1.0], 3))
    sol = rf.integrate(data, rf.Network.init(3, 2, scale=10.0, seed=8), until=1.0, rtol=rtol)
    assert sol.success, sol.message
    assert rise(sol) == 0.0
    assert sol.final.a == pytest.approx([11.58440597, -8.75037837, -8.86886825], rel=max(1e-8, rtol))
    assert sol.log_loss_end == pytest.approx(-7.78148104869, abs=max(1e-7, 10 * rtol))


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_a_huge_start_ends_in_few_steps_with_a_loss_that_falls(loss: str, scale: float) -> None:
    """Margins of 1e4 and 1e8: a step goes half way to where a weight begins to count, so there are few."""
    for seed in range(6):
        data, net = drawn(seed, scale, leak=0.1)
        sol = rf.integrate(data, net, until=rf.Stop(time=1.0, seconds=60.0), loss=loss)
        assert sol.status == "reached_time", (seed, sol.message)
        assert rise(sol) <= 1e-12 * np.abs(sol.log_loss).max(), seed
        assert sol.stats["steps"] < 5000, seed


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_huge_start_ends_where_a_finer_run_does(loss: str) -> None:
    """While margins are negative a sample can take over all the weight inside a step that is too long to see it."""
    for seed in range(6):
        data, net = drawn(seed, 1e4, leak=0.1)
        one, two = (rf.integrate(data, net, until=1.0, loss=loss, rtol=rtol) for rtol in (1e-9, 1e-12))
        assert np.abs(one.final.theta - two.final.theta).max() <= 5e-9 * two.final.norm, seed
        assert one.log_loss_end == pytest.approx(two.log_loss_end, rel=1e-9), seed


def heavy(seed: int) -> tuple[rf.Dataset, rf.Network]:
    """Return a start of a few neurons whose margins are up to 1e11, with output weights far above their rows."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, 3)), rng.choice([-1.0, 1.0], 5)
    W = rng.standard_normal((4, 3))
    a = np.linalg.norm(W, axis=1) * rng.choice([-1.0, 1.0], 4) * np.exp(rng.uniform(0.1, 5.0, 4))
    return rf.Dataset(X, y), rf.Network(3e4 * W, 3e4 * a)


def test_a_loss_of_e_to_the_1e10_ends_where_a_finer_run_does() -> None:
    """The time of the stop was once "reached" inside a step along which another sample had taken over all weight."""
    for seed in range(40):
        data, net = heavy(seed)
        one, two = (rf.integrate(data, net, until=3.0, loss="exponential", rtol=rtol) for rtol in (1e-9, 1e-12))
        assert (one.status, two.status) == ("reached_time", "reached_time"), (seed, one.message, two.message)
        assert one.log_loss_end == pytest.approx(two.log_loss_end, rel=1e-6, abs=1e-6), seed


def test_two_samples_far_below_zero_do_not_take_turns() -> None:
    """In steps that moved no neuron by its tolerance another one had all the weight each time: 4.5 million of them."""
    data, net = heavy(2)
    for seed in range(1000, 1010):
        rng = np.random.default_rng(seed)
        moved = [x * (1 + 2.0**-52 * rng.integers(-1, 2, x.shape)) for x in (net.W, net.a)]
        start = rf.Network(*moved)
        sol = rf.integrate(data, start, until=rf.Stop(time=3.0, seconds=60.0), loss="exponential")
        assert sol.status == "reached_time", seed
        assert sol.stats["steps"] < 1500, seed
        assert sol.log_loss_end == pytest.approx(-29.1576, rel=1e-5), seed


def test_a_start_beyond_the_digits_waits_for_its_time() -> None:
    """With margins of 1e11 nothing moves before log t = 1e11; a time before that is reached at once."""
    data = rf.Dataset([[1.0]], [1])
    net = rf.Network([[4e5]], [4e5])
    for log_time in (0.0, 1e10):
        sol = rf.integrate(data, net, until=rf.Stop(log_time=log_time))
        assert (sol.status, sol.log_t_end) == ("reached_log_time", log_time)
        assert np.array_equal(sol.final.theta, net.theta)
    late = rf.integrate(data, net, until=rf.Stop(log_time=4e11))
    assert late.status == "reached_log_time", late.message
    assert late.final.a[0] ** 2 == pytest.approx(4e11, rel=1e-8)


@pytest.mark.parametrize("rtol", [1e-2, 1e-4])
def test_the_loss_falls_at_any_tolerance(rtol: float) -> None:
    """A coarse tolerance on the neurons says little about margins; those are held to more."""
    for seed in range(12):
        data, net = drawn(seed, 3.0)
        sol = rf.integrate(data, net, until=30.0, rtol=rtol)
        assert sol.status in ("reached_time", "undecided_event"), (seed, sol.message)
        assert rise(sol) <= 1e-12, seed


def test_a_mass_that_falls_by_thousands_of_e_foldings_in_a_step_keeps_its_time() -> None:
    """One sample, one neuron, exponential loss: q' = (w² + a²) e^-q along w = a, from q = -1e4 to a closed form."""
    data = rf.Dataset([[1.0]], [1])
    size = 100.0
    net = rf.Network([[size]], [-size], leak=0.0)
    sol = rf.integrate(data, net, until=rf.Stop(time=1.0), loss="exponential", save_at_log=[-600.0, -300.0, -50.0])
    q = sol.a[:, 0] * sol.W[:, 0, 0]
    assert sol.success, sol.message
    Q = -q  # dt = -e^-Q dQ / (2 Q) along a = -w, so that t = e^-Q (1 - 1/Q + 2/Q² - ...) / (2 Q)
    assert -np.log(2 * Q) - Q + np.log1p(-1 / Q + 2 / Q**2) == pytest.approx(sol.log_t, abs=1e-3)


@pytest.mark.parametrize("seed", [2, 4])
def test_every_saturated_sample_counts_in_the_time(seed: int) -> None:
    """Samples at -1e7 and at -2e6 weigh the same; the late phase took the time from the first alone."""
    data, net = drawn(seed, 1e4, leak=0.1)
    X, y, (m, d) = data.X, data.y, net.W.shape

    def velocity(_: float, theta: np.ndarray) -> np.ndarray:
        W, a = theta[: m * d].reshape(m, d), theta[m * d :]
        slope = np.where(W @ X.T > 0.0, 1.0, net.leak)
        g = slope * (y * expit(-y * (a @ (slope * (W @ X.T))))) @ X
        return np.r_[(a[:, None] * g).ravel(), np.sum(W * g, axis=1)]

    start = np.r_[net.W.ravel(), net.a]
    want = solve_ivp(velocity, (0.0, 0.5), start, method="Radau", rtol=1e-9, atol=1e-5).y[:, -1]
    for rtol in (1e-9, 1e-12):
        sol = rf.integrate(data, net, until=rf.Stop(time=0.5, seconds=60.0), rtol=rtol)
        found = np.r_[sol.final.W.ravel(), sol.final.a]
        assert np.linalg.norm(found - want) <= 1e-6 * np.linalg.norm(want)


def test_checkpoints_at_one_time_know_their_events() -> None:
    """Weights of e^1e7: the first steps, and an event in one of them, are all at the time 0.0 of the doubles."""
    X = [[-0.52, -0.204, -0.994, 0.313], [0.152, 0.103, 1.524, -0.447], [1.975, -0.933, -0.431, 0.46]]
    data = rf.Dataset([*X, [-0.324, 0.546, 0.804, 0.212]], [-1, -1, 1, 1])
    W = [[91.884, -41.056, 52.368, -127.958], [11.266, -167.422, -66.82, -11.707]]
    net = rf.Network(W, [-1330.988, 20137.909])
    sol = rf.integrate(data, net, until=rf.Stop(time=4.4, seconds=60.0), loss="exponential")
    assert sol.t[1] == 0.0
    assert (sol.events.t == 0.0).any()
    for t in (1e-9, 2.0):
        assert np.abs(sol(t).a - sol.final.a).max() <= 1e-6 * np.abs(sol.final.a).max()
