"""How a network shows itself: one line, or a table in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._html import card

if TYPE_CHECKING:
    from ._network import Network


def line(net: Network) -> str:
    """Return sizes, leak, norm and whether a pattern is carried."""
    carried = "" if net.pattern is None else f", pattern on {net.pattern.shape[1]} samples"
    bias = "" if net.bias_input is None else f", bias_input={net.bias_input:g}"
    outputs = "" if net.n_outputs == 1 else f", outputs={net.n_outputs}"
    sizes = f"width={net.width}, dim={net.dim}{outputs}"
    return f"Network({sizes}, leak={net.leak:g}, norm={net.norm:.6g}{bias}{carried})"


def table(net: Network) -> str:
    """Return sizes, norm and signs as a table of HTML."""
    inputs = net.dim if net.bias_input is None else f"{net.dim}, the last is the bias {net.bias_input:g}"
    outputs = () if net.n_outputs == 1 else (("outputs", f"{net.n_outputs}"),)
    rows = [("neurons", _neurons(net)), ("inputs", inputs), *outputs, ("leak", f"{net.leak:g}")]
    carried = () if net.pattern is None else (("pattern", f"on {net.pattern.shape[1]} samples"),)
    return card("Network", (*rows, ("|θ|", f"{net.norm:.6g}"), *carried))


def _neurons(net: Network) -> str:
    if net.n_outputs > 1:
        return f"{net.width}"
    n_positive, n_negative = int((net.a > 0).sum()), int((net.a < 0).sum())
    rest = net.width - n_positive - n_negative
    return f"{net.width}: {n_positive} with a > 0, {n_negative} with a < 0" + (f", {rest} with a = 0" if rest else "")
