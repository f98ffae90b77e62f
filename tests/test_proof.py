"""Proofs of runs: what they hold, where they end, and that wrong claims are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import reluflow as rf
from proof_runs import benchmark, case_run
from reluflow import _core
from reluflow.cli import main
from reluflow.flow import _progress
from reluflow.proof._proof import KINDS
from reluflow.proof._prove import _claims, _problem, _prove
from reluflow.proof._start import exact_signs
from reluflow.proof._units import Units

DATA = rf.datasets.phuong_lampert(20, 4, seed=3)
START = rf.Network.init(8, 4, scale=1e-2, seed=2)


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    """78 crossings in 8 neurons, the last of them far before the end."""
    return rf.integrate(DATA, START, until=20.0, rtol=1e-11)


# The stored runs that begin with something that is proved: ReLU and leaky, logistic and exponential, sum and mean,
# sliding and leaving alone or thrown out. The first ones are proved to their end.
WHOLE = [
    "long_ortho_601",
    "ortho2d_401",
    "random_101",
    "random_103",
    "random_107",
    "random_111",
    "simult_mirror_209",
    "simult_dup_203",
    "simult_sym_201",
]
STORED = [*WHOLE, "degenerate_303", "random_105", "origin_passage"]


@pytest.mark.parametrize("name", STORED)
def test_the_enclosures_hold_the_stored_states_and_events(name: str) -> None:
    case, run, points = case_run(name)
    proof = rf.prove(run, at=[float(point["t"]) for point in points], digits=16)
    inside = [point for point in points if float(point["t"]) <= proof.proved_until]
    assert len(proof.states) == len(inside)
    assert all(state.holds(point["W"], point["a"]) for state, point in zip(proof.states, inside, strict=True))
    # A neuron inactive on everything else comes to rest: a stored run may call that a slide.
    stored = sorted((e.neuron, e.t, e.sample) for e in case.events if 0.0 < e.t <= proof.proved_until)
    found = sorted(zip(proof.events.neuron, proof.events.t_lo, proof.events.sample, proof.events.t_hi, strict=True))
    assert [(j, i) for j, _, i in stored] == [(j, i) for j, _, i, _ in found]
    # The stored times are rounded to doubles.
    assert all(lo - 4e-16 * t <= t <= hi + 4e-16 * t for (_, t, _), (_, lo, _, hi) in zip(stored, found, strict=True))
    assert len(found) > 4 or name == "ortho2d_401"


def test_whole_runs_are_proved() -> None:
    kinds = set()
    for name in WHOLE:
        _, run, _ = case_run(name)
        proof = rf.prove(run)
        assert (proof.status, proof.reason, len(proof.events)) == ("proved", "none", len(run.events)), name
        assert proof.proved_until == run.t_end
        kinds |= set(proof.events.kind)
        assert sorted(zip(proof.events.neuron, proof.events.sample, proof.events.kind, strict=True)) == sorted(
            zip(run.events.neuron, run.events.sample, run.events.kind, strict=True)
        )
    assert kinds == set(KINDS)


def test_sliding_and_leaving_in_the_plane_is_proved_to_the_end() -> None:
    run, reference = benchmark("P1s", 1e4)
    proof = rf.prove(run, at=[1e4])
    assert (proof.status, len(proof.events)) == ("proved", 10)
    # Two neurons leave at one instant, and come back at one: in either order.
    assert len(proof.order_undecided) == 2
    assert [*proof.events.kind].count("leave_up") == 2
    order = np.argsort(reference.event_t, kind="stable")[:10]
    close = 4e-14 * reference.event_t[order]  # what the reference is known to
    assert (proof.events.t_lo <= reference.event_t[order] + close).all()
    assert (reference.event_t[order] - close <= proof.events.t_hi).all()
    assert proof.events.width.max() < 4e-9
    assert proof(1e4).radius.max() < 1e-11


@pytest.mark.slow
def test_digits_are_proved_with_neurons_that_are_thrown_out_of_boundaries() -> None:
    run, reference = benchmark("P3", 0.01)
    proof = rf.prove(run, at=[0.01])
    assert (proof.status, len(proof.events)) == ("proved", 8663)
    found = zip(proof.events.neuron.tolist(), proof.events.sample.tolist(), map(str, proof.events.kind), strict=True)
    stored = zip(reference.event_neuron.tolist(), reference.event_sample.tolist(), reference.event_kind, strict=True)
    inside = [event for event, t in zip(stored, reference.event_t, strict=True) if t < 0.01]
    assert sorted(found) == sorted(inside)
    assert proof(0.01).holds(run.final.W, run.final.a)


def test_bounds_are_at_most_a_million_times_the_error() -> None:
    _, run, points = case_run("ortho2d_401")
    proof = rf.prove(run, at=[float(point["t"]) for point in points])
    for state, point in zip(proof.states, points, strict=True):
        error = np.hypot(np.linalg.norm(state.W - point["W"], axis=1), state.a - point["a"])
        assert (state.radius < 1e6 * (error + 1e-17)).all()


def test_the_events_agree_with_those_of_the_run(sol: rf.Solution) -> None:
    proof = rf.prove(sol)
    assert proof.status == "proved"
    assert len(proof.events) == len(sol.events) > 50
    assert [*proof.events.neuron] == [*sol.events.neuron]
    assert [*proof.events.kind] == [*sol.events.kind]
    middle = 0.5 * (proof.events.t_lo + proof.events.t_hi)
    assert np.abs(middle / sol.events.t - 1.0).max() < 1e-7
    assert proof.events.margin.min() > 1.0


def test_a_rough_solution_is_proved_all_the_same_or_refused() -> None:
    for rtol in (1e-4, 1e-6):
        rough = rf.integrate(DATA, START, until=20.0, rtol=rtol)
        proof, fine = rf.prove(rough), rf.prove(rf.integrate(DATA, START, until=20.0, rtol=1e-11))
        if proof:
            assert [*proof.events.sample] == [*fine.events.sample]
        else:
            assert proof.proved_until < 20.0


def test_a_state_at_any_time_can_be_asked_for(sol: rf.Solution) -> None:
    proof = rf.prove(sol, at=[1.0])
    for t in (0.0, 1.0, 3.25):
        near = sol(t)
        assert np.abs(proof(t).W - near.W).max() < 1e-8
    assert proof(1.0) is proof.states[0]
    with pytest.raises(ValueError, match=r"t must lie between 0\.0 and 20\.0"):
        proof(21.0)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_what_a_proof_does_not_know_ends_it_with_its_neuron_sample_and_time(sol: rf.Solution) -> None:
    claims = _claims(sol)
    k = 40
    claims["kind"][k] = len(KINDS)
    proof = _prove(_problem(sol), claims, sol.pattern0, {"until": sol.t_end, "at": [], "only_states": False})
    assert (proof.status, proof.reason) == ("not_proved", "unsupported")
    assert (proof.neuron, proof.sample) == (claims["neuron"][k], claims["sample"][k])
    assert claims["t"][k] * (1.0 - 1e-6) < proof.proved_until <= claims["t"][k]
    assert proof.t_reason == proof.proved_until


def test_a_passage_of_the_origin_is_refused() -> None:
    _, run, _ = case_run("origin_passage")
    proof = rf.prove(run)
    assert not proof
    assert len(proof.events) == 5


def test_a_proof_shows_how_far_it_is(
    sol: rf.Solution, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The core, which reports ten times a second, reports once here."""

    def prove(given: object, columns: object, own: object, hook: Callable[[object], object] | None) -> object:
        if hook is not None:
            hook((0.5, 3, 5))
        return whole(given, columns, own, None)

    whole = _core.prove
    monkeypatch.setattr(_core, "prove", prove)
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.0)
    heard: list[tuple[float, int, int]] = []
    assert rf.prove(sol, progress=True, callback=lambda *now: heard.append(now))
    ((t, steps, events),) = heard
    assert (steps, events) == (3, 5)
    shown = f"t = {t:.4g} of 20, 5 of {len(sol.events)} events, 3 steps of 16 digits, 0 s\n"
    assert capsys.readouterr().err == shown
    assert rf.prove(sol)
    assert not capsys.readouterr().err


def test_a_callback_ends_a_proof(sol: rf.Solution) -> None:
    proof = rf.prove(sol, callback=lambda t, steps, events: True)
    assert proof.reason in ("stopped", "none")  # a proof shorter than a tenth of a second asks nobody


def test_bad_arguments_name_what_is_expected(sol: rf.Solution) -> None:
    for arguments, words in (
        ({"until": 30.0}, "until must lie between 0.0 and 20.0, found 30.0"),
        ({"until": -1.0}, "until must lie between"),
        ({"at": [25.0]}, "at must lie between"),
        ({"digits": 24}, "digits must be 16, 32 or 'auto', found 24"),
    ):
        with pytest.raises(ValueError, match=words.replace(".", r"\.")):
            rf.prove(sol, **arguments)
    with pytest.raises(ValueError, match="sol must be"):
        rf.prove(DATA)


# --- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_weights_are_within_their_bound(loss: str) -> None:
    q = np.concatenate(
        [np.linspace(-700.0, 700.0, 401), np.linspace(-2.0, 2.0, 400), 0.34657359 + np.arange(-50, 50) * 1e-9]
    )
    found = _core.proof_weights(q, loss)
    with localcontext() as context:
        context.prec = 50
        for margin, weight in zip(q.tolist(), found.tolist(), strict=True):
            exact = (-Decimal(margin)).exp() if loss == "exponential" else 1 / (1 + Decimal(margin).exp())
            assert abs(Decimal(weight) / exact - 1) < 12 * Decimal(2) ** -53


def test_the_spectral_norm_is_bounded_closely() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 40), (60, 7), (50, 50)):
        X = rng.normal(size=shape) * 10.0 ** rng.integers(-20, 20)
        norm = np.linalg.norm(X, 2)
        assert norm <= _core.spectral_norm_up(X) <= 1.01 * norm


def test_signs_at_the_start_are_exact() -> None:
    W = np.array([[1.0, 1e-30, -1.0], [0.1, 0.2, -0.3], [3.0, -1.0, 0.0]])
    X = np.array([[1.0, 1.0, 1.0], [1.0, 3.0, 0.5]])
    exact = np.vectorize(Fraction)(W) @ np.vectorize(Fraction)(X).T
    assert exact_signs(W, X).tolist() == [[(e > 0) - (e < 0) for e in row] for row in exact]
    assert exact_signs(W, X)[2, 1] == 0


def test_events_of_two_neurons_with_overlapping_times_are_listed() -> None:
    _, run, _ = case_run("simult_mirror_209")
    proof = rf.prove(run)
    for k, other in proof.order_undecided:
        assert proof.events.t_lo[other] <= proof.events.t_hi[k]
        assert proof.events.neuron[k] != proof.events.neuron[other]
    # Mirrored neurons on mirrored data do everything at once.
    assert {k for pair in proof.order_undecided for k in pair} == set(range(len(proof.events)))


def test_a_certificate_is_read_back_exactly(sol: rf.Solution, tmp_path) -> None:
    proof = rf.prove(sol, at=[0.5, 2.0])
    proof.save(tmp_path / "proof.json")
    again = rf.proof.load(tmp_path / "proof.json")
    assert repr(again) == repr(proof)
    assert math.isnan(again.t_reason)
    assert all(np.array_equal(getattr(again.events, k), getattr(proof.events, k)) for k in vars(proof.events))
    assert np.array_equal(again(2.0).radius, proof(2.0).radius)
    with pytest.raises(ValueError, match="certificate"):
        again(3.0)
    (tmp_path / "other.json").write_text(json.dumps({"format": "else"}))
    with pytest.raises(ValueError, match=r"other\.json"):
        rf.proof.load(tmp_path / "other.json")
    with pytest.raises(FileNotFoundError):
        rf.proof.load(tmp_path / "missing.json")


def test_the_same_proof_has_the_same_bits(sol: rf.Solution) -> None:
    first, second = rf.prove(sol, at=[5.0]), rf.prove(sol, at=[5.0])
    assert np.array_equal(first.events.t_lo, second.events.t_lo)
    assert np.array_equal(first(5.0).W, second(5.0).W)


@pytest.mark.parametrize("digits", [16, 32])
@pytest.mark.parametrize("power", [-160, -30, 20, 160])
def test_inputs_of_any_size_have_one_proof(power: int, digits: int) -> None:
    # With inputs times c², weights over c and times over c² the flow is the same, and no power of two rounds.
    unit, until = 2.0**power, 3.0
    moved = rf.Dataset(unit**2 * DATA.X, DATA.y), rf.Network(START.W / unit, START.a / unit)
    run = rf.integrate(*moved, until=until / unit**2, rtol=1e-11)
    base = rf.prove(rf.integrate(DATA, START, until=until, rtol=1e-11), at=[until], digits=digits)
    proof = rf.prove(run, at=[until / unit**2], digits=digits)
    assert proof
    assert len(proof.events) == len(base.events) > 0
    np.testing.assert_allclose(proof.events.t * unit**2, base.events.t, rtol=1e-11)
    assert proof.bound * unit == pytest.approx(base.bound, rel=0.5)
    state, there = proof(until / unit**2), base(until)
    assert (np.abs(state.a * unit - there.a) <= state.radius * unit + there.radius).all()
    asked = proof(0.5 * until / unit**2)
    np.testing.assert_allclose(asked.W * unit, base(0.5 * until).W, rtol=0, atol=1e-9)


def test_where_numbers_leave_the_range_enclosures_hold_what_is_lost() -> None:
    events = {"t": np.array([3.0, 1.0]), "t_low": np.array([0.0, 1e-290]), "t_radius": np.array([0.0, 3e-290])}
    events |= {"t_lo": np.array([3.0, 1e-290]), "t_hi": np.array([3.0, 3e-290])}
    states = {name: np.full((1, 2), 1e-290) for name in ("a", "a_low", "radius")}
    states |= {name: np.full((1, 2, 3), 1e-290) for name in ("W", "W_low")} | {"t": np.array([1.0])}
    raw = {"events": events, "states": states, "t": 1.0, "proved_until": 1.0, "bound": 1.0}
    found = Units(2.0**60).result(raw)
    assert found["events"]["t_radius"].tolist()[0] == 0.0
    assert found["events"]["t_radius"][1] >= 1e-300
    assert found["events"]["t_lo"][1] < found["events"]["t_hi"][1]
    assert (found["states"]["radius"] >= 1e-308).all()
    back = Units(2.0**-60).result(found)["states"]
    off = np.linalg.norm(np.dstack((back["W"], back["a"])) - np.dstack((states["W"], states["a"])), axis=2)
    assert (off <= back["radius"]).all()


def test_the_command_proves_a_saved_run(sol: rf.Solution, tmp_path, capsys) -> None:
    sol.save(tmp_path / "run.npz")
    with pytest.raises(SystemExit) as end:
        main(["prove", str(tmp_path / "run.npz"), "--out", str(tmp_path / "proof.json")])
    assert end.value.code == 0
    assert "proved: proved until t = 20.0" in capsys.readouterr().out
    assert rf.proof.load(tmp_path / "proof.json")
    _, run, _ = case_run("origin_passage")
    run.save(tmp_path / "run.npz")
    with pytest.raises(SystemExit) as end:
        main(["prove", str(tmp_path / "run.npz"), "--digits", "16"])
    assert end.value.code == 1
    assert "then event_not_excluded" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["prove", str(tmp_path / "none.npz")])
    assert end.value.code == 2


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (".", "--out must name a file, found the folder"),
        ("none/proof.json", "--out must lie in a folder that exists and can be written to, found"),
        ("run.npz/proof.json", "--out must lie in a folder that exists and can be written to, found"),
    ],
)
def test_a_place_where_no_certificate_can_be_is_named_before_the_proof(
    sol: rf.Solution, tmp_path, capsys, monkeypatch, out: str, message: str
) -> None:
    sol.save(tmp_path / "run.npz")
    monkeypatch.setattr("reluflow.cli._prove.prove", lambda *_, **__: pytest.fail("proved first"))
    with pytest.raises(SystemExit) as end:
        main(["prove", str(tmp_path / "run.npz"), "--out", str(tmp_path / out)])
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
