"""Sphinx: MyST pages, docstrings in numpydoc style. `make docs` treats a warning as an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

import reluflow

project = "reluflow"
author = "the reluflow developers"
copyright = "2026, the reluflow developers"
version = release = reluflow.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_templates"]

# The tutorials are notebooks: each is run in every build, and one that fails fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 120

# One page for each function and class. A name in backticks is a link where it names something, short ones too.
templates_path = ["_templates"]
autosummary_generate = True
default_role = "py:obj"

# The types are in the docstrings, with shapes and units, which annotations do not carry.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
# Members are listed by autodoc in full: numpydoc's own tables of them would repeat every one.
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"reluflow {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]


def write_bars_literally(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """In our docstrings |w| is a norm: reStructuredText would take it for a substitution. Code is left as it is."""
    in_session = False
    for number, line in enumerate(lines):
        in_session = bool(line.strip()) and (in_session or line.lstrip().startswith(">>>"))
        if not in_session:
            pieces = re.split(r"(``.*?``)", line)
            lines[number] = "".join(piece if piece.startswith("``") else piece.replace("|", r"\|") for piece in pieces)


def find_short_name(app: Any, env: Any, node: Any, contents: Any) -> Any:
    """Resolve `analysis.series` or `Solution`, which leave out the package that they are in."""
    domain = env.get_domain("py")
    if node.get("refdomain") != "py" or not re.fullmatch(r"[\w.]+", node["reftarget"]):
        return None
    packages = (
        "",
        ".flow",
        ".datasets",
        ".networks",
        ".limits",
        ".early",
        ".descent",
        ".convex",
        ".analysis",
        ".figures",
    )
    for package in packages:
        name = f"reluflow{package}.{node['reftarget']}"
        if name in domain.objects:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contents)
    return None


def write_explorer(app: Any) -> None:
    """Make the page that the landing page and the first tutorial offer: the run of the first tutorial."""
    rng = np.random.default_rng(0)
    angle = rng.integers(4, size=40) * np.pi / 2
    X = np.column_stack((np.cos(angle), np.sin(angle))) + 0.1 * rng.standard_normal((40, 2))
    data = reluflow.Dataset(X, np.cos(2 * angle).round(), name="XOR")
    start = reluflow.Network.init(50, 2, scale=1e-3, seed=0)
    solution = reluflow.integrate(data, start, until=reluflow.Stop(time=100.0))
    solution.explore(Path(app.srcdir) / "_static" / "explorer.html", n_times=60)


def setup(app: Any) -> None:
    """Called by Sphinx; numpydoc writes the docstrings anew at priority 500, and this comes after."""
    app.connect("missing-reference", find_short_name)
    app.connect("builder-inited", write_explorer)
    app.connect("autodoc-process-docstring", write_bars_literally, priority=600)
