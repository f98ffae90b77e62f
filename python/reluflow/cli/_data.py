"""Reads `--data`: a name with options, or a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .. import datasets
from .._validation import invalid
from ..datasets import Dataset

_READERS: dict[str, Callable[..., Dataset]] = {
    ".csv": datasets.from_csv,
    ".parquet": datasets.from_parquet,
    ".npz": datasets.from_npz,
}

# What stands after the colon, for messages and help.
FORMS = (
    "digits:3,8",
    "breast-cancer",
    "wine:class_0,class_1",
    "iris:setosa,versicolor",
    "wang-pilanci[:obtuse|acute|spike_free]",
    "orthogonal:n,d",
    "phuong-lampert[:n,d]",
    "FILE.csv",
    "FILE.parquet",
    "FILE.npz",
)


def load(text: str, *, label: str | None, positive: str | None, seed: int) -> Dataset:
    """Make the dataset that `--data` names.

    Raises
    ------
    ValueError
        An unknown name, options that do not fit, a missing file or column.
    """
    if Path(text).suffix.lower() in _READERS:
        return _from_file(Path(text), label, positive)
    if label is not None or positive is not None:
        raise invalid("--label and --positive", "come with a file", f"--data {text}")
    name, _, options = text.partition(":")
    return _named(name.lower().replace("_", "-"), [part.strip() for part in options.split(",") if part.strip()], seed)


def _from_file(path: Path, label: str | None, positive: str | None) -> Dataset:
    if not path.is_file():
        raise invalid("--data", "name a file that exists", repr(str(path)))
    kind = path.suffix.lower()
    if kind == ".npz":
        if label is not None:
            raise invalid("--label", "be left out with .npz files, which hold X and y", repr(label))
        return _READERS[kind](path, positive=_value(positive))
    if label is None:
        raise invalid("--label", f"name the column of {path.name} that holds the labels", "nothing")
    return _READERS[kind](path, label=label, positive=_value(positive))


def _value(text: str | None) -> str | int | float | None:
    """Read a label as the file has it: a number where the text is one."""
    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _named(name: str, options: list[str], seed: int) -> Dataset:
    if name == "digits":
        a, b = _numbers(name, options, 2)
        return datasets.digits(a, b)
    if name == "breast-cancer":
        _numbers(name, options, 0)
        return datasets.breast_cancer()
    if name in ("wine", "iris"):
        if len(options) != 2:
            raise invalid("--data", f"name two classes, as in {_form(name)}", repr(f"{name}:{','.join(options)}"))
        a_class, b_class = options
        return datasets.wine(a_class, b_class) if name == "wine" else datasets.iris(a_class, b_class)
    if name == "wang-pilanci":
        return datasets.wang_pilanci(options[0] if options else "obtuse")
    if name == "orthogonal":
        n, d = _numbers(name, options, 2)
        return datasets.orthogonally_separable(n, d, seed=seed)
    if name == "phuong-lampert":
        n, d = _numbers(name, options, 2) if options else (500, 20)
        return datasets.phuong_lampert(n, d, seed=seed)
    raise invalid("--data", "be one of " + ", ".join(FORMS), repr(name))


def _numbers(name: str, options: list[str], count: int) -> list[int]:
    try:
        numbers = [int(option) for option in options]
    except ValueError:
        numbers = []
    if len(numbers) != count or len(options) != count:
        raise invalid("--data", f"have the form {_form(name)}", repr(":".join((name, ",".join(options))).rstrip(":")))
    return numbers


def _form(name: str) -> str:
    return next(form for form in FORMS if form.startswith(name))
