"""Runs of a `Network` by the layered core in files: the arrays of the layered run, and how it is read as one."""

from __future__ import annotations

from typing import Any

from .._validation import freeze_all
from ..layered import DeepSolution
from ..layered._several import data_of, stored
from ..layered._storage import content_of, restored
from ..layered._two_layers import AsLayers
from ..networks import Network

Arrays = dict[str, Any]
Record = dict[str, Any]


def content_of_network(
    layered: DeepSolution, reader: AsLayers, settings: dict[str, Any], data: Any, name: str
) -> tuple[Arrays, Record]:
    """Return the arrays of a file of the format `name`, and its record."""
    arrays, meta = content_of(layered)
    own, record = stored(data)
    start = reader.start
    arrays |= {f"data/{part}": array for part, array in own.items()} | {"W0": start.W, "a0": start.a}
    settings = dict(settings)
    for asked in ("save_at", "save_at_log"):
        if settings[asked] is not None:
            arrays[f"asked/{asked}"] = settings.pop(asked)
    known = {"leak": start.leak, "net_bias_input": start.bias_input, "train": reader.train}
    network = {**known, "rates": reader.rates, "settings": settings, "data": record}
    return arrays, {**meta, "format": name, "network": network}


def restored_network(arrays: Arrays, meta: Record) -> tuple[Any, AsLayers, dict[str, Any], DeepSolution]:
    """Return what the solution in a file is made of: data, reading, settings and the layered run."""
    layered, record = DeepSolution(*restored(arrays, meta)), meta["network"]
    own = {name.removeprefix("data/"): array for name, array in arrays.items() if name.startswith("data/")}
    freeze_all(own)
    start = Network(arrays["W0"], arrays["a0"], leak=record["leak"], bias_input=record["net_bias_input"])
    settings = dict(record["settings"])
    for name in ("save_at", "save_at_log"):
        settings.setdefault(name, arrays.get(f"asked/{name}"))
    settings["rates"] = None if settings["rates"] is None else tuple(settings["rates"])
    first, second = record["rates"]
    return data_of(own, record["data"]), AsLayers(start, record["train"], (first, second)), settings, layered
