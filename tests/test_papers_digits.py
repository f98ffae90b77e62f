"""[PL] Appendix D: the network of Table 1 and its training. What needs torch is left out where it is not installed."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers import Context, Number, Outcome
from reluflow.papers._claim import hindrance
from reluflow.papers._execute import execute
from reluflow.papers._result import Key
from reluflow.papers.phuong_lampert import _digits
from reluflow.papers.phuong_lampert._appendix_d import pairs

[FIGURE] = rf.papers.claims("PL-F3")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """Forty images in the files of MNIST: zeros bright on the left, ones on the right, and some that are neither."""
    digits = np.arange(40) % 4
    images = np.random.default_rng(0).integers(0, 60, (40, 28, 28), dtype=np.uint8)
    images[digits == 0, :, :14] += 150
    images[digits == 1, :, 14:] += 150
    (tmp_path / "train-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, 40, 28, 28) + images.tobytes())
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(
        struct.pack(">II", 0x801, 40) + digits.astype(np.uint8).tobytes()
    )
    return tmp_path


def test_a_claim_that_cannot_be_run_stays_open_and_says_why():
    assert hindrance(FIGURE, Context(quick=True)) == "Only a full run runs this claim."
    away = dataclasses.replace(FIGURE, needs="no_such_library")
    message = 'no_such_library is needed here and is not installed: pip install "reluflow[no_such_library]".'
    assert hindrance(away, Context(quick=False)) == message
    assert hindrance(dataclasses.replace(FIGURE, needs=""), Context(quick=False)) == ""


@pytest.mark.parametrize("name", ["PL-F3", "PL-F4"])
def test_other_digits_decide_nothing_about_mnist(name, tmp_path):
    """They are scikit-learn's, 8 x 8 and not orthogonally separable in the seventh layer, and the claim held."""
    [about] = rf.papers.claims(name)
    claim = dataclasses.replace(about, run=lambda context: Outcome("digits", (Number("one", 2.0, 1.0),)), needs="")
    for folder, verdict in ((None, "open"), (tmp_path, "failed")):
        key = Key(rf.__version__, 0, False, "digest", str(folder or ""))
        found = execute(claim, Context(quick=False, mnist=folder), key, tmp_path / verdict)
        assert (found.verdict, found.numbers[0].ok) == (verdict, None if folder is None else False)
    assert "MNIST" in about.statement


def test_the_other_data_are_the_digits_enlarged():
    images, digits, name = _digits.images_of(Context(quick=False))
    small = pytest.importorskip("sklearn.datasets").load_digits(n_class=2)
    assert images.shape == (360, 28, 28)
    assert np.array_equal(digits, small["target"])
    assert "enlarged" in name
    assert images.min() >= 0 <= images.max() <= 1
    # The 28 pixels of a row split into 7 for 2 of the 8: a mean over them is one over the pixels, up to the rim.
    assert images.mean() == pytest.approx((small["images"] / 16).mean(), rel=0.05)
    assert images[0, 14, 14] == pytest.approx(
        np.interp(14.5 * 8 / 28 - 0.5, range(8), [np.interp(14.5 * 8 / 28 - 0.5, range(8), row) for row in
                                                  small["images"][0] / 16]))  # fmt: skip


def test_pairs_are_told_apart_by_their_digits():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = pairs(rows, np.array([0, 0, 1, 1]))
    half = 0.5**0.5
    assert found.zeros == pytest.approx([1.0])
    assert found.ones == pytest.approx([half])
    assert sorted(found.between) == pytest.approx([0.0, 0.0, half, half])
    assert found.order(found.within) == pytest.approx(0.75)  # 1 is above all four, 1/√2 above two
    assert found.order(found.ones) == pytest.approx(0.5)
    assert not found.to_the_right
    assert found.distance == pytest.approx((1 + half) / 2 - half / 2)
    assert pairs(rows * [[1, 1], [1, 1], [1, 1], [0.1, 1]], np.array([0, 0, 1, 1])).to_the_right


def test_mnist_is_read_where_a_user_has_it(mnist):
    images, digits, name = _digits.images_of(Context(quick=False, mnist=mnist))
    assert (images.shape, name) == ((20, 28, 28), "MNIST")
    assert set(digits) == {0, 1}


def test_a_folder_of_mnist_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="mnist must name a folder with its IDX files, found no folder"):
        rf.papers.reproduce("PL-Table1", out=tmp_path, quick=True, mnist=tmp_path / "none")


def test_the_layers_of_torch_are_those_of_the_table(torch):
    stack = _digits.layers(torch)
    [table] = rf.papers.claims("PL-Table1")
    [weights] = [number.value for number in table.run(Context(quick=True)).numbers if number.name.startswith("weights")]
    assert sum(values.numel() for layer in stack for values in layer.parameters()) == weights
    images = torch.zeros(2, 1, 28, 28)
    given = [values.shape[1] for values in _digits.features(torch, stack, images)]
    assert given == [784, *_digits.sizes(), 128, 1]
    assert stack[6].weight.abs().max() <= 0.05 / 3136**0.5


def test_training_separates_the_digits_and_leaves_torch_as_it_was(torch, mnist):
    threads, drawn = torch.get_num_threads(), torch.random.get_rng_state()
    said: list[str] = []
    context = Context(quick=False, mnist=mnist, progress=said.append)
    run = _digits.train(context, epochs=12)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), drawn)
    assert said[-1] == "epoch 12 of 12"
    assert len(run.features) == 8
    assert run.W7.shape == (128, 3136)
    seventh = pairs(run.features[-1], run.digits)
    assert seventh.order(seventh.within) > 0.99
    again = _digits.train(context, epochs=12)
    assert np.array_equal(run.W7, again.W7)
