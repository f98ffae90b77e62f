"""A check of limits that shares no code with the library: the KKT conditions from the network and λ alone."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import lsq_linear

import reluflow as rf


def certify_alone(data: rf.Dataset, limit: rf.limits.Limit, n_resting: int = 0) -> float:
    """Largest violation of the KKT conditions of min |θ|²/2 s.t. q >= 1, from the network and λ alone.

    Of samples at rest q = 0 is asked, and λ is free: it is larger than that of the others by any factor. So is what one
    holds on its boundary, if others at rest pull there; if none does, it has the sign of its label.
    """
    net, duals = limit.network, limit.duals
    of_limit = data.y * net(data.X)
    grows = np.argsort(of_limit)[n_resting:]
    rests = ~np.isin(np.arange(data.n), grows)
    scale = 1 / math.sqrt(of_limit[grows].min())
    W, a = net.W * scale, net.a * scale
    Z = W @ data.X.T
    q = data.y * (a @ np.where(Z > 0, Z, net.leak * Z))
    size = float(np.abs(duals).sum())
    faults = [float((np.abs(duals) * np.abs(q - 1))[grows].max()) / size, float((-data.y * duals)[grows].max())]
    faults += [float((1 - q)[grows].max()), float(np.abs(np.delete(q, grows)).max(initial=0.0))]
    for j in np.flatnonzero(a):
        on = np.abs(Z[j]) <= 1e-9 * np.linalg.norm(W[j]) * np.linalg.norm(data.X, axis=1)
        pull = duals @ (np.where(Z[j] > 0, 1.0, net.leak)[:, None] * np.where(on[:, None], 0.0, data.X))
        gap = W[j] / a[j] - pull  # what the held samples have to give: multiples in [leak, 1] of λ x
        held = on & ((duals != 0) | rests)
        rows = np.where(rests, data.y, duals)[held, None] * data.X[held]
        if len(rows):
            is_pulled = net.leak > 0 or bool((Z[j] > 0)[rests & ~on].any())
            least = np.where(rests[held], -np.inf if is_pulled else 0.0, net.leak)
            most = np.where(rests[held], np.inf, 1.0)
            gap = gap - lsq_linear(rows.T, gap, (least, most), method="bvls", tol=1e-15).x @ rows
        faults.append(float(np.linalg.norm(gap)) * abs(a[j]) / math.sqrt(2 * size))
    return max(faults)
