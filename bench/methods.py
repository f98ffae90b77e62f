"""The flow, gradient descent and scipy's integrators on one benchmark case, each with its error and its time.

Every method runs on one thread, and its time is the processor time of the process, which other work on the machine
disturbs least. An error is |θ - θ_ref| / |θ_ref| at the end time, θ_ref from the stored reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
from scipy import integrate as scipy_integrate
from scipy.special import expit

import problems
import reluflow as rf

RTOL = 1e-9  # the default of rf.integrate, which must be right
MAX_ERROR = 1e-7  # of the default run; the runs themselves come to 1e-9 and better
MAX_REPEATS = 5  # the fastest of so many is the least disturbed
REPEAT_SECONDS = 1.0  # no repeat begins after so many
PEERS = {
    "RK45": scipy_integrate.RK45,
    "DOP853": scipy_integrate.DOP853,
    "LSODA": scipy_integrate.LSODA,
}


@dataclass(frozen=True)
class Case:
    """A problem, its end time, Euler's steps from large to small, and whether scipy's methods run too."""

    name: str
    t: float
    steps: tuple[float, ...]
    peers: bool = False


@dataclass(frozen=True)
class Point:
    """One run. `reached` is the time it came to: below the end time where the seconds ran out."""

    method: str
    setting: float
    error: float
    seconds: float
    n_steps: int
    reached: float
    n_events: int | None = None

    def __str__(self) -> str:
        end = f"error {self.error:.1e}" if np.isfinite(self.error) else f"stopped at t = {self.reached:.3g}"
        return f"{self.method} {self.setting:g}: {end}, {self.n_steps} steps, {self.seconds:.4g} s"


def start(problem: problems.Problem) -> tuple[rf.Dataset, rf.Network]:
    return rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a)


def target(case: Case) -> rf.Network:
    return rf.Network(*problems.reference(case.name).state(case.t))


def timed(run: Callable[[], rf.Solution]) -> tuple[rf.Solution, float]:
    """The solution, and the processor seconds of the fastest repeat."""
    times: list[float] = []
    while len(times) < MAX_REPEATS and sum(times) < REPEAT_SECONDS:
        begin = process_time()
        sol = run()
        times.append(process_time() - begin)
    return sol, min(times)


def flow(case: Case, rtol: float) -> Point:
    """The flow at one tolerance, with its events."""
    data, net = start(problems.load(case.name))

    sol, seconds = timed(lambda: rf.integrate(data, net, until=case.t, rtol=rtol, save_at=[case.t]))
    error = rf.analysis.relative_error(sol.final, target(case)) if sol.success else np.inf
    return Point("reluflow", rtol, error, seconds, sol.stats["steps"], sol.t_end, len(sol.events))


def checked(case: Case, rtol: float = RTOL) -> Point:
    """The flow at the default tolerance; ends the program if state or number of events is wrong."""
    point = flow(case, rtol)
    expected = int(np.sum(problems.reference(case.name).event_t <= case.t))
    if not point.error <= MAX_ERROR or point.n_events != expected:
        found = f"error {point.error:.1e}, {point.n_events} events"
        raise SystemExit(f"{case.name} to t = {case.t:g} is wrong: {found}; expected {expected} events")
    return point


def euler(case: Case, step: float) -> Point:
    data, net = start(problems.load(case.name))
    begin = process_time()
    run = rf.descend(data, net, step=step, n_steps=round(case.t / step))
    seconds = process_time() - begin
    error = rf.analysis.relative_error(run.final, target(case)) if run.success else np.inf
    return Point("Euler", step, error, seconds, run.steps_done, run.steps_done * step)


def velocity(problem: problems.Problem) -> Callable[[float, np.ndarray], np.ndarray]:
    """The right-hand side on θ = (W, a) flat, with ReLU'(0) = 0: two matrix products and what lies between."""
    X, y, shape = problem.X, problem.y, problem.W.shape

    def rhs(t: float, theta: np.ndarray) -> np.ndarray:
        W, a = theta[: -shape[0]].reshape(shape), theta[-shape[0] :]
        Z = X @ W.T
        active = Z > 0.0
        np.maximum(Z, 0.0, out=Z)
        pull = y * expit(-y * (Z @ a))
        return np.concatenate([(((active * pull[:, None]).T @ X) * a[:, None]).ravel(), pull @ Z])

    return rhs


def peer(case: Case, method: str, rtol: float, max_seconds: float) -> Point:
    """One of scipy's methods straight through the kinks; atol is rtol times the scale of the start."""
    problem = problems.load(case.name)
    theta = np.concatenate([problem.W.ravel(), problem.a])
    atol = rtol * float(np.abs(problem.a).max())
    n_steps, begin = 0, process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a method that gives up says so in its status too
        solver = PEERS[method](velocity(problem), 0.0, theta, case.t, rtol=rtol, atol=atol)
        while solver.status == "running" and process_time() - begin < max_seconds:
            solver.step()
            n_steps += 1
    seconds = process_time() - begin
    error = np.inf
    if solver.status == "finished":
        net = rf.Network(solver.y[: problem.W.size].reshape(problem.W.shape), solver.y[problem.W.size :])
        error = rf.analysis.relative_error(net, target(case))
    return Point(method, rtol, error, seconds, n_steps, float(solver.t))


def sweep_peer(case: Case, method: str, rtols: Sequence[float], max_seconds: float) -> list[Point]:
    """From loose to tight, until the seconds run out: a tighter run would need more."""
    points: list[Point] = []
    for rtol in rtols:
        points.append(peer(case, method, rtol, max_seconds))
        if not np.isfinite(points[-1].error):
            break
    return points


def fastest_within(points: Sequence[Point], error: float) -> Point | None:
    """The fastest measured run with at most that error."""
    return min((p for p in points if p.error <= error), key=lambda p: p.seconds, default=None)


def on_line(points: Sequence[Point], error: float) -> tuple[float, str]:
    """Seconds that Euler needs for an error, and how they are known.

    Between two measured errors: a straight line in the logarithms. Outside: error ~ h and seconds ~ 1/h from the
    nearest run.
    """
    finite = sorted((p for p in points if np.isfinite(p.error)), key=lambda p: p.error)
    errors, seconds = np.array([p.error for p in finite]), np.array([p.seconds for p in finite])
    if not len(finite):
        return np.nan, "no stable step"
    if errors[0] <= error <= errors[-1]:
        return float(np.exp(np.interp(np.log(error), np.log(errors), np.log(seconds)))), "interpolated"
    k = 0 if error < errors[0] else -1
    return float(seconds[k] * errors[k] / error), "extrapolated"


def order(points: Sequence[Point]) -> float:
    """Slope of log error over log h between the two smallest steps (1 for Euler on a line)."""
    finite = sorted((p for p in points if np.isfinite(p.error)), key=lambda p: p.setting)[:2]
    if len(finite) < 2:
        return np.nan
    (low, high) = finite
    return float(np.log(high.error / low.error) / np.log(high.setting / low.setting))


@dataclass(frozen=True)
class Late:
    """A run to a time that only its logarithm can hold."""

    name: str
    log_t: float
    n_steps: int
    n_events: int
    seconds: float
    status: str


def late(name: str, log_t: float) -> Late:
    """Run once; ends the program if the events are not those of the reference as far as it goes, or time is short."""
    data, net = start(problems.load(name))
    begin = process_time()
    sol = rf.integrate(data, net, until=rf.Stop(log_time=log_t), save_at_log=[log_t])
    seconds = process_time() - begin
    known = problems.reference(name).event_t
    found = sol.events.t[: len(known)]
    if not sol.success or len(found) < len(known) or not np.allclose(np.sort(found), np.sort(known), rtol=1e-6):
        raise SystemExit(f"{name} to log t = {log_t:g} is wrong: {sol.status}, {len(sol.events)} events")
    return Late(name, log_t, sol.stats["steps"], len(sol.events), seconds, sol.status)
