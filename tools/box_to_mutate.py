"""What mutate_bounds loosens in the bounded least-squares problem of a corner."""

from __future__ import annotations

from mutant import Mutant

BOX = "numeric/box_least_squares.cpp"


def of_box(what: str, old: str, new: str, test: str = "test_box_least_squares") -> Mutant:
    return Mutant(test, BOX, what, old, new)


BOX_LEAST_SQUARES = (
    of_box(
        "rates are never zero",
        "signs[w] = std::abs(along) <= tolerance_ ?",
        "signs[w] = std::abs(along) <= 1e-4 * tolerance_ ?",
        "test_transition_enumeration",
    ),
    of_box(
        "the whole tolerance at small angles",
        "if (std::abs(part) <= tolerance_ + unit / last_outside()) {",
        "if (std::abs(part) * last_outside() <= tolerance_) {",
    ),
    of_box("none inside for another beside it", "if (next < 0 && beside++ < count_) next", "if (false) next"),
    of_box("coefficients are not clamped", "c_[v] = std::clamp(target_[v], low_[v], high_[v]);", "c_[v] = target_[v];"),
    of_box(
        "free vectors wait for their turn",
        "std::isinf(low_[w]) != is_free || add_inside(w)",
        "add_inside(w)",
        "test_transition_enumeration",
    ),
)
