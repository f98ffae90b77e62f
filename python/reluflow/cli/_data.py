"""Reads `--data`: a name with options, or a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .. import datasets
from .._validation import invalid, one_of
from ..datasets import Dataset, MultiClassDataset
from ..datasets._bias import bias_value
from ..datasets._labels import Written, named
from ..losses import LOSSES, is_of_margins

_READERS: dict[str, Callable[..., Dataset]] = {
    ".csv": datasets.from_csv,
    ".parquet": datasets.from_parquet,
    ".npz": datasets.from_npz,
}

# The loss that takes data with all their classes.
CLASSES = "cross_entropy"
_ALL_CLASSES: dict[str, Callable[[], MultiClassDataset]] = {
    "digits": datasets.digits,
    "iris": datasets.iris,
    "wine": datasets.wine,
}
_TWO_CLASSES: dict[str, Callable[..., Dataset]] = {
    "digits": datasets.digits,
    "iris": datasets.iris,
    "wine": datasets.wine,
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


@dataclass(frozen=True)
class Answers:
    """What the options say of labels, targets, inputs and bias."""

    label: str | None
    positive: str | None
    target: str | None
    bias: float | None
    loss: str
    features: str | None = None
    missing: str = "raise"

    @classmethod
    def of(cls, options: dict[str, Any]) -> Answers:
        """Take them out of the options of a command."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    def __post_init__(self) -> None:
        """Refuse a loss that no command takes, and another word for missing entries."""
        one_of(self.loss, "--loss", (*LOSSES, CLASSES))
        one_of(self.missing, "--missing", ("raise", "drop"))

    @property
    def columns(self) -> dict[str, Any]:
        """What the readers of tables take of them."""
        names = None if self.features is None else [part.strip() for part in self.features.split(",")]
        return {"features": names, "missing": self.missing}

    def refuse_columns(self, what: str) -> None:
        """Refuse what is about columns where there are none."""
        for name, value in (("--features", self.features), ("--missing", self.missing)):
            if value not in (None, "raise"):
                raise invalid(name, f"be left out with {what}", repr(value))


def load(text: str, answers: Answers, *, seed: int) -> Dataset:
    """Make the dataset that `--data` names.

    Raises
    ------
    ValueError
        An unknown name, options that do not fit, a missing file or column.
    """
    if answers.target is not None and is_of_margins(answers.loss):
        raise invalid("--target", 'come with "--loss squared"', f"--loss {answers.loss}")
    if Path(text).suffix.lower() in _READERS:
        return _from_file(Path(text), answers)
    if any(value is not None for value in (answers.label, answers.positive, answers.target)):
        raise invalid("--label, --positive and --target", "come with a file", f"--data {text}")
    answers.refuse_columns("data by name")
    name, _, options = text.partition(":")
    words = [part.strip() for part in options.split(",") if part.strip()]
    data = _named(name.lower().replace("_", "-"), words, seed)
    return data if answers.bias is None else data.with_bias(bias_value(answers.bias, "--bias"))


def has_several_targets(text: str, answers: Answers) -> bool:
    """Tell whether a file holds several targets a sample, which ask for a network of as many outputs.

    Raises
    ------
    ValueError
        As for `load`.
    """
    is_file = Path(text).suffix.lower() in _READERS
    return is_file and not is_of_margins(answers.loss) and load(text, answers, seed=0).n_targets > 1


def load_classes(text: str, answers: Answers) -> MultiClassDataset:
    """Make the dataset that `--data` names, with all its classes.

    Raises
    ------
    ValueError
        As for `load`, or data without classes.
    """
    for name, value in (("--target", answers.target), ("--positive", answers.positive)):
        if value is not None:
            raise invalid(name, f"be left out with --loss {CLASSES}", repr(value))
    kind, path = Path(text).suffix.lower(), Path(text)
    bias = None if answers.bias is None else bias_value(answers.bias, "--bias")
    if kind in (".csv", ".parquet"):
        if not path.is_file():
            raise invalid("--data", "name a file that exists", repr(text))
        if answers.label is None:
            raise invalid("--label", f"name the column of {path.name} that holds the classes", "nothing")
        read = datasets.from_csv if kind == ".csv" else datasets.from_parquet
        return read(path, label=answers.label, multiclass=True, bias_input=bias, **answers.columns)
    answers.refuse_columns("data by name")
    name = text.lower().replace("_", "-")
    if name not in _ALL_CLASSES:
        known = ", ".join(_ALL_CLASSES)
        raise invalid("--data", f"be one of {known}, FILE.csv or FILE.parquet with --loss {CLASSES}", repr(text))
    data = _ALL_CLASSES[name]()
    return data if bias is None else data.with_bias(bias)


def _from_file(path: Path, answers: Answers) -> Dataset:
    if not path.is_file():
        raise invalid("--data", "name a file that exists", repr(str(path)))
    kind, read = path.suffix.lower(), _READERS[path.suffix.lower()]
    positive = None if answers.positive is None else Written(answers.positive)
    bias = None if answers.bias is None else bias_value(answers.bias, "--bias")
    if kind == ".npz":
        answers.refuse_columns(".npz files, which hold X and y")
        for name, column in (("--label", answers.label), ("--target", answers.target)):
            if column is not None:
                raise invalid(name, "be left out with .npz files, which hold X and y", repr(column))
        if answers.positive is None and not is_of_margins(answers.loss):
            return read(path, targets=True, bias_input=bias)
        return read(path, positive=positive, bias_input=bias)
    if answers.target is not None:
        if answers.label is not None or answers.positive is not None:
            raise invalid("--target", "stand without --label and --positive", "both")
        names = [part.strip() for part in answers.target.split(",")]
        return read(path, target=names, bias_input=bias, **answers.columns)
    if answers.label is None:
        expected = f"name the column of {path.name} that holds the labels (--target that of real targets)"
        raise invalid("--label", expected, "nothing")
    return read(path, label=answers.label, positive=positive, bias_input=bias, **answers.columns)


def _named(name: str, options: list[str], seed: int) -> Dataset:
    if name == "breast-cancer":
        _numbers(name, options, 0)
        return datasets.breast_cancer()
    if name in _TWO_CLASSES:
        return _two_classes(name, options)
    if name not in ("wang-pilanci", "orthogonal", "phuong-lampert"):
        raise invalid("--data", "be one of " + ", ".join(FORMS), repr(name))
    try:
        if name == "wang-pilanci":
            return datasets.wang_pilanci(",".join(options) or "obtuse")
        n, d = (500, 20) if name == "phuong-lampert" and not options else _numbers(name, options, 2)
        return (datasets.orthogonally_separable if name == "orthogonal" else datasets.phuong_lampert)(n, d, seed=seed)
    except ValueError as error:
        if str(error).startswith("--data"):
            raise
        raise invalid("--data", f"have the form {_form(name)}", f"{_shown(name, options)}: {error}") from None


def _two_classes(name: str, options: list[str]) -> Dataset:
    """Make the data of two of the classes that a set has, given by their names or as digits."""
    pair: list[Any] = list(options)
    if name == "digits":
        pair = _numbers(name, options, 2)
    elif len(pair) != 2:
        raise invalid("--data", f"name two classes, as in {_form(name)}", _shown(name, options))
    classes = _ALL_CLASSES[name]().classes
    if pair[0] == pair[1] or not set(pair) <= set(classes):
        raise invalid("--data", f"name two different classes of {name} ({named(classes)})", _shown(name, options))
    return _TWO_CLASSES[name](*pair)


def _numbers(name: str, options: list[str], count: int) -> list[int]:
    try:
        numbers = [int(option) for option in options]
    except ValueError:
        numbers = []
    if len(numbers) != count or len(options) != count:
        raise invalid("--data", f"have the form {_form(name)}", _shown(name, options))
    return numbers


def _shown(name: str, options: list[str]) -> str:
    return repr(f"{name}:{','.join(options)}".rstrip(":"))


def _form(name: str) -> str:
    return next(form for form in FORMS if form.startswith(name))
