"""Curves of the loss on the samples of a run and on held-out ones, and the errors of each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, invalid, optional_module
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import name_of_targets, one_target_of
from ..layered._problem import ArrayData
from ..losses import check_targets, is_of_margins, log_total, loss_arguments
from ._kernels import outputs
from ._layered_outputs import LAYERED_RUNS, LayeredRun, layered_errors, layered_losses
from ._output_states import AnySource, OutputStates, any_states, held_out, mean_losses
from ._states import States

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def losses(
    source: AnySource | LayeredRun,
    times: npt.ArrayLike | None = None,
    *,
    test: Dataset | MultiClassDataset | ArrayData | None = None,
) -> pd.DataFrame:
    """Tabulate the mean loss and the error along a run, on its own samples and on held-out ones.

    Parameters
    ----------
    source : Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates, or a descent
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution.
    test : Dataset, optional
        Held-out samples, with the inputs of the run, or arrays of them; the column of a bias may be missing. For
        several outputs data as `integrate` takes them; not every class needs a sample.

    Returns
    -------
    pandas.DataFrame
        Columns: ``t``, ``log_t``, ``loss``, the mean over the samples with their weights whatever the reduction of the
        run, and the error: for the squared loss ``rmse``, the root of the mean square of f(x_i) - y_i, otherwise
        ``wrong``, the share of samples with y_i f(x_i) <= 0, of classes that whose own output is not the largest.
        With `test` also ``test_loss`` and ``test_rmse`` or ``test_wrong``.

    Raises
    ------
    ValueError
        Held-out samples with other inputs, or with targets that the loss cannot take.
    ImportError
        pandas is not installed (extra ``analysis``).

    Examples
    --------
    >>> import numpy as np
    >>> import reluflow as rf
    >>> x = np.linspace(-1, 1, 12)[:, None]
    >>> train, test = (rf.Dataset(part, np.abs(part[:, 0]), bias_input=1.0) for part in (x[::2], x[1::2]))
    >>> sol = rf.integrate(train, rf.Network.init(10, 2, scale=0.1, seed=1), until=20.0, loss="squared")
    >>> table = rf.analysis.losses(sol, [0.0, 20.0], test=test)
    >>> list(table)
    ['t', 'log_t', 'loss', 'rmse', 'test_loss', 'test_rmse']
    >>> bool(table.test_rmse.iloc[1] < 0.2 * table.test_rmse.iloc[0])
    True
    """
    pandas = optional_module("pandas", "analysis")
    if isinstance(source, LAYERED_RUNS):
        layered: pd.DataFrame = pandas.DataFrame(layered_losses(source, times, test))
        return layered
    run = any_states(source, times)
    if isinstance(run, OutputStates):
        columns = {"t": run.t, "log_t": run.log_t, **mean_losses(run.outputs, run.targets, run.counts, run.loss)}
        if test is not None:
            X, targets, counts = held_out(run, test)
            found = mean_losses(run.outputs_at(X), targets, counts, run.loss)
            columns |= {f"test_{name}": values for name, values in found.items()}
        several: pd.DataFrame = pandas.DataFrame(columns)
        return several
    columns = {"t": run.t, "log_t": run.log_t, **_errors(run, run.data, "")}
    if test is not None:
        columns |= _errors(run, _like(run, test), "test_")
    table: pd.DataFrame = pandas.DataFrame(columns)
    return table


def errors(source: AnySource | LayeredRun, times: npt.ArrayLike | None = None) -> xr.DataArray:
    """Return the errors f(x_i) - y_i of every sample, with the dimensions time and sample, and output if there are K.

    Parameters
    ----------
    source : Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates, or a descent
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution.

    Returns
    -------
    xarray.DataArray
        With the targets as the coordinate ``y``.

    Raises
    ------
    ValueError
        A run of cross-entropy, whose targets are no numbers.
    ImportError
        xarray is not installed (extra ``analysis``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [0.5, -2.0])
    >>> sol = rf.integrate(data, rf.Network.init(6, 2, scale=0.1, seed=1), until=50.0, loss="squared")
    >>> rf.analysis.errors(sol, [0.0, 50.0])[1].round(6).to_numpy() + 0.0
    array([0., 0.])
    """
    xarray = optional_module("xarray", "analysis")
    run = source if isinstance(source, LAYERED_RUNS) else any_states(source, times)
    dims: tuple[str, ...] = ("time", "sample")
    if isinstance(run, States):
        t, log_t, values, y = run.t, run.log_t, run.outputs - run.data.y, run.data.y
    elif run.loss == "cross_entropy":
        way = "analysis.losses has the share of wrong samples"
        raise invalid("source", f"be a run on real targets, which have errors ({way})", "one of cross-entropy")
    else:
        if isinstance(run, LAYERED_RUNS):
            t, log_t, values, y = layered_errors(run, times)
        else:
            t, log_t, values, y = run.t, run.log_t, run.outputs - run.targets, run.targets
        if y.shape[1] == 1:
            values, y = values[..., 0], y[:, 0]
        else:
            dims = (*dims, "output")
    coords = {"time": t, "log_t": ("time", log_t), "y": (dims[1:], y)}
    found: xr.DataArray = xarray.DataArray(values, dims=dims, coords=coords, name="error")
    return found


def _like(run: States, test: object) -> Dataset:
    """Return held-out samples with the inputs of a run."""
    targets, bias = name_of_targets(test, "test"), run.data.bias_input
    test = one_target_of(test, name="test")
    if bias is not None and test.bias_input is None and test.d == run.data.d - 1:
        test = test.with_bias(bias)
    if test.d != run.data.d:
        raise invalid("test", f"have {run.data.d} inputs, as the data of the run", f"{test.d}")
    if test.bias_input != bias and not (bias is not None and (test.X[:, -1] == bias).all()):
        raise invalid("test", f"have the bias input of the data of the run, {bias!r}", repr(test.bias_input))
    check_targets(test, run.loss, targets)
    return test


def _errors(run: States, data: Dataset, prefix: str) -> dict[str, FloatArray]:
    total, counts = data.counts.sum(), data.counts
    f = np.array([outputs(data.X, W, a, run.leak) for W, a in zip(run.W, run.a, strict=True)])
    q = loss_arguments(data, f, run.loss)
    with np.errstate(over="ignore"):
        loss = np.exp(np.array([log_total(row, run.loss, counts) for row in q]) - np.log(total))
    if is_of_margins(run.loss):
        return {f"{prefix}loss": loss, f"{prefix}wrong": np.asarray((q <= 0) @ counts / total)}
    return {f"{prefix}loss": loss, f"{prefix}rmse": np.asarray(np.sqrt(q**2 @ counts / total))}
