"""Every reason says where the paper has it, and what is right instead."""

from __future__ import annotations

import re

import pytest

import reluflow as rf

WRONG = [claim for claim in rf.papers.claims() if claim.expected in ("differs", "misprint")]
KINDS = (
    r"Theorems?|Lemmas?|Propositions?|Corollary|Definition|Remark|Assumptions?|Sections?|App\.|Appendix|Figures?"
    r"|[Pp]oster|proof"
)
PLACE = re.compile(rf"\b(?:{KINDS})\b|\(\d+\)|\b[A-Z]\.\d")
QUOTED = re.compile(r"'[^']{8,}'[^.]*? \((?:[^()]|\(\d+\))*\)", re.DOTALL)


@pytest.mark.parametrize("claim", WRONG, ids=[claim.id for claim in WRONG])
def test_a_reason_names_the_place(claim):
    assert PLACE.search(claim.source), claim.source
    assert PLACE.search(claim.reason), claim.reason


@pytest.mark.parametrize("claim", [c for c in WRONG if c.expected == "differs"], ids=lambda claim: claim.id)
def test_a_claim_that_differs_quotes_the_paper_computes_and_corrects(claim):
    quote = QUOTED.search(claim.reason)
    assert quote, claim.reason
    assert PLACE.search(quote.group()), quote.group()
    computed, _, corrected = claim.reason[quote.end() :].partition("Corrected: ")
    assert len(computed) > 40, computed
    assert len(corrected) > 20, corrected


def test_a_reason_without_a_quotation_is_noticed():
    assert QUOTED.search("'the loss is below one' (Theorem 2.1). It is not.")
    assert not QUOTED.search("The loss is below one (Theorem 2.1).")
    assert not PLACE.search("A factor is missing.")
