"""All claims of all papers, found by their id."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable

from .._validation import invalid
from ._claim import Claim

# The order in which papers are listed and reported, and the sub-package of each.
PACKAGES = {
    "WP": "wang_pilanci",
    "PL": "phuong_lampert",
    "LLWA": "lyu_li",
    "VSS": "vardi",
    "BPF": "boursier",
    "TK": "tsoy",
    "CEL": "chistikov",
}


def claims(ids: str | Iterable[str] = "all") -> tuple[Claim, ...]:
    """Return claims, paper by paper in the order of their sections.

    Parameters
    ----------
    ids : str or iterable of str, optional
        ``"all"``, papers such as ``"WP"``, or ids such as ``"WP-F4"``; case does not matter.

    Returns
    -------
    tuple of Claim

    Raises
    ------
    ValueError
        An unknown id; the message names near ones.

    Examples
    --------
    >>> import reluflow as rf
    >>> [claim.title for claim in rf.papers.claims(["PL-OS", "PL-W"])]
    ['Orthogonal separability', 'The max-margin vectors']
    """
    if not isinstance(ids, Iterable):
        raise invalid("ids", "be 'all', papers or ids of claims", repr(ids))
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not wanted:
        raise invalid("ids", "name at least one claim, a paper or 'all'", "none")
    known = all_claims()
    chosen: set[str] = set()
    for name in wanted:
        chosen |= _of_name(str(name), known)
    return tuple(claim for claim in known if claim.id in chosen)


def all_claims() -> tuple[Claim, ...]:
    """Return every claim.

    Raises
    ------
    ValueError
        Two claims share an id.
    """
    found: list[Claim] = []
    for package in PACKAGES.values():
        found += importlib.import_module(f".{package}", __package__).CLAIMS
    seen: set[str] = set()
    for claim in found:
        if claim.id in seen:
            raise invalid("ids of claims", "differ from each other", f"{claim.id} twice")
        seen.add(claim.id)
    return tuple(found)


def _of_name(name: str, known: tuple[Claim, ...]) -> set[str]:
    key = name.casefold()
    found = {claim.id for claim in known if key in ("all", claim.paper.casefold(), claim.id.casefold())}
    if found or key == "all":
        return found
    folded = {claim.id.casefold(): claim.id for claim in known}
    near = [folded[match] for match in difflib.get_close_matches(key, folded, n=3, cutoff=0.5)]
    hint = f" (near: {', '.join(near)})" if near else ""
    raise invalid("ids", f"be 'all', one of {', '.join(PACKAGES)} or the id of a claim{hint}", repr(name))
