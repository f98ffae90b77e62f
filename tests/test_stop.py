"""The class Stop: criteria, their text form and what they mean for the core."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reluflow as rf


def test_a_number_means_time() -> None:
    assert rf.Stop.of(10) == rf.Stop(time=10.0)
    assert rf.Stop.of(np.float64(2.5)) == rf.Stop(time=2.5)


def test_a_stop_passes_through() -> None:
    stop = rf.Stop(events=3)
    assert rf.Stop.of(stop) is stop


def test_numpy_numbers_become_plain_ones() -> None:
    stop = rf.Stop(time=np.float32(2), events=np.int64(5))
    assert (type(stop.time), type(stop.events)) == (float, int)


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("mean_loss=0.01", rf.Stop(mean_loss=0.01)),
        ("10", rf.Stop(time=10.0)),
        (" time = 1e3 , seconds=60 ", rf.Stop(time=1000.0, seconds=60.0)),
        ("events=12", rf.Stop(events=12)),
        ("log_time=-3", rf.Stop(log_time=-3.0)),
        ("direction=1e-8,loss=0.5", rf.Stop(direction=1e-8, loss=0.5)),
    ],
)
def test_text_is_read(text: str, stop: rf.Stop) -> None:
    assert rf.Stop.parse(text) == stop


def test_the_text_of_a_stop_reads_back() -> None:
    stop = rf.Stop(time=0.1 + 0.2, log_time=1 / 3, loss=1e-9, mean_loss=0.2, direction=0.5, events=7, seconds=3.0)
    assert rf.Stop.parse(str(stop)) == stop
    assert repr(rf.Stop(events=7)) == "Stop(events=7)"


def test_a_loss_is_that_of_the_reduction_and_a_mean_loss_is_the_mean() -> None:
    assert rf.Stop(loss=2.0).log_loss(10, "sum") == math.log(2)
    assert rf.Stop(loss=2.0).log_loss(10, "mean") == math.log(2)
    assert rf.Stop(mean_loss=2.0).log_loss(10, "mean") == math.log(2)
    assert rf.Stop(mean_loss=2.0).log_loss(10, "sum") == pytest.approx(math.log(20), rel=1e-15)
    assert rf.Stop(time=1.0).log_loss(10, "sum") is None


def test_of_two_losses_the_larger_one_ends_the_run() -> None:
    both = rf.Stop(loss=1.0, mean_loss=0.2)
    assert both.log_loss(10, "sum") == pytest.approx(math.log(2), rel=1e-15)
    assert both.ends_on_mean(10, "sum")
    assert both.log_loss(10, "mean") == 0.0
    assert not both.ends_on_mean(10, "mean")
    assert not rf.Stop(loss=1.0).ends_on_mean(10, "sum")


def test_the_end_is_the_earlier_of_time_and_log_time() -> None:
    assert rf.Stop(time=math.e, log_time=5.0).log_end() == 1.0
    assert rf.Stop(time=math.e**9, log_time=5.0).log_end() == 5.0
    assert rf.Stop(events=1).log_end() == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Stop must name at least one criterion, such as time=10.0, found none"),
        ({"time": 0}, "Stop.time must be a finite number above 0, found 0.0"),
        ({"time": -1.0}, "Stop.time must be a finite number above 0, found -1.0"),
        ({"time": math.inf}, "Stop.time must be a finite number above 0, found inf"),
        ({"time": "10"}, "Stop.time must be a finite number above 0, found '10'"),
        ({"time": True}, "Stop.time must be a finite number above 0, found True"),
        ({"log_time": math.nan}, "Stop.log_time must be a finite number, found nan"),
        ({"loss": 0.0}, "Stop.loss must be a finite number above 0, found 0.0"),
        ({"mean_loss": -0.1}, "Stop.mean_loss must be a finite number above 0, found -0.1"),
        ({"direction": 0.0}, r"Stop.direction must lie in \(0, 1\), found 0.0"),
        ({"direction": 1}, r"Stop.direction must lie in \(0, 1\), found 1.0"),
        ({"events": 0}, "Stop.events must be an integer of at least 1, found 0"),
        ({"events": 2.5}, "Stop.events must be an integer of at least 1, found 2.5"),
        ({"seconds": 0}, "Stop.seconds must be a finite number above 0, found 0.0"),
    ],
)
def test_a_bad_criterion_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.Stop(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("turns=3", "until must name one of time, log_time, .*, found 'turns'"),
        ("time=soon", "until must give time a number, found 'soon'"),
        ("events=1e3", "until must give events an integer, found '1e3'"),
        ("", "until must give time a number, found ''"),
        ("1,time=2", "until must name each criterion once, found time twice"),
        ("time=-1", "Stop.time must be a finite number above 0, found -1.0"),
    ],
)
def test_bad_text_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.Stop.parse(text)
