"""Print requirements that pyproject.toml states, so that no other file repeats them.

python tools/requirements.py build           what a build without isolation needs installed
python tools/requirements.py lower-bounds    a constraints file: every runtime dependency at its lower bound
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
# Extras that people install to use the package; the others are for working on it and follow the newest tools.
RUNTIME_EXTRAS = ("viz", "film", "explore", "data", "convex", "analysis", "sweep", "cli")
LOWER_BOUND = re.compile(r"^([A-Za-z0-9_.-]+)>=([0-9.]+)")


def read() -> dict[str, Any]:
    return tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))


def lower_bounds(pyproject: dict[str, Any]) -> list[str]:
    """One ``name==bound`` for each runtime requirement; a requirement without a bound is an error."""
    project = pyproject["project"]
    stated = list(project["dependencies"])
    for extra in RUNTIME_EXTRAS:
        stated += project["optional-dependencies"][extra]
    pins = set()
    for requirement in stated:
        bound = LOWER_BOUND.match(requirement)
        if bound is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no lower bound")
        pins.add(f"{bound[1]}=={bound[2]}")
    return sorted(pins)


def main() -> None:
    pyproject = read()
    if sys.argv[1:] == ["build"]:
        print(*pyproject["build-system"]["requires"], "ninja", sep="\n")
    elif sys.argv[1:] == ["lower-bounds"]:
        print(*lower_bounds(pyproject), sep="\n")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
