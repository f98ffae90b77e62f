"""`reproduce`: run claims, use stored results again, write what came out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .._core import __version__
from .._validation import instance, integer, invalid, optional_callable, optional_module, truth
from ._digest import code_digest
from ._execute import RESULT
from ._jobs import Job, run_apart, run_here
from ._registry import claims
from ._report import write_report
from ._reproduction import Reproduction, Update
from ._result import FAILED, OPEN, Key, Result, from_dict
from ._results import write_results


def reproduce(
    ids: str | Iterable[str] = "all",
    *,
    out: str | os.PathLike[str],
    quick: bool = False,
    seed: int = 0,
    n_threads: int = 1,
    again: bool = False,
    mnist: str | os.PathLike[str] | None = None,
    progress: Callable[[Update], None] | None = None,
) -> Reproduction:
    """Run claims of the papers, judge them, and write a report.

    Parameters
    ----------
    ids : str or iterable of str, optional
        Ids such as ``"WP-F4"``, papers such as ``"WP"``, or ``"all"``.
    out : path
        Folder for report.html, results.json and one folder a claim. Results in it that were made by the same version
        and code with the same seed and size are used again.
    quick : bool, optional
        Seconds a claim instead of up to two minutes.
    seed : int, optional
        Where every draw starts.
    n_threads : int, optional
        Claims at a time, each in a process of its own; with 1 they run in this process. The
        results do not depend on it. A script that asks for more needs the usual ``if __name__ == "__main__":``.
    again : bool, optional
        Run also the claims whose results are there.
    mnist : path, optional
        Folder with the IDX files of MNIST (see `reluflow.datasets.mnist`). With it the claims on MNIST run on it;
        without it on the digits that come with scikit-learn, and stay open.
    progress : callable, optional
        Takes an `Update` when a claim starts, says something, or is done.

    Returns
    -------
    Reproduction
        After Ctrl-C with the results so far, which are kept.

    Raises
    ------
    ValueError
        An unknown id, a bad seed or number of threads, a folder that cannot be made.
    FileNotFoundError
        No such folder with MNIST.

    Examples
    --------
    >>> import tempfile
    >>> import reluflow as rf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = rf.papers.reproduce("PL-OS", out=folder, quick=True)
    >>> found.counts["holds"], found.ok
    (1, True)
    """
    chosen = claims(ids)
    integer(seed, "seed", least=0)
    integer(n_threads, "n_threads")
    truth(quick, "quick")
    truth(again, "again")
    optional_callable(progress, "progress")
    for module, extra in (("pandas", "analysis"), ("matplotlib", "viz"), ("cvxpy", "convex"), ("sklearn", "data")):
        optional_module(module, extra)
    folder = _folder(out)
    tell = progress or _silent
    images = _images(mnist)
    jobs = [
        Job(claim, Key(__version__, seed, quick, code_digest(claim.paper), images), folder / claim.id)
        for claim in chosen
    ]
    found: dict[str, Result] = {}
    try:
        for result in _results(jobs, n_threads, again, tell):
            found[result.id] = result
    except KeyboardInterrupt:
        pass  # what is done stands on the disk and is reported; the number of results says that some are missing
    results = tuple(found[claim.id] for claim in chosen if claim.id in found)
    done = Reproduction(chosen, results, quick, seed, folder)
    write_results(done)
    write_report(done)
    return done


def _silent(update: Update) -> None:
    """Say nothing."""


def _images(mnist: str | os.PathLike[str] | None) -> str:
    if mnist is None:
        return ""
    instance(mnist, "mnist", (str, os.PathLike), "None or the path of a folder")
    if not Path(mnist).is_dir():
        raise FileNotFoundError(f"mnist must name a folder with its IDX files, found no folder {str(mnist)!r}")
    return str(Path(mnist).resolve())


def _folder(out: str | os.PathLike[str]) -> Path:
    instance(out, "out", (str, os.PathLike), "the path of a folder")
    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise invalid("out", "name a folder that can be made", f"{str(path)!r} ({error.strerror})") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise invalid("out", "name a folder that can be written to", repr(str(path)))
    return path


def _results(jobs: list[Job], n_threads: int, again: bool, tell: Callable[[Update], None]) -> Iterator[Result]:
    """Yield stored results, then those of the claims that have to be run."""
    to_run = []
    for job in jobs:
        stored = None if again else _stored(job)
        if stored is None:
            to_run.append(job)
            continue
        tell(Update("kept", job.claim, len(jobs), result=stored))
        yield stored
    asked = {job.claim.id: job.claim for job in to_run}

    def says(claim_id: str, text: str) -> None:
        tell(Update("says" if text else "started", asked[claim_id], len(jobs), text))

    workers = min(n_threads, len(to_run))
    for result in _run_all(to_run, workers, n_threads, says):
        tell(Update("finished", asked[result.id], len(jobs), result=result))
        yield result


def _run_all(jobs: list[Job], workers: int, n_threads: int, says: Callable[[str, str], None]) -> Iterator[Result]:
    if workers > 1:
        yield from run_apart(jobs, workers, n_threads // workers, says)
        return
    for job in jobs:
        says(job.claim.id, "")
        yield run_here(job, n_threads, says)


def _stored(job: Job) -> Result | None:
    """Return the result in the claim's folder if it was made by the same code in the same way, ran and did not fail.

    An open one that ran, on other data than its own, has numbers.
    """
    try:
        record = json.loads((job.folder / RESULT).read_text(encoding="utf-8"))
        result = from_dict(record)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none there, or one of another make: the claim is run
    pictures = all((job.folder / picture.file).is_file() for picture in result.figures)
    ran = result.verdict != FAILED and (result.verdict != OPEN or bool(result.numbers))
    usable = result.id == job.claim.id and result.key == job.key and ran and pictures
    return result if usable else None
