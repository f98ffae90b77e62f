"""Runs until the limit is certified: beyond the digits of log t, in legs, by the norm."""

from __future__ import annotations

import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

import reluflow as rf
from certificate import certify_alone
from reluflow.flow import _solution, _to_limit
from reluflow.flow._scale import BEYOND_DIGITS
from reluflow.flow._stop import LARGEST_LOG_NORM
from reluflow.papers.tsoy._clouds import symmetric
from reluflow.papers.tsoy._four import _SIZES, _start


def angle(one: rf.Network, other: rf.Network) -> float:
    """Angle between two networks as vectors."""
    return float(np.linalg.norm(one.theta / one.norm - other.theta / other.norm))


def ring(seed: int, n: int = 40) -> rf.Dataset:
    """Two noisy circles with a constant column."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    turn = 2 * np.pi * np.arange(n) / n
    X = (1 + 0.5 * y)[:, None] * np.c_[np.cos(turn), np.sin(turn)] + 0.05 * rng.standard_normal((n, 2))
    return rf.Dataset(np.c_[X, np.ones(n)], y)


def random_labels(seed: int) -> rf.Dataset:
    """Gaussian samples with random labels, fewer than a linear map could fit."""
    rng = np.random.default_rng(seed)
    return rf.Dataset(rng.standard_normal((20, 10)), rng.choice([-1.0, 1.0], 20))


def slowest(leak: float = 0.0, seed: int = 0) -> tuple[rf.Dataset, rf.Network]:
    """A run whose events go on beyond log t = 1e10."""
    data = random_labels(seed)
    return data, rf.Network.init(20, data.d, scale=1e-1, seed=seed, leak=leak)


@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_a_run_to_its_limit_ends_with_a_certificate(seed: int, leak: float) -> None:
    data, net = slowest(leak, seed)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.success
    assert sol.limit.certified
    assert certify_alone(data, sol.limit) <= 1e-9
    assert np.all(np.diff(sol.log_t) >= 0)
    assert np.all(np.diff(sol.events.log_t) >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_neurons_that_slide_along_dependent_boundaries_have_a_certified_limit(seed: int) -> None:
    """Majority of five signs: more boundaries than dimensions pass through a neuron, and multipliers are not unique."""
    X = np.array(list(product((-1.0, 1.0), repeat=5)))
    data = rf.Dataset(np.c_[X, np.ones(32)], np.sign(X.sum(axis=1)))
    limit = rf.integrate(data, rf.Network.init(8, 6, scale=1e-2, seed=seed), until=rf.Stop(limit=True)).limit
    assert limit.certified, limit.reason
    assert certify_alone(data, limit) <= 1e-9
    on = [limit.held[limit.held[:, 0] == j, 1] for j in np.flatnonzero(limit.network.a)]
    assert any(len(rows) > np.linalg.matrix_rank(data.X[rows]) for rows in on if len(rows))


def test_events_go_on_beyond_the_digits_of_log_t() -> None:
    """The pattern of log t = 1e10 is not that of the limit: only a run beyond it shows where it goes."""
    data = random_labels(0)
    net = rf.Network.init(20, data.d, scale=1e-3, seed=0)
    early = rf.integrate(data, net, until=rf.Stop(log_time=1e10))
    assert not early.limit.certified
    assert "events are to come" in early.limit.reason
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.limit.certified
    assert sol.log_t_end > BEYOND_DIGITS
    assert (sol.events.log_t > BEYOND_DIGITS).any()


@pytest.mark.parametrize("seed", range(2))
def test_the_limit_beyond_is_the_limit_before_where_both_are_certified(seed: int) -> None:
    data = ring(seed, 12)
    net = rf.Network.init(8, data.d, scale=1e-3, seed=seed)
    before = rf.integrate(data, net, until=rf.Stop(log_time=1e9))
    beyond = rf.integrate(data, before, until=rf.Stop(log_norm=40.0))
    assert before.limit.kind == beyond.limit.kind == "direction"
    assert before.limit.certified
    assert beyond.limit.certified
    assert angle(before.limit.network, beyond.limit.network) <= 1e-10
    assert angle(beyond.final, beyond.limit.network) < 0.1 * angle(before.final, before.limit.network)


def test_growth_beyond_the_digits_has_a_closed_form() -> None:
    """One neuron on one sample: q = |θ|² |x| / 2, and t = ∫ dq / (2 |x| q ℓ'(q)), so that log t is q."""
    data = rf.Dataset([[3.0, 4.0]], [1])
    sol = rf.integrate(data, rf.Network([[0.3, 0.4]], [0.5]), until=rf.Stop(log_norm=200.0))
    assert sol.status == "reached_log_norm"
    assert math.log(sol.final.norm) == pytest.approx(200.0, abs=1e-10)
    assert sol.log_t_end == pytest.approx(2.5 * sol.final.norm**2, rel=1e-8)
    assert sol.log_loss_end == pytest.approx(-sol.log_t_end, rel=1e-8)
    direction = sol.final.theta / sol.final.norm
    np.testing.assert_allclose(direction, np.array([[0.6, 0.8, 1.0]]) / math.sqrt(2), atol=1e-12)


def test_the_loss_of_a_sample_that_drives_nobody_stays() -> None:
    data = rf.Dataset([[3.0, 4.0], [-3.0, -4.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[0.3, 0.4]], [0.5]), until=rf.Stop(log_norm=50.0))
    assert sol.log_t_end > BEYOND_DIGITS
    assert sol.log_loss_end == pytest.approx(math.log(math.log(2.0)), abs=1e-12)
    assert sol.log_loss[-1] == pytest.approx(math.log(math.log(2.0)), abs=1e-12)


def test_states_between_and_continuations_beyond_the_digits(tmp_path: Path) -> None:
    data, net = slowest()
    whole = rf.integrate(data, net, until=rf.Stop(log_norm=60.0))
    half = rf.integrate(data, net, until=rf.Stop(log_norm=30.0))
    half.save(tmp_path / "half.npz")
    for start in (half, rf.load(tmp_path / "half.npz")):
        rest = rf.integrate(data, start, until=rf.Stop(log_norm=60.0))
        assert rest.status == "reached_log_norm"
        assert angle(rest.final, whole.final) <= 1e-6
    for log_t in (1e6, 1e9, 1e20, 1e40):
        assert angle(whole.at(log_t=log_t), whole.at(log_t=log_t * (1 + 1e-12))) <= 1e-6
    assert math.log(whole.at(log_t=half.log_t_end).norm) == pytest.approx(30.0, abs=1e-6)


def test_permuted_neurons_go_to_the_same_limit() -> None:
    data, net = slowest()
    order = np.random.default_rng(1).permutation(net.width)
    one = rf.integrate(data, net, until=rf.Stop(limit=True))
    two = rf.integrate(data, rf.Network(net.W[order], net.a[order]), until=rf.Stop(limit=True))
    assert one.limit.certified
    assert two.limit.certified
    assert one.limit.margin == pytest.approx(two.limit.margin, rel=1e-12)
    assert np.linalg.norm(one.limit.network.W[order] - two.limit.network.W) <= 1e-5


def test_other_criteria_end_a_run_to_the_limit_first() -> None:
    data, net = slowest()
    assert rf.integrate(data, net, until=rf.Stop(limit=True, log_time=50.0)).status == "reached_log_time"
    assert rf.integrate(data, net, until=rf.Stop(limit=True, mean_loss=0.1)).status == "reached_mean_loss"
    assert rf.integrate(data, net, until=rf.Stop(limit=True, log_norm=3.0)).status == "reached_log_norm"
    some = rf.integrate(data, net, until=rf.Stop(limit=True, events=250))
    assert some.status == "reached_events"
    assert len(some.events) >= 250


def test_a_callback_sees_one_run_and_ends_it() -> None:
    data, net = slowest()
    steps: list[int] = []

    def hear(progress: rf.flow.Progress) -> bool:
        steps.append(progress.steps)
        return progress.log_t > 1e5

    sol = rf.integrate(data, net, until=rf.Stop(limit=True), callback=hear, callback_period=0.0)
    assert sol.status == "stopped_by_callback"
    assert steps == sorted(steps)
    assert sol.stats["steps"] == steps[-1]


def test_an_interrupt_while_the_limit_is_sought_keeps_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **named: object) -> rf.limits.Limit:
        raise KeyboardInterrupt

    monkeypatch.setattr("reluflow.flow._solution.limit_of", interrupted)
    sol = rf.integrate(*slowest(), until=rf.Stop(limit=True))
    assert sol.status == "interrupted"
    assert sol.log_t_end >= 30.0
    assert len(sol.events) > 0


def test_a_critical_point_is_a_limit_too() -> None:
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, -1, 1])
    sol = rf.integrate(data, rf.Network([[0.3, 0.1]], [0.4]), until=rf.Stop(limit=True, seconds=20))
    assert sol.success
    assert sol.status in ("reached_limit", "stationary")


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ({"limit": False}, "Stop.limit"),
        ({"limit": 1}, "Stop.limit"),
        ({"log_norm": 341.0}, "Stop.log_norm"),
        ({"log_norm": math.nan}, "Stop.log_norm"),
    ],
)
def test_bad_criteria_are_named(criteria: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rf.Stop(**criteria)  # type: ignore[arg-type]


def test_stops_are_read_from_text() -> None:
    assert rf.Stop.parse("limit=true, seconds=5") == rf.Stop(limit=True, seconds=5.0)
    assert rf.Stop.parse(str(rf.Stop(limit=True, log_norm=3.0))) == rf.Stop(limit=True, log_norm=3.0)
    with pytest.raises(ValueError, match="limit"):
        rf.Stop.parse("limit=no")


def test_legs_have_the_events_of_a_run_without_legs() -> None:
    """Weights read off margins beyond the digits let sliding neurons leave and come back at the begin of each leg."""
    data, net = slowest()
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    end = math.log(sol.final.norm)
    assert end > 14.0
    one = rf.integrate(data, net, until=rf.Stop(log_norm=end))
    assert (sol.events.kind == "slide").sum() > 20

    def crossings(run: rf.Solution) -> list[tuple[int, int, str]]:
        """All but those that are taken back within the layer behind an event, 1e-9 of log t: rounding decides them."""
        kept: dict[tuple[int, int], list[tuple[float, str]]] = {}
        for e in run.events:
            if not e.kind.startswith("cross"):
                continue
            pair = kept.setdefault((e.neuron, e.sample), [])
            if pair and pair[-1][1] != e.kind and e.log_t <= pair[-1][0] * (1 + 1e-9):
                pair.pop()
            else:
                pair.append((e.log_t, e.kind))
        times = [(log_t, *pair, kind) for pair, crossed in kept.items() for log_t, kind in crossed]
        return [(neuron, sample, kind) for _, neuron, sample, kind in sorted(times)]

    assert crossings(sol) == crossings(one)
    slides = [int((run.events.kind == "slide").sum()) for run in (sol, one)]
    # Within the tolerance, each with its end: 2 to 16, as the processor's vectors round. Read off, 100 more.
    assert abs(slides[0] - slides[1]) <= 30
    assert angle(sol.final, one.final) <= 1e-8


def test_the_layer_behind_an_event_takes_few_steps_of_a_late_run() -> None:
    """Its length is 1/|θ|²: resolving it takes more and more short steps as the network grows."""
    data, net = slowest()
    begin = rf.integrate(data, net, until=rf.Stop(log_time=1e6))
    end = rf.integrate(data, begin, until=rf.Stop(log_time=1e10))
    assert len(end.events) >= 2
    assert end.stats["steps"] <= 50 + 5 * len(end.events)


def test_the_limit_is_not_asked_for_while_events_come_densely(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes time, and more are to come. The limit is the same, certified at the end of the same leg."""
    data = rf.datasets.wine("class_1", "class_2")
    net = rf.Network.init(20, data.d, scale=0.1, seed=0)
    found, asked, limit_of = [], [], _solution.limit_of

    def counted(*args, **options):
        asked[-1] += 1
        return limit_of(*args, **options)

    monkeypatch.setattr(_solution, "limit_of", counted)
    for most in (_to_limit._MOST_RECENT, math.inf):
        monkeypatch.setattr(_to_limit, "_MOST_RECENT", most)
        asked.append(0)
        found.append(rf.integrate(data, net, until=rf.Stop(limit=True)))
    assert found[0].status == found[1].status == "reached_limit"
    assert found[0].log_t_end == found[1].log_t_end
    np.testing.assert_array_equal(found[0].limit.network.theta, found[1].limit.network.theta)
    assert 1 <= asked[0] <= asked[1] - 2


def test_times_to_save_are_refused_where_the_limit_is_asked_for() -> None:
    data, net = slowest()
    with pytest.raises(ValueError, match="save_at"):
        rf.integrate(data, net, until=rf.Stop(limit=True), save_at=[1.0])


def test_a_norm_that_is_reached_at_the_start_ends_the_run_there() -> None:
    data, net = slowest()
    sol = rf.integrate(data, net, until=rf.Stop(log_norm=-50.0))
    assert sol.status == "reached_log_norm"
    assert sol.stats["steps"] == 0


def clouds(seed: int, copies: int = 2) -> rf.Dataset:
    """[TK]'s symmetric clouds, each sample `copies` times: hundreds of samples on the margin, of rank eight."""
    data = symmetric(np.random.default_rng(seed))
    return rf.Dataset(np.repeat(data.X, copies, axis=0), np.repeat(data.y, copies))


@pytest.mark.parametrize("sizes", list(_SIZES))
def test_repeated_samples_of_symmetric_clouds_have_a_certified_limit(sizes: str) -> None:
    data = clouds(100)
    sol = rf.integrate(data, _start(_SIZES[sizes]), until=rf.Stop(limit=True), reduction="mean")
    assert sol.status == "reached_limit", sol.message
    assert sol.stats["steps"] <= 2000
    assert certify_alone(data, sol.limit) <= 1e-9
    once = rf.integrate(clouds(100, 1), _start(_SIZES[sizes]), until=rf.Stop(limit=True), reduction="mean")
    assert sol.limit.margin == pytest.approx(once.limit.margin, rel=1e-12)


def test_a_wide_network_on_repeated_symmetric_clouds_has_a_certified_limit() -> None:
    data = clouds(100)
    sol = rf.integrate(data, rf.Network.init(20, 2, scale=1e-3, seed=100), until=rf.Stop(limit=True), reduction="mean")
    assert sol.status == "reached_limit", sol.message
    assert sol.stats["steps"] <= 2000
    assert certify_alone(data, sol.limit) <= 1e-9


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_multipliers_that_are_not_unique_do_not_shorten_late_steps(loss: str) -> None:
    """Margins do not answer to all changes of the sixteen weights: rounding stays there, and neurons do not feel it."""
    X = np.array(list(product([-1.0, 1.0], repeat=4)))
    net = rf.Network.init(20, 4, scale=1e-3, seed=3)
    sol = rf.integrate(rf.Dataset(X, X.prod(axis=1)), net, loss=loss, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert "the multipliers are not unique" in sol.limit.reason
    assert certify_alone(sol.data, sol.limit) <= 1e-9
    assert sol.stats["steps"] < 5000  # as many came to log t = 1e13 before


def test_where_the_loss_stalls_the_limit_may_be_certain() -> None:
    """One neuron grows for ever while 39 samples rest, whose weights cancel to rounding at log t = 15."""
    X, y = make_moons(60, noise=0.1, random_state=1)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * y - 1)
    net = rf.Network.init(60, 3, scale=1e-3, seed=1)
    until = rf.Stop(log_time=30.0, loss=1e-3)
    assert "beside 39 samples at rest" in rf.integrate(data, net, until=until).message
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit"
    assert "where the loss stalls" in sol.message
    assert sol.success
    assert sol.limit.certified
    assert certify_alone(data, sol.limit, n_resting=39) <= 1e-9


# --- beyond the range of doubles ---


def test_a_limit_beyond_the_range_of_doubles_is_found_and_kept(tmp_path: Path) -> None:
    """At log |θ| = 340 events are to come still; the state that the limit is polished from is part of the solution."""
    data, net = slowest(seed=23)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.success
    assert math.log(sol.final.norm) == pytest.approx(LARGEST_LOG_NORM)
    assert sol.stats["beyond_log_norm"] > LARGEST_LOG_NORM + 1
    assert f"{sol.stats['beyond_log_norm']:.4g}" in sol.message
    assert sol.stats["steps"] > len(sol.log_t) - 1
    assert certify_alone(data, sol.limit) <= 1e-9
    sol.save(tmp_path / "beyond.npz")
    again = rf.load(tmp_path / "beyond.npz")
    assert again.limit.certified
    assert angle(again.limit.network, sol.limit.network) == 0
    within = rf.integrate(data, net, until=rf.Stop(log_norm=LARGEST_LOG_NORM), rtol=sol.settings.rtol)
    assert not within.limit.certified
    assert angle(within.final, sol.final) <= 1e-6
    assert within.stats["steps"] < sol.stats["steps"]


def test_legs_beyond_the_range_take_the_way_of_legs_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of which the part from log |θ| = 60 on counts as beyond: the same events and the same limit."""
    data, net = slowest(seed=2)
    whole = rf.integrate(data, net, until=rf.Stop(limit=True))
    norms = [norm for norm in _to_limit._LOG_NORMS if norm <= 60]
    monkeypatch.setattr(_to_limit, "LOG_NORMS", [norm for norm in _to_limit._LOG_NORMS if norm > 60])
    monkeypatch.setattr(_to_limit, "_LOG_NORMS", norms)
    monkeypatch.setattr(_to_limit.Beyond, "drift", lambda self, deadline: False)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert math.log(sol.final.norm) == pytest.approx(60.0)
    assert sol.stats["beyond_log_norm"] == pytest.approx(math.log(whole.final.norm), abs=1e-9)
    assert sol.status == whole.status == "reached_limit"
    assert sol.stats["beyond_events"] == np.sum(whole.events.log_t > sol.log_t_end) > 0
    assert len(sol.events) + sol.stats["beyond_events"] == len(whole.events)
    assert sol.stats["steps"] == pytest.approx(whole.stats["steps"], rel=0.01)
    assert angle(sol.limit.network, whole.limit.network) <= 1e-12


def test_what_a_count_of_events_ends_does_not_go_beyond() -> None:
    data, net = slowest(seed=23)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True, events=10**6))
    assert sol.status == "limit_not_certified"
    assert "beyond_log_norm" not in sol.stats
    assert "up to log |θ| = 340" in sol.message


def test_a_callback_ends_a_run_beyond_the_range() -> None:
    data, net = slowest(seed=23)
    seen = []

    def stop(progress: rf.flow.Progress) -> bool:
        seen.append(progress)
        return progress.log_t == math.inf

    sol = rf.integrate(data, net, until=rf.Stop(limit=True), callback=stop, callback_period=0.0)
    assert sol.status == "stopped_by_callback"
    assert math.log(sol.final.norm) == pytest.approx(LARGEST_LOG_NORM)
    assert all(after.log_t >= before.log_t for before, after in pairwise(seen))
    assert all(after.steps >= before.steps for before, after in pairwise(seen))
