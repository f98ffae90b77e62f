"""How often runs of small random layered networks end undecided: python tools/survey_layered.py COUNT [FIRST [KINDS]]."""

import sys, time, collections, numpy as np, reluflow as rf

D = rf.Dense


def case(kind, seed):
    r = np.random.default_rng([seed, sum(map(ord, kind))])
    n = 8
    d = 3
    y = r.choice([-1.0, 1.0], n)
    y[:2] = 1, -1
    X = r.standard_normal((n, d))
    loss = "logistic"
    leak = 0.0
    layers = [D(5), D(4), D(1)]
    T = 3.0
    scale = 1.0
    dim = d
    if kind == "exp":
        loss = "exponential"
    if kind == "leaky":
        leak = 0.1
    if kind == "leaky_exp4":
        leak = 0.2
        loss = "exponential"
        layers = [D(4), D(4), D(3), D(1)]
    if kind == "narrow":
        layers = [D(2), D(2), D(2), D(1)]
    if kind == "narrow_leaky":
        layers = [D(2), D(2), D(2), D(1)]
        leak = 0.1
    if kind == "deep5":
        layers = [D(4)] * 4 + [D(1)]
        scale = 1.4
    if kind == "bias":
        layers = [D(5, bias=True), D(4, bias=True), D(1, bias=True)]
        X = X[:, :2]
        dim = 2
        loss = "squared"
        y = r.standard_normal(n)
    if kind == "bias_leak_ce":
        layers = [D(4, bias=True), D(4, bias=True), D(3)]
        leak = 0.1
        loss = "cross_entropy"
        y = np.concatenate(([0, 1, 2], r.integers(0, 3, n - 3)))
    if kind == "ce":
        layers = [D(5), D(4), D(3)]
        loss = "cross_entropy"
        y = np.concatenate(([0, 1, 2], r.integers(0, 3, n - 3)))
    if kind == "k2":
        layers = [D(5), D(4), D(2)]
        loss = "squared"
        y = r.standard_normal((n, 2))
    if kind == "residual":
        layers = [D(4), rf.Residual(D(4)), rf.Residual(D(4)), D(1)]
    if kind == "residual_leak":
        layers = [D(4), rf.Residual(D(4)), rf.Residual(D(4)), D(1)]
        leak = 0.1
    if kind == "conv":
        layers = [rf.Conv1d(2, 3), D(3), D(1)]
        dim = 5
        X = r.standard_normal((n, 5))
        loss = "exponential"
    if kind == "convconv":
        layers = [rf.Conv1d(2, 3), rf.Conv1d(2, 2), D(1)]
        dim = 6
        X = r.standard_normal((n, 6))
    if kind == "mask":
        layers = [D(6, mask=masked(r, 6, 3)), D(4, mask=masked(r, 4, 6)), D(1)]
    if kind == "diag":
        layers = [rf.Diagonal(), rf.Diagonal(), D(1)]
    if kind == "diag_dense":
        layers = [rf.Diagonal(), D(4), D(1)]
    if kind == "relu_out":
        layers = [D(4), D(3), D(1, activation="relu")]
        loss = "squared"
        y = np.abs(r.standard_normal(n))
    net = rf.DeepNetwork.init(layers, dim=dim, scale=scale * 2**0.5, seed=seed, leak=leak)
    return (X, y), net, dict(loss=loss), T


def masked(r, m, d):
    k = r.random((m, d)) < 0.6
    k[~k.any(1), 0] = True
    return k


KINDS = "relu exp leaky leaky_exp4 narrow narrow_leaky deep5 bias bias_leak_ce ce k2 residual residual_leak conv convconv mask diag diag_dense relu_out".split()
if __name__ == "__main__":
    N = int(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = sys.argv[3].split(",") if len(sys.argv) > 3 else KINDS
    for kind in kinds:
        c = collections.Counter()
        ev = collections.Counter()
        msgs = []
        t0 = time.time()
        for s in range(first, first + N):
            data, net, kw, T = case(kind, s)
            sol = rf.integrate(data, net, until=rf.Stop(time=T, seconds=5), rtol=1e-10, **kw)
            c[sol.status] += 1
            for k, v in sol.events.counts().items():
                ev[k] += v
            if sol.status not in ("reached_time", "stationary"):
                msgs.append((s, sol.status, sol.message))
        print(kind, dict(c), dict(ev), f"{time.time() - t0:.1f}s", flush=True)
        for m in msgs[:12]:
            print("   ", m)
