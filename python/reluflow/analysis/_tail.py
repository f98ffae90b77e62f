"""Limits of slow sequences: fits in 1/log t with the limit they point to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, invalid, place, real, real_array, truth
from ._inputs import numbers


@dataclass(frozen=True)
class TailFit:
    """A fit v(t) = limit + slope/log t (+ loglog · log log t/log t) to the end of a sequence.

    Attributes
    ----------
    limit, slope : float
    loglog : float
        0 if that term was left out.
    limit_error : float
        Standard error of the limit, from the residuals.
    rms : float
        Root mean square of the residuals.
    n_points : int
    from_log_t : float
        First log time used.
    """

    limit: float
    slope: float
    loglog: float
    limit_error: float
    rms: float
    n_points: int
    from_log_t: float

    def __call__(self, log_t: npt.ArrayLike) -> FloatArray:
        """Evaluate the fit at log times above 0, shape (k,) for one or several of them.

        Raises
        ------
        ValueError
            `log_t` holds anything else.
        """
        at = real_array(np.atleast_1d(numbers(log_t, "log_t")), "log_t", "(k,)")
        if not (at > 0).all():
            raise invalid("log_t", "hold numbers above 0", place(at, ~(at > 0)))
        return np.asarray(_columns(at) @ [self.limit, self.slope, self.loglog])


def tail_fit(log_t: npt.ArrayLike, values: npt.ArrayLike, *, tail: float = 0.5, loglog: bool = False) -> TailFit:
    """Fit limit + slope/log t to the last part of a sequence, by least squares.

    Directions and |θ|²/log t converge at the rate 1/log t, with a log log t/log t term on top for |θ|² ([PL] (21)).

    Parameters
    ----------
    log_t, values : array_like, shape (k,)
        Rows with a value that is not finite, or with log t <= 0, are left out.
    tail : float, optional
        Share of the range of log t that is used, in (0, 1]: 0.5 is the last half.
    loglog : bool, optional
        Fit the log log t/log t term too.

    Raises
    ------
    ValueError
        What holds no real numbers, or two lengths. Too few points are left for the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from reluflow.analysis import tail_fit
    >>> log_t = np.linspace(10, 100, 30)
    >>> round(tail_fit(log_t, 2 + 3 / log_t).limit, 12)
    2.0
    """
    share = real(tail, "tail", "lie in (0, 1]")
    if not 0.0 < share <= 1.0:
        raise invalid("tail", "lie in (0, 1]", repr(share))
    x, v = numbers(log_t, "log_t"), numbers(values, "values")
    if x.ndim != 1 or x.shape != v.shape:
        raise invalid("values", f"have the shape of log_t, {x.shape}", f"the shape {v.shape}")
    good = np.isfinite(x) & np.isfinite(v) & (x > 0)
    n_terms = 3 if truth(loglog, "loglog") else 2
    if good.any():
        good &= x >= x[good].max() - share * (x[good].max() - x[good].min())
    if good.sum() <= n_terms:
        raise invalid("values", f"hold more than {n_terms} finite points with log t > 0 in the tail", f"{good.sum()}")
    return _fit(real_array(x[good], "log_t", "(k,)"), v[good], n_terms)


def _columns(x: FloatArray) -> FloatArray:
    return np.column_stack((np.ones_like(x), 1.0 / x, np.log(x) / x))


def _fit(x: FloatArray, v: FloatArray, n_terms: int) -> TailFit:
    A = _columns(x)[:, :n_terms]
    coefficients, *_ = np.linalg.lstsq(A, v, rcond=None)
    residual = v - A @ coefficients
    variance = float(residual @ residual) / (len(x) - n_terms)
    error = float(np.sqrt(variance * np.linalg.pinv(A.T @ A)[0, 0]))
    full = [*map(float, coefficients), 0.0][:3]
    rms = float(np.sqrt((residual**2).mean()))
    return TailFit(full[0], full[1], full[2], error, rms, len(x), float(x.min()))
