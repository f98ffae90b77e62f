"""Tables 1 and 2: what kind of optimum the limit of the flow is, for each class of networks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._validation import FloatArray
from ...convex import certify, layer_margin, svm
from ...datasets import vardi_shamir_srebro
from ...datasets._construction import Weights
from ...flow import integrate
from .._claim import Claim, Context, Number, Outcome
from ._checks import LATE, Margins, kkt_residual, printed, run, table
from ._deep import deep_path, random_layers
from ._layered import deep_end, diagonal_end, filter_end
from ._linear import deep_point, narrow_cone
from ._other_networks import ACTIVATIONS, convolution, diagonal, patches
from ._search import SIZE, kkt_point, least_groups
from ._sparse import PATCHES, ROOT_HALF, diagonal_path, filter_path

GLOBAL, LOCAL, NOT_LOCAL = "Global", "Local, not global", "Not local"
FLOW, POINT = "flow", "point"  # the end of a run, judged; or a KKT point that was not reached by one
TINY = 1e-6


def judged(theorem: str) -> str:
    """Return what the limit of a construction's flow is, by its certificate."""
    case = vardi_shamir_srebro(theorem)
    found = certify(run(case, "logistic"), case.data)
    if found.verdict == "global":
        return GLOBAL
    if found.verdict != "kkt_not_global" or found.local_optimum is None:
        return "undecided"
    return LOCAL if found.local_optimum else NOT_LOCAL


def judged_layer(theorem: str) -> str:
    """Return what the first layer of the limit of a construction's flow is, in Problem (4)."""
    case = vardi_shamir_srebro(theorem)
    limit = certify(run(case, "logistic"), case.data).network
    own = layer_margin(case.data, limit, 1)
    best = layer_margin(case.data, limit, 1, scope="global")
    if own.current <= best.value * (1 + TINY):
        return GLOBAL
    inputs = np.abs(limit.W @ case.data.X.T).min()
    if inputs > TINY and own.current <= own.value * (1 + TINY):
        return LOCAL
    assert case.better is not None
    near = [case.better(e) for e in (1e-6, 1e-3)]
    smaller = all(np.sum(point.W**2) < np.sum(limit.W**2) for point in near)
    feasible = all((np.maximum(case.data.X @ point.W.T, 0) @ limit.a).min() >= 1 - 1e-12 for point in near)
    return NOT_LOCAL if smaller and feasible else "undecided"


def judged_groups(n_neurons: int, n_inputs: int) -> str:
    """Return what KKT points of linear networks are, each neuron of which sees inputs of its own and none is zero."""
    margin_of, ends = [], []
    for seed in range(4):
        rng = np.random.default_rng([seed, n_neurons])
        inputs = rng.standard_normal((5, n_neurons, n_inputs))
        y = np.where(inputs.sum(axis=(1, 2)) > 0, 1.0, -1.0)
        found = kkt_point(patches(inputs, y, ACTIVATIONS["linear"]), n_neurons * (n_inputs + 1), rng)
        if found is None:
            continue
        W, v = found[0][:-n_neurons].reshape(n_neurons, n_inputs), found[0][-n_neurons:]
        sizes = np.abs(v) * np.linalg.norm(W, axis=1)
        if sizes.min() > SIZE and np.abs(np.einsum("nkp,kp->nk", inputs, W)).min() > TINY:
            ends.append(float(sizes.sum()))
            margin_of.append(least_groups(inputs, y))
    good = [end <= best * (1 + TINY) for end, best in zip(ends, margin_of, strict=True)]
    return GLOBAL if good and all(good) else "undecided"


def _two_views() -> str:
    """Return what the limit of Theorem 3.2 is in a network whose neurons see different copies of the two inputs."""
    case = vardi_shamir_srebro("3.2")
    assert case.better is not None
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])  # what the second neuron sees is turned by a quarter
    margin = patches(np.stack((case.data.X, case.data.X @ turn), axis=1), case.data.y, ACTIVATIONS["ReLU"])

    def flat(weights: Weights) -> FloatArray:
        return np.concatenate((weights.W[0], weights.W[1] @ turn, weights.a))

    near = [flat(case.better(e)) for e in (1e-6, 1e-3)]
    theta = flat(case.limit)
    if kkt_residual(margin, theta, case.multipliers) > 1e-9:
        return "no KKT point"
    better = all(margin(point).min() >= 1 - 1e-12 and point @ point < theta @ theta for point in near)
    return NOT_LOCAL if better else "undecided"


def _deep_layers() -> str:
    """Return whether each layer of random KKT points of deep linear networks is the best one."""
    kinds, _ = random_layers(1, 0)
    gaps = [gap for found in kinds.values() for gap in found]
    return GLOBAL if gaps and max(gaps) <= 1e-5 else "undecided"


def judged_linear() -> str:
    """Return what the limit of a flow of a linear network of depth 2 without zero neurons is."""
    data, start = narrow_cone(0)
    found = certify(integrate(data, start, until=LATE), data)
    best = 1 / svm(data).margin  # least Σ|u_j| of a linear network
    return GLOBAL if abs(found.value - best) <= TINY * best else "undecided"


def judged_point(margin: Margins, theta: FloatArray, dual: float, path: Callable[[float], FloatArray]) -> str:
    """Return "Not local" if θ̃ is a KKT point and the path to it is feasible and smaller."""
    if kkt_residual(margin, theta, [dual]) > 1e-9:
        return "no KKT point"
    near = [path(e) for e in (1e-6, 1e-3)]
    better = all(margin(point)[0] >= 1 - 1e-12 and point @ point < theta @ theta for point in near)
    return NOT_LOCAL if better and np.linalg.norm(near[0] - theta) < 1e-2 else "undecided"


def _diagonal(activation: str) -> str:
    margin = diagonal(np.array([1.0, 2.0]), 2, ACTIVATIONS[activation])
    return judged_point(margin, diagonal_end(activation.lower()), 1.0, diagonal_path)


def _deep_diagonal(activation: str) -> str:
    margin = diagonal(np.ones(2), 3, ACTIVATIONS[activation])
    return judged_point(margin, deep_end(activation.lower(), 3), 2 ** (1 / 3), lambda e: deep_path(3, e))


def _filter(activation: str) -> str:
    margin = convolution(PATCHES, ACTIVATIONS[activation])
    return judged_point(margin, filter_end(activation.lower()), 1.0, filter_path)


def _deep_linear() -> str:
    """Return what the point C v_l v_{l-1}ᵀ of depth 3 is: its |θ|² is the bound m γ^(-2/m) of Lemma C.5."""
    margins, theta, duals, bound = deep_point(3, np.random.default_rng(0))
    return (
        GLOBAL
        if kkt_residual(margins, theta, duals) < 1e-9 and abs(theta @ theta - bound) <= TINY * bound
        else "undecided"
    )


def _linear_layers() -> str:
    """Return whether each layer of the linear network of Theorem 4.4 is the best one."""
    theta, margin = np.array([0, 1, ROOT_HALF, ROOT_HALF]), convolution(PATCHES, ACTIVATIONS["linear"])
    # f is linear in one layer: the least layer with f = 1 is g/|g|², and f = g·layer = 1 at the point.
    w_pull, v_pull = theta[2:] @ PATCHES, PATCHES @ theta[:2]
    least = 1 / (w_pull @ w_pull) + 1 / (v_pull @ v_pull)
    return GLOBAL if abs(theta @ theta - least) <= TINY and abs(float(margin(theta)[0]) - 1) <= TINY else "undecided"


Entry = tuple[str, str, str, Callable[[], str], str]  # activation, theorem, printed, computed, how
TABLE_1: tuple[tuple[str, tuple[Entry, Entry]], ...] = (
    (
        "fully connected",
        (
            ("linear", "3.1", GLOBAL, judged_linear, FLOW),
            ("ReLU", "3.2", NOT_LOCAL, lambda: judged("3.2"), FLOW),
        ),
    ),
    (
        "no shared weights",
        (
            ("linear", "4.1", NOT_LOCAL, lambda: _diagonal("linear"), FLOW),
            ("ReLU", "3.2", NOT_LOCAL, _two_views, POINT),
        ),
    ),
    (
        "no shared weights, no zero neuron",
        (
            ("linear", "4.2", GLOBAL, lambda: judged_groups(3, 2), POINT),
            ("ReLU", "4.2", NOT_LOCAL, lambda: judged("4.2"), FLOW),
        ),
    ),
    (
        "no shared weights, no zero input",
        (
            ("linear", "4.2", GLOBAL, lambda: judged_groups(2, 3), POINT),
            ("ReLU", "4.3", LOCAL, lambda: judged("4.3"), FLOW),
        ),
    ),
    (
        "shared weights, no zero input",
        (
            ("linear", "4.4", NOT_LOCAL, lambda: _filter("linear"), FLOW),
            ("ReLU", "4.4", NOT_LOCAL, lambda: _filter("ReLU"), FLOW),
        ),
    ),
)
TABLE_2: tuple[tuple[str, tuple[Entry, Entry]], ...] = (
    (
        "fully connected",
        (
            ("linear", "3.1", GLOBAL, _deep_linear, POINT),
            ("ReLU", "3.2", NOT_LOCAL, lambda: judged("3.2"), FLOW),
        ),
    ),
    (
        "no shared weights, no zero input",
        (
            ("linear", "5.1", NOT_LOCAL, lambda: _deep_diagonal("linear"), FLOW),
            ("ReLU", "5.1", NOT_LOCAL, lambda: _deep_diagonal("ReLU"), FLOW),
        ),
    ),
    (
        "one layer at a time",
        (
            ("linear", "5.2", GLOBAL, _deep_layers, POINT),
            ("ReLU", "5.3", NOT_LOCAL, lambda: judged_layer("5.3"), FLOW),
        ),
    ),
    (
        "one layer at a time, no zero input",
        (
            ("linear", "5.2", GLOBAL, _linear_layers, POINT),
            ("ReLU", "5.4", LOCAL, lambda: judged_layer("5.4"), FLOW),
        ),
    ),
)


def _outcome(rows: tuple[tuple[str, tuple[Entry, Entry]], ...], name: str, note: str) -> Outcome:
    numbers: list[Number] = []
    columns = {"networks": [row[0] for row in rows]}
    for side, activation in enumerate(("linear", "ReLU")):
        entries = [row[1][side] for row in rows]
        found = [compute() for _, _, _, compute, _ in entries]
        columns[activation] = [f"{value} ({e[1]}, {e[4]})" for value, e in zip(found, entries, strict=True)]
        for (networks, _), entry, value in zip(rows, entries, found, strict=True):
            numbers.append(printed(f"{networks}, {activation}, Theorem {entry[1]}", value, entry[2]))
    return Outcome(
        "each cell at a network of its own: 'flow' is the end of a run with its certificate or its neighbours, 'point'"
        " a KKT point with its neighbours or the convex program that bounds it",
        tuple(numbers),
        tables={name: table(columns)},
        note=note,
    )


def table_1(context: Context) -> Outcome:
    """Recompute every cell of Table 1."""
    note = "The flows of Theorems 4.1 and 4.4 are those of their claims, with the logistic loss."
    return _outcome(TABLE_1, "table-1", note)


def table_2(context: Context) -> Outcome:
    """Recompute every cell of Table 2."""
    note = (
        "The ReLU cells of 3.2, 5.3 and 5.4 have depth 2, as in the paper; 3.1 and 5.1 have depth 3 here. The flow of"
        " 3.1 is run in VSS-T3.1."
    )
    return _outcome(TABLE_2, "table-2", note)


CLAIMS = (
    Claim(
        "VSS-Tab1",
        "VSS",
        "Table 1",
        "Results on networks of depth 2",
        "For each class of networks: whether the limit of the flow is a global optimum, a local one, or neither.",
        ("002 Table 1", "B-002-T1/T2"),
        table_1,
    ),
    Claim(
        "VSS-Tab2",
        "VSS",
        "Table 2",
        "Results on deep networks",
        "The same for deep networks, as a whole and one layer at a time.",
        ("002 Table 2", "B-002-T1/T2"),
        table_2,
    ),
)
