"""What the bench runs: the cases, the tolerances, the limits; and a quick choice of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from peers import EVENTS, WAYS
from points import Case

STRAIGHT_WAYS = tuple(label for label, way in WAYS.items() if way.mode != EVENTS)
EVENT_WAYS = tuple(label for label, way in WAYS.items() if way.mode == EVENTS)
# A full Jacobian by differences costs thousands of right-hand sides on P2 and P3; the relu of heyoka is not solved
# across its kinks (P1 shows it), and its build for these takes hours.
NOT_LARGE = ("scipy Radau", "scipy BDF", "heyoka")
LARGE = tuple(label for label in STRAIGHT_WAYS if label not in NOT_LARGE)
EVENTS_LARGE = tuple(label for label in EVENT_WAYS if "heyoka" not in label)
FEW = ("scipy RK45", "scipy LSODA", "CVODE Adams", "diffrax Tsit5")
# Euler's steps come to errors from 1e-2 to 1e-5 within about ten seconds a case.
CASES = (
    Case("P1", 1e4, (1e-1, 1e-2, 2e-3), (*STRAIGHT_WAYS, *EVENT_WAYS), 3.0),
    Case("P1s", 1e4, (1e-1, 1e-2), (*FEW, *EVENT_WAYS), 2.0),
    Case("P2", 3e-3, (1e-5, 1e-6, 2e-7), (*LARGE, *EVENTS_LARGE, "heyoka + events"), 10.0),
    Case("P2", 100.0, (5e-3, 2e-3), FEW),
    Case("P3", 0.15, (1e-3, 1e-4, 1e-5), (*LARGE, *EVENTS_LARGE)),
    Case("P3", 3.5, (1e-3, 1e-4), ("scipy RK45", "CVODE Adams"), 20.0),
    Case("P3", 10.0, (1e-3, 5e-4)),
    Case("P4", 1e-3, (1e-5, 1e-6), ("scipy RK45", "CVODE Adams")),
)
# The rows of low accuracy: the flow with all its events, against this method that locates none.
LOW = (("P2", 3e-3), ("P3", 3.5))
LOW_ERROR, LOW_PEER = 1e-3, "scipy RK45"
SMALL_REGRESSIONS = ("S2",)  # of the quick choice
SMALL_LAYERS = ("D2",)
FITTED_SCALES, SMALL_FITTED = (1e-8, 1e-3, 0.1, 1.0), (1.0,)
LATE = (("P1", 1e10, 1e-9), ("P2", 1e6, 1e-9), ("P2", 1e6, 1e-4), ("P3", 1e6, 1e-9), ("P3", 1e6, 1e-4))


@dataclass(frozen=True)
class Effort:
    """The tolerances of the sweeps from loose to tight, and the processor seconds of compiling and of events."""

    flow_rtols: tuple[float, ...] = (1e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
    peer_rtols: tuple[float, ...] = (1e-4, 1e-5, 1e-6, 1e-8, 4e-10, 1e-11)
    event_rtols: tuple[float, ...] = (1e-6, 1e-8, 1e-10)
    build_seconds: float = 40.0
    event_seconds: float = 4.0  # enough for hundreds of events, which give the price of one
    growth_seconds: float = 60.0
    widths: tuple[int, ...] = (50, 200, 1000, 5000)
    late_widths: tuple[int, ...] = (100, 10_000, 1_000_000)
    base: dict[str, int] = field(default_factory=lambda: {"n": 500, "d": 20, "m": 50})  # of the growth with the sizes
    factors: tuple[int, ...] = (2, 4)  # of each size alone
    large: tuple[int, int, int, int] = (10_000, 100, 200, 20_000)
    whole_loss: float = 0.1  # the mean loss to which the large run is followed
    whole_rtols: tuple[float, ...] = (1e-3, 1e-6)
    whole_seconds: float = 600.0
    layers_seconds: float = 20.0  # processor time of a peer on layers
    threads_t: float = 0.15  # of P4
    seeds_t: tuple[float, float] = (1e4, 0.05)
    quick: bool = False


FULL = Effort()
QUICK = Effort(
    flow_rtols=(1e-3, 1e-9),
    peer_rtols=(1e-4,),
    event_rtols=(1e-6,),
    event_seconds=0.5,
    build_seconds=5.0,
    growth_seconds=5.0,
    widths=(10, 20),
    late_widths=(10, 20),
    base={"n": 60, "d": 5, "m": 10},
    factors=(2,),
    large=(500, 20, 20, 500),
    whole_rtols=(1e-3,),
    layers_seconds=1.0,
    threads_t=1e-5,
    seeds_t=(10.0, 0.01),
    quick=True,
)


def cases(effort: Effort) -> list[Case]:
    """All, or in the quick choice P1 with one way a tool, and P2 with the peer of the low accuracy."""
    if not effort.quick:
        return list(CASES)
    one_each = {way.package: label for label, way in WAYS.items()}
    return [
        replace(CASES[0], steps=CASES[0].steps[:2], peers=tuple(one_each.values()), seconds=0.5),
        replace(CASES[2], steps=CASES[2].steps[:2], peers=(LOW_PEER,), seconds=0.5),
    ]
