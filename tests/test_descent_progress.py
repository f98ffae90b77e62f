"""Who hears of a descent while it runs: the callback, which may end it, and the live line."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.flow import _progress
from toys import digits_like

DATA, NET = digits_like(n=60, d=10, width=20)
DEEP = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(1)], dim=10, seed=0)
OUTPUTS = rf.Dataset(DATA.X, np.column_stack((DATA.y, -DATA.y)))
STARTS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "two layers": (DATA, NET, {}),
    "minibatches": (DATA, NET, {"batch_size": 7, "seed": 3}),
    "first layer": (DATA, NET, {"train": "first"}),
    "two rates": (DATA, NET, {"rates": (1.0, 0.5)}),
    "two outputs": (OUTPUTS, rf.Network.init(6, 10, outputs=2, seed=0), {"loss": "squared"}),
    "layers": (DATA, DEEP, {"reduction": "mean", "weight_decay": 0.1}),
}
each = pytest.mark.parametrize("kind", STARTS)


def descend(kind: str, callback: Callable[[rf.descent.DescentProgress], object] | None = None, **given: Any) -> Any:
    data, net, options = STARTS[kind]
    return rf.descend(data, net, **{"n_steps": 10**7, "step": 1e-4, "callback": callback, **options, **given})


@each
def test_a_callback_sees_the_steps_and_ends_them(kind: str) -> None:
    seen: list[rf.descent.DescentProgress] = []

    def third(progress: rf.descent.DescentProgress) -> bool:
        seen.append(progress)
        return len(seen) == 3

    run = descend(kind, third)
    assert (run.status, run.success) == ("stopped_by_callback", False)
    assert run.message == "the callback stopped it; these are the steps so far"
    assert [progress.n_steps for progress in seen] == [10**7] * 3
    assert 0 < seen[0].steps < seen[1].steps < seen[2].steps == run.steps_done
    assert 0 < seen[0].seconds < seen[1].seconds < seen[2].seconds <= run.seconds
    assert seen[2].log_loss == run.log_loss[-1]
    assert seen[2].t == run.t[-1]


@each
def test_who_listens_changes_no_bit(kind: str) -> None:
    heard, alone = descend(kind, lambda _: False, n_steps=2000), descend(kind, n_steps=2000)
    assert heard.final == alone.final
    assert heard.settings == alone.settings
    assert heard.fingerprint == alone.fingerprint


@each
def test_an_exception_of_the_callback_goes_through(kind: str) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        descend(kind, fail)


@each
def test_ctrl_c_in_the_callback_keeps_the_steps(kind: str) -> None:
    def pressed(_: object) -> None:
        raise KeyboardInterrupt

    run = descend(kind, pressed)
    assert run.status == "interrupted"
    assert 0 < run.steps_done == run.step_index[-1]


@each
def test_the_line_says_how_far_it_is(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    descend(kind, lambda _: True, progress=True)
    assert capsys.readouterr().err == ""  # short as it is
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.0)
    run = descend(kind, lambda _: True, progress=True)
    assert capsys.readouterr().err.startswith(f"{run.steps_done} of 10000000 steps, t = {run.t[-1]:.4g}, log loss = ")
    descend(kind, lambda _: True)
    assert capsys.readouterr().err == ""


def test_the_line_says_what_is_left() -> None:
    text = str(rf.descent.DescentProgress(steps=20, n_steps=100, t=2.0, log_loss=-1.0, seconds=60.0))
    assert text == "20 of 100 steps, t = 2, log loss = -1, 60 s, about 4 min left"


@pytest.mark.parametrize("kind", ["two layers", "layers"])
def test_ctrl_c_ends_the_whole_comparison_with_the_rows_so_far(kind: str) -> None:
    data, net, _ = STARTS[kind]
    sol = rf.integrate(data, net, until=1.0)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    table = rf.analysis.compare_with_descent(sol, steps=[0.1, 1e-7, 1e-7], max_steps=10**8)
    timer.join()
    assert table["status"].tolist() == ["reached_steps", "interrupted"]
    assert table[["error", "loss", "mean_loss"]].isna().all(axis=1).tolist() == [False, True]
