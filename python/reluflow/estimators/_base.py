"""What the estimators share: their parameters, the first network, and a run of the flow from data to a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, integer, invalid, optional_module
from ..datasets import Dataset, MultiClassDataset
from ..datasets._dataset import weights_of_samples
from ..flow import MultiClassSolution, Solution, Stop, TwoLayerSolution, integrate
from ..layered import DeepNetwork, DeepSolution, Dense
from ..losses import LossName
from ..networks import MultiClassNetwork, Network

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
else:
    BaseEstimator = optional_module("sklearn.base", "data").BaseEstimator
    _checks = optional_module("sklearn.utils.validation", "data")
    check_is_fitted, validate_data = _checks.check_is_fitted, _checks.validate_data


# Sizes of the first weights where none is given: small, where features are learnt, for one hidden layer. With several
# layers small weights wait for a time that grows like a power of 1/scale before anything moves.
SCALE, SCALE_OF_LAYERS = 1e-2, 1.0


class Samples(NamedTuple):
    """What a network is trained on; of K classes targets are their numbers, of K real targets (n, K)."""

    inputs: FloatArray
    targets: npt.NDArray[Any]
    weights: FloatArray | None
    classes: int = 0

    @property
    def columns(self) -> int:
        """Number of real targets of a sample where there may be several, else 0."""
        return int(self.targets.shape[1]) if self.targets.ndim == 2 else 0


class FlowEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: their parameters, and a run of the flow from data to a network."""

    solution_: Solution | MultiClassSolution | TwoLayerSolution | DeepSolution
    network_: Network | MultiClassNetwork | DeepNetwork
    width: int | Sequence[int]
    scale: float | None
    bias: bool
    leak: float
    rtol: float
    n_threads: int | None
    progress: bool
    random_state: int | np.random.RandomState | None

    def _run(self, samples: Samples, loss: LossName | Literal["cross_entropy"], until: Stop | float) -> None:
        """Integrate from a random start and keep the run and its last network, also of a run that Ctrl-C has ended."""
        random = optional_module("sklearn.utils", "data").check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        begin = self._of_layers if self._has_layers else self._of_two_layers
        data, net = begin(samples, loss, seed)
        how: dict[str, Any] = {"rtol": self.rtol, "n_threads": self.n_threads, "progress": self.progress}
        solution: Any = integrate(data, net, until=until, loss=loss, reduction="mean", **how)
        self.solution_ = solution
        self.network_ = solution.final
        runs = solution if isinstance(solution, MultiClassSolution) else (solution,)
        if any(run.status == "interrupted" for run in runs):
            raise KeyboardInterrupt  # a search over parameters is to end, too

    @property
    def _widths(self) -> list[int]:
        """The widths of the hidden layers."""
        if not isinstance(self.width, (list, tuple, np.ndarray)):
            return [integer(self.width, "width")]
        if not len(self.width):
            raise invalid("width", "hold the width of one hidden layer or of several", "none")
        return [integer(width, "width") for width in self.width]

    @property
    def _has_layers(self) -> bool:
        """Whether there are several hidden layers."""
        return len(self._widths) > 1

    def _of_two_layers(self, samples: Samples, loss: str, seed: int) -> tuple[Any, Any]:
        """Return data and a network with one hidden layer, or for K classes of margins with K of them."""
        inputs, targets, weights, K = samples
        options: dict[str, Any] = {"weights": weights, "bias_input": 1.0 if self.bias else None}
        kind: dict[str, Any] = {"outputs" if loss == "cross_entropy" else "classes": K} if K else {}
        if samples.columns:
            kind = {"outputs": samples.columns}
        data = (MultiClassDataset if K else Dataset)(inputs, targets, **options)
        scale = SCALE if self.scale is None else self.scale
        (width,) = self._widths
        return data, Network.init(width, data.d, scale=scale, leak=self.leak, seed=seed, **kind)

    def _of_layers(self, samples: Samples, loss: str, seed: int) -> tuple[Any, Any]:
        """Return data and a network with several hidden layers."""
        inputs, targets, weights, K = samples
        layers = [*(Dense(width, bias=self.bias) for width in self._widths), Dense(K or samples.columns or 1)]
        scale = SCALE_OF_LAYERS if self.scale is None else self.scale
        net = DeepNetwork.init(layers, dim=inputs.shape[1], scale=scale, leak=self.leak, seed=seed)
        return (inputs, targets) if weights is None else (inputs, targets, weights), net

    def _outputs(self, X: npt.ArrayLike) -> FloatArray:
        """Return what the network gives for new rows, with the columns of `fit`."""
        check_is_fitted(self)
        return self.network_(validate_data(self, X, reset=False, dtype=np.float64))


def counted(
    inputs: FloatArray, targets: npt.NDArray[Any], sample_weight: npt.ArrayLike | None
) -> tuple[FloatArray, npt.NDArray[Any], FloatArray | None]:
    """Return the samples of some weight, and their weights, of which the largest is 1; None where these are equal."""
    if sample_weight is None:
        return inputs, targets, None
    weights = weights_of_samples(sample_weight, "sample_weight", len(inputs), any_size=True)
    used = weights > 0
    weights = weights[used] / weights.max()
    return inputs[used], targets[used], None if (weights == 1.0).all() else weights
