"""One run in one record: what the command line prints and writes to summary.json."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._validation import invalid
from ..flow import MultiClassSolution
from ._inputs import check_run
from ._sectors import groups
from ._series import series
from ._times import ends

if TYPE_CHECKING:
    import pandas as pd

    from ..flow import Solution


@dataclass(frozen=True)
class Summary:
    """The numbers of a run at its end.

    Attributes
    ----------
    status, message : str
    t, log_t : float
    loss, mean_loss, log_loss : float
        The summed loss, the mean, and the log of the sum.
    weight_decay, objective : float
        γ, and L + γ/2 |θ|² with L summed or averaged as in the run: what falls along the flow.
    norm, min_margin, normalised_margin, smoothed_margin : float
    n_wrong : int
        Samples that count, whose weight is not 0, with a margin that is not positive; 0 for targets that are no labels,
        whose margins are nan.
    rmse, largest_error : float
        Of f(x_i) - y_i, for the squared loss; nan for the others.
    n_sectors, n_held, n_dead, n_groups : int
        Sectors in use, pairs on their boundary, dead neurons, groups of neurons of one sector and direction.
    balance_drift : float
        Largest change of a_j² - |w_j|² from the start, relative to |θ_j|².
    events : dict
        Count of each kind.
    n_events, n_branchings : int
    stats : dict
        As the solution gives them.
    descent : list of dict
        Rows of `compare_with_descent`, empty without one.
    """

    status: str
    message: str
    t: float
    log_t: float
    loss: float
    mean_loss: float
    log_loss: float
    weight_decay: float
    objective: float
    norm: float
    min_margin: float
    normalised_margin: float
    smoothed_margin: float
    n_wrong: int
    rmse: float
    largest_error: float
    n_sectors: int
    n_held: int
    n_dead: int
    n_groups: int
    balance_drift: float
    events: dict[str, int]
    n_events: int
    n_branchings: int
    stats: dict[str, Any]
    descent: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return asdict(self)


@overload
def summarise(solution: Solution, descent: pd.DataFrame | None = None) -> Summary: ...
@overload
def summarise(solution: MultiClassSolution) -> tuple[Summary, ...]: ...
def summarise(
    solution: Solution | MultiClassSolution, descent: pd.DataFrame | None = None
) -> Summary | tuple[Summary, ...]:
    """Summarise a run, and the descent runs beside it if given; of K classes, one summary for each in a tuple.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> found = rf.analysis.summarise(sol)
    >>> found.status, found.n_events, found.n_sectors, found.n_dead
    ('reached_time', 5, 3, 2)
    """
    if isinstance(solution, MultiClassSolution):
        return tuple(summarise(one) for one in solution)
    check_run(solution)
    if descent is not None and not hasattr(descent, "to_dict"):
        found = f"a value of type {type(descent).__name__}"
        raise invalid("descent", "be None or what analysis.compare_with_descent returns", found)
    both = ends(solution)
    table = series(both)
    last = table.iloc[-1]
    log_sum = float(both.log_loss_sum[-1])
    log_total = float(np.log(solution.data.total))
    log_own = log_sum - (log_total if solution.reduction == "mean" else 0.0)
    counts = solution.events.counts()
    return Summary(
        status=solution.status,
        message=solution.message,
        t=float(last["t"]),
        log_t=float(last["log_t"]),
        loss=_exp(log_sum),
        mean_loss=_exp(log_sum - log_total),
        log_loss=log_sum,
        weight_decay=solution.settings.weight_decay,
        objective=_exp(log_own) + 0.5 * solution.settings.weight_decay * float(last["norm"]) ** 2,
        norm=float(last["norm"]),
        min_margin=float(last.get("min_margin", np.nan)),
        normalised_margin=float(last.get("normalised_margin", np.nan)),
        smoothed_margin=float(last.get("smoothed_margin", np.nan)),
        n_wrong=int(last.get("n_wrong", 0)),
        rmse=float(last.get("rmse", np.nan)),
        largest_error=float(last.get("largest_error", np.nan)),
        n_sectors=int(last["n_sectors"]),
        n_held=int(last["n_held"]),
        n_dead=int(last["n_dead"]),
        balance_drift=float(last["balance_drift"]),
        n_groups=int(groups(both)["group"].max()) + 1,
        events=counts,
        n_events=sum(counts.values()),
        n_branchings=len(solution.branchings),
        stats=plain(solution.stats),
        descent=[] if descent is None else [_row(row) for row in descent.to_dict("records")],
    )


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _row(row: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): plain(value) for name, value in row.items()}


def plain(value: Any) -> Any:
    """Turn numpy values into plain Python ones, through dicts and lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value
