"""When a run ends: `Stop`, a set of criteria of which the first that holds ends the run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from .._digest import content_digest, hash_of
from .._validation import instance, integer, invalid, positive, real
from ..losses import loss_to_reach

# Norms, and margins as their squares, leave the range of floats beyond it.
LARGEST_LOG_NORM = 340.0

Options = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Criteria that end a run; the first that holds does.

    At least one must be given. Times are absolute: a run that continues another one from t = 5 stops at
    ``time=10`` after 5 more units.

    Parameters
    ----------
    time : float, optional
        Flow time t, above 0.
    log_time : float, optional
        Natural logarithm of the flow time, for times beyond the range of floats.
    loss : float, optional
        The loss falls to this value, above 0; the loss is the one that is minimised, a sum or a mean as ``reduction``
        says.
    mean_loss : float, optional
        The mean loss of the samples, each as often as it counts, falls to this value, whatever ``reduction`` is.
    direction : float, optional
        The estimated remaining turn of θ/|θ| falls to this angle in radians, in (0, 1).
    log_norm : float, optional
        log |θ| reaches this value, at most 340. Beyond log t of about 4e10 this is the clock that counts.
    limit : bool, optional
        True: the limit of the flow is certified. It is asked for at log times up to 1e10 and then at growing norms, up
        to log |θ| = 4000 or, where the direction only drifts, 1e10, though states and events end at 340; with weight
        decay γ at times up to 1e8 / γ, with several outputs up to log t = 650. It is also asked for where the loss
        stalls, and beyond, beside the samples at rest. See ``Solution.limit``.
    events : int, optional
        This many events have happened, at least 1. Events that coincide are one set and are all kept.
    gradient : float, optional
        |∇L| falls to this value, above 0; for layered networks.
    steps : int, optional
        This many steps of the integrator have been taken, at least 1; for layered networks.
    seconds : float, optional
        Wall-clock time of the run, above 0. A step under way is given up, and the run ends where it began;
        the start itself, with the signs of all pre-activations, is always made.

    Raises
    ------
    ValueError
        No criterion, or one outside its range.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.Stop(time=10.0, mean_loss=0.01)
    Stop(time=10.0, mean_loss=0.01)
    >>> rf.Stop.parse("mean_loss=0.01")
    Stop(mean_loss=0.01)
    """

    time: float | None = None
    log_time: float | None = None
    loss: float | None = None
    mean_loss: float | None = None
    direction: float | None = None
    log_norm: float | None = None
    limit: bool | None = None
    events: int | None = None
    gradient: float | None = None
    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Check every criterion and store plain Python numbers."""
        given = self.as_dict()
        if not given:
            raise invalid("Stop", "name at least one criterion, such as time=10.0", "none")
        for name, value in given.items():
            object.__setattr__(self, name, _checked(name, value))

    @classmethod
    def of(cls, until: Stop | float) -> Stop:
        """Return `until` itself, or the stop at that time if it is a number.

        Raises
        ------
        ValueError
            `until` is neither, or a number that is no time.
        """
        if isinstance(until, Stop):
            return until
        return cls(time=positive(until, "until", "be a Stop, or a time above 0"))

    @classmethod
    def parse(cls, text: str) -> Stop:
        """Read criteria such as ``"mean_loss=0.01"`` or ``"time=10, seconds=60"``; a number alone means time.

        Raises
        ------
        ValueError
            An unknown or repeated criterion, or a value that is no number.
        """
        instance(text, "until", str, "text such as mean_loss=0.01")
        criteria: dict[str, float | int] = {}
        for part in text.split(","):
            name, value = _split(part)
            if name in criteria:
                raise invalid("until", "name each criterion once", f"{name} twice")
            criteria[name] = value
        return cls(**criteria)  # type: ignore[arg-type]  # __post_init__ checks the values

    def as_dict(self) -> dict[str, float | int]:
        """Return the criteria that are set."""
        values = {name: getattr(self, name) for name in CRITERIA}
        return {name: value for name, value in values.items() if value is not None}

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(content_digest(self.as_dict()))

    def __str__(self) -> str:
        """Text that `parse` reads back."""
        return ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())

    def __repr__(self) -> str:
        """Only the criteria that are set."""
        return f"Stop({self})"

    def log_loss(self, total: float, reduction: str) -> float | None:
        """Logarithm of the loss to reach, with the reduction of the run; None if no loss ends it."""
        return loss_to_reach(self.loss, self.mean_loss, total, reduction)[0]

    def ends_on_mean(self, total: float, reduction: str) -> bool:
        """Tell whether the loss that ends the run is that of `mean_loss`."""
        return loss_to_reach(self.loss, self.mean_loss, total, reduction)[1]

    def log_end(self) -> float:
        """Logarithm of the last time that can be reached; infinity without a time criterion."""
        ends = [math.inf if self.log_time is None else self.log_time]
        if self.time is not None:
            ends.append(math.log(self.time))
        return min(ends)


CRITERIA = tuple(field.name for field in fields(Stop))
_COUNTS = ("events", "steps")


def _checked(name: str, value: object) -> float | int:
    label = f"Stop.{name}"
    if name in _COUNTS:
        return integer(value, label)
    if name == "limit":
        if value is not True:
            raise invalid(label, "be True or left out", repr(value))
        return True
    if name == "log_time":
        return real(value, label)
    if name == "log_norm":
        norm = real(value, label)
        if not norm <= LARGEST_LOG_NORM:
            raise invalid(label, f"be at most {LARGEST_LOG_NORM:g}", repr(norm))
        return norm
    if name != "direction":
        return positive(value, label)
    expected = "lie in (0, 1)"
    number = real(value, label, expected)
    if not 0 < number < 1:
        raise invalid(label, expected, repr(number))
    return number


def _split(part: str) -> tuple[str, float | int]:
    name, equals, number = part.partition("=")
    if not equals:
        name, number = "time", part
    name, number = name.strip(), number.strip()
    if name not in CRITERIA:
        raise invalid("until", "name one of " + ", ".join(CRITERIA), repr(name))
    if name == "limit":
        if number.lower() != "true":
            raise invalid("until", "give limit the value true", repr(number))
        return name, True
    try:
        return name, int(number) if name in _COUNTS else float(number)
    except ValueError:
        kind = "an integer" if name in _COUNTS else "a number"
        raise invalid("until", f"give {name} {kind}", repr(number)) from None
