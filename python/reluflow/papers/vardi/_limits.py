"""Where the flow of a construction ends, and what kind of optimum that is: numbers shared by Theorems 3.2 to 5.4."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...convex import Certificate, certify
from ...datasets import vardi_shamir_srebro
from ...datasets._construction import Construction
from ...flow import Solution
from ...losses import LossName
from ...networks import Network
from .._claim import Number
from ._checks import PRINTED, ROUNDING, Margins, distance, exactly, net, norm2, printed, run, scaled, small, table

SIZES = (1e-4, 1e-3, 1e-2, 0.1, 0.25, 0.5)


def reached(case: Construction, loss: LossName, **options: Any) -> tuple[Solution, Certificate, list[Number]]:
    """Run the flow and compare its polished limit with the printed KKT point.

    Returns
    -------
    solution, certificate, numbers
    """
    assert case.better is not None
    solution = run(case, loss, **options)
    limit = solution.limit
    other = distance(scaled(limit.network, case.data), net(case.better(0.25)))
    certificate = certify(solution, case.data)
    numbers = [
        exactly(f"{loss}: the limit is certified", limit.certified, True),
        printed(
            f"{loss}: distance of the limit from the printed KKT point; control: from a better network",
            limit_distance(case, solution),
            0.0,
            control=other,
        ),
        printed(f"{loss}: |θ|² of the limit at margin 1", 2 * certificate.value, case.limit_norm2),
        small(f"{loss}: error of the multipliers", float(np.abs(np.abs(limit.duals) - case.multipliers).max())),
        small(f"{loss}: KKT residual", certificate.kkt.residual if certificate.kkt else np.inf),
        Number(
            f"{loss}: log of the loss at log t = 1e4; control: at the start",
            solution.log_loss_end,
            -9000.0,
            relation="at_most",
            control=float(solution.log_loss[0]),
        ),
    ]
    return solution, certificate, numbers


def limit_distance(case: Construction, solution: Solution) -> float:
    """Return |θ̃ - θ̃'| of the flow's limit and the printed KKT point, both with least margin 1."""
    return distance(scaled(solution.limit.network, case.data), net(case.limit))


def judged(case: Construction, certificate: Certificate, *, local: bool, violation: float) -> list[Number]:
    """Compare the certificate of the limit with the theorem: a KKT point, not global, and local or not.

    Parameters
    ----------
    case : Construction
    certificate : Certificate
    local : bool
        Whether the theorem says that it is a local optimum.
    violation : float
        max over unit u of |λᵀ(Xu)₊| for the multipliers of the limit, to six decimals.
    """
    other = vardi_shamir_srebro("3.2" if local else "4.3")
    numbers = [
        printed("verdict on the limit", certificate.verdict, "kkt_not_global"),
        printed(
            f"the limit is a local optimum; control: that of Theorem {'3.2' if local else '4.3'}",
            bool(certificate.local_optimum),
            local,
            control=bool(certify(net(other.limit), other.data).local_optimum),
        ),
        exactly("|θ*|² of the best network, upper bound", 2 * certificate.upper, case.global_norm2, 1e-7),
        exactly("|θ*|², proven lower bound", 2 * certificate.lower, case.global_norm2, 1e-7),
        exactly("how far the multipliers violate the dual program", certificate.dual_norm_upper, violation, PRINTED),
    ]
    if certificate.improvement is not None:
        path = [certificate.improvement.value(t) for t in (0.0, 0.01, 0.1, 1.0)]
        numbers.append(exactly("the certificate's own path goes down", bool(np.all(np.diff(path) < 0)), True))
    return numbers


def better_table(case: Construction, sizes: tuple[float, ...] = SIZES) -> Any:
    """Return the paper's improving networks: norm, least margin and distance from the limit for each size e."""
    assert case.better is not None
    networks = [case.better(e) for e in sizes]
    return table(
        {
            "e": sizes,
            "|θ'|²": [norm2(network) for network in networks],
            "least margin": [float((case.data.y * net(network)(case.data.X)).min()) for network in networks],
            "distance": [distance(network, case.limit) for network in networks],
        }
    )


def improving(case: Construction, formula: Callable[[FloatArray], FloatArray], shown: Any) -> list[Number]:
    """Compare the improving networks with the printed |θ'|² and the constraints."""
    assert case.better is not None
    e, norms = shown["e"].to_numpy(), shown["|θ'|²"].to_numpy()
    return [
        printed(
            "|θ'|² of the improving networks: largest error of the formula; control: at 1.1 e",
            float(np.abs(norms - formula(e)).max()),
            0.0,
            control=float(np.abs(norms - formula(1.1 * e)).max()),
        ),
        Number(
            "least margin of the improving networks; control: the limit scaled to their norms",
            float(shown["least margin"].min()),
            1.0,
            ROUNDING,
            "at_least",
            control=shrunk_margin(case, float(norms.min())),
        ),
        printed(
            "all of them have a smaller norm; control: e = 1.5",
            bool((norms < case.limit_norm2).all()),
            True,
            control=norm2(case.better(1.5)) < case.limit_norm2,
        ),
    ]


def shrunk_margin(case: Construction, size: float) -> float:
    """Return the least margin of the printed limit scaled to this |θ|²."""
    factor = np.sqrt(size / case.limit_norm2)
    return float((case.data.y * Network(factor * case.limit.W, factor * case.limit.a)(case.data.X)).min())


def smaller_nearby(
    name: str, margin: Margins, theta: FloatArray, paths: Iterable[FloatArray], expected: Iterable[float]
) -> list[Number]:
    """Compare networks that tend to θ̃ with the constraint, the printed norms, and |θ̃|."""
    near = list(paths)
    norms = np.array([point @ point for point in near])
    wanted = np.array(list(expected))
    gaps = np.array([np.linalg.norm(point - theta) for point in near])
    along = [theta * (1 + gap / np.linalg.norm(theta)) for gap in gaps]  # as far away, and feasible as well
    from_last = np.array([np.linalg.norm(point - near[-1]) for point in near])
    return [
        Number(
            f"{name}: least margin of the smaller networks; control: the limit scaled to their norms",
            float(min(margin(p)[0] for p in near)),
            1.0,
            1e-12,
            "at_least",
            control=float(min(margin(theta * np.sqrt(size / (theta @ theta)))[0] for size in norms)),
        ),
        printed(
            f"{name}: |θ'|², largest error of the formula; control: 1.1 times it",
            float(np.abs(norms - wanted).max()),
            0.0,
            control=float(np.abs(norms - 1.1 * wanted).max()),
        ),
        printed(
            f"{name}: all of them are smaller; control: multiples of the limit",
            bool((norms < theta @ theta).all()),
            True,
            control=bool((np.array([p @ p for p in along]) < theta @ theta).all()),
        ),
        printed(
            f"{name}: they tend to the limit; control: to the last of them",
            _tends(gaps),
            True,
            control=_tends(from_last),
        ),
    ]


def _tends(gaps: FloatArray) -> bool:
    """Tell whether distances fall to nearly 0 from the last to the first."""
    return bool(np.all(np.diff(gaps) > 0)) and float(gaps[0]) < 0.01
