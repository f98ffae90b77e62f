"""What mutate_bounds changes in how the rounding of duals is propagated to what slides."""

from __future__ import annotations

from mutant import Mutant

DUALS = "layered/dual_series.cpp"
ROUNDING = "layered/dual_rounding.cpp"
SERIES = "layered/sliding_series.cpp"
SEARCH = "layered/event_leaving.cpp"
SEEN = "return gap < size ? gap + kBeyond * size : gap;"


def of_duals(file: str, what: str, old: str, new: str) -> Mutant:
    return Mutant("test_dual_rounding", file, what, old, new)


DUAL_ROUNDING = (
    of_duals(DUALS, "kDualRounding = 8e-3 ulp", "8 * 2.2e-16", "8e-3 * 2.2e-16"),
    of_duals(DUALS, "kDualRounding = 8e3 ulp", "8 * 2.2e-16", "8e3 * 2.2e-16"),
    of_duals(ROUNDING, "kFitted = 1", "kFitted = 64.0", "kFitted = 1.0"),
    of_duals(
        SERIES,
        "each multiplier from its own normal alone",
        "(inverse * independent).cwiseAbs()",
        "(inverse.diagonal().asDiagonal() * independent).cwiseAbs()",
    ),
    of_duals(SERIES, "no multiplier moves the others", "all[independent_[i]] = moved[i]", "all[independent_[i]] = 0.0"),
    of_duals(SEARCH, "what is beyond a bound is taken back to it", SEEN, "return gap < size ? size : gap;"),
    of_duals(SEARCH, "kBeyond = 1e3", SEEN, "return gap < size ? gap + 1e3 * size : gap;"),
    of_duals(SEARCH, "rounding is not seen in the search", SEEN, "return gap;"),
)
