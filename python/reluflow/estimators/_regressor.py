"""Regression by the exact flow of the squared loss, as scikit-learn asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, instance, optional_module, truth
from ..flow import Stop
from ._base import FlowEstimator, Samples, counted

if TYPE_CHECKING:
    from sklearn.base import RegressorMixin
    from sklearn.utils.validation import validate_data
else:
    RegressorMixin = optional_module("sklearn.base", "data").RegressorMixin
    validate_data = optional_module("sklearn.utils.validation", "data").validate_data

# Of standardised targets: all but a thousandth of their variance is fitted, or time is up. On diabetes the test error
# is least at t = 10 and little larger at 30; on Friedman's function more is learnt until then. Noise is fitted later.
REGRESSION_STOP = Stop(mean_loss=5e-4, time=30.0)


class ReluFlowRegressor(RegressorMixin, FlowEstimator):  # type: ignore[misc]
    """A ReLU network trained by the exact gradient flow of the squared loss, as a scikit-learn regressor.

    Inputs of very different sizes make the flow slow: put a ``StandardScaler`` before it.

    Parameters
    ----------
    width : int or sequence of int, optional
        Number of neurons; several numbers are those of as many hidden layers, from the inputs on, of a `DeepNetwork`.
    scale : float, optional
        Size of the first weights: |w_j| = |a_j| = scale, by default 0.01; with several hidden layers the deviation of
        a weight is scale/√(inputs of its unit), and the default is 1.
    bias : bool, optional
        Whether the neurons have a bias.
    leak : float, optional
        Slope of the activation on the negative side, in [0, 1).
    standardise : bool, optional
        Whether the network is trained on targets of mean 0 and standard deviation 1, and its outputs are taken back
        to the mean and the size of y, each column its own. The time of the flow then does not depend on the unit of y.
    until : Stop, float or None, optional
        When to stop; None is `REGRESSION_STOP`, a mean loss ½ |f - y|² of 0.0005 or the time 30. Stopping early
        keeps noise from being fitted.
    rtol : float, optional
        Local error of the flow, relative to the size of each neuron.
    n_threads : int, optional
        Threads to use, by default one for each core. The result has the same bits for any number.
    progress : bool, optional
        Show a live line on the standard error once a fit has lasted two seconds.
    random_state : int, RandomState or None, optional
        Where the first weights come from; None draws others in each fit.

    Attributes
    ----------
    network_ : Network or DeepNetwork
        What was trained; its outputs are standardised targets.
    solution_ : Solution, TwoLayerSolution or DeepSolution
        The whole run, for `reluflow.analysis` and ``solution_.limit``.
    target_mean_, target_scale_ : float, or ndarray of several targets
        ``network_(X) * target_scale_ + target_mean_`` are the predictions.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns, where X is a table that has names.

    Examples
    --------
    >>> import numpy as np
    >>> import reluflow as rf
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> model = rf.ReluFlowRegressor(width=20, until=100.0, random_state=0).fit(X, 3 + np.abs(X[:, 0]))
    >>> bool(abs(model.predict([[-0.55], [0.35]]) - [3.55, 3.35]).max() < 0.05)
    True
    """

    target_mean_: Any
    target_scale_: Any

    def __init__(
        self,
        *,
        width: int | Sequence[int] = 50,
        scale: float | None = None,
        bias: bool = True,
        leak: float = 0.0,
        standardise: bool = True,
        until: Stop | float | None = None,
        rtol: float = 1e-4,
        n_threads: int | None = None,
        progress: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.width = width
        self.scale = scale
        self.bias = bias
        self.leak = leak
        self.standardise = standardise
        self.until = until
        self.rtol = rtol
        self.n_threads = n_threads
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> ReluFlowRegressor:
        """Train on inputs X (n, d) with real targets y (n,), or (n, K) for a network of K outputs.

        `sample_weight`, shape (n,), is what each sample counts in the mean loss, and in the mean and the deviation of
        the targets: a weight of 2 is the sample twice, one of 0 leaves it out, and a common factor changes nothing.

        Raises
        ------
        ValueError
            Inputs or targets that are not finite numbers, weights that are negative or all zero, or a bad parameter.
        KeyboardInterrupt
            Ctrl-C, so that a cross-validation ends, too; ``solution_`` and ``network_`` are those so far.

        Returns
        -------
        ReluFlowRegressor
            Itself.
        """
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
        instance(targets, "y", np.ndarray, "a dense array")
        truth(self.standardise, "standardise")
        truth(self.bias, "bias")
        inputs, y_, weights = counted(inputs, np.asarray(targets, dtype=np.float64), sample_weight)
        self.target_mean_, self.target_scale_ = _mean_and_scale(y_, weights) if self.standardise else (0.0, 1.0)
        standardised = (y_ - self.target_mean_) / self.target_scale_
        self._columns = standardised.shape[1:]
        if self._columns == (1,):
            standardised = standardised[:, 0]
        until = REGRESSION_STOP if self.until is None else self.until
        self._run(Samples(inputs, standardised, weights), "squared", until)
        return self

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return the prediction for each row of X (n, d), with as many columns as y had.

        Raises
        ------
        ValueError
            X has other columns than the one of `fit`, or holds what is no finite number.
        """
        outputs = self._outputs(X)
        predictions: FloatArray = outputs.reshape(len(outputs), *self._columns) * self.target_scale_ + self.target_mean_
        return predictions

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that targets may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _mean_and_scale(y: FloatArray, weights: FloatArray | None) -> tuple[Any, Any]:
    """Return the mean of y and its standard deviation, or 1 if that is 0, of each column if it has any."""
    if y.ndim == 1:
        return _of_column(y, weights)
    found = np.array([_of_column(column, weights) for column in y.T])
    return found[:, 0], found[:, 1]


def _of_column(y: FloatArray, weights: FloatArray | None) -> tuple[float, float]:
    """Return the mean and the standard deviation, or 1 if that is 0; squares stay in the range of float64."""
    exponent = int(np.frexp(np.abs(y).max())[1])
    units = np.ldexp(y, -exponent)  # exact
    mean = np.average(units, weights=weights)
    spread = float(np.ldexp(np.sqrt(np.average((units - mean) ** 2, weights=weights)), exponent))
    return float(np.ldexp(mean, exponent)), spread if spread > 0 else 1.0
