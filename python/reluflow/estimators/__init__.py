"""Estimators for scikit-learn: a network that the exact flow has trained, with fit and predict.

The one module that needs scikit-learn to be imported; `reluflow.ReluFlowClassifier` and `reluflow.ReluFlowRegressor`
import it when they are asked for.
"""

from __future__ import annotations

from ._classifier import DEFAULT_STOP, ReluFlowClassifier
from ._regressor import REGRESSION_STOP, ReluFlowRegressor

__all__ = ["DEFAULT_STOP", "REGRESSION_STOP", "ReluFlowClassifier", "ReluFlowRegressor"]
