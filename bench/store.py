"""The measurements on disk: each is written as soon as it is made, so that an interrupted bench can go on.

The file is replaced by renaming, so it is whole at every moment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
Record = dict[str, Any]


def write(path: Path, text: str) -> None:
    """Write a file that appears whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def code_digest() -> str:
    """Changes with the code of the bench: numbers from another code are not mixed in."""
    digest = hashlib.sha256()
    for path in sorted(HERE.glob("**/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Progress:
    """One line a run, with the seconds since the start."""

    def __init__(self) -> None:
        self.begin = perf_counter()

    def __call__(self, text: object) -> None:
        print(f"[{perf_counter() - self.begin:6.1f} s] {text}", flush=True)


class Store:
    """Records by key. `head` says what they belong to: records of another head are not read."""

    def __init__(self, path: Path, head: Record, *, resume: bool, say: Progress) -> None:
        self.path, self.head, self.say = path, head, say
        self.records: dict[str, Any] = {}
        self.sittings = 1
        if resume and path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            if old["head"] == head:
                self.records, self.sittings = old["records"], old["sittings"] + 1

    def save(self) -> None:
        whole = {"head": self.head, "sittings": self.sittings, "records": self.records}
        write(self.path, json.dumps(whole, indent=1, allow_nan=False) + "\n")

    def measure(self, key: str, run: Callable[[], Any]) -> Any:
        """The record of that key: kept from before, or measured and written now."""
        if key not in self.records:
            self.say(f"{key} ...")
            self.records[key] = run()
            self.save()
        return self.records[key]
