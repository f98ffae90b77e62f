"""The bias that a network learns of from the data that it runs on."""

from __future__ import annotations

from .._validation import invalid
from ..datasets._bias import Biased
from ._network import Network


def knowing_bias(net: Network, data: Biased) -> Network:
    """Return the network that remembers the bias of the data.

    Raises
    ------
    ValueError
        The last column of the data is not the bias input of the network.
    """
    if net.bias_input is None:
        if data.bias_input is None:
            return net
        return Network(net.W, net.a, leak=net.leak, pattern=net.pattern, bias_input=data.bias_input)
    if not (data.X[:, -1] == net.bias_input).all():
        expected = f"have the last column of data.X as its bias input (data.with_bias({net.bias_input:g}) appends it)"
        raise invalid("net", expected, f"the bias input {net.bias_input:g}")
    return net
