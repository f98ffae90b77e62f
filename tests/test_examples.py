"""The examples: short, and every one runs and shows what it promises."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from PIL import Image

FOLDER = Path(__file__).resolve().parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

# A line that each example must print; the numbers are those of the papers or of the other tests.
PRINTS = {
    "euler_or_exact": "events in",
    "own_data": "1/margin is 3.152",
    "quickstart": "the largest possible is 0.389884",
    "sliding": "extremal direction [1. 0.] in the sector [1 0]",
}
FILES = {
    "euler_or_exact": "events.png",
    "own_data": "flowers.npz",
    "quickstart": "quickstart.png",
    "sliding": "sliding.png",
}


def test_every_example_has_its_promise_here():
    assert {path.stem for path in EXAMPLES} == set(PRINTS) == set(FILES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_fewer_than_sixty_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_writes_where_it_is_told(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(path), str(tmp_path / "out")])
    runpy.run_path(str(path), run_name="__main__")
    assert PRINTS[path.stem] in capsys.readouterr().out
    written = tmp_path / "out" / FILES[path.stem]
    assert written.stat().st_size > 1000
    assert [other.name for other in tmp_path.iterdir()] == ["out"]
    if written.suffix == ".png":
        with Image.open(written) as picture:
            assert picture.width > 600
