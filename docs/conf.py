"""Sphinx: MyST pages, docstrings in numpydoc style. `make docs` treats a warning as an error."""

from __future__ import annotations

import re
from importlib.util import find_spec
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
nb_execution_timeout = 900  # seconds of the clock for one cell, of which a busy machine takes many
# torch is in no extra that the docs need: without it the page on torch shows its code alone, and says so.
WITHOUT_TORCH = find_spec("torch") is None
nb_execution_excludepatterns = ["tutorials/torch.md"] if WITHOUT_TORCH else []

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


# Where short names are looked for.
PACKAGES = ("", *(f".{name}" for name in reluflow.__all__ if name.islower()), ".explorer", ".estimators")


def find_short_name(app: Any, env: Any, node: Any, contents: Any) -> Any:
    """Resolve `analysis.series` or `Solution`, which leave out the package that they are in."""
    domain = env.get_domain("py")
    if node.get("refdomain") != "py" or not re.fullmatch(r"[\w.]+", node["reftarget"]):
        return None
    # A small word alone may be a parameter or an attribute: it is a link only to what stands at the top.
    is_word = node["reftarget"].islower() and "." not in node["reftarget"]
    packages = ("",) if is_word else PACKAGES
    for package in packages:
        name = f"reluflow{package}.{node['reftarget']}"
        if name in domain.objects:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contents)
    return None


def say_that_torch_is_missing(app: Any, docname: str, source: list[str]) -> None:
    """Put a note in place of the mark on the page on torch."""
    note = ":::{note}\ntorch was not installed where this page was built: its code is shown without output.\n:::"
    if docname == "tutorials/torch":
        source[0] = source[0].replace("<!-- torch -->", note if WITHOUT_TORCH else "")


def keep_the_sidebar_short(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave single functions out of the sidebar: hundreds of entries on every page take most of the time of a build."""
    if "toctree" in context:
        full = context["toctree"]
        context["toctree"] = lambda **options: full(**{**options, "maxdepth": 2})


def write_explorer(app: Any) -> None:
    """Make the page that the landing page and the first tutorial offer: the run of the first tutorial."""
    rng = np.random.default_rng(0)
    cloud = rng.normal([1, 0], 0.07, (16, 2))
    half = np.vstack((cloud, cloud * [-1, 1]))
    data = reluflow.Dataset(np.vstack((half, half[:, ::-1])), np.repeat([1, -1], 32), name="XOR")
    start = reluflow.Network.init(50, 2, scale=1e-3, seed=0)
    solution = reluflow.integrate(data, start, until=reluflow.Stop(time=100.0))
    solution.explore(Path(app.srcdir) / "_static" / "explorer.html", n_times=60)


def setup(app: Any) -> None:
    """Called by Sphinx; numpydoc writes the docstrings anew at priority 500, and this comes after."""
    app.connect("missing-reference", find_short_name)
    app.connect("builder-inited", write_explorer)
    app.connect("source-read", say_that_torch_is_missing)
    app.connect("html-page-context", keep_the_sidebar_short, priority=400)  # before the theme reads it
    app.connect("autodoc-process-docstring", write_bars_literally, priority=600)
