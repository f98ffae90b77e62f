"""The script that writes the page of the papers from the results of a run."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

import reluflow as rf

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "draw_papers.py"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, with a page and a folder of pictures of its own."""
    spec = importlib.util.spec_from_file_location("draw_papers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(module, "PICTURES", tmp_path / "reproduction")
    module.PAGE.write_text(f"Before.\n\n{module.BEGIN}\nworn out\n{module.END}\n\nAfter.\n")
    return module


def test_the_page_lists_claims_reasons_and_pictures_between_its_marks(script, tmp_path):
    out = tmp_path / "out"
    rf.papers.reproduce(["PL-C1", "PL-LA4x", "PL-F3"], out=out, quick=True)
    record = json.loads((out / "results.json").read_text())
    record["claims"][0]["rows"].append("004 Fig 9")  # a figure of the paper, so that its picture is shown
    (out / "results.json").write_text(json.dumps(record))
    assert script.main([str(out)]) == 0
    page = script.PAGE.read_text()
    assert page.startswith("Before.\n\n<!--")
    assert page.endswith("<!-- end -->\n\nAfter.\n")
    assert "worn out" not in page
    assert re.findall(r"^\| `([^`]+)` \|.*\| (\w+) \|$", page, re.MULTILINE) == [
        ("PL-C1", "holds"), ("PL-LA4x", "differs"), ("PL-F3", "open")]  # fmt: skip
    assert "- `PL-LA4x`, Lemma A.4, proof: '\\|∂a\\_j²/∂t\\| ≤ nBa\\_j²V'" in page
    assert re.findall(r"\]\((reproduction/[^)]+)\)", page) == ["reproduction/PL-C1-function.png"]
    assert (script.PICTURES / "PL-C1-function.png").stat().st_size > 1000
    assert max(len(line) for line in page.splitlines() if not line.startswith(("|", "!"))) <= script.LINE
    assert "Remarks" not in page
    assert "full run" not in page


def test_pictures_of_a_quick_run_come_from_a_full_one(script, tmp_path):
    out, full = tmp_path / "out", tmp_path / "full"
    rf.papers.reproduce(["PL-C1", "PL-D45"], out=out, quick=True)
    record = json.loads((out / "results.json").read_text())
    record["claims"][-1]["rows"].append("004 Fig 9")
    (out / "results.json").write_text(json.dumps(record))
    (full / "PL-C1").mkdir(parents=True)
    (full / "PL-C1" / "function.png").write_bytes(b"a picture")
    assert [claim["id"] for claim in record["claims"]] == ["PL-D45", "PL-C1"]
    assert script.main([str(out), str(full)]) == 0
    page = " ".join(script.PAGE.read_text().split())
    assert script.EARLIER.strip() in page
    assert "## Remarks on claims that hold - `PL-D45`" in page
    assert (script.PICTURES / "PL-C1-function.png").read_bytes() == b"a picture"


def test_pictures_that_a_quick_run_does_not_draw_come_from_a_full_one(script, tmp_path):
    """A page of a quick run had none of [PL] Figures 3 and 4, and not Figure 2 as printed."""
    out, full = tmp_path / "out", tmp_path / "full"
    rf.papers.reproduce("PL-F3", out=out, quick=True)
    (full / "PL-F3").mkdir(parents=True)
    (full / "PL-F3" / "products.png").write_bytes(b"a picture")
    figure = {"name": "products", "file": "products.png", "caption": "Inner products."}
    (full / "results.json").write_text(json.dumps({"claims": [{"id": "PL-F3", "figures": [figure]}]}))
    assert script.main([str(out), str(full)]) == 0
    assert "![Inner products.](reproduction/PL-F3-products.png)" in script.PAGE.read_text()
    assert (script.PICTURES / "PL-F3-products.png").read_bytes() == b"a picture"


def test_a_run_that_is_not_whole_writes_no_page(script, tmp_path, capsys):
    (tmp_path / "results.json").write_text(json.dumps({"interrupted": True, "counts": {"failed": 0}}))
    assert script.main([str(tmp_path)]) == 2
    assert script.main([]) == 2
    assert "worn out" in script.PAGE.read_text()
    assert "the run must be whole" in capsys.readouterr().err
