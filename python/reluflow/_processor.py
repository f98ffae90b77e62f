"""Which of the compiled cores this processor runs; imported first, it puts that core's folder before the package's.

A wheel for x86-64 Linux brings two: `_core`, which runs on any such processor, and `_x86_64_v3/_core` for those with
AVX2 and FMA. Nothing but the processor decides. The last bits differ between the two: sums are cut into vectors of
another width, and products of matrices use fused multiply-adds where there are any.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = "_x86_64_v3"
# What the level x86-64-v3 of the System V ABI adds, by the kernel's names (abm has LZCNT). The kernel leaves out what
# the system does not support.
NEEDED = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Return what the first processor can do, by the kernel's names; nothing where there is no such file."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == "flags":
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()


def core_folders(package: Path, flags: frozenset[str]) -> list[str]:
    """Return the folders to look into before the package's own."""
    folder = package / FOLDER
    return [str(folder)] if flags >= NEEDED and folder.is_dir() else []


_package = Path(__file__).parent
if (_package / FOLDER).is_dir():
    sys.modules["reluflow"].__path__[:0] = core_folders(_package, processor_flags())
