"""results.json: everything that came out, the same on every machine."""

from __future__ import annotations

import importlib.metadata
from dataclasses import fields
from typing import Any

from .._core import __version__
from .._files import atomic_write, json_bytes
from ._claim import PAPERS, Claim
from ._reproduction import Reproduction
from ._result import Result

NAME = "results.json"
# The libraries that take part in the numbers and the pictures.
_LIBRARIES = ("numpy", "scipy", "pandas", "matplotlib", "cvxpy", "clarabel", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """Return the versions of reluflow and of the libraries that take part."""
    found = {"reluflow": __version__}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "not installed"
    return found


def write_results(done: Reproduction) -> None:
    """Write results.json into the folder of a run: no times, no paths, no names of machines."""
    claims = {claim.id: claim for claim in done.claims}
    record = {
        "versions": versions(),
        "seed": done.seed,
        "quick": done.quick,
        "interrupted": done.interrupted,
        "counts": done.counts,
        "roots": done.roots,
        "papers": dict(PAPERS),
        "claims": [_entry(claims[result.id], result) for result in done.results],
    }
    with atomic_write(done.out / NAME) as file:
        file.write(json_bytes(record))


def _entry(claim: Claim, result: Result) -> dict[str, Any]:
    about = {field.name: getattr(claim, field.name) for field in fields(claim) if field.name != "run"}
    found = {
        name: value for name, value in result.to_dict().items() if name not in ("id", "key", "seconds", "warnings")
    }
    return {**about, **found}
