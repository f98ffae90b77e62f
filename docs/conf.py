"""Sphinx: MyST pages, docstrings in numpydoc style. `make docs` treats a warning as an error."""

from __future__ import annotations

import re
from typing import Any

import reluflow

project = "reluflow"
author = "the reluflow developers"
copyright = "2026, the reluflow developers"
version = release = reluflow.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# The types are in the docstrings, with shapes and units, which annotations do not carry.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
# Members are listed by autodoc in full: numpydoc's own tables of them would repeat every one.
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"reluflow {release}"


def write_bars_literally(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """In our docstrings |w| is a norm: reStructuredText would take it for a substitution. Code is left as it is."""
    in_session = False
    for number, line in enumerate(lines):
        in_session = bool(line.strip()) and (in_session or line.lstrip().startswith(">>>"))
        if not in_session:
            pieces = re.split(r"(``.*?``)", line)
            lines[number] = "".join(piece if piece.startswith("``") else piece.replace("|", r"\|") for piece in pieces)


def setup(app: Any) -> None:
    """Called by Sphinx; numpydoc writes the docstrings anew at priority 500, and this comes after."""
    app.connect("autodoc-process-docstring", write_bars_literally, priority=600)
