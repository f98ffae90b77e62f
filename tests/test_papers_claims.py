"""Claims of papers: what a number, an outcome and a claim may hold, and what verdict a run gets."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers import Claim, Context, Number, Outcome
from reluflow.papers._claim import verdict


def claim(**changes: object) -> Claim:
    fields: dict[str, object] = {
        "id": "WP-X1",
        "paper": "WP",
        "source": "Figure 1",
        "title": "A title",
        "statement": "A statement.",
        "rows": ("D-1",),
        "run": lambda context: outcome(Number("a", 1.0, 1.0)),
    }
    return Claim(**{**fields, **changes})


def outcome(*numbers: Number, note: str = "") -> Outcome:
    return Outcome("a run", numbers, note=note)


@pytest.mark.parametrize(
    ("number", "ok"),
    [
        (Number("a", 1.0, 1.1, tolerance=0.2), True),
        (Number("a", 1.0, 1.3, tolerance=0.2), False),
        (Number("a", 1.0, 0.9, relation="at_most"), False),
        (Number("a", 1.0, 0.9, tolerance=0.2, relation="at_most"), True),
        (Number("a", 1.0, 1.1, relation="at_least"), False),
        (Number("a", 1.0, 1.1, tolerance=0.2, relation="at_least"), True),
        (Number("a", float("nan"), 1.0, relation="at_most"), False),
        (Number("a", float("nan"), float("nan"), tolerance=1.0), False),
        (Number("a", float("inf"), float("inf")), True),
        (Number("a", True, True), True),
        (Number("a", "left", "right"), False),
        (Number("a", 3.0), None),
        (Number("a", 3.0, 4.0, relation="shown"), None),
    ],
)
def test_a_number_is_compared_by_its_relation(number, ok):
    assert number.ok is ok


def test_a_number_holds_plain_python_values():
    number = Number("a", np.int64(3), np.float32(3.0))
    assert (number.value, number.expected, number.ok) == (3.0, 3.0, True)
    assert type(number.value) is type(number.expected) is float
    assert Number("b", np.bool_(False), True).ok is False
    assert Number("c", 1.0, 2.0, tolerance=np.float64(1.5)).ok is True


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"relation": "about"}, "relation of 'a' must be one of"),
        ({"source": "rumour"}, "source of 'a' must be one of"),
        ({"tolerance": -1.0}, "tolerance of 'a' must be at least 0, found -1.0"),
        ({"expected": "one"}, "value of 'a' must be of the kind of 'one', found 1.0"),
        ({"value": [1.0]}, "value of 'a' must be a number, a text or a truth value, found a value of type list"),
        ({"value": True, "expected": True, "relation": "at_most"}, "relation of 'a' must be 'equal'"),
    ],
)
def test_a_bad_number_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Number(**{"name": "a", "value": 1.0, "expected": 1.0, **fields})


def test_an_outcome_compares_something_and_names_its_files():
    with pytest.raises(ValueError, match="numbers must hold one that is compared, found 1 that are only shown"):
        outcome(Number("a", 1.0))
    with pytest.raises(ValueError, match="names of figures and tables must be fit for a file, found 'a/b'"):
        Outcome("a run", (Number("a", 1.0, 1.0),), figures={"a/b": object()})
    with pytest.raises(ValueError, match="ran must be a text, found a value of type int"):
        Outcome(3, (Number("a", 1.0, 1.0),))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"paper": "XY"}, "paper of claim 'WP-X1' must be one of"),
        ({"id": "PL-1"}, "id of a claim must be WP-"),
        ({"id": "WP-a b"}, "id of a claim must be WP-"),
        ({"statement": " "}, "statement of claim WP-X1 must say something"),
        ({"rows": ()}, "rows of claim WP-X1 must be a tuple of at least one code"),
        ({"rows": "D-1"}, "rows of claim WP-X1 must be a tuple of at least one code"),
        ({"expected": "maybe"}, "expected of claim WP-X1 must be one of"),
        ({"expected": "open", "reason": "later"}, "run of claim WP-X1 must be None where it is open"),
        ({"run": None}, "run of claim WP-X1 must be None where it is open"),
        ({"run": None, "expected": "open"}, "reason of claim WP-X1 must say why it is open"),
        ({"expected": "differs"}, "reason of claim WP-X1 must say why it is differs"),
        ({"expected": "misprint"}, "reason of claim WP-X1 must say why it is misprint"),
        ({"root": "WP-X1"}, "root of claim WP-X1 must be the id of another claim"),
    ],
)
def test_a_claim_in_contradiction_with_itself_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        claim(**changes)


RIGHT, WRONG = Number("right", 1.0, 1.0), Number("wrong", 1.0, 2.0)
SLIP = Number("slip", 1.0, 2.0, source="print")
SEEN, BLIND = Number("seen", 1.0, 1.0, control=1.1), Number("blind", 1.0, 1.0, 0.2, control=1.1)
WRONG_EXACT = Number("derived", 1.0, 2.0, source="exact")
DIFFERS = {"expected": "differs", "reason": "a false statement"}
MISPRINT = {"expected": "misprint", "reason": "a slip of the pen"}


@pytest.mark.parametrize(
    ("changes", "numbers", "expected"),
    [
        ({}, (RIGHT,), ("holds", "")),
        ({}, (RIGHT, WRONG), ("failed", "differs without a reason: wrong")),
        (DIFFERS, (RIGHT, WRONG), ("differs", "")),
        (DIFFERS, (RIGHT,), ("failed", "expected differs, found holds")),
        ({"reason": "known"}, (WRONG,), ("failed", "expected holds, found differs: wrong")),
        (DIFFERS, (WRONG, WRONG_EXACT), ("failed", "not as derived: derived")),
        ({}, (RIGHT, WRONG_EXACT), ("failed", "not as derived: derived")),
        (MISPRINT, (RIGHT, SLIP), ("misprint", "")),
        (MISPRINT, (WRONG, SLIP), ("failed", "expected misprint, found differs: wrong, slip")),
        (DIFFERS, (RIGHT, SLIP), ("failed", "expected differs, found misprint: slip")),
        ({}, (RIGHT, SLIP), ("failed", "misprint without a reason: slip")),
        ({}, (SEEN,), ("holds", "")),
        ({}, (RIGHT, BLIND), ("failed", "a wrong constant would not be noticed: blind")),
    ],
)
def test_the_verdict_follows_from_the_numbers(changes, numbers, expected):
    assert verdict(claim(**changes), outcome(*numbers)) == expected


def test_a_context_picks_one_of_two_sizes_and_checks_its_seed():
    assert Context(quick=True).pick(1, 2) == 1
    assert Context(quick=False).pick(1, 2) == 2
    with pytest.raises(ValueError, match="seed must be an integer of at least 0"):
        Context(quick=True, seed=-1)


def test_an_unknown_id_is_named_with_the_known_papers():
    with pytest.raises(
        ValueError, match=r"ids must be 'all', one of WP, PL, LLWA, VSS, BPF, TK, CEL .*, found 'nothing'"
    ):
        rf.papers.claims("nothing")
    with pytest.raises(ValueError, match="ids must name at least one claim"):
        rf.papers.claims([])
    assert rf.papers.claims("all") == rf.papers.claims()
