"""A digest of the code that a claim runs, so that no result of other code is taken for its own."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from .. import _core
from ._registry import PACKAGES

_PACKAGE = Path(__file__).resolve().parent.parent
# What only shows results, or is how they are asked for, does not change them.
_SHOWN = ("cli/", "papers/_report", "papers/_results", "papers/_run", "papers/_jobs")


@cache
def code_digest(paper: str) -> str:
    """Return 16 hexadecimal digits of the package's code without that of other papers' claims.

    Parameters
    ----------
    paper : str
        A key of `PACKAGES`.
    """
    others = tuple(f"papers/{package}/" for name, package in PACKAGES.items() if name != paper)
    files = {path.relative_to(_PACKAGE).as_posix(): path for path in _PACKAGE.rglob("*.py")}
    digest = hashlib.sha256()
    for name in sorted(files):
        if not name.startswith(others + _SHOWN):
            digest.update(f"{name}\0".encode() + files[name].read_bytes())
    digest.update(Path(_core.__file__).read_bytes())
    return digest.hexdigest()[:16]
