"""Theorems 5.1 and 5.2, deep diagonal networks and the layers of linear ones: what holds at their points."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._claim import Claim, Context, Number, Outcome
from ._checks import PRINTED, Margins, exactly, gradients, kkt_residual, small, table
from ._limits import smaller_nearby
from ._other_networks import ACTIVATIONS, convolution, deep, diagonal, diagonals
from ._search import kkt_point, least_layer
from ._sparse import PATCHES, ROOT_HALF, SIZES


def theorem_5_1(context: Context) -> Outcome:
    """Check the deep diagonal network: KKT point and multiplier, smaller networks, the second derivative, depth 2."""
    x = np.ones(2)
    numbers: list[Number] = []
    shown = []
    for depth in (3, 4, 5):
        theta = np.full(2 * depth, 2 ** (-1 / depth))
        lam = 2 ** ((depth - 2) / depth)
        expected = [path_norm(depth, e) for e in SIZES]
        for name, phi in ACTIVATIONS.items():
            margin = diagonal(x, depth, phi)
            numbers.append(small(f"{name}, depth {depth}: KKT residual", kkt_residual(margin, theta, [lam])))
            numbers += smaller_nearby(
                f"{name}, depth {depth}", margin, theta, [deep_path(depth, e) for e in SIZES], expected
            )
        shown.append((depth, lam, float(theta @ theta), path_norm(depth, 0.1), path_norm(depth, 0.4), float(depth)))
    printed_norms = {
        3: (3.779763, 3.775552, 3.709542),
        4: (5.656854, 5.649761, 5.537530),
        5: (7.578583, 7.569457, 7.424205),
    }
    for depth, _, at_limit, at_tenth, at_four, _ in shown:
        for name, value, expected_value in zip(
            ("0", "0.1", "0.4"), (at_limit, at_tenth, at_four), printed_norms[depth], strict=True
        ):
            numbers.append(exactly(f"depth {depth}: |θ'|² at e = {name}", value, expected_value, PRINTED))
        step = 1e-3
        curvature = (2 * path_norm(depth, step) - 2 * path_norm(depth, 0.0)) / step**2 / (depth * 2 ** (-2 / depth))
        numbers.append(exactly(f"depth {depth}: g''(0) = (4/m)(2/m - 1)", curvature, 4 / depth * (2 / depth - 1), 1e-5))
    numbers.append(exactly("depth 2: no gain, |θ'|² at e = 0.4", path_norm(2, 0.4), 2.0))
    numbers += moved_diagonal()
    columns = ("depth", "λ", "|θ̃|²", "|θ'|² at e = 0.1", "|θ'|² at e = 0.4", "best |θ|²")
    return Outcome(
        "x = (1, 1), y = 1, depths 3 to 5, linear and ReLU (all pre-activations positive)",
        tuple(numbers),
        tables={"depths": table(dict(zip(columns, zip(*shown, strict=True), strict=True)))},
        note="Remark 3.2 for depth 3: with other inputs s a start on the ray w ∝ 1/s keeps to it, and its limit is"
        " no local optimum either. With the start (1, 1) kept, 1/w_k = 1 - s_k τ: the weight of the larger input"
        " runs away alone, and the limit is the best network. So the remark needs a start that moves with the data.",
    )


def path_norm(depth: int, e: float) -> float:
    return float(depth * (((1 + e) / 2) ** (2 / depth) + ((1 - e) / 2) ** (2 / depth)))


def deep_path(depth: int, e: float) -> FloatArray:
    return np.array([((1 + e) / 2) ** (1 / depth), ((1 - e) / 2) ** (1 / depth)] * depth)


def moved_diagonal() -> list[Number]:
    """Theorem 5.1 for depth 3 with inputs s near (1, 1): the KKT point on the ray, and a feasible smaller network."""
    s = np.array([1.05, 0.98])
    margin = diagonal(s, 3, ACTIVATIONS["linear"])
    pair = (1 / s) / np.sum(s * s**-3.0) ** (1 / 3)  # w ∝ 1/s, Σ s_k w_k³ = 1
    theta = np.tile(pair, 3)
    lam = float(theta[0] / gradients(margin, theta)[0, 0])
    shares = s * pair**3 + np.array([1e-2, -1e-2])
    beside = np.tile((shares / s) ** (1 / 3), 3)
    # From (1, 1) the flow has 1/w_k = 1 - s_k τ in a time τ of its own: here until w_1 = 1e9.
    second = 1 / (1 - s[1] * (1 - 1e-9) / s[0])
    return [
        small("depth 3, x = (1.05, 0.98): KKT residual on the ray w ∝ 1/x", kkt_residual(margin, theta, [lam])),
        exactly("depth 3, x = (1.05, 0.98): margin of a network beside it", float(margin(beside)[0]), 1.0),
        Number(
            "depth 3, x = (1.05, 0.98): its |θ|² beside that of the KKT point; control: the point itself",
            float(beside @ beside - theta @ theta),
            -1e-6,
            0.0,
            "at_most",
            control=0.0,
        ),
        Number(
            "depth 3, x = (1.05, 0.98), start (1, 1): w_2 when w_1 is 1e9; control: x = (1, 1)",
            float(second),
            100.0,
            relation="at_most",
            control=float(1 / (1 - (1 - 1e-9))),
        ),
    ]


def theorem_5_2(context: Context) -> Outcome:
    """Solve Problem (4) for every layer of linear networks at their KKT points: each layer is the best one."""
    linear = ACTIVATIONS["linear"]
    points: list[tuple[str, Margins, FloatArray, list[slice]]] = [
        ("4.1", diagonal(np.array([1.0, 2.0]), 2, linear), np.array([1.0, 0, 1, 0]), [slice(0, 2), slice(2, 4)]),
        ("4.4", convolution(PATCHES, linear), np.array([0, 1, ROOT_HALF, ROOT_HALF]), [slice(0, 2), slice(2, 4)]),
    ]
    for depth in (3, 4):
        theta = np.full(2 * depth, 2 ** (-1 / depth))
        layers = [slice(2 * k, 2 * k + 2) for k in range(depth)]
        points.append((f"5.1, depth {depth}", diagonal(np.ones(2), depth, linear), theta, layers))
    worst = []
    for name, margin, theta, layers in points:
        gradient = gradients(margin, theta)[0]
        # The margin is linear in one layer, so the least weights with margin 1 are g/|g|² for its gradient g there.
        gaps = [np.abs(gradient[part] / (gradient[part] @ gradient[part]) - theta[part]).max() for part in layers]
        worst.append((name, float(max(gaps))))
    kinds, control = random_layers(context.pick(2, 20), context.seed)
    return Outcome(
        "the KKT points of Theorems 4.1, 4.4 and 5.1, one sample each; KKT points of random linear networks on five to"
        " seven samples, each layer's Problem (4) solved as a quadratic program with the other layers frozen",
        (
            *(small(f"Theorem {name}: largest difference of a layer from its best", gap) for name, gap in worst),
            *(
                Number(f"{kind}: largest |layer|² over the least one, minus 1", max(gaps), 0.0, 1e-5, control=control)
                for kind, gaps in kinds.items()
            ),
            *(
                Number(f"{kind}: layers compared", len(gaps), 2, 0.0, "at_least", "exact")
                for kind, gaps in kinds.items()
            ),
        ),
        note="The control is a feasible point that is no KKT point: a layer of it is not the best one.",
    )


def random_layers(n_draws: int, seed: int) -> tuple[dict[str, list[float]], float]:
    """Return |layer|² over the least one, minus 1, of all layers of random KKT points, and the same off such points."""
    linear, control = ACTIVATIONS["linear"], 0.0
    kinds: dict[str, list[float]] = {}
    for k in range(n_draws):
        rng = np.random.default_rng([seed, k])
        X, y = separated(rng, 5 + k % 3)
        depth = 2 + k % 2
        widths = (3, *[3] * depth, 1)
        networks = {
            f"fully connected, {depth + 1} layers": (deep(X, y, widths, linear), [a * b for a, b in pairwise(widths)]),
            "diagonal, 3 layers": (diagonals(X, y, 3, linear), [3, 3, 3]),
            "one filter for three patches": (shared(X, y, rng), [2, 3]),
        }
        for kind, (margins, sizes) in networks.items():
            found = kkt_point(margins, sum(sizes), rng)
            if found is None:
                continue
            kinds.setdefault(kind, []).extend(excess(margins, found[0], sizes))
            moved = found[0] * (1 + 0.1 * rng.uniform(0, 1, len(found[0])))
            moved /= min(1.0, float(margins(moved).min())) ** (1 / len(sizes))
            control = max(control, *excess(margins, moved, sizes))
    return kinds, control


def excess(margins: Margins, theta: FloatArray, sizes: list[int]) -> list[float]:
    """Return |layer|² over the least value of Problem (4), minus 1, for each layer of a linear network."""
    gradient, ends = gradients(margins, theta), np.cumsum([0, *sizes])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return [float(theta[part] @ theta[part]) / least_layer(gradient[:, part]) - 1 for part in parts]


def separated(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Draw samples in three dimensions with the labels of a random linear function."""
    X = rng.standard_normal((n, 3))
    return X, np.where(X @ rng.standard_normal(3) > 0, 1.0, -1.0)


def shared(X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Margins:
    """Return the margins of a linear network with one filter for three patches of two random combinations of inputs."""
    view = rng.standard_normal((3, 2, X.shape[1]))
    seen = np.einsum("kpd,nd->nkp", view, X)

    def output(theta: Any) -> Any:
        return y * ((seen @ theta[:2]) @ theta[2:])

    return output


CLAIMS = (
    Claim(
        "VSS-T5.1-point",
        "VSS",
        "Theorem 5.1",
        "Deep diagonal networks: the limit is no local optimum",
        "For depth 3 and more, the even split of a diagonal network is a KKT point, and uneven ones beside it are"
        " smaller.",
        ("S002-5.1", "B-002-R3.1/R3.2"),
        theorem_5_1,
    ),
    Claim(
        "VSS-T5.2",
        "VSS",
        "Theorem 5.2, Problem (4)",
        "Linear networks: every layer is the best one",
        "At a KKT point of a linear network each layer is a global optimum of its own problem.",
        ("B-002-(4)",),
        theorem_5_2,
    ),
)
