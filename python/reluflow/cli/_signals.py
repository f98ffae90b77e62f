"""Ctrl-C and SIGTERM while a command runs: never in the middle of a write, and never with the run lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_HEARD = (signal.SIGINT, signal.SIGTERM)
_SHELL = 128  # a shell adds this to the number of the signal that ended a program


class Signals:
    """Takes the place of Python's own handlers while it is entered.

    The first signal is only noted, so that a write is never cut short: `came` says so, and the run looks at it. Within
    `raising` it raises KeyboardInterrupt at once, as every second one does.
    """

    def __init__(self) -> None:
        self._number = 0
        self._raises = False
        self._before: dict[int, Any] = {}

    @property
    def came(self) -> bool:
        """Whether a signal has come."""
        return self._number != 0

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 143 after SIGTERM, 0 if none came."""
        return _SHELL + self._number if self.came else 0

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Let the first signal end the block with a KeyboardInterrupt; one that has come before does so at once."""
        self._raises = True
        try:
            if self.came:
                raise KeyboardInterrupt
            yield
        finally:
            self._raises = False

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():  # Python handles signals nowhere else
            self._before = {number: signal.signal(number, self._hear) for number in _HEARD}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, _: FrameType | None) -> None:
        first, self._number = not self.came, self._number or number
        if self._raises or not first:
            raise KeyboardInterrupt
