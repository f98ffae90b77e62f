"""Use the installed package once: it must have its extension, its version, and the flow must move a network."""

from __future__ import annotations

import importlib.metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow import _core
from reluflow._processor import core_folders, processor_flags


def main() -> None:
    files = importlib.metadata.files("reluflow") or []
    extensions = [file for file in files if file.name.endswith(tuple(EXTENSION_SUFFIXES))]
    imported, package = Path(_core.__file__).resolve(), Path(rf.__file__).resolve().parent
    if imported not in [Path(file.locate()).resolve() for file in extensions]:
        raise SystemExit(f"the wheel must bring its own extension, found {extensions}, imported {imported}")
    chosen = [*core_folders(package, processor_flags()), str(package)][0]
    if str(imported.parent) != chosen:
        raise SystemExit(f"this processor takes the core in {chosen}, imported {imported}")
    if rf.__version__ != importlib.metadata.version("reluflow"):
        raise SystemExit(f"two versions: {rf.__version__} and {importlib.metadata.version('reluflow')}")
    data = rf.Dataset(np.array([[1.65, -0.47], [-0.47, 1.35]]), np.array([1.0, -1.0]))
    net = rf.Network.init(width=10, dim=2, scale=1e-2, seed=0)
    solution = rf.integrate(data, net, until=rf.Stop(time=100.0))
    if not solution.success:
        raise SystemExit(f"the flow did not reach its stop: {solution.status}: {solution.message}")
    core = imported.relative_to(package)
    print(f"reluflow {rf.__version__} works with {core}: {len(solution.events)} events, {solution.status}")


if __name__ == "__main__":
    main()
