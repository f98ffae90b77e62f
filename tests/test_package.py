"""The installed package: its extension, its version, and the extras its messages name."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reluflow
from reluflow import _core, _processor

ROOT = Path(__file__).resolve().parent.parent
# Where the name one imports is not the name one installs.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "imageio_ffmpeg": "imageio-ffmpeg"}


def requirement_names(extra: str | None) -> set[str]:
    """Names that the installed package requires with an extra (None: always)."""
    found = set()
    for requirement in importlib.metadata.requires("reluflow") or []:
        wanted = re.search(r"""extra == ['"]([\w-]+)['"]""", requirement)
        if (wanted[1] if wanted else None) == extra:
            found.add(re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower())
    return found


def optional_imports() -> list[tuple[str, str, str]]:
    """File, module and extra of every call optional_module("module", "extra") in the package."""
    found = []
    for path in sorted((ROOT / "python").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_module":
                values = [part.value for part in node.args if isinstance(part, ast.Constant)]
                if len(values) == 2:
                    found.append((path.name, str(values[0]), str(values[1])))
    return found


def test_the_installed_package_brings_its_own_extension() -> None:
    files = importlib.metadata.files("reluflow") or []
    brought = [Path(str(file.locate())).resolve() for file in files if file.name.startswith("_core.")]
    assert Path(_core.__file__).resolve() in brought


def test_the_processor_alone_decides_which_core_is_taken(tmp_path: Path) -> None:
    flags = _processor.NEEDED | {"sse2"}
    assert _processor.core_folders(tmp_path, flags) == []  # nothing but the portable core was built
    folder = tmp_path / _processor.FOLDER
    folder.mkdir()
    assert _processor.core_folders(tmp_path, flags) == [str(folder)]
    for missing in _processor.NEEDED:
        assert _processor.core_folders(tmp_path, flags - {missing}) == []


def test_a_core_for_another_processor_is_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / _processor.FOLDER
    folder.mkdir()
    (tmp_path / "_core.pyi").touch()
    assert _processor.choose(tmp_path, _processor.NEEDED) == [str(folder)]
    with pytest.raises(ImportError, match="built from source on a machine with AVX2"):
        _processor.choose(tmp_path, frozenset())
    (tmp_path / "_core.cpython-311-x86_64-linux-gnu.so").touch()
    assert _processor.choose(tmp_path, frozenset()) == []


def test_the_build_asks_for_the_level_of_its_processor() -> None:
    path = _processor.__file__
    level = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout.strip()
    assert level == ("x86-64-v3" if _processor.processor_flags() >= _processor.NEEDED else "x86-64")


def test_what_the_processor_can_do_is_read_from_the_kernel(tmp_path: Path) -> None:
    listed = tmp_path / "cpuinfo"
    listed.write_text("processor\t: 0\nflags\t\t: fpu avx avx2\n\nprocessor\t: 1\nflags\t\t: fpu\n", encoding="utf-8")
    assert _processor.processor_flags(listed) == {"fpu", "avx", "avx2"}
    assert _processor.processor_flags(tmp_path / "none") == frozenset()


def test_the_version_has_one_home() -> None:
    stated = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None
    assert {reluflow.__version__, _core.__version__, importlib.metadata.version("reluflow")} == {stated[1]}


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## {reluflow.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_package_says_it_is_typed() -> None:
    files = {str(file) for file in ROOT.glob("python/reluflow/*")}
    assert {str(ROOT / "python/reluflow/py.typed"), str(ROOT / "python/reluflow/_core.pyi")} <= files


@pytest.mark.parametrize(("file", "module", "extra"), optional_imports())
def test_an_extra_brings_what_a_message_says_it_brings(file: str, module: str, extra: str) -> None:
    root = module.partition(".")[0]
    assert DISTRIBUTIONS.get(root, root).lower() in requirement_names(extra), f"{file} names the extra {extra!r}"


def test_importing_the_package_loads_no_optional_library() -> None:
    optional = {"matplotlib", "pandas", "xarray", "sklearn", "cvxpy", "clarabel", "highspy", "rich", "typer", "pyarrow"}
    optional |= {"plotly", "imageio_ffmpeg"}
    code = f"import sys, reluflow; print(*sorted({optional!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []


def test_every_requirement_of_a_user_has_a_lower_bound() -> None:
    printed = subprocess.run(
        [sys.executable, str(ROOT / "tools/requirements.py"), "lower-bounds"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {line.partition("==")[0] for line in printed} >= requirement_names(None) | requirement_names("viz")
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in printed)
