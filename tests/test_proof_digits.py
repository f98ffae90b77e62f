"""Proofs with 32 digits: what they hold, against runs of forty and sixty digits, and that their rounding is counted."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import cases
import reluflow as rf
from exact import Exact
from proof_runs import benchmark, case_run
from reluflow import _core
from reluflow.cli import main
from reluflow.proof._prove import _claims, _problem
from reluflow.proof._start import exact_signs

TERMS = {name: 1 << k for k, name in enumerate(_core.PROOF_TERMS)}

CASES = [
    "degenerate_303",
    "long_ortho_601",
    "origin_passage",
    "ortho2d_401",
    "random_101",
    "random_103",
    "random_105",
    "random_107",
    "random_111",
    "simult_dup_203",
    "simult_mirror_209",
    "simult_sym_201",
]


def rows(state: rf.proof.State) -> tuple[np.ndarray, np.ndarray]:
    """High and low words of (w_j, a_j), shape (m, d + 1) each."""
    return np.c_[state.W, state.a], np.c_[state.W_low, state.a_low]


def distance(high: np.ndarray, low: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Of each neuron to stored doubles that are rounded, less what that rounding may be."""
    apart = np.abs((high - stored) + low) - 0.5001 * np.spacing(np.abs(stored))
    return np.linalg.norm(np.maximum(apart, 0.0), axis=1)


def ordinary(seed: int) -> rf.Solution:
    """Normal data, random labels, loss and leak: nothing about the run is special, so that all its rates have signs."""
    rng = np.random.default_rng(seed + 77)
    n, d, m = (int(rng.integers(low, high)) for low, high in ((5, 40), (2, 10), (3, 20)))
    leak = float(rng.choice([0, 0, 0.1]))
    X, y = rng.normal(size=(n, d)), rng.choice([-1, 1], n)
    scale = 10 ** rng.uniform(-3, 0)
    loss = str(rng.choice(["logistic", "exponential"]))
    net = rf.Network.init(m, d, scale=scale, seed=seed, leak=leak)
    return rf.integrate(rf.Dataset(X, y), net, until=float(10 ** rng.uniform(0, 2)), loss=loss)


@pytest.mark.parametrize("name", CASES)
def test_the_enclosures_hold_the_stored_runs_and_lie_in_those_of_doubles(name: str) -> None:
    case, run, points = case_run(name)
    times = [float(point["t"]) for point in points]
    coarse, fine = (rf.prove(run, at=times, digits=digits) for digits in (16, 32))
    assert fine.proved_until >= coarse.proved_until
    assert fine.digits == 32
    for state, point in zip(fine.states, points, strict=False):
        high, low = rows(state)
        assert (distance(high, low, np.c_[point["W"], point["a"]]) <= state.radius).all()
        assert state.radius.max() < 1e-20
        assert (np.abs(low) <= 0.5 * np.spacing(np.abs(high))).all()
        assert low.any()
    for state, wide in zip(fine.states, coarse.states, strict=False):
        high, low = rows(state)
        off = np.linalg.norm(high - rows(wide)[0] + low, axis=1)
        assert (off + state.radius <= wide.radius).all()
        assert (state.radius < np.maximum(1e-8 * wide.radius, 1e-270)).all()
    end = fine.proved_until * (1.0 if fine else 1.0 - 1e-9)
    stored = sorted((e.neuron, e.t, e.sample) for e in case.events if 0.0 < e.t <= end)
    events = fine.events
    found = sorted(zip(events.neuron, events.t, events.sample, events.t_low, events.t_radius, strict=True))
    assert [(j, i) for j, _, i in stored] == [(j, i) for j, _, i, _, _ in found]
    for (_, true, _), (_, t, _, low, radius) in zip(stored, found, strict=True):
        assert abs((t - true) + low) <= radius + 0.5001 * np.spacing(true)
    assert ((events.t_lo <= events.t) & (events.t <= events.t_hi)).all()
    assert (events.t_radius < 1e-16).all()


def test_digits_take_a_proof_further_where_doubles_end() -> None:
    run = ordinary(81)
    doubles, more = rf.prove(run, digits=16), rf.prove(run)
    assert (doubles.status, doubles.digits) == ("not_proved", 16)
    assert (more.status, len(more.events), more.digits) == ("proved", len(run.events), 32)
    # Where doubles are enough they are all that is used; where nothing helps the reason stays.
    _, run, _ = case_run("random_101")
    assert rf.prove(run).digits == 16
    _, run, _ = case_run("degenerate_301")
    assert (rf.prove(run, digits=32).reason, rf.prove(run, digits=32).proved_until) == ("event_not_excluded", 0.0)


@pytest.mark.parametrize(("name", "until", "events"), [("P1", 1e6, 10), ("P1s", 1e4, 10)])
def test_the_planar_benchmarks_are_proved_to_many_digits(name: str, until: float, events: int) -> None:
    run, reference = benchmark(name, until)
    proof = rf.prove(run, at=[until], digits=32)
    assert (proof.status, len(proof.events)) == ("proved", events)
    assert proof(until).radius.max() < 1e-24
    assert proof.events.width.max() < 1e-18
    order = np.argsort(reference.event_t, kind="stable")[:events]
    assert np.abs(proof.events.t / reference.event_t[order] - 1.0).max() < 2e-12


def test_what_ties_to_sixteen_digits_is_put_in_order_unless_it_ties_exactly() -> None:
    # Two neurons of P1s that follow one field leave a boundary at one instant, for its multiplier is not their own.
    # Then they come back, 3e-20 apart: what else they start with has died out.
    run, _ = benchmark("P1s", 20.0)
    assert rf.prove(run, digits=16).order_undecided == ((6, 7), (8, 9))
    proof = rf.prove(run, digits=32)
    assert proof.order_undecided == ((6, 7),)
    t, low = proof.events.t[8:], proof.events.t_low[8:]
    assert 3e-20 < (t[1] - t[0]) + (low[1] - low[0]) < 4e-20


# --- against sixty digits --------------------------------------------------------------------------------------------

UNTIL = 6.0


def planar() -> tuple[rf.Dataset, rf.Network]:
    """Ten events: neurons that cross boundaries, slide, and leave."""
    case = cases.load("random_101")
    return rf.Dataset(case.X, case.y), rf.Network(case.W, case.a)


@pytest.fixture(scope="module")
def sixty() -> Exact:
    data, net = planar()
    return Exact.of(data.X, data.y, net.W, net.a).run(str(UNTIL))


def prove(until: float = UNTIL, **settings: Any) -> dict[str, Any]:
    data, net = planar()
    sol = rf.integrate(data, net, until=until, rtol=1e-12)
    claims = _claims(sol)
    problem = {**_problem(sol), "signs": exact_signs(net.W, data.X), "starting": []}
    columns = tuple(claims[name] for name in ("t", "neuron", "sample", "kind"))
    given = {"until": until, "at": [until], "only_states": False, "digits": 32, **settings}
    found = _core.prove(problem, columns, given, None)
    assert found["reason"] == "none"
    return found


def misses(found: dict[str, Any], sixty: Exact) -> list[float]:
    """How far each neuron is from the run of sixty digits, over its radius."""
    states = found["states"]
    ratios = []
    with localcontext() as context:
        context.prec = 60
        for j, radius in enumerate(states["radius"][0].tolist()):
            high = [*states["W"][0][j].tolist(), float(states["a"][0][j])]
            low = [*states["W_low"][0][j].tolist(), float(states["a_low"][0][j])]
            true = [*sixty.W[j], sixty.a[j]]
            off = sum((Decimal(h) + Decimal(r) - t) ** 2 for h, r, t in zip(high, low, true, strict=True)).sqrt()
            ratios.append(float(off / Decimal(radius)))
    return ratios


def test_the_enclosures_hold_a_run_of_sixty_digits(sixty: Exact) -> None:
    found = prove()
    ratios = misses(found, sixty)
    assert max(ratios) <= 1.0
    assert max(ratios) > 1e-6  # the bound is at most a million times the error
    assert found["states"]["radius"].max() < 1e-25
    events = found["events"]
    assert len(events["t"]) == len(sixty.events) == 10
    for k, (true, neuron, sample, _, _) in enumerate(sixty.events):
        assert (events["neuron"][k], events["sample"][k]) == (neuron, sample)
        with localcontext() as context:
            context.prec = 60
            off = Decimal(float(events["t"][k])) + Decimal(float(events["t_low"][k])) - true
        assert abs(off) <= Decimal(float(events["t_radius"][k]))
        assert events["t_radius"][k] < 1e-19


def test_the_rounding_to_32_digits_is_needed() -> None:
    # Short steps before the first event, so that nothing but what is rounded in them and at their ends counts.
    data, net = planar()
    true = Exact.of(data.X, data.y, net.W, net.a).run("0.5")
    steps = {"order": 12, "longest": 5e-4}
    unit = TERMS["storage"] | TERMS["rounding"] | TERMS["weight"]
    assert max(misses(prove(0.5, **steps), true)) <= 1.0
    assert max(misses(prove(0.5, **steps, dropped=unit), true)) > 1.0


def test_the_tails_of_polynomials_are_needed_to_32_digits(sixty: Exact) -> None:
    rough = {"order": 8, "last_term": 1e-20}
    assert max(misses(prove(**rough), sixty)) <= 1.0
    assert max(misses(prove(**rough, dropped=TERMS["tail"]), sixty)) > 1.0


@pytest.mark.parametrize("seed", [2, 11])
def test_ratios_of_rows_that_no_double_holds_have_all_digits(seed: int) -> None:
    # Samples 3 x and x share a boundary that a neuron leaves when the sum of both lets it go. As the second row x is a
    # third of the first one, as the first row 3 x is three times the second: one time, whichever is first.
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=2) * 8) / 8
    X = np.vstack([3 * x, x, rng.normal(size=(4, 2))])
    label = 1 if seed % 2 else -1
    y = np.array([label, label, *rng.choice([-1, 1], 4)])
    times = []
    for order in ([0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5]):
        net = rf.Network.init(3, 2, scale=0.3, seed=seed)
        sol = rf.integrate(rf.Dataset(X[order], y[order]), net, until=12.0, rtol=1e-12)
        proof = rf.prove(sol, digits=32)
        assert proof
        events = proof.events
        leaves = np.flatnonzero((events.kind == "leave_up") & (events.sample == 0))
        assert len(leaves) == 1
        times.append(tuple(float(column[leaves[0]]) for column in (events.t, events.t_low, events.t_radius)))
    (t, low, radius), (other, other_low, other_radius) = times
    assert abs((t - other) + (low - other_low)) <= radius + other_radius < 1e-18


# --- steps and the events ahead of them -------------------------------------------------------------------------------


def test_what_is_proved_of_a_time_does_not_depend_on_how_far_the_proof_is_to_go() -> None:
    # Pair (0, 13) crosses and comes back soon. A step from before to behind both ends behind the first all the same.
    run = ordinary(86)
    near, far = (rf.prove(run, until=until, at=[0.157], digits=32) for until in (0.157, 0.17))
    assert near
    assert far
    assert far(0.157).radius.max() < 100.0 * near(0.157).radius.max()


@pytest.mark.parametrize("seed", [3, 81, 86, 89, 95])
def test_ordinary_runs_are_proved_to_the_end(seed: int) -> None:
    # 3: kinks behind a release hide its rate unless the step ends soon after it. 81 and 86: pairs come back soon. 89
    # and 95: one sample's weight is small, and it is the largest one that tells how the duals of all others answer.
    run = ordinary(seed)
    proof = rf.prove(run, digits=32)
    assert (proof.status, len(proof.events)) == ("proved", len(run.events))


# --- around it -------------------------------------------------------------------------------------------------------


def test_certificates_hold_the_low_words(tmp_path) -> None:
    data, net = planar()
    proof = rf.prove(rf.integrate(data, net, until=UNTIL), at=[1.0], digits=32)
    proof.save(tmp_path / "proof.json")
    again = rf.proof.load(tmp_path / "proof.json")
    assert (again.digits, repr(again)) == (32, repr(proof))
    assert proof(1.0).W_low.any()
    for name, column in vars(proof(1.0)).items():
        assert np.array_equal(getattr(again(1.0), name), column)
    for name, column in vars(proof.events).items():
        assert np.array_equal(getattr(again.events, name), column)
    assert again.order_undecided == proof.order_undecided


def test_the_command_takes_the_digits(tmp_path, capsys) -> None:
    data, net = planar()
    rf.integrate(data, net, until=UNTIL).save(tmp_path / "run.npz")
    with pytest.raises(SystemExit) as end:
        main(["prove", str(tmp_path / "run.npz"), "--digits", "32"])
    assert end.value.code == 0
    assert "steps of 32 digits" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["prove", str(tmp_path / "run.npz"), "--digits", "20"])
    assert end.value.code == 2
    assert "16, 32 or 'auto'" in capsys.readouterr().err


@pytest.mark.thorough
def test_digits_are_proved_beyond_what_doubles_reach() -> None:
    run, _ = benchmark("P3", 0.12)
    doubles = rf.prove(run, digits=16)
    assert not doubles
    proof = rf.prove(run, at=[0.12], digits=32)
    assert (proof.status, len(proof.events)) == ("proved", len(run.events))
    assert proof(0.12).radius.max() < 1e-18
    assert proof.proved_until > 1.1 * doubles.proved_until
