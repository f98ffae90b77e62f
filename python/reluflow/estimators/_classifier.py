"""Classification by the exact flow, as scikit-learn asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from .._validation import FloatArray, invalid, one_of, optional_module, truth
from ..flow import Stop
from ..losses import MARGIN_LOSSES, MarginLossName
from ..networks import MultiClassNetwork
from ._base import FlowEstimator, Samples, counted

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin
    from sklearn.utils.validation import validate_data
else:
    ClassifierMixin = optional_module("sklearn.base", "data").ClassifierMixin
    validate_data = optional_module("sklearn.utils.validation", "data").validate_data

# The mean loss at which nearly every sample is far on its side: two moons of 200 samples reach it at t = 550, wine and
# cancer earlier. Data that cannot be separated change little after the time.
DEFAULT_STOP = Stop(mean_loss=0.05, time=1000.0)


class ReluFlowClassifier(ClassifierMixin, FlowEstimator):  # type: ignore[misc]
    """A ReLU network trained by the exact gradient flow, as a scikit-learn classifier.

    Two classes are one output. K > 2 classes are K networks of one hidden layer, each of one class against the rest; or
    one network with an output for each class and the softmax, if the loss is the cross-entropy or there are several
    hidden layers. Inputs of very different sizes make the flow slow: put a ``StandardScaler`` before it.

    Parameters
    ----------
    width : int or sequence of int, optional
        Number of neurons, of each network; several numbers are those of as many hidden layers, from the inputs on, of a
        `DeepNetwork`.
    scale : float, optional
        Size of the first weights: |w_j| = |a_j| = scale, by default 0.01; with several hidden layers the deviation of
        a weight is scale/√(inputs of its unit), and the default is 1.
    bias : bool, optional
        Whether the neurons have a bias.
    leak : float, optional
        Slope of the activation on the negative side, in [0, 1).
    loss : {"logistic", "exponential", "cross_entropy"}, optional
        Averaged over the samples, so that time does not depend on their number. With several hidden layers the logistic
        loss of K > 2 classes is the cross-entropy.
    until : Stop, float or None, optional
        When to stop; None is `DEFAULT_STOP`, a mean loss of 0.05 or the time 1000.
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
    classes_ : ndarray, shape (K,)
        The labels, in increasing order.
    network_ : Network, MultiClassNetwork or DeepNetwork
        What was trained.
    solution_ : Solution, MultiClassSolution, TwoLayerSolution or DeepSolution
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
    >>> deep = make_pipeline(StandardScaler(), rf.ReluFlowClassifier(width=(8, 8), until=20.0, random_state=0))
    >>> bool(cross_val_score(deep, X, y, cv=2).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        width: int | Sequence[int] = 50,
        scale: float | None = None,
        bias: bool = True,
        leak: float = 0.0,
        loss: MarginLossName | Literal["cross_entropy"] = "logistic",
        until: Stop | float | None = None,
        rtol: float = 1e-6,
        n_threads: int | None = None,
        progress: bool = False,
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
        self.progress = progress
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
        inputs, labels, weights = counted(inputs, labels, sample_weight)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        K = len(self.classes_)
        if K < 2:
            raise invalid("y", "hold at least two classes", f"1 class, {self.classes_[0]!r}")
        loss = self._loss_of(K)
        if K == 2 and loss != "cross_entropy":
            samples = Samples(inputs, np.where(codes == 1, 1.0, -1.0), weights)
        else:
            samples = Samples(inputs, codes, weights, K)
        self._run(samples, loss, DEFAULT_STOP if self.until is None else self.until)
        return self

    def _loss_of(self, K: int) -> MarginLossName | Literal["cross_entropy"]:
        """Return the loss of K classes, checked."""
        truth(self.bias, "bias")
        one_of(self.loss, "loss", (*MARGIN_LOSSES, "cross_entropy"))
        if K == 2 or not self._has_layers:
            return self.loss
        if self.loss == "exponential":
            expected = f"be 'logistic' or 'cross_entropy' for {K} classes and several hidden layers"
            raise invalid("loss", expected, repr(self.loss))
        return "cross_entropy"

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the outputs of the network, shape (n, K); for two classes one, or the difference of the two, (n,).

        Raises
        ------
        ValueError
            X has other columns than the one of `fit`, or holds what is no finite number.
        """
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if outputs.ndim == 2 and len(self.classes_) == 2 else outputs

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
        e^2f. Of K networks the probabilities of each class against the rest are divided by their sum; K outputs of one
        network are those of the softmax.

        Raises
        ------
        ValueError
            As for `decision_function`.
        """
        log_odds = self.decision_function(X) * (2.0 if self.loss == "exponential" else 1.0)
        if log_odds.ndim == 2 and not isinstance(self.network_, MultiClassNetwork):
            return np.asarray(softmax(log_odds, axis=1))
        if log_odds.ndim == 1:
            return np.column_stack((expit(-log_odds), expit(log_odds)))
        # p/(1 + p) of each class over their sum, by logarithms: no row is 0/0.
        return np.asarray(softmax(-np.logaddexp(0.0, -log_odds), axis=1))
