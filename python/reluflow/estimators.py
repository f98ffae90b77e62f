"""Estimators for scikit-learn: a network that the exact flow has trained, with fit and predict.

The one module that needs scikit-learn to be imported; `reluflow.ReluFlowClassifier` and `reluflow.ReluFlowRegressor`
import it when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from ._validation import FloatArray, invalid, optional_module, truth
from .datasets import Dataset, MultiClassDataset
from .datasets._dataset import weights_of_samples
from .flow import MultiClassSolution, Solution, Stop, integrate
from .losses import LossName, MarginLossName, check_margin_loss
from .networks import MultiClassNetwork, Network

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data

_base = optional_module("sklearn.base", "data")
_checks = optional_module("sklearn.utils.validation", "data")
if not TYPE_CHECKING:
    BaseEstimator = _base.BaseEstimator
    ClassifierMixin, RegressorMixin = _base.ClassifierMixin, _base.RegressorMixin
    check_is_fitted, validate_data = _checks.check_is_fitted, _checks.validate_data

__all__ = ["DEFAULT_STOP", "REGRESSION_STOP", "ReluFlowClassifier", "ReluFlowRegressor"]

# The mean loss at which nearly every sample is far on its side: two moons of 200 samples reach it at t = 550, wine and
# cancer earlier. Data that cannot be separated change little after the time.
DEFAULT_STOP = Stop(mean_loss=0.05, time=1000.0)
# Of standardised targets: all but a thousandth of their variance is fitted, or time is up. On diabetes the test error
# is least at t = 10 and little larger at 30; on Friedman's function more is learnt until then. Noise is fitted later.
REGRESSION_STOP = Stop(mean_loss=5e-4, time=30.0)


class FlowEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: their parameters, and a run of the flow from data to a network."""

    solution_: Solution | MultiClassSolution
    network_: Network | MultiClassNetwork
    width: int
    scale: float
    bias: bool
    leak: float
    rtol: float
    n_threads: int | None
    random_state: int | np.random.RandomState | None

    def _run(self, data: Dataset | MultiClassDataset, loss: LossName, until: Stop | float) -> None:
        """Integrate from a random start and keep the run and its last network, also of a run that Ctrl-C has ended."""
        random = optional_module("sklearn.utils", "data").check_random_state(self.random_state)
        options: dict[str, Any] = {"scale": self.scale, "leak": self.leak, "seed": int(random.randint(2**31 - 1))}
        if isinstance(data, MultiClassDataset):
            options["classes"] = data.K
        solution = integrate(
            data,
            Network.init(self.width, data.d, **options),
            until=until,
            loss=loss,
            reduction="mean",
            rtol=self.rtol,
            n_threads=self.n_threads,
        )
        assert isinstance(solution, (Solution, MultiClassSolution))  # for the type checker: the network has two layers
        self.solution_: Solution | MultiClassSolution = solution
        self.network_ = self.solution_.final
        runs = solution if isinstance(solution, MultiClassSolution) else (solution,)
        if any(run.status == "interrupted" for run in runs):
            raise KeyboardInterrupt  # a search over parameters is to end, too

    def _bias_input(self) -> float | None:
        """Return the constant input that gives the neurons a bias, if they are to have one."""
        truth(self.bias, "bias")
        return 1.0 if self.bias else None

    def _outputs(self, X: npt.ArrayLike) -> FloatArray:
        """Return what the network gives for new rows, with the columns of `fit`."""
        check_is_fitted(self)
        return self.network_(validate_data(self, X, reset=False, dtype=np.float64))


class ReluFlowClassifier(ClassifierMixin, FlowEstimator):  # type: ignore[misc]
    """A two-layer ReLU network trained by the exact gradient flow, as a scikit-learn classifier.

    Two classes are one network, K > 2 classes are K of them, each of one class against the rest. Inputs of very
    different sizes make the flow slow: put a ``StandardScaler`` before it.

    Parameters
    ----------
    width : int, optional
        Number of neurons, of each network.
    scale : float, optional
        Size of the first weights, |w_j| = |a_j| = scale.
    bias : bool, optional
        Whether the neurons have a bias.
    leak : float, optional
        Slope of the activation on the negative side, in [0, 1).
    loss : {"logistic", "exponential"}, optional
        Averaged over the samples, so that time does not depend on their number.
    until : Stop, float or None, optional
        When to stop; None is `DEFAULT_STOP`, a mean loss of 0.05 or the time 1000.
    rtol : float, optional
        Local error of the flow, relative to the size of each neuron.
    n_threads : int, optional
        Threads to use, by default one for each core. The result has the same bits for any number.
    random_state : int, RandomState or None, optional
        Where the first weights come from; None draws others in each fit.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        The labels, in increasing order.
    network_ : Network or MultiClassNetwork
        What was trained.
    solution_ : Solution or MultiClassSolution
        The whole run, for `reluflow.analysis`, ``solution_.limit`` and ``certify``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns, where X is a table that has names.

    Examples
    --------
    >>> import reluflow as rf
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> model = make_pipeline(StandardScaler(), rf.ReluFlowClassifier(width=10, until=20.0, random_state=0))
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(model, X, y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        width: int = 50,
        scale: float = 1e-2,
        bias: bool = True,
        leak: float = 0.0,
        loss: MarginLossName = "logistic",
        until: Stop | float | None = None,
        rtol: float = 1e-6,
        n_threads: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.width = width
        self.scale = scale
        self.bias = bias
        self.leak = leak
        self.loss = loss
        self.until = until
        self.rtol = rtol
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> ReluFlowClassifier:
        """Train on inputs X (n, d) with labels y (n,), numbers or strings of two or more classes.

        `sample_weight`, shape (n,), is what each sample counts in the mean loss: a weight of 2 is the sample twice, one
        of 0 leaves it out, and a common factor changes nothing.

        Raises
        ------
        ValueError
            Inputs that are not finite numbers, labels of one class or of none, weights that are negative or all zero,
            or a bad parameter.
        KeyboardInterrupt
            Ctrl-C, so that a cross-validation ends, too; ``solution_`` and ``network_`` are those so far.

        Returns
        -------
        ReluFlowClassifier
            Itself.
        """
        inputs, labels = validate_data(self, X, y, dtype=np.float64)
        optional_module("sklearn.utils.multiclass", "data").check_classification_targets(labels)
        inputs, labels, weights = _counted(inputs, labels, sample_weight)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        K = len(self.classes_)
        if K < 2:
            raise invalid("y", "hold at least two classes", f"1 class, {self.classes_[0]!r}")
        data: Dataset | MultiClassDataset
        if K == 2:
            data = Dataset(inputs, np.where(codes == 1, 1.0, -1.0), weights=weights, bias_input=self._bias_input())
        else:
            data = MultiClassDataset(inputs, codes, weights=weights, bias_input=self._bias_input())
        self._run(data, check_margin_loss(self.loss), DEFAULT_STOP if self.until is None else self.until)
        return self

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the outputs of the network, shape (n,) for two classes, and (n, K) for more.

        Raises
        ------
        ValueError
            X has other columns than the one of `fit`, or holds what is no finite number.
        """
        return self._outputs(X)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the label of each row of X (n, d), shape (n,): that of the largest output.

        Raises
        ------
        ValueError
            As for `decision_function`.
        """
        outputs = self.decision_function(X)
        codes = (outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of each class that the loss implies, shape (n, K); rows add up to one.

        An output f minimises the expected logistic loss where its odds are e^f, the exponential loss where they are
        e^2f. Of more than two classes the probabilities of each against the rest are divided by their sum.

        Raises
        ------
        ValueError
            As for `decision_function`.
        """
        log_odds = self.decision_function(X) * (2.0 if self.loss == "exponential" else 1.0)
        if log_odds.ndim == 1:
            return np.column_stack((expit(-log_odds), expit(log_odds)))
        # p/(1 + p) of each class over their sum, by logarithms: no row is 0/0.
        return np.asarray(softmax(-np.logaddexp(0.0, -log_odds), axis=1))


class ReluFlowRegressor(RegressorMixin, FlowEstimator):  # type: ignore[misc]
    """A two-layer ReLU network trained by the exact gradient flow of the squared loss, as a scikit-learn regressor.

    Inputs of very different sizes make the flow slow: put a ``StandardScaler`` before it.

    Parameters
    ----------
    width : int, optional
        Number of neurons.
    scale : float, optional
        Size of the first weights, |w_j| = |a_j| = scale.
    bias : bool, optional
        Whether the neurons have a bias.
    leak : float, optional
        Slope of the activation on the negative side, in [0, 1).
    standardise : bool, optional
        Whether the network is trained on targets of mean 0 and standard deviation 1, and its outputs are taken back
        to the mean and the size of y. The time of the flow then does not depend on the unit of y.
    until : Stop, float or None, optional
        When to stop; None is `REGRESSION_STOP`, a mean loss ½ (f - y)² of 0.0005 or the time 30. Stopping early
        keeps noise from being fitted.
    rtol : float, optional
        Local error of the flow, relative to the size of each neuron.
    n_threads : int, optional
        Threads to use, by default one for each core. The result has the same bits for any number.
    random_state : int, RandomState or None, optional
        Where the first weights come from; None draws others in each fit.

    Attributes
    ----------
    network_ : Network
        What was trained; its outputs are standardised targets.
    solution_ : Solution
        The whole run, for `reluflow.analysis` and ``solution_.limit``.
    target_mean_, target_scale_ : float
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

    def __init__(
        self,
        *,
        width: int = 50,
        scale: float = 1e-2,
        bias: bool = True,
        leak: float = 0.0,
        standardise: bool = True,
        until: Stop | float | None = None,
        rtol: float = 1e-4,
        n_threads: int | None = None,
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
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> ReluFlowRegressor:
        """Train on inputs X (n, d) with real targets y (n,).

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
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        truth(self.standardise, "standardise")
        inputs, y_, weights = _counted(inputs, np.asarray(targets, dtype=np.float64), sample_weight)
        self.target_mean_, self.target_scale_ = _mean_and_scale(y_, weights) if self.standardise else (0.0, 1.0)
        standardised = (y_ - self.target_mean_) / self.target_scale_
        data = Dataset(inputs, standardised, weights=weights, bias_input=self._bias_input())
        self._run(data, "squared", REGRESSION_STOP if self.until is None else self.until)
        return self

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return the prediction for each row of X (n, d), shape (n,).

        Raises
        ------
        ValueError
            X has other columns than the one of `fit`, or holds what is no finite number.
        """
        return self._outputs(X) * self.target_scale_ + self.target_mean_


def _counted(
    inputs: FloatArray, targets: npt.NDArray[Any], sample_weight: npt.ArrayLike | None
) -> tuple[FloatArray, npt.NDArray[Any], FloatArray | None]:
    """Return the samples of some weight, and their weights, of which the largest is 1; None where these are equal."""
    if sample_weight is None:
        return inputs, targets, None
    weights = weights_of_samples(sample_weight, "sample_weight", len(inputs), any_size=True)
    used = weights > 0
    weights = weights[used] / weights.max()
    return inputs[used], targets[used], None if (weights == 1.0).all() else weights


def _mean_and_scale(y: FloatArray, weights: FloatArray | None) -> tuple[float, float]:
    """Return the mean of y and its standard deviation, or 1 if that is 0; squares stay in the range of float64."""
    exponent = int(np.frexp(np.abs(y).max())[1])
    units = np.ldexp(y, -exponent)  # exact
    mean = np.average(units, weights=weights)
    spread = float(np.ldexp(np.sqrt(np.average((units - mean) ** 2, weights=weights)), exponent))
    return float(np.ldexp(mean, exponent)), spread if spread > 0 else 1.0
