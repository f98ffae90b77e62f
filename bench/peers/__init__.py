"""The peers: general integrators at their best settings, each run in a process of its own.

A way is one method of one tool. `straight` goes through the kinks and leaves them to the error control; `events`
locates every crossing and starts again there. A tool that is not installed is left out, and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

STRAIGHT, EVENTS = "straight", "events"


@dataclass(frozen=True)
class Way:
    """One method of one tool: the distribution, the module here that drives it, its option, and the mode."""

    label: str
    package: str
    module: str
    option: str
    mode: str = STRAIGHT


_ALL = (
    *(Way(f"scipy {name}", "scipy", "with_scipy", name) for name in ("RK45", "DOP853", "LSODA", "Radau", "BDF")),
    Way("scipy DOP853 + events", "scipy", "with_scipy", "DOP853", EVENTS),
    Way("CVODE Adams", "scikit-sundae", "with_sundials", "Adams"),
    Way("CVODE BDF", "scikit-sundae", "with_sundials", "BDF"),
    Way("CVODE Adams + events", "scikit-sundae", "with_sundials", "Adams", EVENTS),
    Way("heyoka", "heyoka", "with_heyoka", "relu"),
    Way("heyoka + events", "heyoka", "with_heyoka", "relu", EVENTS),
    Way("diffrax Tsit5", "diffrax", "with_diffrax", "Tsit5"),
    Way("diffrax Dopri8", "diffrax", "with_diffrax", "Dopri8"),
    Way("diffrax Dopri8 + events", "diffrax", "with_diffrax", "Dopri8", EVENTS),
    Way("torchdiffeq dopri5", "torchdiffeq", "with_torchdiffeq", "dopri5"),
    Way("torchdiffeq dopri8", "torchdiffeq", "with_torchdiffeq", "dopri8"),
    Way("torchdiffeq dopri5 + events", "torchdiffeq", "with_torchdiffeq", "dopri5", EVENTS),
)
WAYS = {way.label: way for way in _ALL}
# What a tool needs besides itself to be driven at its best, for the versions on the page.
TOOLS = {
    "scipy": ("scipy", "numba"),
    "scikit-sundae": ("scikit-sundae", "numba"),
    "heyoka": ("heyoka",),
    "diffrax": ("diffrax", "jax"),
    "torchdiffeq": ("torchdiffeq", "torch"),
}


def installed(package: str) -> str | None:
    """The version of a distribution, None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def missing() -> list[str]:
    """The tools that are not installed here."""
    return [tool for tool in TOOLS if installed(tool) is None]
