"""[PL] Appendix D: the network of Table 1, trained by torch on the digits 0 and 1.

There is no flow to integrate here: the network is trained by Adam, as the paper does. MNIST is no part of any package;
without its files the same network is trained on scikit-learn's digits, enlarged to 28 x 28 pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._validation import FloatArray, optional_module
from ...datasets._mnist import mnist_images
from .._claim import Context

SIDE = 28  # pixels
EPOCHS, BATCH = 50, 128
SHRINK = 0.05  # of the weights of the last two layers at the start
SHOWN = 300  # samples a class whose pairs are compared
TORCH = "torch"


class Conv(NamedTuple):
    """A row conv(n, k, s, p) of Table 1."""

    kernels: int
    size: int
    stride: int
    padding: int


class Full(NamedTuple):
    """A row fc(n, o) of Table 1."""

    inputs: int
    outputs: int


CONVOLUTIONS = (
    Conv(32, 3, 1, 1),
    Conv(32, 3, 1, 1),
    Conv(32, 5, 2, 2),
    Conv(64, 3, 1, 1),
    Conv(64, 3, 1, 1),
    Conv(64, 5, 2, 2),
)
LINEAR = (Full(3136, 128), Full(128, 1))


def sizes(convolutions: tuple[Conv, ...] = CONVOLUTIONS, side: int = SIDE) -> list[int]:
    """Return how many values each convolution gives on an image of side x side pixels.

    Examples
    --------
    >>> sizes()[-1]
    3136
    """
    found = []
    for layer in convolutions:
        side = (side + 2 * layer.padding - layer.size) // layer.stride + 1
        found.append(layer.kernels * side * side)
    return found


@dataclass(frozen=True)
class Trained:
    """What the network makes of the samples, layer by layer from the pixels on, and its last two matrices."""

    features: list[FloatArray]
    digits: FloatArray
    first: FloatArray  # W7 at the start
    W7: FloatArray
    W8: FloatArray
    loss: float
    data: str


def layers(torch: Any) -> list[Any]:
    """Return the layers of Table 1 as torch makes them by default, the last two multiplied by 0.05."""
    found, channels = [], 1
    for conv in CONVOLUTIONS:
        found.append(torch.nn.Conv2d(channels, conv.kernels, conv.size, conv.stride, conv.padding))
        channels = conv.kernels
    found += [torch.nn.Linear(*full) for full in LINEAR]
    with torch.no_grad():
        for last in found[-len(LINEAR) :]:
            last.weight.mul_(SHRINK)
    return found


def features(torch: Any, stack: list[Any], images: Any) -> list[Any]:
    """Return the images and what each layer gives, one row a sample; ReLU follows every layer but the last."""
    found, values = [images.flatten(1)], images
    for number, layer in enumerate(stack, start=1):
        values = layer(values if number <= len(CONVOLUTIONS) else values.flatten(1))
        if number < len(stack):
            values = torch.relu(values)
        found.append(values.flatten(1))
    return found


def images_of(context: Context) -> tuple[FloatArray, FloatArray, str]:
    """Return images (n, 28, 28) in [0, 1], their digits 0 or 1, and where they come from."""
    if context.mnist is not None:
        raw, digits = mnist_images(context.mnist, "train")
        chosen = digits < 2
        return raw[chosen] / 255.0, digits[chosen].astype(float), "MNIST"
    bunch = optional_module("sklearn.datasets", "data").load_digits(n_class=2)
    near = (np.arange(SIDE) + 0.5) * 8 / SIDE - 0.5  # where the pixels of 28 lie among those of 8
    mix = np.maximum(0.0, 1.0 - np.abs(np.clip(near, 0, 7)[:, None] - np.arange(8)))
    enlarged = np.einsum("ia,nab,jb->nij", mix, bunch["images"] / 16.0, mix)
    return enlarged, bunch["target"].astype(float), "scikit-learn's digits, enlarged bilinearly from 8 x 8"


def train(context: Context, epochs: int = EPOCHS) -> Trained:
    """Train by Adam with torch's default step of 1e-3, in batches of 128."""
    torch = optional_module(TORCH, TORCH)
    X, digits, data = images_of(context)
    threads = torch.get_num_threads()
    torch.set_num_threads(context.n_threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(context.seed)
            images, targets = (torch.tensor(array, dtype=torch.float32) for array in (X[:, None], digits))
            stack = layers(torch)
            first = stack[-2].weight.detach().double().numpy().copy()
            loss = _descend(torch, stack, images, targets, epochs, context)
            shown = np.concatenate([np.flatnonzero(digits == digit)[:SHOWN] for digit in (0, 1)])
            with torch.no_grad():
                found = [values.double().numpy() for values in features(torch, stack, images[shown])]
    finally:
        torch.set_num_threads(threads)
    W7, W8 = (layer.weight.detach().double().numpy() for layer in stack[-2:])
    return Trained(found[:-1], digits[shown], first, W7, W8[0], loss, f"{data}: {len(X)} images")


def _descend(torch: Any, stack: list[Any], images: Any, targets: Any, epochs: int, context: Context) -> float:
    adam = torch.optim.Adam([weights for layer in stack for weights in layer.parameters()])
    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    for epoch in range(epochs):
        context.progress(f"epoch {epoch + 1} of {epochs}")
        for batch in torch.randperm(len(images)).split(BATCH):
            adam.zero_grad()
            loss = loss_of(features(torch, stack, images[batch])[-1][:, 0], targets[batch])
            loss.backward()
            adam.step()
    return float(loss.detach())
