"""What the pages show is run: each ```python block of the README and of docs, in order, one namespace a page."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import reluflow
import set_address

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), ROOT / "CONTRIBUTING.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_blocks(page: Path) -> list[tuple[int, str]]:
    """Line and text of each block of Python in a page."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]


def run_block(code: str, scope: dict[str, Any], place: str, line: int) -> list[str]:
    """Run a block as a session if it has prompts, as a script if not; returns what a session printed otherwise."""
    if ">>>" not in code:
        exec(compile("\n" * line + code, place, "exec"), scope)
        return []
    session = doctest.DocTestParser().get_doctest(code, scope, place, place, line)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(session, out=report.append, clear_globs=False)
    scope.update(session.globs)
    return report


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(page)], ids=name)
def test_every_code_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    scope: dict[str, Any] = {"__name__": "__main__"}
    for line, code in code_blocks(page):
        assert run_block(code, scope, name(page), line) == []


def test_a_wrong_number_in_a_page_is_seen() -> None:
    assert run_block(">>> 1 + 1\n3\n", {}, "page", 0)
    assert run_block(">>> 1 + 1\n2\n", {}, "page", 0) == []
    with pytest.raises(ZeroDivisionError):
        run_block("1 / 0\n", {}, "page", 0)


def test_every_public_name_has_its_place_in_the_api_pages() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/api/*.md"))
    public = [public for public in reluflow.__all__ if not public.startswith("__")]
    assert [public for public in public if not re.search(rf"\breluflow\.{public}\b", pages)] == []


def test_links_between_pages_lead_to_files() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
                broken.append(f"{name(page)}: {target}")
    assert broken == []


def readme_targets(readme: str) -> list[str]:
    return re.findall(r"\]\(([^)#\s]+)[^)]*\)", readme)


def test_the_readme_has_the_address_of_the_project_in_every_link_or_in_none() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    address = set_address.stated_address((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert readme == (readme if address is None else set_address.with_whole_links(readme, address))
    homes = () if address is None else (f"{address}/blob/main/", f"{address}/raw/main/")
    files = [target for target in readme_targets(readme) if "://" not in target or target.startswith(homes)]
    assert len(files) > 10


def test_the_address_makes_every_link_whole() -> None:
    readme = '[a](docs/a.md#part) ![b](docs/b.png "title") [c](https://elsewhere.org/docs)'
    first = set_address.with_whole_links(readme, "https://one.org/x/y")
    blob, raw = "https://one.org/x/y/blob/main/", "https://one.org/x/y/raw/main/"
    assert first == f'[a]({blob}docs/a.md#part) ![b]({raw}docs/b.png "title") [c](https://elsewhere.org/docs)'
    second = set_address.with_whole_links(first, "https://two.org/x/y", "https://one.org/x/y")
    assert second == first.replace("one.org", "two.org")
    stated = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    written = set_address.with_address(stated, "https://one.org/x/y")
    assert set_address.stated_address(written) == "https://one.org/x/y"
    assert set_address.stated_address(set_address.with_address(written, "https://two.org/x/y")) == "https://two.org/x/y"


def test_the_first_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = code_blocks(ROOT / "README.md")[0][1]
    said = re.search(r"^```text\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert said is not None
    assert "sol.explore(" in code
    exec(compile(code.replace("sol.explore(", "str("), "README.md", "exec"), {"__name__": "__main__"})
    residual = re.compile(r"residual=\S+,")  # rounding, which differs from machine to machine
    assert residual.sub("", capsys.readouterr().out) == residual.sub("", said[1])


def test_the_first_screen_has_the_code_the_picture_and_the_commands() -> None:
    screen = (ROOT / "README.md").read_text(encoding="utf-8").partition("## ")[0]
    assert all(f"make {target}" in screen for target in ("run", "test", "bench"))
    assert "```python" in screen
    assert "![" in screen
    assert len(screen.splitlines()) < 50


def test_every_tutorial_is_in_the_gallery_of_tutorials() -> None:
    folder = ROOT / "docs/tutorials"
    names = sorted(page.stem for page in folder.glob("*.md") if page.stem != "index")
    index = (folder / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\*\*\[[^]]+\]\((\w+)\.md\)\*\*", index)) == names
    assert sorted(re.findall(r"^(\w+)$", index.split("{toctree}")[1], re.MULTILINE)) == names
    assert all("{code-cell}" in (folder / f"{name}.md").read_text(encoding="utf-8") for name in names)


def test_every_public_name_of_a_subpackage_has_a_page_of_its_own() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/api/*.md"))
    listed = set(re.findall(r"^   (reluflow\.[\w.]+)$", pages, re.MULTILINE))
    missing = []
    for module in ("analysis", "conditions", "convex", "datasets", "figures", "papers"):
        public = getattr(reluflow, module)
        names = [found for found in public.__all__ if callable(getattr(public, found))]
        missing += [n for n in names if not {f"reluflow.{module}.{n}", f"reluflow.{n}"} & listed]
    assert missing == []


def test_the_citation_agrees_with_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^(?:  - )?(version|license|name): (.+)$", citation, re.MULTILINE))
    assert stated == {"version": project["version"], "license": "MIT", "name": project["authors"][0]["name"]}
    assert re.findall(r"^  - (?!name)(.+)$", citation, re.MULTILINE) == project["keywords"]
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith(f"{stated['license']} License")


def test_the_page_of_statuses_lists_what_the_core_can_return() -> None:
    sources = (ROOT / "cpp/src" / stem for stem in ("base/status.cpp", "descent/descent.cpp"))
    core = "".join(source.read_text(encoding="utf-8") for source in sources)
    returned = set(re.findall(r': return "(\w+)";', core)) | {
        "reached_mean_loss",
        "reached_limit",
        "limit_not_certified",
    }
    listed = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/statuses.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(returned) > 10
    assert listed == returned
