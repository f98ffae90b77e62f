"""The page of a run in Chromium: the slider moves, and what is drawn is the run at that time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runs
from reluflow.flow._explore import film

pytestmark = pytest.mark.browser

TRACE = """
const page = document.getElementById("reluflow-explorer");
const at = page._fullData.findIndex(trace => trace.name === arguments[0]);
return {active: page.layout.sliders[0].active || 0, drawn: page.calcdata[at].map(p => [p.x, p.y]),
        z: arguments[0] === "outputs" ? page.calcdata[at][0].z.map(row => Array.from(row)) : null};
"""
SETTLED = """
const done = arguments[arguments.length - 1];
setTimeout(() => requestAnimationFrame(() => done(true)), 400);
"""


def drag(chromium: Any, pixels: int) -> None:
    """Take the grip of the slider and move it along."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    grip = chromium.find_element(By.CSS_SELECTOR, ".slider-grip-rect")
    ActionChains(chromium).click_and_hold(grip).move_by_offset(pixels, 0).release().perform()
    chromium.execute_async_script(SETTLED)


@pytest.fixture
def page(chromium: Any, tmp_path: Any) -> Any:
    runs.holding().explore(tmp_path / "run.html", n_times=20)
    chromium.set_window_size(1200, 1100)
    chromium.get((tmp_path / "run.html").as_uri())
    chromium.execute_async_script(SETTLED)
    return chromium


def test_the_slider_moves_and_what_is_drawn_is_the_run_at_that_time(page: Any) -> None:
    sol, shown = runs.holding(), film(runs.holding(), 20)
    seen = []
    for pixels in (250, 300, -150):
        drag(page, pixels)
        found = page.execute_script(TRACE, "neurons")
        seen.append(found["active"])
        net = sol(shown.t[found["active"]])
        unit = net.W / np.linalg.norm(net.W, axis=1, keepdims=True)
        np.testing.assert_allclose(found["drawn"], unit, atol=1e-12)
        outputs = page.execute_script(TRACE, "outputs")["z"]
        u, v = np.meshgrid(shown.ticks, shown.ticks)
        values = net(np.column_stack((u.ravel(), v.ravel()))).reshape(u.shape)
        np.testing.assert_allclose(outputs, values / np.abs(values).max(), atol=1e-6)
    assert 0 < seen[0] < seen[1]
    assert seen[2] < seen[1]


def test_the_pointer_names_a_neuron_and_a_sample(page: Any) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    for picture, word in (("xy", "neuron"), ("x2y2", "sample")):
        dots = page.find_elements(By.CSS_SELECTOR, f".{picture} .scatterlayer .points path.point")
        said = set()
        for dot in dots[-3:]:
            ActionChains(page).move_to_element(dot).perform()
            page.execute_async_script(SETTLED)
            said |= {text.text for text in page.find_elements(By.CSS_SELECTOR, ".hoverlayer .hovertext")}
        assert any(word in text for text in said), (picture, said)


def test_nothing_is_fetched_and_nothing_fails(page: Any) -> None:
    fetched = page.execute_script('return performance.getEntriesByType("resource").map(entry => entry.name)')
    assert [name for name in fetched if name.startswith("http")] == []
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


def test_a_phone_shows_the_page_without_scrolling_sideways(page: Any) -> None:
    page.set_window_size(500, 900)
    page.execute_async_script(SETTLED)
    wide, room = page.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= room
