"""The layout of the code: one direction of imports and includes, small files, short functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "reluflow"

# The order of the rooms has its home here: a room uses only rooms before it.
PYTHON_ROOMS = (
    "_processor",
    "_core",
    "_validation",
    "datasets",
    "networks",
    "flow",
    "descent",
    "convex",
    "conditions",
    "analysis",
    "figures",
    "papers",
    "cli",
)
CPP_ROOMS = (
    "types",
    "errors",
    "observer",
    "interrupt",
    "pool",
    "generator",
    "products",
    "lu",
    "loss",
    "status",
    "settings",
    "polynomial",
    "dataset",
    "network",
    "pattern",
    "groups",
    "sector",
    "sectors",
    "series",
    "clock",
    "waveform",
    "defect",
    "drive",
    "held",
    "expansion",
    "arrangement",
    "box_fit",
    "neuron",
    "slide",
    "hits",
    "transition",
    "local",
    "bounds",
    "reach",
    "watch",
    "control",
    "lane",
    "lanes",
    "vanished",
    "horizon",
    "recorder",
    "trend",
    "step",
    "flow",
    "result",
    "batch",
    "descent",
    "polar",
)
DOORS = ("__init__", "__main__")  # the package's own door opens on every room

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


def imported_rooms(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and room of every import of reluflow in a module of `package`, relative ones resolved."""
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


def upward_imports(source: str, package: tuple[str, ...], room: str) -> list[str]:
    allowed = PYTHON_ROOMS[: PYTHON_ROOMS.index(room) + 1]
    found = imported_rooms(ast.parse(source), package)
    return [f"line {line}: {room} imports {other}" for line, other in found if other not in allowed]


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=name)
def test_a_python_room_imports_only_earlier_rooms(path: Path) -> None:
    room = room_of(path)
    if room in DOORS:
        return
    assert room in PYTHON_ROOMS, f"{room} has no place in PYTHON_ROOMS"
    package = ("reluflow", *path.relative_to(PACKAGE).parts[:-1])
    assert upward_imports(path.read_text(encoding="utf-8"), package, room) == []


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


# --- includes --------------------------------------------------------------------------------------------------------


def cpp_room(stem: str) -> str | None:
    """The room of a header or source: its own name, or the room whose private part it is (descent_kernel)."""
    fitting = [room for room in CPP_ROOMS if stem == room or stem.startswith(room + "_")]
    return max(fitting, key=len, default=None)


def upward_includes(source: str, room: str) -> list[str]:
    included = re.findall(r'#\s*include\s+"(?:reluflow/)?(\w+)\.hpp"', source)
    allowed = CPP_ROOMS[: CPP_ROOMS.index(room) + 1]
    return [f"{room} includes {stem}" for stem in included if cpp_room(stem) not in allowed]


@pytest.mark.parametrize(
    "path", [p for p in CPP_FILES if p.is_relative_to(ROOT / "cpp/include") or p.parent.name == "src"], ids=name
)
def test_a_cpp_room_includes_only_earlier_rooms(path: Path) -> None:
    room = cpp_room(path.stem)
    assert room is not None, f"{path.stem} has no place in CPP_ROOMS"
    assert upward_includes(path.read_text(encoding="utf-8"), room) == []


def test_an_upward_include_is_seen() -> None:
    assert upward_includes('#include "reluflow/flow.hpp"', "held") == ["held includes flow"]
    assert upward_includes('#include "descent_kernel.hpp"', "flow") == ["flow includes descent_kernel"]
    assert upward_includes('#include "reluflow/types.hpp"\n#include <vector>', "held") == []


def test_one_file_includes_the_numpy_bindings() -> None:
    including = [path.name for path in CPP_FILES if "pybind11/numpy.h" in path.read_text(encoding="utf-8")]
    assert including == ["arrays.hpp"]


def test_the_core_knows_nothing_of_python() -> None:
    core = [path for path in CPP_FILES if path.parent.name in ("src", "reluflow")]
    assert core
    assert [name(path) for path in core if "pybind11" in path.read_text(encoding="utf-8")] == []


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
