"""From vanishing weights: saddle to saddle, in the limit of vanishing initialisation."""

from __future__ import annotations

from ._path import SaddlePath
from ._prediction import Prediction
from ._run import saddle_to_saddle
from ._stage import Stage
from ._watch import SaddleProgress

__all__ = ["Prediction", "SaddlePath", "SaddleProgress", "Stage", "saddle_to_saddle"]
