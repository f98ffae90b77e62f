"""The pages of the docs in Chromium, as wide as a desk and as a phone: nothing sticks out, nothing is missing."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.browser

SITE = Path(__file__).resolve().parents[2] / "docs/_build/html"
WIDTHS = (1280, 390)
# The pages that differ in kind; the pages of single functions are like the two that are named.
PAGES = sorted(
    str(page.relative_to(SITE))
    for page in SITE.rglob("*.html")
    if "generated" not in page.parts and "_static" not in page.parts and page.stem not in ("genindex", "search")
)
PAGES += ["api/generated/reluflow.integrate.html", "api/generated/reluflow.Solution.html"]

LOOK = """
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const images = [...document.images].filter(image => !(image.complete && image.naturalWidth > 0));
const links = [...document.querySelectorAll("article a[href]")].map(link => link.href);
return {wide, images: images.map(image => image.src), links};
"""


def show(chromium: Any, page: str, width: int) -> Any:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chromium.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["http://*", "https://*"]})
    chromium.get((SITE / page).as_uri())
    chromium.execute_script("document.querySelectorAll('img').forEach(image => { image.loading = 'eager'; })")
    chromium.execute_async_script("setTimeout(arguments[0], 100)")
    return chromium.execute_script(LOOK)


@cache
def anchors(file: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8")))


def missing(links: set[str]) -> list[str]:
    """Links to files that are not there, or to places that are not in them."""
    gone = []
    for link in sorted(links):
        address, _, anchor = link.partition("#")
        file = Path(unquote(address.removeprefix("file://")))
        if not file.exists() or (anchor and file.suffix == ".html" and unquote(anchor) not in anchors(file)):
            gone.append(link)
    return gone


def test_there_are_pages_to_look_at() -> None:
    assert {"index.html", "tutorials/first_run.html", "api/index.html", "which_tool.html"} <= set(PAGES)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_and_has_all_its_pictures_and_links(chromium: Any, page: str, width: int) -> None:
    found = show(chromium, page, width)
    assert found["wide"] <= 0
    assert found["images"] == []
    assert missing({link for link in found["links"] if link.startswith("file://")}) == []


def test_a_wide_page_and_a_missing_picture_are_seen(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text('<div style="width:5000px">x</div><img src="none.png">', encoding="utf-8")
    chromium.get((tmp_path / "bad.html").as_uri())
    found = chromium.execute_script(LOOK)
    assert found["wide"] > 1000
    assert len(found["images"]) == 1


def test_a_missing_file_and_a_missing_place_are_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="here">', encoding="utf-8")
    home = tmp_path.as_uri()
    links = {f"{home}/a.html", f"{home}/a.html#here", f"{home}/a.html#gone", f"{home}/b.html"}
    assert missing(links) == [f"{home}/a.html#gone", f"{home}/b.html"]
