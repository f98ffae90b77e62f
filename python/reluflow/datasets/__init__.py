"""Data: the classes `Dataset` and `MultiClassDataset`, the data of the papers, real data and the user's files.

Papers are cited as [WP] Wang & Pilanci 2022, [PL] Phuong & Lampert 2021, [LLWA] Lyu, Li, Wang & Arora 2021, [VSS]
Vardi, Shamir & Srebro 2022. Where a printed number is wrong, the mathematics is followed and the docstring says so.
"""

from __future__ import annotations

from ._construction import Construction, Weights
from ._dataset import Dataset
from ._files import from_csv, from_npz, from_parquet
from ._hinted import HintBounds, hint_bounds, hinted
from ._labels import binary_labels, class_labels
from ._lyu import lyu_figure1, lyu_kkt
from ._margin import MaxMargin
from ._mnist import mnist
from ._multiclass import MultiClassDataset
from ._planar import counterexample, wang_pilanci
from ._real import breast_cancer, digits, iris, wine
from ._separable import orthogonally_separable, phuong_lampert
from ._symmetric import linear_teacher, symmetric, symmetrise
from ._transforms import add_bias as add_bias  # the former name of with_bias
from ._transforms import centre, standardise
from ._vardi import vardi_shamir_srebro

__all__ = [
    "Construction",
    "Dataset",
    "HintBounds",
    "MaxMargin",
    "MultiClassDataset",
    "Weights",
    "binary_labels",
    "breast_cancer",
    "centre",
    "class_labels",
    "counterexample",
    "digits",
    "from_csv",
    "from_npz",
    "from_parquet",
    "hint_bounds",
    "hinted",
    "iris",
    "linear_teacher",
    "lyu_figure1",
    "lyu_kkt",
    "mnist",
    "orthogonally_separable",
    "phuong_lampert",
    "standardise",
    "symmetric",
    "symmetrise",
    "vardi_shamir_srebro",
    "wang_pilanci",
    "wine",
]
