"""What a run of claims gave, and the news on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._validation import optional_module
from ._claim import Claim
from ._result import FAILED, VERDICTS, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Update:
    """One piece of news of a run of claims.

    Attributes
    ----------
    kind : {"started", "says", "finished", "kept"}
        ``"kept"``: a stored result of the same version, seed, size and code is used again.
    claim : Claim
    text : str
        What the claim says.
    result : Result or None
        Of a claim that is finished or kept.
    total : int
        How many claims there are in all.
    """

    kind: str
    claim: Claim
    total: int
    text: str = ""
    result: Result | None = None


@dataclass(frozen=True)
class Reproduction:
    """What a run of claims gave.

    Attributes
    ----------
    claims : tuple of Claim
        What was asked for.
    results : tuple of Result
        In the order of the claims; fewer after Ctrl-C.
    quick : bool
    seed : int
    out : pathlib.Path
        Folder with report.html, results.json and one folder a claim.
    """

    claims: tuple[Claim, ...]
    results: tuple[Result, ...]
    quick: bool
    seed: int
    out: Path

    @property
    def interrupted(self) -> bool:
        """Whether claims were left out by Ctrl-C."""
        return len(self.results) < len(self.claims)

    @property
    def ok(self) -> bool:
        """Whether every claim was run and has the verdict that was expected of it."""
        return not self.interrupted and all(result.verdict != FAILED for result in self.results)

    @property
    def counts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        found = Counter(result.verdict for result in self.results)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def roots(self) -> dict[str, int]:
        """How many different faults stand behind the claims of each verdict: one that shows at two places is one."""
        roots = {claim.id: claim.root for claim in self.claims}
        kept = Counter(result.verdict for result in self.results if not roots[result.id])
        return {verdict: kept[verdict] for verdict in ("differs", "misprint")}

    def table(self) -> pd.DataFrame:
        """Return one row a claim: id, paper, source, title, verdict, message, seconds."""
        pandas = optional_module("pandas", "analysis")
        claims = {claim.id: claim for claim in self.claims}
        rows = []
        for result in self.results:
            claim = claims[result.id]
            rows.append(
                (claim.id, claim.paper, claim.source, claim.title, result.verdict, result.message, result.seconds)
            )
        frame: pd.DataFrame = pandas.DataFrame(
            rows, columns=["id", "paper", "source", "title", "verdict", "message", "seconds"]
        )
        return frame
