"""Every row of the catalogue of the papers is accounted for by some claim, and every claim ends as expected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reluflow as rf
from noticing import notices
from reluflow.papers import Context
from reluflow.papers._claim import hindrance, undecided
from reluflow.papers._digest import code_digest
from reluflow.papers._execute import execute
from reluflow.papers._result import Key

CLAIMS = rf.papers.claims()
ROWS = (Path(__file__).parent / "data" / "catalogue_rows.txt").read_text(encoding="utf-8").splitlines()
KINDS = {"S0": 25, "B-": 74, "D-": 38, "00": 24, "BPF": 4, "TK": 5, "CEL": 12}
CODES = [row for row in ROWS if row and not row.startswith("#")]


def test_every_row_of_the_catalogue_is_in_some_claim():
    accounted = {row for claim in CLAIMS for row in claim.rows}
    assert [code for code in CODES if code not in accounted] == []


def test_every_row_of_a_claim_is_in_the_catalogue():
    known = set(CODES)
    assert [(claim.id, row) for claim in CLAIMS for row in claim.rows if row not in known] == []


def test_the_catalogue_is_the_whole_one():
    assert len(CODES) == len(set(CODES))
    kinds = {kind: sum(code.startswith(kind) for code in CODES) for kind in KINDS}
    assert kinds == KINDS


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_a_claim_says_what_it_is_and_when_it_is_wrong_why(claim):
    for text in (claim.source, claim.title, claim.statement):
        assert text == text.strip()
        assert text
    assert claim.statement.endswith((".", "?"))
    assert bool(claim.reason) >= (claim.expected != "holds")
    assert claim.id.startswith(claim.paper)


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_a_quick_run_of_a_claim_gives_the_expected_verdict_and_notices_a_wrong_constant(claim, tmp_path):
    key = Key(rf.__version__, 0, True, code_digest(claim.paper))
    result = execute(claim, rf.papers.Context(quick=True), key, tmp_path)
    expected = "open" if hindrance(claim, rf.papers.Context(quick=True)) else claim.expected
    assert (result.verdict, result.message, result.warnings) == (expected, "", ())
    assert all((tmp_path / picture.file).stat().st_size > 1000 for picture in result.figures)
    assert result.ran.strip() or expected == "open"
    assert [number.name for number in result.numbers if not notices(number)] == [], "cannot fail"


def test_the_page_of_the_docs_lists_every_claim_with_its_verdict():
    page = (Path(__file__).parent.parent / "docs" / "reproduction.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`]+)` \|.*\| (\w+) \|$", page, re.MULTILINE)
    assert listed == [
        (claim.id, "open" if undecided(claim, Context(quick=False)) else claim.expected) for claim in CLAIMS
    ]
