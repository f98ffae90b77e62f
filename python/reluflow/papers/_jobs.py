"""Claims in processes of their own, a few at a time: one that crashes takes no other with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ._claim import Claim, Context
from ._execute import execute
from ._registry import PACKAGES, all_claims
from ._result import FAILED, Key, Result

# One process a claim and one thread a process: numpy's own threads would only fight over the cores.
_LIBRARY_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Imported once, in the server that the processes are forked from: all claims, so that a file that is edited while they
# run changes none of them, and the libraries that take long.
_PRELOADED = [
    "reluflow.papers._jobs",
    *(f"reluflow.papers.{package}" for package in PACKAGES.values()),
    "matplotlib.figure",
    "pandas",
    "cvxpy",
]

Says = Callable[[str, str], None]


@dataclass(frozen=True)
class Job:
    """A claim to run, and where its files go."""

    claim: Claim
    key: Key
    folder: Path


def run_here(job: Job, n_threads: int, says: Says) -> Result:
    """Run a claim in this process.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C came on the way, also where the claim went on: a part of a run is no result.
    """
    pressed: list[int] = []
    with _listening(pressed):
        context = Context(job.key.quick, job.key.seed, n_threads, lambda text: says(job.claim.id, text), job.key.folder)
        result = execute(job.claim, context, job.key, job.folder)
    if pressed:
        (job.folder / "result.json").unlink(missing_ok=True)
        raise KeyboardInterrupt
    return result


@contextmanager
def _handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Let `handler` take Ctrl-C, where this thread may."""
    try:
        before = signal.signal(signal.SIGINT, handler)
    except ValueError:  # only the main thread handles signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _listening(pressed: list[int]) -> Iterator[None]:
    """Note every Ctrl-C in `pressed` besides what it does anyway, where this thread may."""

    def note(number: int, frame: Any) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    with _handling(note):
        yield


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C wait until the block is over, where this thread may.

    The server of the processes prints a traceback if it loses who asks for one halfway.
    """
    pressed: list[int] = []
    with _handling(lambda number, frame: pressed.append(number)):
        yield
    if pressed:
        signal.raise_signal(signal.SIGINT)


def run_apart(jobs: list[Job], workers: int, n_threads: int, says: Says) -> Iterator[Result]:
    """Run claims in processes and yield each result as it comes.

    Parameters
    ----------
    jobs : list of Job
        Claims of the registry: a process finds its own by the id.
    workers : int
        Processes at a time.
    n_threads : int
        Threads each may use.
    says : callable
        Takes a claim's id and what it says on the way; an empty text when it starts.
    """
    waiting, running = deque(jobs), dict[Connection, tuple[Job, Any]]()
    with _one_library_thread():
        context = _processes()
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    with _ctrl_c_waits():
                        _start(context, waiting.popleft(), n_threads, running)
                for ready in wait(list(running)):
                    assert isinstance(ready, Connection)
                    result = _receive(ready, running, says)
                    if result is not None:
                        yield result
        finally:
            for _, process in running.values():
                process.terminate()
            for _, process in running.values():
                process.join()


def _processes() -> Any:
    """Return the kind of processes: forked from a server that has imported everything, where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _start(context: Any, job: Job, n_threads: int, running: dict[Connection, tuple[Job, Any]]) -> None:
    ours, theirs = context.Pipe(duplex=False)
    arguments = (theirs, job.claim.id, job.key, job.folder, n_threads)
    process = context.Process(target=_work, args=arguments, daemon=True)
    process.start()
    theirs.close()
    running[ours] = (job, process)


def _receive(ready: Connection, running: dict[Connection, tuple[Job, Any]], says: Says) -> Result | None:
    """Take one message; return the result if it is one, or a failed one if the process died."""
    job, process = running[ready]
    try:
        message = ready.recv()
    except (EOFError, OSError):
        process.join()
        message = Result(job.claim.id, FAILED, job.key, message=f"its process ended with code {process.exitcode}")
    if not isinstance(message, Result):
        says(job.claim.id, message)
        return None
    process.join()
    ready.close()
    del running[ready]
    return message


def _work(pipe: Connection, claim_id: str, key: Key, folder: Path, n_threads: int) -> None:
    """Run one claim in a process of its own; the parent decides about Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):  # the parent has ended meanwhile: nobody is there to be told
        pipe.send("")
        claim = next(claim for claim in all_claims() if claim.id == claim_id)
        context = Context(key.quick, key.seed, n_threads, pipe.send, key.folder)
        pipe.send(execute(claim, context, key, folder))
    pipe.close()


@contextmanager
def _one_library_thread() -> Iterator[None]:
    """Let the processes started in this block begin with one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in _LIBRARY_THREADS}
    os.environ.update(dict.fromkeys(_LIBRARY_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
