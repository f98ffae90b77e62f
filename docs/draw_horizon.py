"""Draw the figure of horizon.md, and print its table: ``python docs/draw_horizon.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

import reluflow as rf

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
import problems  # noqa: E402

Floats = npt.NDArray[np.float64]
Curve = tuple[Floats, Floats]
LOG_TIMES = (1e2, 1e4, 1e6, 1e8)
# The limit that angles are measured from is polished here, a hundred times later than what is drawn.
FAR = 1e12
N_EULER, EULER_STEP = 1_000_000, 0.1
# The last t that DOP853 is asked for: later the squares in its error norm underflow.
LAST_LOG_T = 330.0


def start(name: str) -> tuple[rf.Dataset, rf.Network]:
    made = problems.load(name)
    return rf.Dataset(made.X, made.y), rf.Network(made.W, made.a)


def errors(W: Floats, a: Floats, limit: rf.Network) -> Floats:
    """Angle between each state and the limit."""
    theta = np.concatenate([W, a[:, :, None]], axis=2)
    theta /= np.sqrt((theta**2).sum((1, 2), keepdims=True))
    chords = np.sqrt(((theta - limit.theta) ** 2).sum((1, 2)))
    return np.asarray(2 * np.arcsin(np.minimum(1.0, chords / 2)))


def euler(limit: rf.Network) -> Curve:
    run = rf.descend(*start("P1"), step=EULER_STEP, n_steps=N_EULER, save_every=20)
    return np.log(run.t[1:]), errors(run.W[1:], run.a[1:], limit)


def runge_kutta(limit: rf.Network) -> tuple[Curve, int]:
    """SciPy's DOP853 in plain time, and its number of steps."""
    data, net = start("P1")
    shape = net.W.shape

    def velocity(_: float, u: Floats) -> Floats:
        W, a = u[: net.W.size].reshape(shape), u[net.W.size :]
        Z = W @ data.X.T
        q = data.y * (a @ np.maximum(Z, 0.0))
        G = ((Z > 0) * (data.y * np.exp(-np.logaddexp(0.0, q)))) @ data.X
        return np.concatenate([(a[:, None] * G).ravel(), (W * G).sum(1)])

    u = np.r_[net.W.ravel(), net.a]
    run = solve_ivp(velocity, (0.0, np.exp(LAST_LOG_T)), u, "DOP853", rtol=1e-9, atol=1e-11)
    W, a = run.y[: net.W.size, 1:].T.reshape(-1, *shape), run.y[net.W.size :, 1:].T
    return (np.log(run.t[1:]), errors(W, a, limit)), len(run.t) - 1


def late(limit: rf.Network) -> tuple[Curve, int]:
    """The run of reluflow, and its number of steps to log t = 1e10."""
    sol = rf.integrate(*start("P1"), until=rf.Stop(log_time=1e10))
    grid = np.geomspace(1.0, 1e10, 300)
    return (grid, errors(*sol.states(log_times=grid), limit)), sol.stats["steps"]


def polished(limit: rf.Network) -> Curve:
    """How far the limits polished from earlier states lie from that one."""
    data, net = start("P1")
    ends = np.geomspace(10.0, 1e8, 8)
    limits = [rf.integrate(data, net, until=rf.Stop(log_time=end)).limit.network for end in ends]
    found = errors(np.stack([one.W for one in limits]), np.stack([one.a for one in limits]), limit)
    # Exact agreement has no place on a logarithmic axis.
    return ends, np.maximum(found, np.finfo(float).eps / 2)


def draw(path: Path) -> None:
    data, net = start("P1")
    limit = rf.integrate(data, net, until=rf.Stop(log_time=FAR)).limit
    assert limit.certified, limit.reason
    plain, n_plain = runge_kutta(limit.network)
    horizon, n_late = late(limit.network)
    figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    axes.loglog(*horizon, color="C0", lw=2.5, label=f"reluflow: {n_late} steps to log t = 10¹⁰")
    axes.loglog(*plain, color="C1", lw=1.5, label=f"DOP853 in t: {n_plain} steps to log t = {LAST_LOG_T:g}")
    axes.loglog(*euler(limit.network), "k--", lw=1.5, label=f"Euler (rf.descend): {N_EULER:,} steps of {EULER_STEP}")
    axes.loglog(*polished(limit.network), "s", color="C2", ms=5, label="sol.limit of a run that ends here")
    axes.axvline(np.log(np.finfo(float).max), color="0.6", lw=1, ls=":")
    axes.annotate("t overflows", (np.log(np.finfo(float).max) * 1.2, 2e-15), color="0.4")
    axes.set(xlabel="log t", ylabel="angle to the limit direction", xlim=(1, 1e10), ylim=(2e-17, 10))
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.4), fontsize=9)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    print(f"{path.name}: DOP853 {n_plain} steps, reluflow {n_late}")


def table() -> None:
    """Steps and events by log t, of one run each."""
    print("| problem | log t | steps | of them late | events | seconds |\n|---|---|---|---|---|---|")
    for name in ("P2", "P3"):
        data, net = start(name)
        for end in LOG_TIMES:
            sol = rf.integrate(data, net, until=rf.Stop(log_time=end))
            stats = sol.stats
            cells = (stats["steps"], stats["late_steps"], stats["n_events"])
            print(f"| {name} | 1e{np.log10(end):.0f} | {' | '.join(map(str, cells))} | {stats['seconds']:.1f} |")


if __name__ == "__main__":
    draw(HERE / "horizon" / "horizon.png")
    table()
