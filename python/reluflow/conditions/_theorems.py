"""The theorems of the papers as rows: what each asks, and what it then predicts in numbers.

All predictions from small weights hold for starts that are small enough; how small is not part of a row. Where a
printed statement is wrong, the row states the corrected one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..losses import is_of_margins
from ._facts import Facts
from ._lyu import size_of_mean

NEEDS_START = "a start"
NEEDS_MARGINS = "logistic or exponential loss"


@dataclass(frozen=True)
class Theorem:
    """One theorem on one problem.

    Attributes
    ----------
    source : str
        Paper and number.
    applies : bool or None
        None: some condition is not decided, or asks for a start that was not given.
    fails, undecided : tuple of str
        Conditions that fail and that are not decided.
    prediction : str
        What the theorem then says.
    numbers : mapping of str to float
        The predicted numbers; empty if it does not apply.
    """

    source: str
    applies: bool | None
    fails: tuple[str, ...]
    undecided: tuple[str, ...]
    prediction: str
    numbers: Mapping[str, float]


Conditions = Mapping[str, bool | None]
Numbers = Callable[[], Mapping[str, float]]


def theorems(facts: Facts) -> tuple[Theorem, ...]:
    """Return one row for each theorem."""
    rows = (_kkt, _alignment, _two_groups, _global_limit, _global_kkt, _spike_free)
    leaky = (_linear_optimum, _linear_limit, _one_neuron, _one_neuron_reversed, _no_branching)
    return tuple(row(facts) for row in (*rows, *leaky))


def _row(
    facts: Facts, source: str, asked: Callable[[], Conditions], prediction: str, numbers: Numbers = dict
) -> Theorem:
    """Return the row of a theorem; all are on losses of margins, so that for another loss nothing else is asked."""
    conditions = asked() if is_of_margins(facts.loss) else {NEEDS_MARGINS: False}
    fails = tuple(name for name, holds in conditions.items() if holds is False)
    undecided = tuple(name for name, holds in conditions.items() if holds is None)
    applies = False if fails else (None if undecided else True)
    return Theorem(source, applies, fails, undecided, prediction, dict(numbers()) if applies else {})


def _start(facts: Facts, name: str, holds: Callable[[], bool | None]) -> Conditions:
    """Return a condition on the start, or that one is missing."""
    return {NEEDS_START: None} if facts.net is None else {name: holds()}


def _relu(facts: Facts) -> Conditions:
    return {"ReLU (leak 0)": facts.leak == 0}


def _leaky(facts: Facts) -> Conditions:
    return {"leak above 0": facts.leak > 0}


def _balanced(facts: Facts) -> Conditions:
    return _start(facts, "balance", lambda: facts.balanced is not None and bool(facts.balanced))


def _kkt(facts: Facts) -> Theorem:
    def asked() -> Conditions:
        small = "loss below the threshold"
        return _start(facts, small, lambda: facts.small_loss is not None and bool(facts.small_loss))

    return _row(
        facts,
        "[LLWA] Theorem 3.1, [VSS] Theorem 2.1",
        asked,
        "the loss tends to 0, |θ| to infinity, and θ/|θ| to a KKT direction of the max-margin problem",
    )


def _alignment(facts: Facts) -> Theorem:
    def count() -> int:
        return 0 if facts.signs is None else int(facts.signs.value)

    def asked() -> Conditions:
        return {
            **_relu(facts),
            **_balanced(facts),
            **_start(facts, "some neuron satisfies (9)", lambda: count() > 0),
        }

    return _row(
        facts,
        "[WP] Theorem 1",
        asked,
        "these neurons turn to ± Xᵀ D(w) y while they are small, to its projection where they slide on boundaries",
        lambda: {"neurons": count()},
    )


def _two_groups(facts: Facts) -> Theorem:
    def asked() -> Conditions:
        return {
            **_relu(facts),
            "orthogonal separability": facts.orthogonal.holds,
            "support examples span the space": facts.span.holds,
            **_balanced(facts),
        }

    return _row(
        facts,
        "[PL] Theorem 1",
        asked,
        "neurons end in two groups along w₊ and w₋, W has rank two, |W₊|²/log t -> |w₊| and |W₋|²/log t -> |w₋|",
        lambda: {"|w₊|": facts.class_norms[0], "|w₋|": facts.class_norms[1]},
    )


def _optimum(facts: Facts) -> Mapping[str, float]:
    P = sum(facts.class_norms)
    return {"P*": P, "margin": 1 / (2 * P)}


def _global_limit(facts: Facts) -> Theorem:
    def asked() -> Conditions:
        return {
            **_relu(facts),
            "orthogonal separability": facts.orthogonal.holds,
            **_balanced(facts),
            **_start(facts, "a neuron of each label's sign satisfies (9)", lambda: _both_alive(facts)),
        }

    return _row(
        facts,
        "[WP] Theorem 4, with both signs alive",
        asked,
        "the direction tends to a global optimum: P* = |w₊| + |w₋|, normalised margin 1/(2 P*)",
        lambda: _optimum(facts),
    )


def _both_alive(facts: Facts) -> bool:
    """Tell whether a neuron of the right sign is sure to survive for each class that occurs."""
    if facts.signs is None:
        return False
    found = facts.signs.witness
    positive, negative = bool((facts.data.y > 0).any()), bool((facts.data.y < 0).any())
    return (found.n_positive > 0 or not positive) and (found.n_negative > 0 or not negative)


def _global_kkt(facts: Facts) -> Theorem:
    return _row(
        facts,
        "[WP] Proposition 4, [LLWA] Appendix H",
        lambda: {**_relu(facts), "orthogonal separability": facts.orthogonal.holds},
        "every KKT point with a neuron of each label's sign is a global optimum: P* = |w₊| + |w₋|",
        lambda: _optimum(facts),
    )


def _spike_free(facts: Facts) -> Theorem:
    return _row(
        facts,
        "[WP] Proposition 5",
        lambda: {**_relu(facts), "spike-free": facts.spike_free.holds},
        "a KKT point with one neuron active on all of y = +1 and one active on all of y = -1 is a global optimum",
    )


def _symmetric(facts: Facts) -> Conditions:
    return {
        "linear separability": facts.separable.holds,
        "symmetry": facts.symmetric.holds,
        **({} if facts.net is None else {"width of at least 2": facts.net.width >= 2}),
    }


def _linear_margin(facts: Facts) -> Mapping[str, float]:
    margin = (1 + facts.leak) / 4 * facts.separable.value
    return {"margin": margin, "P*": 1 / (2 * margin)}


def _linear_optimum(facts: Facts) -> Theorem:
    return _row(
        facts,
        "[LLWA] Theorem 4.2",
        lambda: _symmetric(facts),
        "the greatest margin belongs to the linear function f(x)/|θ|² = (1 + α)/4 <w*, x>",
        lambda: _linear_margin(facts),
    )


def _linear_limit(facts: Facts) -> Theorem:
    def asked() -> Conditions:
        return {
            **_leaky(facts),
            **_symmetric(facts),
            **({} if facts.data.weights is None else {"partners count alike": facts.partners_alike}),
            "mean off the boundaries": facts.off_boundaries.holds,
            **_start(facts, "both signs among μ·w_k/|μ| + a_k", lambda: _both_modes(facts)),
        }

    return _row(
        facts,
        "[LLWA] Theorem 4.3",
        asked,
        "the direction tends to that linear function, unless the flow branches (Assumption 4.6)",
        lambda: _linear_margin(facts),
    )


def _both_modes(facts: Facts) -> bool:
    """Tell whether growing modes of both signs are present, the event of probability 1 - 2^(1-m) in the theorem."""
    if facts.net is None:
        return False
    mean = facts.off_boundaries.witness.mean
    size = size_of_mean(mean, facts.data)
    if size == 0:
        return False
    modes = facts.net.W @ (mean / size) + facts.net.a
    return bool(modes.min() < 0 < modes.max())


def _means(facts: Facts) -> Conditions:
    return {
        **_leaky(facts),
        "linear separability": facts.separable.holds,
        "Assumption A.2": facts.dominance.holds,
        "Assumption A.3": facts.larger_mean.holds,
        "Assumption A.5": facts.one_sign.holds,
        **_balanced(facts),
        **_start(facts, "some a_k above 0", lambda: facts.net is not None and bool((facts.net.a > 0).any())),
    }


def _one_neuron_numbers(facts: Facts) -> Mapping[str, float]:
    return {"margin": facts.one_sign.witness.bound, "κ": facts.larger_mean.value}


def _one_neuron(facts: Facts) -> Theorem:
    return _row(
        facts,
        "[LLWA] Theorem A.7",
        lambda: _means(facts),
        "f(x)/|θ|² -> φ(<w⁺, x>)/2 with the margin γ⁺/2, unless the flow branches (Assumption A.6)",
        lambda: _one_neuron_numbers(facts),
    )


def _one_neuron_reversed(facts: Facts) -> Theorem:
    names = {
        "Assumption A.3": "Assumption A.8",
        "Assumption A.5": "Assumption A.9 (with a_k >= 0)",
        "some a_k above 0": "some a_k below 0",
    }

    def asked() -> Conditions:
        return {names.get(name, name): holds for name, holds in _means(facts.flipped).items()}

    return _row(
        facts,
        "[LLWA] Theorem A.10",
        asked,
        "f(x)/|θ|² -> -φ(-<w⁻, x>)/2 with the margin γ⁻/2, unless the flow branches",
        lambda: _one_neuron_numbers(facts.flipped),
    )


def _no_branching(facts: Facts) -> Theorem:
    balanced = facts.balanced

    def asked() -> Conditions:
        constant = _start(facts, "|a_k| >= |w_k|", lambda: balanced is not None and balanced.witness.sign_constant)
        return {**_leaky(facts), "orthogonal separability": facts.orthogonal.holds, **constant}

    return _row(
        facts,
        "[LLWA] Appendix I.2.1",
        asked,
        "the flow never branches, and every pre-activation is monotone with the sign of a_k y_i",
    )
