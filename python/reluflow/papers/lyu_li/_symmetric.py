"""[LLWA] Section 4: on symmetric data the greatest margin is linear, and the flow reaches it."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...convex import certify, max_margin, svm, to_network
from ...datasets import Dataset, symmetric
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._tools import (
    SMALL,
    SYMMETRIC_LEAK,
    four_errors,
    frequency,
    from_linear,
    gaussian,
    limit_of_flow,
    mean,
    scaled,
    sheet,
    symmetric_example,
    unit,
)

_LEAKS = (0.25, 0.5, 0.9)
_ROUNDING = 1e-8  # of limits that Newton's method has polished
_MOVE = 0.3  # of data that are to be symmetric no more
_EXAMPLE_MARGIN = 0.430683  # γ of the best linear separator of `symmetric_example`


def linear_optimum(data: Dataset, leak: float) -> tuple[float, FloatArray]:
    """Return the greatest normalised margin (1 + α)/4 γ_lin of symmetric data and the slope (1 + α)/4 w* of its f."""
    best = svm(data)
    return (1 + leak) / 4 * best.margin, np.asarray((1 + leak) / 4 * best.direction)


def good_start(net: Network, data: Dataset) -> bool:
    """Tell whether both signs occur among b_k = <w_k, μ>/|μ| + a_k, as Theorem 4.3 needs."""
    b = net.W @ unit(mean(data)) + net.a
    return bool((b > 0).any() and (b < 0).any())


def _greatest_margin(context: Context) -> Outcome:
    draws = [symmetric(n, d, seed=context.seed + k) for k, (n, d) in enumerate(context.pick(_SIZES[:2], _SIZES))]
    table = np.array([_optimum(data, leak) for leak in _LEAKS for data in (symmetric_example(), *draws)])
    gaps, wrong, lines, verdicts, tilted = table.T
    face = [_face(data, leak, context.seed) for leak in _LEAKS for data in (symmetric_example(), *draws)]
    wide, unlike = _moved(draws[0])
    example = svm(symmetric_example())
    value = max_margin(symmetric_example(), leak=SYMMETRIC_LEAK).value
    numbers = (
        Number(
            "largest error of the greatest margin (1+α)/4 γ_lin, relative; control: 1.1 times it",
            gaps.max(),
            0,
            _ROUNDING,
            control=wrong.min(),
        ),
        Number(
            "distance of the optimum from the linear (1+α)/4 <w*, x>; control: data that are moved",
            lines.max(),
            0,
            1e-4,
            control=unlike,
        ),
        Number(
            "w* and -w* with a = 1 and -1 certified as the optimum; control: μ for w*",
            bool(verdicts.all()),
            True,
            control=bool(tilted.all()),
        ),
        Number(
            "symmetrised optimal duals: largest ||λᵀφ(Xu)| - |<u, w*>|| over unit u, so every optimal neuron is ±w*;"
            " control: data that are moved",
            max(face),
            0,
            1e-6,
            control=_face(wide, 0.5, context.seed),
        ),
        Number("γ_lin of the example", example.margin, _EXAMPLE_MARGIN, 1e-6, source="exact"),
        Number("P* of the example = 2/((1+α) γ_lin)", value, 3.095858, 1e-6, source="exact"),
    )
    ran = f"convex programs of {1 + len(draws)} symmetric data sets, up to n = 20 and d = 5, at α = 0.25, 0.5, 0.9"
    note = "Σ|u_j| of the convex program and ½|θ|² of networks have the same minimum P*, so γ* = 1/(2P*)."
    return Outcome(ran, numbers, note=note)


def _optimum(data: Dataset, leak: float) -> tuple[float, ...]:
    """Return errors of the greatest margin, also with 1.1, and of its slope, and whether ±w* and ±μ are optimal."""
    margin, slope = linear_optimum(data, leak)
    found = max_margin(data, leak=leak)
    net = to_network(found)
    return (
        abs(found.margin - margin) / margin,
        abs(found.margin - 1.1 * margin) / margin,
        from_linear(scaled(net, 1 / net.norm), slope),
        float(certify(_pair(slope, leak), data).verdict == "global"),
        float(certify(_pair(mean(data), leak), data).verdict == "global"),
    )


def _moved(data: Dataset) -> tuple[Dataset, float]:
    """Return the data moved by 0.3 at most, no longer symmetric, and how far their optimum is from the linear one."""
    shift = min(_MOVE, 0.5 * svm(data).margin)  # so that a linear function separates the data still
    wide = Dataset(data.X + np.array([shift, *[0.0] * (data.d - 1)]), data.y)
    net = to_network(max_margin(wide, leak=SYMMETRIC_LEAK))
    return wide, from_linear(scaled(net, 1 / net.norm), linear_optimum(wide, SYMMETRIC_LEAK)[1])


def _face(data: Dataset, leak: float, seed: int) -> float:
    """Return the largest | |λᵀφ(Xu)| - |<u, w*>| | over random unit u, for an optimal λ made equal on each pair.

    That average is optimal as well, and every neuron of every optimal network maximises |λᵀφ(Xu)| = 1 over unit u.
    """
    duals = max_margin(data, leak=leak).duals
    half = data.n // 2
    pair = (duals[:half] - duals[half:]) / 2
    duals = np.concatenate((pair, -pair))
    u = np.random.default_rng(seed).standard_normal((2000, data.d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    Z = u @ data.X.T
    return float(np.abs(np.abs(np.maximum(Z, leak * Z) @ duals) - np.abs(u @ svm(data).direction)).max())


def _pair(w: FloatArray, leak: float) -> Network:
    """Return the two neurons (w, |w|) and (-w, -|w|)."""
    size = float(np.linalg.norm(w))
    return Network([w, -w], [size, -size], leak=leak)


_SIZES = ((6, 2), (8, 3), (12, 4), (20, 5))


def _reached(context: Context) -> Outcome:
    data, leak = symmetric_example(), SYMMETRIC_LEAK
    margin, slope = linear_optimum(data, leak)
    rows, mismatches, other, errors, margins = [], 0, 0, [], []
    for width, many in ((2, True), (3, False), (6, False)):
        rng = np.random.default_rng([context.seed, width])
        n_runs = context.pick(40, 1000) if many else context.pick(24, 500)
        context.progress(f"width {width}")
        good, linear = np.zeros(n_runs, bool), np.zeros(n_runs, bool)
        for k in range(n_runs):
            net = gaussian(width, 2, rng, leak=leak)
            good[k] = good_start(net, data)
            limit = limit_of_flow(data, scaled(net, SMALL))
            error = from_linear(limit.network, slope)
            linear[k] = limit.certified and error < 1e-6
            if good[k]:
                errors.append(error)
                margins.append(limit.margin)
            other += bool((net.a > 0).any() and (net.a < 0).any()) != linear[k]
        mismatches += int((good != linear).sum())
        rows.append((width, n_runs, linear.mean(), 1 - 2.0 ** (1 - width)))
    table = sheet(rows, ["m", "starts", "share that ends linear", "1 - 2^-(m-1)"])
    higher, one_sign = _higher(context)
    text = "largest error of f∞ = (1+α)/4 <w*, x>; control: one sign"
    numbers = (
        Number(f"d = 3, 4, 5, both signs of b_k: {text}", max(higher), 0, 1e-6, control=one_sign),
        Number(
            "starts whose end differs from the event 'both signs of b_k'; control: both signs of a_k",
            mismatches,
            0,
            control=other,
        ),
        *(frequency(f"share ending linear, m = {m}", p, q, n, other=1 - 2.0 ** (2 - m)) for m, n, p, q in rows),
        Number(text, max(errors), 0, 1e-6, control=one_sign),
        Number(
            "largest error of the margin (1+α)/4 γ_lin; control: 1.1 times it",
            float(np.abs(np.array(margins) - margin).max()),
            0,
            _ROUNDING,
            control=float(np.abs(np.array(margins) - 1.1 * margin).min()),
        ),
    )
    ran = (
        f"exact flow of the mean loss from σ = {SMALL:g} on three symmetric pairs, and on random symmetric data in"
        f" three to five dimensions, α = {leak}, limits polished"
    )
    return Outcome(ran, numbers, tables={"shares": table}, note=_EVENT)


def _higher(context: Context) -> tuple[list[float], float]:
    """Return errors of f∞ on symmetric data in three to five dimensions, and the error of a start of one sign."""
    errors, leak = [], SYMMETRIC_LEAK
    for k in range(context.pick(3, 30)):
        data = symmetric(8 + 2 * (k % 3), 3 + k % 3, seed=context.seed + k)
        rng = np.random.default_rng([context.seed, 9, k])
        slope = linear_optimum(data, leak)[1]
        net = gaussian(4, data.d, rng, leak=leak)
        while not good_start(net, data):
            net = gaussian(4, data.d, rng, leak=leak)
        errors.append(from_linear(limit_of_flow(data, scaled(net, SMALL)).network, slope))
    sided = Network(net.W * np.sign(net.W @ mean(data))[:, None], np.abs(net.a), leak=leak)
    return errors, from_linear(limit_of_flow(data, scaled(sided, SMALL)).network, slope)


_EVENT = (
    "b_k = <w_k, μ>/|μ| + a_k is the component of neuron k along the growing direction. All b_k of one sign, with"
    " probability 2^-(m-1), leave a network of one sign, which ends at a smaller margin: the bound is attained."
)


def _event(context: Context) -> Outcome:
    """Count the event of Theorem 4.3 alone, at several widths and spreads of a."""
    data, n = symmetric_example(), context.pick(20_000, 400_000)
    rng, along = np.random.default_rng(context.seed), unit(mean(data))
    numbers = []
    for width, spread in ((2, 1.0), (3, 0.2), (4, 5.0), (10, 1.0)):
        b = rng.standard_normal((n, width, 2)) @ along + spread * rng.standard_normal((n, width))
        share = float(((b > 0).any(axis=1) & (b < 0).any(axis=1)).mean())
        wanted = 1 - 2.0 ** (1 - width)
        numbers.append(
            Number(
                f"m = {width}, c = {spread:g}",
                share,
                wanted,
                four_errors(wanted, n),
                control=1 - 2.0**-width if width <= 4 else None,
            )
        )
    wrong, turned = _followed(context)
    numbers.append(
        Number(
            "neurons whose a_k at T1(1e-3) has not the sign of b_k, in the flow; control: of a_k(0)",
            wrong,
            0,
            control=turned,
        )
    )
    return Outcome(
        f"{n} draws of D_init for each width m and spread c of the output weights; flows of six neurons from 1e-8",
        tuple(numbers),
    )


def _followed(context: Context) -> tuple[int, int]:
    """Count the neurons of small flows that do not grow to the side of their b_k, and to that of their a_k."""
    data, leak, wrong, turned = symmetric_example(), SYMMETRIC_LEAK, 0, 0
    rate = (1 + leak) / 4 * float(np.linalg.norm(mean(data)))
    for k in range(context.pick(10, 200)):
        net = gaussian(6, 2, np.random.default_rng([context.seed, 11, k]), leak=leak)
        b = net.W @ unit(mean(data)) + net.a
        end = integrate(data, scaled(net, 1e-8), until=np.log(1e5) / rate, reduction="mean").final
        wrong += int((np.sign(end.a) != np.sign(b))[np.abs(b) > 1e-3].sum())
        turned += int((np.sign(end.a) != np.sign(net.a)).sum())
    return wrong, turned


def _separators(context: Context) -> Outcome:
    """Show <μ, w*> beside the bounds 1 (printed) and γ (right)."""
    data = symmetric_example()
    best = svm(data)
    product = float(mean(data) @ best.direction)
    numbers = (
        Number("largest |x_i|, at most 1", float(np.linalg.norm(data.X, axis=1).max()), 1, 0, "at_most", "exact"),
        Number("<μ, w*>, printed: at least 1", product, 1, 0, "at_least", source="print"),
        Number("<μ, w*>, right: at least γ_lin", product, best.margin, 0, "at_least", "exact"),
    )
    return Outcome("three symmetric pairs in the unit disc", numbers)


CLAIMS = (
    Claim(
        "LLWA-T4.2",
        "LLWA",
        "Theorem 4.2",
        "On symmetric data every greatest margin is linear",
        "If x and -x are both there, the networks of greatest normalised margin are linear, f(x) = (1+α)/4 <w*, x>, and"
        " their margin is (1+α)/4 times that of the best linear classifier.",
        ("S003-SYM", "B-003-4.2"),
        _greatest_margin,
    ),
    Claim(
        "LLWA-T4.3",
        "LLWA",
        "Theorem 4.3, Corollary 4.4",
        "From small weights the flow reaches the linear optimum",
        "On symmetric data the flow from small Gaussian weights tends to the linear classifier of greatest margin with"
        " probability 1 - 2^-(m-1): exactly where both signs occur among b_k.",
        ("S003-SYM", "B-003-4.3/4.4"),
        _reached,
        quick="Shares of a few starts are shown and not judged; that every start ends as its signs say is.",
    ),
    Claim(
        "LLWA-T4.3p",
        "LLWA",
        "Theorem 4.3, Lemma 5.4",
        "The probability 1 - 2^-(m-1)",
        "b_k has either sign with probability 1/2, independently, so both signs occur with probability 1 - 2^-(m-1)"
        " at any ratio of the two spreads.",
        ("B-003-4.3/4.4",),
        _event,
    ),
    Claim(
        "LLWA-S4.3",
        "LLWA",
        "Section 4.3",
        "The mean against the best separator",
        "μ is not zero because its product with w* is bounded below.",
        ("D-29",),
        _separators,
        "misprint",
        "<μ, w*> >= 1 is printed in Section 4.3 for a unit w* and |x_i| <= 1, which only x_i = y_i w* reaches. The "
        "bound that holds, and that the argument needs, is γ_lin > 0.",
    ),
)
