"""What users expect: the tasks of docs/tasks.md in few lines, and the tests that docs/design/expected.md names."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf

ROOT = Path(__file__).resolve().parent.parent
TASKS = (ROOT / "docs/tasks.md").read_text(encoding="utf-8")
EXPECTED = (ROOT / "docs/design/expected.md").read_text(encoding="utf-8")
# Lines that each task may take, imports and the common start apart.
LINES = {
    "Directions of the neurons over time, with events": 3,
    "A phase diagram": 6,
    "Gradient descent beside the flow": 4,
    "A module of torch, in and out": 2,
    "Regression with the squared loss": 3,
    "Weight decay": 1,
    "Hidden biases, for new inputs too": 1,
    "Three classes with softmax": 3,
    "A pipeline under cross-validation": 3,
    "The last change of each neuron, and a film for a talk": 3,
    "Drag through a run": 1,
    "A long run": 1,
    "A theorem on your own data": 1,
    "A figure as wide as a column": 1,
    "On a cluster": 4,
}


def blocks(page: str) -> dict[str, tuple[str, str]]:
    """Language and code of the first block of each section."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        block = re.search(r"^```(\w+)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        assert block is not None, section
        found[section.splitlines()[0]] = (block[1], block[2])
    return found


def n_lines(code: str) -> int:
    return sum(1 for line in code.splitlines() if line.strip() and not re.match(r"\s*#|import |from ", line))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the tasks leave behind; files are in `folder`."""
    folder = tmp_path_factory.mktemp("tasks")
    scope: dict[str, Any] = {"__name__": "__main__", "folder": folder}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MPLBACKEND", "Agg")
        for block in re.findall(r"^```python\n(.*?)^```", TASKS, re.MULTILINE | re.DOTALL):
            exec(compile(block, "tasks.md", "exec"), scope)
    return scope


def test_each_task_takes_few_lines() -> None:
    found = blocks(TASKS)
    assert set(found) == set(LINES)
    assert {name: n_lines(code) for name, (_, code) in found.items() if n_lines(code) > LINES[name]} == {}


def test_lines_are_counted() -> None:
    assert n_lines("import x\nfrom x import y\n\n# a\nx = 1\ny = f(\n    x)\n") == 3


def test_directions_carry_the_events(done: dict[str, Any]) -> None:
    events = done["sol"].events
    assert len(events) > 0
    assert done["polar"].name == "polar"
    assert len(done["polar"].collections) + len(done["polar"].lines) > done["net"].width


def test_a_phase_diagram_has_every_point(done: dict[str, Any]) -> None:
    found = done["found"]
    assert dict(found.sizes) == {"scale": 3, "width": 2, "seed": 3}
    alone = rf.integrate(done["data"], rf.Network.init(30, 2, scale=1.0, seed=2), until=10.0)
    assert found["n_events"].sel(scale=1.0, width=30, seed=2) == len(alone.events)
    assert (done["folder"] / "phases").is_dir()


def test_descent_differs_from_the_flow_at_few_places(done: dict[str, Any]) -> None:
    differs = done["differs"]
    assert differs.shape == (201, 10, 2)
    assert not differs[0].any()
    assert 0 < differs.mean() < 0.2


def test_torch_goes_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 4, bias=False), torch.nn.ReLU(), torch.nn.Linear(4, 1, bias=False))
    scope: dict[str, Any] = {"rf": rf, "data": rf.datasets.wang_pilanci("obtuse"), "module": module}
    exec(blocks(TASKS)["A module of torch, in and out"][1], scope)
    assert scope["module"][0].weight.shape == (4, 2)
    assert not np.array_equal(scope["module"][0].weight.detach().numpy(), scope["start"].W)


def test_regression_lowers_the_loss(done: dict[str, Any]) -> None:
    fit = done["fit"]
    assert fit.success
    error = np.sqrt(np.mean((fit.final(done["X"]) - done["curve"].y) ** 2))
    assert error < 0.25 * np.std(done["curve"].y)


def test_the_option_weight_decay_keeps_the_weights_finite(done: dict[str, Any]) -> None:
    free = rf.integrate(done["data"], done["net"], until=1e3).final
    decayed = done["decayed"].final
    assert done["decayed"].success
    assert np.linalg.norm(decayed.W) < 0.7 * np.linalg.norm(free.W)


def test_the_option_bias_makes_a_difference_at_zero(done: dict[str, Any]) -> None:
    assert done["guess"].shape == (1,)
    labels = done["X"][:, 0] > 1
    origin = np.zeros((1, 3))

    def output(bias: bool) -> float:
        fitted = rf.ReluFlowClassifier(bias=bias, width=10, until=20.0, random_state=0).fit(done["X"], labels)
        return float(fitted.decision_function(origin)[0])

    assert output(False) == 0.0
    assert output(True) < 0.0


def test_softmax_has_three_outputs(done: dict[str, Any]) -> None:
    softmax, iris = done["softmax"], done["iris"]
    assert softmax.success
    assert softmax.final(iris.X).shape == (150, 3)


def test_the_pipeline_is_scored(done: dict[str, Any]) -> None:
    assert done["scores"].shape == (3,)
    assert done["scores"].mean() > 0.6


def test_the_film_is_written(done: dict[str, Any]) -> None:
    last = done["changes"]
    events = [event for event in done["sol"].events if event.neuron == last.index[0]]
    assert last["t"].iloc[0] == events[-1].t
    assert done["film"] == Path("film.html")
    assert "data:image/png;base64" in (done["folder"] / "film.html").read_text(encoding="utf-8")


def test_the_page_of_a_run_is_written(done: dict[str, Any]) -> None:
    assert (done["folder"] / "run.html").read_text(encoding="utf-8") == done["page"].html


def test_the_report_says_which_theorems_apply(done: dict[str, Any]) -> None:
    assert "[WP] Theorem 1" in [theorem.source for theorem in done["report"].theorems if theorem.applies]


def test_a_figure_is_a_column_wide(done: dict[str, Any]) -> None:
    width = done["raster"].figure.get_size_inches()[0]
    assert 3.0 < width < 3.6  # columns of the journals of the field are 3.25 to 3.5 inches wide


def test_the_call_on_a_cluster_is_one_that_sweep_takes() -> None:
    calls = [node for node in ast.walk(ast.parse(blocks(TASKS)["On a cluster"][1])) if isinstance(node, ast.Call)]
    (sweep,) = [call for call in calls if ast.unparse(call.func) == "rf.sweep"]
    inspect.signature(rf.sweep).bind(*sweep.args, **{word.arg: word.value for word in sweep.keywords if word.arg})
    assert {"executor", "store"} <= {word.arg for word in sweep.keywords}


def test_every_row_names_a_test_or_a_reason() -> None:
    rows = re.findall(r"^\| (?!task|expectation|---)(.+?) \|(?: .+? \|)? (.+) \|$", EXPECTED, re.MULTILINE)
    assert len(rows) == 15 + 14 + 13
    named = re.findall(r"`(test_\w+)::(test_\w+)`", EXPECTED)
    assert [row for row, held in rows if "`test_" not in held and "not yet: " not in held] == []
    files = {stem: (ROOT / f"tests/{stem}.py").read_text(encoding="utf-8") for stem, _ in named}
    assert [f"{stem}::{test}" for stem, test in named if f"def {test}(" not in files[stem]] == []


def test_wheels_are_asked_for_on_every_system() -> None:
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    assert all(re.search(rf"\b{system}", workflow) for system in ("ubuntu", "macos", "windows"))
    assert re.search(r"ubuntu-[\d.]+-arm", workflow)


def test_the_conda_recipe_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    assert re.search(r'^  version: "(.+)"$', recipe, re.MULTILINE)[1] == project["version"]  # type: ignore[index]
