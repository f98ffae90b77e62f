"""The layout of the code: one direction of imports and includes, small files, short functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "reluflow"

# The order of the modules has its home here: a module uses only modules before it.
PYTHON_MODULES = (
    "_processor",
    "_core",
    "_pieces",
    "_digest",
    "_renamed",
    "_validation",
    "_missed",
    "_files",
    "_palette",
    "_times",
    "_html",
    "_linear_algebra",
    "_least_distance",
    "datasets",
    "networks",
    "losses",
    "explorer",
    "kinks",
    "_xarray",
    "limits",
    "layered",
    "flow",
    "estimators",
    "early",
    "descent",
    "convex",
    "saddles",
    "conditions",
    "proof",
    "analysis",
    "sweeps",
    "figures",
    "papers",
    "cli",
)
CPP_MODULES = (
    "base",
    "numeric",
    "geometry",
    "problem",
    "hybrid",
    "two_layer",
    "layered",
    "run",
    "descent",
    "proof",
)
DOORS = ("__init__", "__main__")  # the package's own door opens on every module

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50  # the docstring is not counted
MAX_PARAMETERS = 8  # keyword-only options are not counted

PYTHON_FILES = sorted(
    path for folder in ("python", "tests", "tools", "bench") for path in ROOT.glob(f"{folder}/**/*.py")
)
CPP_FILES = sorted(path for ending in ("cpp", "hpp") for path in ROOT.glob(f"cpp/**/*.{ending}"))
ALL_FILES = PYTHON_FILES + CPP_FILES


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# --- imports ---------------------------------------------------------------------------------------------------------


def imported_modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and module of every import of reluflow in a module of `package`, relative ones resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            modules = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for module in modules:
            if module[0] == "reluflow":
                yield node.lineno, module[1] if len(module) > 1 else "the whole package"


def upward_imports(source: str, package: tuple[str, ...], module: str) -> list[str]:
    allowed = PYTHON_MODULES[: PYTHON_MODULES.index(module) + 1]
    found = imported_modules(ast.parse(source), package)
    return [f"line {line}: {module} imports {other}" for line, other in found if other not in allowed]


def module_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=name)
def test_a_python_module_imports_only_earlier_modules(path: Path) -> None:
    module = module_of(path)
    if module in DOORS:
        return
    assert module in PYTHON_MODULES, f"{module} has no place in PYTHON_MODULES"
    package = ("reluflow", *path.relative_to(PACKAGE).parts[:-1])
    assert upward_imports(path.read_text(encoding="utf-8"), package, module) == []


def test_an_upward_import_is_seen_in_every_form() -> None:
    for statement in (
        "from reluflow.analysis import x",
        "import reluflow.cli",
        "from ..figures import plot",
        "from .. import figures",
        "import reluflow",
        "def f():\n    from ..analysis._kkt import x",
    ):
        assert upward_imports(statement, ("reluflow", "flow"), "flow"), statement
    assert not upward_imports("from . import _stop\nfrom ..networks import Network", ("reluflow", "flow"), "flow")


# A command starts fast because its parts are imported when they are asked for; `Network.init` makes either class.
LATE_IMPORTS = {"cli/__init__.py", "networks/_network.py"}


def late_imports(source: str) -> list[str]:
    """Return the imports of this package inside functions: most of them hide a circle."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    inside = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]
    return [f"line {node.lineno}: {node.module}" for node in inside if node.level]


def test_no_import_inside_a_function_hides_a_circle() -> None:
    found = {str(p.relative_to(PACKAGE)): late_imports(p.read_text(encoding="utf-8")) for p in PACKAGE.rglob("*.py")}
    assert {path for path, lines in found.items() if lines} == LATE_IMPORTS
    assert late_imports("def f():\n    from ._x import y") == ["line 2: _x"]


# --- includes --------------------------------------------------------------------------------------------------------


INCLUDE = re.compile(r'#\s*include\s+"(\w+)/(\w+)\.hpp"')
CORE_FILES = [path for path in CPP_FILES if path.is_relative_to(ROOT / "cpp/src")]


def upward_includes(source: str, module: str) -> list[str]:
    allowed = CPP_MODULES[: CPP_MODULES.index(module) + 1]
    return [f"{module} includes {other}/{stem}" for other, stem in INCLUDE.findall(source) if other not in allowed]


@pytest.mark.parametrize("path", CORE_FILES, ids=name)
def test_a_cpp_module_includes_only_earlier_modules(path: Path) -> None:
    module = path.parent.name
    assert module in CPP_MODULES, f"{module} has no place in CPP_MODULES"
    source = path.read_text(encoding="utf-8")
    assert upward_includes(source, module) == []
    assert source.count('#include "') == len(INCLUDE.findall(source)), "an include does not name its module"


def test_an_upward_include_is_seen() -> None:
    assert upward_includes('#include "run/flow.hpp"', "hybrid") == ["hybrid includes run/flow"]
    assert upward_includes('#include "base/types.hpp"\n#include <vector>', "hybrid") == []


def first_circle(uses: dict[str, set[str]]) -> list[str]:
    """Return headers that include each other in a circle, none if there is no circle."""
    left = dict(uses)
    while done := [stem for stem, used in left.items() if not used & left.keys()]:
        for stem in done:
            del left[stem]
    return sorted(left)


def test_headers_include_each_other_in_no_circle() -> None:
    headers = [path for path in CORE_FILES if path.suffix == ".hpp"]
    uses = {p.stem: {stem for _, stem in INCLUDE.findall(p.read_text(encoding="utf-8"))} for p in headers}
    assert len(uses) == len(headers) > 40, "two headers share a name"
    assert first_circle(uses) == []
    assert first_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["a", "b", "c"]


def test_one_file_includes_the_numpy_bindings() -> None:
    including = [path.name for path in CPP_FILES if "pybind11/numpy.h" in path.read_text(encoding="utf-8")]
    assert including == ["arrays.hpp"]


@pytest.mark.parametrize("module", ["numeric", "hybrid", "two_layer"])
def test_memory_of_the_two_layer_core_is_aligned(module: str) -> None:
    """Else the bits of a run depend on where the process happened to get its memory; see Numbers in base/types.hpp."""
    plain = re.compile(r"std::vector<double>|new double\[")
    paths = sorted((ROOT / "cpp" / "src" / module).iterdir())
    found = [path.name for path in paths if plain.search(path.read_text(encoding="utf-8"))]
    assert not found, f"{found} should use Numbers, Vector or Matrix"


def test_the_core_knows_nothing_of_python() -> None:
    assert CORE_FILES
    assert [name(path) for path in CORE_FILES if "pybind11" in path.read_text(encoding="utf-8")] == []


# --- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ALL_FILES, ids=name)
def test_a_file_stays_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MAX_FILE_LINES


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its def to its end, without its docstring."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return length


def positional_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    parameters = [*function.args.posonlyargs, *function.args.args]
    return len([parameter for parameter in parameters if parameter.arg not in ("self", "cls")])


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name)
def test_a_python_function_stays_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    too_long = {f.name: code_lines(f) for f in functions if code_lines(f) >= MAX_FUNCTION_LINES}
    too_wide = {f.name: positional_parameters(f) for f in functions if positional_parameters(f) > MAX_PARAMETERS}
    assert (too_long, too_wide) == ({}, {})


def cpp_functions(lines: list[str], indent: str = "") -> Iterator[tuple[str, int]]:
    """Head and length of each function in formatted C++: from a line at `indent` to the closing brace at `indent`."""
    start = None
    for number, line in enumerate(lines):
        if not line.startswith(indent) or line[len(indent) : len(indent) + 1] in ("", " ", "#", "/"):
            continue
        text = line[len(indent) :]
        if not text.startswith("}"):
            start = number if start is None or lines[number - 1].rstrip().endswith((";", "}", ":", "{", "")) else start
        elif start is not None and text.rstrip() in ("}", "};"):
            head = lines[start].strip()
            if re.match(r"(template.*>\s*)?(class|struct)\b", head) or head.startswith("template"):
                yield from cpp_functions(lines[start + 1 : number], indent + "    ")
            if "(" in " ".join(lines[start : start + 3]) and not re.match(r"(class|struct|enum|namespace)\b", head):
                yield head, number - start + 1
            start = None


@pytest.mark.parametrize("path", CPP_FILES, ids=name)
def test_a_cpp_function_stays_short(path: Path) -> None:
    functions = cpp_functions(path.read_text(encoding="utf-8").splitlines())
    assert {head: length for head, length in functions if length >= MAX_FUNCTION_LINES} == {}


def test_a_long_function_is_seen_in_both_languages() -> None:
    body = [f"    f({i});" for i in range(60)]
    assert list(cpp_functions(["int a;", "void f(int x,", "       int y) {", *body, "}"])) == [("void f(int x,", 63)]
    inside = ["class A {", "  public:", "    int g() {", *["    " + line for line in body], "    }", "};"]
    assert list(cpp_functions(inside)) == [("int g() {", 62)]
    function = ast.parse("def f():\n    '''Doc.\n\n    More.\n    '''\n" + "\n".join(body).replace(";", "")).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert code_lines(function) == 61


# --- promises --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in ALL_FILES if path != Path(__file__).resolve()], ids=name)
def test_nothing_is_left_for_later(path: Path) -> None:
    marks = r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError|pytest\.(skip|xfail)|mark\.(skip|xfail)"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.strip() for line in lines if re.search(marks, line)] == []
