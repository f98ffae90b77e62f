"""Which of the compiled cores this processor runs; imported first, it puts that core's folder before the package's.

A wheel for x86-64 Linux brings two: `_core`, which runs on any such processor, and `_x86_64_v3/_core` for those with
AVX2 and FMA. A build from source brings the one that the processor of that machine runs. Nothing but the processor
decides. The last bits differ between the two: sums are cut into vectors of another width, and products of matrices use
fused multiply-adds where there are any.
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


def choose(package: Path, flags: frozenset[str]) -> list[str]:
    """Return the folders to look into before the package's own.

    Raises
    ------
    ImportError
        The one core that is installed is for processors with AVX2, and this one has none: a build from source brings
        only the core of the machine that it was made on.
    """
    folders = core_folders(package, flags)
    if not folders and (package / FOLDER).is_dir() and not any(package.glob("_core.*[!i]")):
        raise ImportError(
            "this reluflow was built from source on a machine with AVX2, which this processor lacks: build it here, or "
            "with --config-settings=cmake.define.RELUFLOW_DISPATCH=ON for both"
        )
    return folders


if __name__ == "__main__":  # CMake asks for the level of this machine
    print("x86-64-v3" if processor_flags() >= NEEDED else "x86-64")
else:
    _package = Path(__file__).parent
    if (_package / FOLDER).is_dir():
        sys.modules["reluflow"].__path__[:0] = choose(_package, processor_flags())
