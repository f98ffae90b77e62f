"""Draw the pictures of gallery.md again: run its blocks of Python in the folder of its pictures."""

from __future__ import annotations

import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    page = HERE / "gallery.md"
    os.chdir(HERE / "gallery")
    scope: dict[str, object] = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page.name, "exec"), scope)


if __name__ == "__main__":
    main()
