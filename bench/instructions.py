"""Instructions of the core in one run, which do not depend on what else the machine does.

python bench/instructions.py P1 1e4 1e-9      # problem, time, tolerance
python bench/instructions.py                  # the four runs of docs/design/profile.md

Counted by valgrind (callgrind), which has to be installed, in a run that another one in the same process has gone
before: what is made once, such as the nodes of late steps, is left out. They depend on the processor that the core is
compiled for, and on the compiler.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import own

RUNS = (("P2", 3e-3, 1e-3), ("P2", 100.0, 1e-9), ("P1", 1e4, 1e-9), ("P1", 1e4, 1e-3))
COUNTED = "reluflow::Run::run()"


def count(name: str, t: float, rtol: float, repeats: int) -> int:
    """Return the instructions of `repeats` runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tool = ("valgrind", "--tool=callgrind", f"--toggle-collect={COUNTED}")
        into = f"--callgrind-out-file={Path(folder) / 'profile'}"
        command = (*tool, into, sys.executable, __file__, name, str(t), str(rtol), str(repeats))
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONMALLOC": "malloc"}
        )
    if done.returncode:
        raise SystemExit(
            f"valgrind ended with {done.returncode}; with -4 it does not know an instruction that the core is compiled "
            "for (AVX-512): count on a processor without it, or with a core that was compiled portably"
        )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found or int(found[1]) == 0:
        raise RuntimeError(f"callgrind counted nothing in {COUNTED}: was the core stripped of its names?")
    return int(found[1])


def main(given: list[str]) -> int:
    if len(given) == 4:  # in the process that is counted
        for _ in range(int(given[3])):
            own.solve(given[0], float(given[1]), float(given[2]))
        return 0
    if len(given) not in (0, 3):
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("valgrind") is None:
        print("valgrind is not installed", file=sys.stderr)
        return 2
    runs = RUNS if not given else ((given[0], float(given[1]), float(given[2])),)
    for name, t, rtol in runs:
        second = count(name, t, rtol, 2) - count(name, t, rtol, 1)
        print(f"{name} to t = {t:g} at {rtol:g}: {second / 1e6:.2f} million", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
