"""Every example in a docstring runs, and every public function and class has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import reluflow

MODULES = ["reluflow", *(found.name for found in pkgutil.walk_packages(reluflow.__path__, "reluflow."))]
RUNNABLE = [module for module in MODULES if not module.endswith(("__main__", "_core"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def public_functions() -> list[str]:
    """Functions that the package and its public subpackages list, and the classes one makes oneself, by full name."""
    doors = [reluflow, *(getattr(reluflow, public) for public in reluflow.__all__)]
    found = []
    for door in doors:
        if inspect.ismodule(door):
            listed = [(public, getattr(door, public)) for public in door.__all__]
            found += [f"{door.__name__}.{public}" for public, value in listed if inspect.isfunction(value)]
    return sorted({*found, "reluflow.Dataset", "reluflow.Network", "reluflow.Stop"})


@pytest.mark.parametrize("module", RUNNABLE)
def test_the_examples_in_the_docstrings_of_a_module_run(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module)):
        runner.run(example, out=report.append)
    assert report == []


@pytest.mark.parametrize("public", public_functions())
def test_a_public_function_has_an_example(public: str) -> None:
    module, _, attribute = public.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    assert ">>>" in (inspect.getdoc(value) or "")


def test_there_are_public_functions_to_ask() -> None:
    assert {"reluflow.integrate", "reluflow.descend", "reluflow.load"} <= set(public_functions())
