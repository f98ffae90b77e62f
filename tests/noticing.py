"""Whether a claim about a paper would notice a wrong constant."""

from __future__ import annotations

from reluflow.papers import Number

WRONG = 1.1  # a constant that is off by a tenth


def notices(number: Number) -> bool:
    """Whether a number that is compared with a paper is turned by a wrong constant, or shown to be able to turn."""
    if number.ok is None or number.source == "exact":
        return True  # only shown; or a condition of the run, beside those numbers
    if number.control is not None or number.wrong is not None:
        return number.can_fail
    if number.ok is False:
        return True  # what is printed is wrong, and it is noticed
    if number.relation != "equal" or isinstance(number.expected, bool):
        return False
    if isinstance(number.expected, str):
        return True  # another word is another verdict
    wrong = WRONG * number.expected
    other = Number(number.name, number.value, wrong, number.tolerance, number.relation, number.source)
    return other.ok is False
