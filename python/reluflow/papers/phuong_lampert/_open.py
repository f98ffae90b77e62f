"""[PL] Appendix D: what is not run."""

from __future__ import annotations

from .._claim import Claim

_CONVOLUTIONS = (
    "A network with convolutions, pooling strides and biases, trained by Adam on images that are not part of reluflow:"
    " there is no flow of this network to integrate here."
)

CLAIMS = (
    Claim(
        "PL-F3",
        "PL",
        "Figure 3, Appendix D",
        "Inner products of features of digits",
        "The deeper the layer, the further apart are the inner products within and between the digits 0 and 1; the"
        " features of the seventh layer are orthogonally separable.",
        ("S004-MNIST", "004 Fig 3"),
        None,
        "open",
        _CONVOLUTIONS,
    ),
    Claim(
        "PL-F4",
        "PL",
        "Figure 4, Appendix D",
        "The first linear layer on digits",
        "Of the 128 singular values of the first linear layer five or ten are large, and its neurons form three"
        " clusters on the two leading singular directions.",
        ("S004-MNIST", "004 Fig 4"),
        None,
        "open",
        _CONVOLUTIONS,
    ),
    Claim(
        "PL-Table1",
        "PL",
        "Table 1, Appendix D",
        "The architecture for digits",
        "Six convolutional layers and two linear ones, the last two started at 0.05 of their default.",
        ("S004-MNIST", "004 Table 1"),
        None,
        "open",
        _CONVOLUTIONS,
    ),
)
