"""Convex references: what the flow's limit is compared with."""

from .._renamed import renamed
from ._arrangements import (
    Arrangements,
    TooManyPatternsError,
    arrangements,
    expected_arrangements,
    sample_arrangements,
)
from ._certificate import Certificate, MultiClassCertificate
from ._certify import certify
from ._dual_feasibility import DualFeasibility, dual_feasibility
from ._fit_certificate import FitCertificate
from ._kkt import KKT
from ._layer import LayerMargin, layer_margin
from ._local import Improvement
from ._mapping import ConvexNeurons, from_network, to_network
from ._max_margin import dual, max_margin
from ._multiclass import MultiClassMaxMarginSolution, max_margin_multiclass
from ._output_certificate import OutputCertificate
from ._regularised import regularised
from ._regularised_certificate import RegularisedCertificate
from ._regularised_solution import RegularisedSolution
from ._separators import (
    LeakyLinearMargin,
    MaxMarginVectors,
    Separator,
    leaky_linear_margin,
    max_margin_vectors,
    svm,
)
from ._sets import (
    Ellipsoid,
    ExtremePoints,
    Spikes,
    extreme_points,
    polar_set,
    rectified_outline,
    spikes,
    unit_vectors,
)
from ._solution import ConvexStats, MaxMarginSolution

__all__ = [
    "KKT",
    "Arrangements",
    "Certificate",
    "ConvexNeurons",
    "ConvexStats",
    "DualFeasibility",
    "Ellipsoid",
    "ExtremePoints",
    "FitCertificate",
    "Improvement",
    "LayerMargin",
    "LeakyLinearMargin",
    "MaxMarginSolution",
    "MaxMarginVectors",
    "MultiClassCertificate",
    "MultiClassMaxMarginSolution",
    "OutputCertificate",
    "RegularisedCertificate",
    "RegularisedSolution",
    "Separator",
    "Spikes",
    "TooManyPatternsError",
    "arrangements",
    "certify",
    "dual",
    "dual_feasibility",
    "expected_arrangements",
    "extreme_points",
    "from_network",
    "layer_margin",
    "leaky_linear_margin",
    "max_margin",
    "max_margin_multiclass",
    "max_margin_vectors",
    "polar_set",
    "rectified_outline",
    "regularised",
    "sample_arrangements",
    "spikes",
    "svm",
    "to_network",
    "unit_vectors",
]

__getattr__ = renamed(
    __name__,
    {
        "MultiClassSolution": "convex.MultiClassMaxMarginSolution",
        "rectified_ellipsoid": "convex.rectified_outline",
    },
)
