"""All claims of all papers, found by their id."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable

from .._validation import invalid
from ._claim import Claim

# The order in which papers are listed and reported, and the sub-package of each.
PACKAGES = {"WP": "wang_pilanci", "PL": "phuong_lampert", "LLWA": "lyu_li", "VSS": "vardi"}


def claims() -> tuple[Claim, ...]:
    """Return every claim, paper by paper in the order of their sections.

    Returns
    -------
    tuple of Claim

    Raises
    ------
    ValueError
        Two claims share an id.

    Examples
    --------
    >>> import reluflow as rf
    >>> len({claim.id for claim in rf.papers.claims()}) == len(rf.papers.claims())
    True
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


def select(ids: str | Iterable[str]) -> tuple[Claim, ...]:
    """Return the claims of these ids, in the order of `claims`.

    Parameters
    ----------
    ids : str or iterable of str
        ``"all"``, ids such as ``"WP-F4"``, or a paper such as ``"WP"``; case does not matter.

    Raises
    ------
    ValueError
        An unknown id; the message names near ones.
    """
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not wanted:
        raise invalid("ids", "name at least one claim, a paper or 'all'", "none")
    known = claims()
    chosen: set[str] = set()
    for name in wanted:
        chosen |= _of_name(str(name), known)
    return tuple(claim for claim in known if claim.id in chosen)


def _of_name(name: str, known: tuple[Claim, ...]) -> set[str]:
    key = name.casefold()
    found = {claim.id for claim in known if key in ("all", claim.paper.casefold(), claim.id.casefold())}
    if found or key == "all":
        return found
    folded = {claim.id.casefold(): claim.id for claim in known}
    near = [folded[match] for match in difflib.get_close_matches(key, folded, n=3, cutoff=0.5)]
    hint = f" (near: {', '.join(near)})" if near else ""
    raise invalid("ids", f"be 'all', one of {', '.join(PACKAGES)} or the id of a claim{hint}", repr(name))
