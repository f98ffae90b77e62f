"""Whatever is done to a run, in whatever order, it stays the same run.

A machine draws a problem and then cuts, continues, saves, loads, asks for states and stops by callbacks, and compares
with the run in one piece all along.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import compare
import families
import hostile
import reluflow as rf

# Runs at rtol 1e-10 in pieces and in one piece agree to this part of each neuron.
STATE_TOL, TIME_TOL = 1e-7, 1e-8
RTOL = 1e-10
PROFILE = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # a machine that fails prints its steps; shrinking them takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
QUICK = settings(PROFILE, max_examples=8, stateful_step_count=6)
LONG = settings(PROFILE, max_examples=150, stateful_step_count=14)
PARTS = st.floats(min_value=0.05, max_value=0.95)
POLICIES = st.sampled_from(["inactive", "active", "stay"])
# Problems that branch, that come to rest, that end at a critical point, and ordinary ones.
HOSTILE = ["on_walls", "one_d", "contradictory", "tied", "integers", "bias_1d_grid"]


def family_problem(name: str, seed: int) -> hostile.Hostile:
    s = families.make(name, seed)
    net = rf.Network(s.W, s.a, leak=s.leak)
    return hostile.Hostile(rf.Dataset(s.X, s.y), net, rf.Stop(time=min(s.t_end, 20.0)), dict(s.options))


def hostile_problem(name: str, seed: int) -> hostile.Hostile:
    return hostile.problem(name, seed, log_t=None)


PROBLEMS = st.one_of(
    st.builds(family_problem, st.sampled_from(list(families.FAMILIES)), st.integers(0, 200)),
    st.builds(hostile_problem, st.sampled_from(HOSTILE), st.integers(0, 60)),
)


def ordinary(sol: rf.Solution) -> list[compare.Event]:
    """Events without those that a continuation records of its own start."""
    return [e for e in compare.from_solution(sol) if not e.kind.startswith("start")]


class Runs(RuleBasedStateMachine):
    """`whole` is the run in one piece; `pieces` are runs one after another that must be the same."""

    @initialize(problem=PROBLEMS, policy=POLICIES)
    def begin(self, problem: hostile.Hostile, policy: str) -> None:
        self.problem, self.end = problem, float(problem.until.time)
        self.options = {**problem.options, "rtol": RTOL, "on_branch": policy}
        self.whole = self.go(problem.net, self.end)
        self.pieces: list[rf.Solution] = []
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def go(self, start: rf.Network | rf.Solution, until: float | rf.Stop, **more: object) -> rf.Solution:
        return rf.integrate(self.problem.data, start, until=until, **{**self.options, **more})

    @property
    def now(self) -> float:
        return self.pieces[-1].t_end if self.pieces else 0.0

    @property
    def open(self) -> bool:
        return self.now < self.end and all(s.success for s in self.pieces) and self.whole.success

    def later(self, part: float) -> float:
        return self.now + part * (self.end - self.now)

    def last(self) -> rf.Network | rf.Solution:
        return self.pieces[-1] if self.pieces else self.problem.net

    # --- what can be done ---

    @precondition(lambda self: self.open)
    @rule(part=PARTS)
    def cut_at_a_time(self, part: float) -> None:
        self.pieces.append(self.go(self.last(), self.later(part)))

    @precondition(lambda self: self.open)
    @rule(count=st.integers(1, 6))
    def cut_after_events(self, count: int) -> None:
        self.pieces.append(self.go(self.last(), rf.Stop(time=self.end, events=count)))

    @precondition(lambda self: self.open)
    @rule(calls=st.integers(1, 4))
    def stop_by_a_callback(self, calls: int) -> None:
        left = iter(range(calls, -1, -1))
        piece = self.go(self.last(), self.end, callback=lambda report: next(left, 0) == 0, callback_period=0.0)
        if piece.status == "stopped" or piece.t_end < self.end:
            self.interrupted = piece.status
            if piece.t_end > self.now:
                self.pieces.append(piece)
        else:
            self.pieces.append(piece)

    @precondition(lambda self: self.pieces and self.pieces[-1].success)
    @rule()
    def go_to_the_end(self) -> None:
        if self.open:
            self.pieces.append(self.go(self.last(), self.end))

    @precondition(lambda self: self.pieces)
    @rule()
    def save_and_load(self) -> None:
        """The next piece continues what was read back."""
        path = Path(self.folder.name) / "piece.npz"
        piece = self.pieces[-1]
        piece.save(path)
        back = rf.load(path)
        for name in ("t", "log_t", "W", "a", "log_loss", "pattern0"):
            assert np.array_equal(getattr(piece, name), getattr(back, name)), name
        for name in ("events", "branchings", "final", "initial", "data", "status", "message", "success", "t_end"):
            assert getattr(piece, name) == getattr(back, name), name
        self.pieces[-1] = back

    @rule(part=PARTS)
    def ask_for_a_state(self, part: float) -> None:
        """Dense output of the whole is that of the piece there, and a saved state."""
        t = part * self.whole.t_end
        if t <= 0 or not self.whole.success:
            return
        saved = self.go(self.problem.net, self.end, save_at=[t])
        dense = self.whole(t)
        self.same(dense.W, dense.a, saved.W[0], saved.a[0], f"of the whole at t = {t!r}")
        for piece in self.pieces:
            if piece.t_start <= t <= piece.t_end:
                self.same(piece(t).W, piece(t).a, saved.W[0], saved.a[0], f"of a piece at t = {t!r}")

    @precondition(lambda self: self.pieces and self.pieces[-1].success)
    @rule(part=PARTS)
    def ask_the_last_piece(self, part: float) -> None:
        piece = self.pieces[-1]
        t = piece.t_start + part * (piece.t_end - piece.t_start)
        if piece.t_start < t < piece.t_end:
            dense, whole = piece(t), self.whole(t)
            self.same(dense.W, dense.a, whole.W, whole.a, f"at t = {t!r}")

    @precondition(lambda self: self.pieces and self.now >= self.end and self.whole.success)
    @rule()
    def go_beyond_the_end(self) -> None:
        """After rest or not: both go on alike."""
        on, on_whole = (self.go(s, 1.5 * self.end) for s in (self.pieces[-1], self.whole))
        assert on.status == on_whole.status
        self.same(on.final.W, on.final.a, on_whole.final.W, on_whole.final.a, "beyond the end")

    def same(self, W, a, W_ref, a_ref, where: str) -> None:
        compare.assert_same_state(W, a, W_ref, a_ref, STATE_TOL, where)

    # --- what always holds ---

    @invariant()
    def pieces_follow_each_other(self) -> None:
        for before, after in zip(getattr(self, "pieces", [])[:-1], getattr(self, "pieces", [])[1:], strict=True):
            assert after.t_start == before.t_end
            assert np.array_equal(after.pattern0, before.final.pattern)
            if after.t[0] == after.t_start:  # put on its boundaries once more
                assert np.allclose(after.W[0], before.final.W, rtol=1e-14, atol=1e-14 * np.abs(before.final.W).max())

    @invariant()
    def the_last_state_is_on_the_whole_run(self) -> None:
        if not getattr(self, "pieces", None) or not self.whole.success or not 0 < self.now <= self.whole.t_end:
            return
        piece, there = self.pieces[-1], self.whole(self.now)
        self.same(piece.final.W, piece.final.a, there.W, there.a, f"after {len(self.pieces)} pieces")

    @invariant()
    def the_loss_falls_through_all_pieces(self) -> None:
        log_loss = np.concatenate([s.log_loss for s in getattr(self, "pieces", [])] or [np.zeros(1)])
        assert np.all(np.diff(log_loss) <= 1e-13 * np.maximum(1.0, np.abs(log_loss[1:])))

    @invariant()
    def events_and_branches_are_those_of_the_whole(self) -> None:
        pieces = getattr(self, "pieces", [])
        if not pieces or not self.whole.success:
            return
        until = self.now * (1 - 1e-6)
        want = [e for e in ordinary(self.whole) if e.t <= until]
        have = [e for s in pieces for e in ordinary(s) if e.t <= until]
        compare.assert_same_events(want, have, self.whole.pattern0, rtol=TIME_TOL)
        chosen = [(b.neuron, b.choice) for b in self.whole.branchings if b.t <= until]
        assert [(b.neuron, b.choice) for s in pieces for b in s.branchings if b.t <= until] == chosen


def test_a_run_in_pieces_is_the_run() -> None:
    """The rules and invariants of `Runs` assert; this raises what they raise."""
    run_state_machine_as_test(Runs, settings=QUICK)


@pytest.mark.slow
def test_a_run_in_pieces_is_the_run_in_many_ways() -> None:
    """The rules and invariants of `Runs` assert; this raises what they raise."""
    many = int(os.environ.get("RELUFLOW_STATEFUL", LONG.max_examples))
    run_state_machine_as_test(Runs, settings=settings(LONG, max_examples=many))
