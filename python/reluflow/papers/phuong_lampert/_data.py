"""[PL] on data: orthogonal separability, the max-margin vectors, the recipe of Section 5.1."""

from __future__ import annotations

import numpy as np

from ...conditions import orthogonal_separability
from ...datasets import Dataset, orthogonally_separable, phuong_lampert, wang_pilanci
from .._claim import Claim, Context, Number, Outcome

_MARGIN_TOL = 1e-7  # of a margin that is 1 at the optimum


def _separable(context: Context) -> Outcome:
    """Every sample separates separable data linearly; a sample moved over a wall breaks both."""
    n_draws = context.pick(20, 200)
    separated, broken, witnesses = 0, 0, 0
    for draw in range(n_draws):
        data = orthogonally_separable(12, 4, seed=context.seed + draw)
        products = data.y[:, None] * (data.X @ data.X.T) * data.y
        same = np.equal.outer(data.y, data.y)
        separated += orthogonal_separability(data).holds is True
        witnesses += bool((products[same] > 0).all() and (products[~same] >= 0).all())
        turned = data.X.copy()
        turned[0] = -turned[0] + 0.1 * turned[1]
        broken += orthogonal_separability(Dataset(turned, data.y)).holds is False
    numbers = (
        Number("separable draws found separable", separated, n_draws),
        Number("draws in which every sample is a separator of all, in the sense of (1)", witnesses, n_draws),
        Number("draws with one sample turned round found not separable", broken, n_draws),
        Number(
            "the plane of two samples at 125.1° is separable",
            bool(orthogonal_separability(wang_pilanci("obtuse"))),
            True,
        ),
        Number(
            "the data of Section 5.1 (n = 500, d = 20) are separable",
            bool(orthogonal_separability(phuong_lampert(seed=context.seed))),
            True,
        ),
    )
    return Outcome(f"{n_draws} random separable data sets with n = 12, d = 4, seeds from {context.seed}", numbers)


CLAIMS = (
    Claim(
        "PL-OS",
        "PL",
        "Section 2, (1)",
        "Orthogonal separability",
        "Samples of one class have positive inner products, samples of two classes none above 0; then every sample,"
        " taken as the normal of a hyperplane, separates the two classes.",
        ("B-004-OS", "S004-THM"),
        _separable,
    ),
)
