"""The command `reluflow`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

BAD_INPUT, INTERRUPTED = 2, 130  # the shell's own codes for misuse and for Ctrl-C
_PIPE_CLOSED = 141  # what a shell reports of a program whose reader went away


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad input (one line on the standard error), 130 Ctrl-C, 143 SIGTERM."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # where the encoding has no θ, ? stands for it
    sys.exit(_code(list(sys.argv[1:] if arguments is None else arguments)))


def _code(arguments: list[str]) -> int:
    try:
        from ._app import app
    except ImportError as error:
        return _complain(f'{error.name} is needed here and is not installed: pip install "reluflow[all]"')
    try:
        result = app(arguments or ["--help"], standalone_mode=False, prog_name="reluflow")
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit complains again
        return _PIPE_CLOSED
    except (ValueError, ImportError, OSError) as error:
        return _complain(str(error))
    except MemoryError as error:
        return _complain(f"memory is not enough: {str(error) or 'a size is too large'}")
    except Exception as error:
        return _of_typer(error)
    if not arguments:
        return BAD_INPUT  # the help was shown for want of a command
    return result if isinstance(result, int) else 0


def _of_typer(error: Exception) -> int:
    """Exit code of an exception of typer's own: usage errors, Ctrl-C at a prompt."""
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    describe = getattr(error, "format_message", None)
    if describe is None:
        raise error
    return _complain(_of_a_value(error) or _of_arguments(error, str(describe())))


def _of_arguments(error: Exception, message: str) -> str:
    """Say which command was given an argument too many, and where it says what it takes."""
    extra, context = message.partition("Got unexpected extra argument")[2], getattr(error, "ctx", None)
    if not extra or context is None:
        return message
    found = extra.partition("(")[2].removeprefix("s) (").rstrip(")")
    command = context.command_path
    return f"{command} must be given no argument but what {command} --help lists, found {found!r}"


def _of_a_value(error: Exception) -> str | None:
    """Say what was found in place of a number; typer's message leaves it out where pydantic reads the values."""
    errors, option = getattr(error.__cause__ or error.__context__, "errors", None), getattr(error, "param", None)
    if errors is None or option is None:
        return None
    first = errors()[0]
    expected = first["msg"].removeprefix("Input should be ").partition(",")[0]
    return f"{option.opts[0]} must be {expected}, found {first['input']!r}"


def _complain(message: str) -> int:
    first = " ".join(message.split())
    sys.stderr.write(f"reluflow: {first}\n")
    return BAD_INPUT
