"""What mutate_bounds loosens: a bound of the core, the change, and the test of cpp/tests that must notice."""

from __future__ import annotations

from box_to_mutate import BOX, BOX_LEAST_SQUARES
from dual_rounding_to_mutate import DUAL_ROUNDING
from mutant import Mutant

BRACKET = "numeric/bracket.hpp"
ORTHONORMAL = "numeric/orthonormal.cpp"
POLYNOMIAL = "numeric/polynomial.cpp"
SLIDING = "hybrid/sliding_set.cpp"
TRANSITION = "hybrid/transition.cpp"
CELLS = "hybrid/transition_cells.cpp"
HULL = "hybrid/transition_hull.cpp"
HITS = "two_layer/hits.cpp"
SLIDE = "two_layer/dependent_slide.cpp"
LEAVING = "two_layer/leaving.cpp"
WAVEFORM = "two_layer/waveform.cpp"
WAVEFORM_TIME = "two_layer/waveform_time.cpp"
LOSS = "problem/loss.cpp"
RADAU = "two_layer/radau_step.cpp"
RADAU_HEADER = "two_layer/radau_step.hpp"
NODES = "numeric/radau_nodes.cpp"
LOG_INTEGRAL = "numeric/log_integral.hpp"
TOLERANCES = "base/tolerances.hpp"
ALONE = "if (inside <= noise.rounding + held.condition(h, work_.data()) * noise.weights) return false;"


def of_polynomial(what: str, old: str, new: str) -> Mutant:
    return Mutant("test_polynomial", POLYNOMIAL, what, old, new)


def of_transition(file: str, what: str, old: str, new: str) -> Mutant:
    return Mutant("test_transition_enumeration", file, what, old, new)


def of_tolerance(test: str, name: str, value: str, changed: str, *units: str) -> Mutant:
    what = f"{name} = {changed} for {value}"
    return Mutant(test, TOLERANCES, what, f"{name} = {value};", f"{name} = {changed};", units)


def of_orthonormal(what: str, old: str, new: str) -> Mutant:
    return Mutant("test_sliding_set", ORTHONORMAL, what, old, new)


def of_bracket(test: str, what: str, old: str, new: str, unit: str) -> Mutant:
    return Mutant(test, BRACKET, what, old, new, (unit,))


def of_log_integral(what: str, old: str, new: str) -> Mutant:
    return Mutant("test_waveform", LOG_INTEGRAL, what, old, new, (WAVEFORM_TIME,))


HALVING = "if (!(next > bracket.low && next < bracket.high)) next = 0.5 * (bracket.low + bracket.high);"
OWN = "../tests/test_bracket.cpp"
MUTANTS = (
    of_bracket(
        "test_bracket", "halvings end at wide brackets", "middle <= bracket.low", "middle <= bracket.low + 1e-9", OWN
    ),
    of_bracket("test_bracket", "one halving more", "pass < times", "pass <= times", OWN),
    of_bracket("test_bracket", "Newton alone", HALVING, "", OWN),
    of_bracket("test_bracket", "a root is not taken as one", "if (value == 0.0) return u;", "", OWN),
    of_bracket("test_bracket", "no step is no end", "if (next == u) return u;", "", OWN),
    of_polynomial(
        "half of the tail bound",
        "for (int k = 0; k < from; ++k) sum *= u;\n    return sum;",
        "for (int k = 0; k < from; ++k) sum *= u;\n    return 0.5 * sum;",
    ),
    of_polynomial(
        "tail bound without its first term",
        "for (int k = order; k >= from; --k) sum = sum * u + std::abs(c[k]);",
        "for (int k = order; k > from; --k) sum = sum * u + std::abs(c[k]);\n    sum *= u;",
    ),
    of_polynomial("tail bound with signs", "sum = sum * u + std::abs(c[k])", "sum = sum * u + c[k]"),
    of_polynomial(
        "fall bound without its last term",
        "for (int k = order; k >= 1; --k) sum = sum * u + std::max",
        "for (int k = order - 1; k >= 1; --k) sum = sum * u + std::max",
    ),
    of_polynomial(
        "fall bound by a power of u less", "return sum * u;\n}\n\nvoid range", "return sum;\n}\n\nvoid range"
    ),
    of_polynomial("small tails taken with half their size", "low = c[0] - tail;", "low = c[0] - 0.5 * tail;"),
    of_polynomial("kSmallTail = 250", "kSmallTail = 0.25", "kSmallTail = 250.0"),
    of_polynomial("range without the last Bernstein coefficient", "b.begin() + order + 1)", "b.begin() + order)"),
    of_polynomial(
        "tangent's bound from the third order", "tail_bound(c, order, 2, end)", "tail_bound(c, order, 3, end)"
    ),
    of_polynomial("tangent's bound by its begin alone", "std::min(c[0], c[0] + c[1] * end)", "c[0]"),
    of_polynomial(
        "tangent's bound a part in 1e9 too small",
        "> tail_bound(c, order, 2, end)",
        "> (1.0 - 1e-9) * tail_bound(c, order, 2, end)",
    ),
    of_polynomial("kMaxDepth = 16", "kMaxDepth = 48", "kMaxDepth = 16"),
    of_bracket("test_polynomial", "four Newton steps", "kSteps = 100", "kSteps = 4", POLYNOMIAL),
    of_polynomial(
        "two sign changes count as none", "if (changes == 0) return", "if (changes == 0 || changes == 2) return"
    ),
    of_polynomial(
        "two sign changes count as one", "if (changes == 1) return", "if (changes == 1 || changes == 2) return"
    ),
    of_polynomial("the second half first", "if (root <= middle) return root;", "if (root < 0.5 * middle) return root;"),
    of_polynomial("a root at the begin is passed over", "if (c[k] < 0.0) return 0.0;", ""),
    *DUAL_ROUNDING,
    *BOX_LEAST_SQUARES,
    of_tolerance("test_sliding_set", "kRankTol", "1e-10", "1e-7", SLIDING),
    of_tolerance("test_sliding_set", "kRankTol", "1e-10", "1e-13", SLIDING),
    Mutant("test_sliding_set", SLIDING, "one pass of Gram-Schmidt", "pass < 2", "pass < 1"),
    of_orthonormal(
        "multipliers without what the others take", "values[i] -= values[h] * column[i]", "values[i] -= 0.0 * column[i]"
    ),
    Mutant(
        "test_sliding_set",
        SLIDING,
        "multipliers off by 1e-13",
        "values[i] = -values[i];",
        "values[i] = -values[i] * (1.0 + 1e-13);",
    ),
    of_orthonormal(
        "projector without its last boundary",
        "for (; i < count; ++i) take_rows<1>",
        "for (; i + 1 < count; ++i) take_rows<1>",
    ),
    Mutant(
        "test_sliding_set",
        SLIDING,
        "factors of other boundaries are kept",
        "dependent_.empty() ? kept - boundaries_.begin() : 0",
        "std::min(boundaries_.size(), boundaries.size())",
    ),
    of_orthonormal(
        "vectors taken together end with the last four",
        "for (; first < vectors; ++first) take",
        "for (; first + kTogether < vectors; ++first) take",
    ),
    Mutant("test_sliding_set", SLIDING, "dependent boundaries are not listed", "dependent_.push_back(boundary);", ";"),
    Mutant("test_sliding_set", SLIDING, "full rank leaves rounding", "if (size() == rank_) {", "if (size() > rank_) {"),
    Mutant("test_transition", CELLS, "cells are not looked at", "if (most_nodes_ == kMostNodes) return", "return"),
    of_transition(
        TRANSITION, "half of the leeway", "reach += 0.5 * corner_->kink(w);", "reach += 0.25 * corner_->kink(w);"
    ),
    of_transition(
        TRANSITION, "half of what lies outside", "reach += outside_[w] * half;", "reach += 0.5 * outside_[w] * half;"
    ),
    of_transition(TRANSITION, "twice the room inside", "if (absorbed_[i] > room", "if (absorbed_[i] > 2.0 * room"),
    of_transition(TRANSITION, "no leeway for chosen sides", "if (along + radius < -box_", "if (along < -box_"),
    of_transition(
        TRANSITION,
        "open boundaries take a side whatever the leeway",
        "std::abs(box_.rate(w)) <= radius + box_.tolerance()",
        "std::abs(box_.rate(w)) <= box_.tolerance()",
    ),
    of_transition(TRANSITION, "whatever touches is accepted", "if (!touches || is_stable())", "if (true)"),
    of_transition(TRANSITION, "no continuation stands", "repelling_.size() <= kMostStood", "repelling_.empty()"),
    of_transition(TRANSITION, "who stands needs no hull", "return is_in_hull(tolerance);", "return true;"),
    of_transition(
        TRANSITION,
        "who stands needs no multipliers",
        "if (independent) return within;",
        "if (independent) return true;",
    ),
    of_transition(TRANSITION, "the box in place of the hull", "if (independent) return within;", "return within;"),
    of_transition(
        HULL,
        "the hull without its last cell",
        "for (Index c = 0; c < cells.count; ++c)",
        "for (Index c = 0; c + 1 < cells.count; ++c)",
    ),
    of_transition(HULL, "zero is a tenth of the largest pull", "kZeroPart = 1e-10", "kZeroPart = 0.1"),
    of_tolerance("test_transition_enumeration", "kCornerUlps", "32.0", "32e3", BOX, TRANSITION),
    of_tolerance("test_transition_enumeration", "kCornerUlps", "32.0", "32e-3", BOX, TRANSITION),
    of_tolerance("test_hits", "kZeroUlps", "32.0", "32e3", HITS),
    of_tolerance("test_hits", "kZeroUlps", "32.0", "32e-3", HITS),
    of_tolerance("test_hits", "kRateUlps", "256.0", "256e3", HITS),
    of_tolerance("test_hits", "kRateUlps", "256.0", "0.256", HITS),
    Mutant(
        "test_hits",
        HITS,
        "half of the bend",
        "bend_ = tail_bound(across_, order_, 2, limit) + zero_;",
        "bend_ = 0.5 * tail_bound(across_, order_, 2, limit) + zero_;",
    ),
    Mutant(
        "test_hits",
        HITS,
        "bend from the third order",
        "bend_ = tail_bound(across_, order_, 2, limit)",
        "bend_ = tail_bound(across_, order_, 3, limit)",
    ),
    Mutant(
        "test_hits",
        HITS,
        "neurons that do not shrink",
        "kept_ = 1.0 - fall_bound(along_, order_, limit) / along_[0];",
        "kept_ = 1.0;",
    ),
    Mutant("test_hits", HITS, "no motion aside", "+ std::min(0.0, aside) > bend_", "> bend_"),
    Mutant(
        "test_hits",
        HITS,
        "a boundary just left is never met",
        "return tangent.slope * limit_ > bend_ + growth;",
        "return true;",
    ),
    Mutant(
        "test_hits",
        HITS,
        "a boundary just left is as far as its rounding",
        "        if (known <= zero) c[0] = 0.0;\n",
        "",
    ),
    Mutant(
        "test_hits",
        HITS,
        "a bend within rounding takes a neuron across",
        "KnownFall descent = known_fall(c, motion_.order(), zero, limit);",
        "KnownFall descent = {first_descent(c, motion_.order(), limit), 0.0};",
    ),
    Mutant(
        "test_hits",
        HITS,
        "whatever is near is met",
        "return side * evaluate(c, order, hit.seen - begin) >= -kComesNearer * zero;",
        "return false;",
    ),
    Mutant(
        "test_hits",
        HITS,
        "what a neuron comes towards by less than rounding is not met",
        "constexpr double kComesNearer = 0.25;",
        "constexpr double kComesNearer = 1.0;",
    ),
    Mutant(
        "test_hits",
        HITS,
        "what a neuron comes from is not met",
        "if (side * c[0] > zero) return false;  // it has come",
        "// it has come",
    ),
    Mutant(
        "test_hits",
        HITS,
        "what was left at this instant is not met",
        "if (side == 0 || hit.seen <= begin) return false;",
        "if (side == 0) return false;",
    ),
    Mutant(
        "test_hits",
        HITS,
        "boundaries nearer than all others alone are met",
        "met_.push_back(tangent.boundary);",
        "if (i == 0) met_.push_back(tangent.boundary);",
    ),
    Mutant(
        "test_hits",
        HITS,
        "an output weight at zero is positive",
        "if (c[0] < 0.0 || (c[0] == 0.0 && c[1] < 0.0)) negate",
        "if (c[0] < 0.0) negate",
    ),
    of_tolerance("test_release", "kCornerUlps", "32.0", "32e3", HITS),
    of_tolerance("test_release", "kCornerUlps", "32.0", "32e-3", HITS),
    Mutant(
        "test_release",
        HITS,
        "one end of the interval",
        "{std::int8_t{-1}, std::int8_t{1}}",
        "{std::int8_t{-1}, std::int8_t{-1}}",
    ),
    Mutant(
        "test_release",
        HITS,
        "multipliers of the order before",
        "std::copy_n(motion_.g(piece), motion_.order() * motion_.rank(), work_.data());",
        "for (int k = 0; k < motion_.order(); ++k)\n"
        "        std::copy_n(motion_.g(piece) + (k < 2 ? k : k - 1) * motion_.rank(), motion_.rank(),\n"
        "                    work_.data() + k * motion_.rank());",
    ),
    Mutant("test_release", HITS, "a release is always alone", ALONE, ""),
    Mutant(
        "test_release",
        HITS,
        "others within a thousand roundings come with it",
        ALONE,
        "if (inside <= 1e3 * (noise.rounding + held.condition(h, work_.data()) * noise.weights)) return false;",
    ),
    Mutant(
        "test_release",
        LEAVING,
        "a gap at its end leaves at once",
        "    c[0] += noise;\n",
        "",
    ),
    Mutant("test_release", LEAVING, "a gap at its end never leaves", "    c[0] += noise;\n", "    c[0] += 1.0;\n"),
    Mutant(
        "test_release",
        SLIDE,
        "a neuron leaves dependent boundaries for what is not known of weights",
        "    unknown_ = 2.0 * motion_.acting_error(weight);\n",
        "",
    ),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "l without its last term",
        "for (int a = 0; a <= k; ++a) change -=",
        "for (int a = 0; a < k; ++a) change -=",
    ),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "p without its last term",
        "for (int a = 0; a <= k; ++a) next +=",
        "for (int a = 0; a + 23 <= k; ++a) next +=",
    ),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "B without one term of order 20",
        "sum += order(p, a) * order(c, k - a);",
        "if (k != 20 || a != 10) sum += order(p, a) * order(c, k - a);",
    ),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "time without one term of order 3",
        "rate += time_rate_[a] * rate_[k - a];",
        "rate += (k == 3 && a == 3 ? 0.0 : 1.0) * time_rate_[a] * rate_[k - a];",
    ),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "mean norm of the begin",
        "for (int k = 0; live_[i] && k <= order_; ++k) weight",
        "for (int k = 0; live_[i] && k <= 0; ++k) weight",
    ),
    Mutant("test_waveform", WAVEFORM, "kSaturatedPart = 0.6", "kSaturatedPart = 0.5", "kSaturatedPart = 0.6"),
    Mutant("test_waveform", WAVEFORM, "kSaturated = 120", "kSaturated = 12.0", "kSaturated = 120.0"),
    Mutant("test_waveform", WAVEFORM_TIME, "kNoShare = 6", "kNoShare = 60.0", "kNoShare = 6.0"),
    of_log_integral("kForgotten = 20", "kForgotten = 42.0", "kForgotten = 20.0"),
    of_log_integral("kPanel = 12", "kPanel = 3.0", "kPanel = 12.0"),
    of_log_integral("kWidestPanel = 1", "kWidestPanel = 0.125", "kWidestPanel = 1.0"),
    of_log_integral("a node of the quadrature off by 1e-10", "0.2372337950418355", "0.2372337951418355"),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "time is inverted to 1e-4",
        "std::numeric_limits<double>::epsilon() * u; };",
        "1e-4 * u; };",
    ),
    Mutant(
        "test_waveform",
        WAVEFORM_TIME,
        "log time is inverted to 1e-4",
        "4.0 * std::numeric_limits<double>::epsilon() * end",
        "1e-4 * end",
    ),
    of_bracket("test_waveform", "Newton alone inverts log time", HALVING, "", WAVEFORM_TIME),
    Mutant(
        "test_waveform",
        WAVEFORM,
        "the mean counts samples twice",
        "log_factor_(-std::log(",
        "log_factor_(-2.0 * std::log(",
    ),
    Mutant(
        "test_waveform",
        LOSS,
        "changes of a weight by differences",
        "if (std::abs(change) > 1.0) return",
        "if (std::abs(change) > 1e-4) return",
    ),
    of_tolerance("test_radau_step", "kLatePart", "0.05", "50.0", RADAU),
    Mutant(
        "test_radau_step",
        RADAU_HEADER,
        "kErrorPart = 1e-4",
        "kErrorPart = 0.1",
        "kErrorPart = 1e-4",
        (RADAU, "two_layer/radau_error.cpp"),
    ),
    Mutant("test_radau_step", RADAU, "kGrowingPart = 5e6", "kGrowingPart = 5.0", "kGrowingPart = 5e6"),
    Mutant("test_radau_step", RADAU, "kNewtonPart = 20", "kNewtonPart = 0.02", "kNewtonPart = 20.0"),
    Mutant("test_radau_step", RADAU, "kSeriesPart = 1", "kSeriesPart = 1e-3", "kSeriesPart = 1.0"),
    Mutant("test_radau_step", RADAU, "kSeriesPart = 1000", "kSeriesPart = 1e-3", "kSeriesPart = 1e3"),
    Mutant(
        "test_radau_step",
        "two_layer/radau_length.cpp",
        "a step is good whatever its error",
        "is_taken = miss <= 1.0;",
        "is_taken = true;",
    ),
    Mutant("test_radau_step", NODES, "nodes to 1e-7", "pass < 60", "pass < 15", ("../tests/test_radau_step.cpp",)),
)
