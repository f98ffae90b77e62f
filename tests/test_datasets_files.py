"""Files of users: what they hold arrives unchanged, and every defect is named."""

import math
import zipfile

import numpy as np
import pandas as pd
import pytest

import reluflow as rf

GOOD = "u,v,kind\n1.5,2,yes\n-1,0.25,no\n3,1e-3,yes\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def read(path, **options):
    return rf.datasets.from_csv(path, **{"label": "kind", "positive": "yes", **options})


def test_a_table_gives_real_targets(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("u,v,y\n1,2,0.5\n0,0,-2\n")
    data = rf.datasets.from_csv(path, target="y", bias_input=1.0)
    assert data == rf.Dataset([[1, 2], [0, 0]], [0.5, -2.0], bias_input=1.0, name="t", feature_names=["u", "v"])
    np.savez(tmp_path / "t.npz", X=data.X, y=data.y)
    assert np.array_equal(rf.datasets.from_npz(tmp_path / "t.npz", targets=True).y, data.y)
    for options, message in (
        ({}, "label must be given, or else target, found neither"),
        ({"label": "y", "target": "y"}, "label must be given, or else target, found both"),
        ({"target": "y", "positive": 1}, "positive must be left out with target, found both"),
        ({"target": "z"}, "target must name columns of the file"),
    ):
        with pytest.raises(ValueError, match=message):
            rf.datasets.from_csv(path, **options)


def test_a_table_becomes_a_dataset_with_its_names(write):
    data = read(write(GOOD))
    assert data.X.tolist() == [[1.5, 2], [-1, 0.25], [3, 1e-3]]
    assert data.y.tolist() == [1, -1, 1]
    assert (data.name, data.feature_names) == ("table", ("u", "v"))


def test_columns_can_be_chosen_and_ordered(write):
    data = read(write(GOOD), features=["v"])
    assert data.X.tolist() == [[2], [0.25], [1e-3]]
    assert read(write(GOOD), features=["v", "u"]).feature_names == ("v", "u")


@pytest.mark.parametrize(
    ("header", "place"), [(",u,v,kind", 0), ('u,"",v,kind', 1), ("u,v, ,kind", 2), ("u,v,kind,", 3)]
)
def test_a_column_without_a_name_is_refused_unless_features_leave_it_out(write, header, place):
    path = write(f"{header}\n1,2,3,4\n5,6,7,8\n")
    with pytest.raises(ValueError, match=rf"a name for each column .*index=False.*, found none for column {place}"):
        read(path, positive=None)
    inputs = [cell for cell in ("u", "v") if cell in header]
    chosen = read(path, features=inputs, positive=4 if place < 3 else 3)
    assert chosen.X.tolist() == [
        [row[header.split(",").index(name)] for name in inputs] for row in ([1, 2, 3, 4], [5, 6, 7, 8])
    ]


def test_the_row_numbers_that_a_data_frame_writes_are_no_input(write):
    path = write(pd.DataFrame({"u": [0.5, 2.0], "v": [1.0, -1.0], "kind": ["yes", "no"]}).to_csv())
    with pytest.raises(ValueError, match="found none for column 0"):
        read(path)
    assert read(path, features=["u", "v"]).X.tolist() == [[0.5, 1.0], [2.0, -1.0]]


def test_names_that_only_look_like_those_of_pandas_and_repeated_ones_are_taken(write):
    assert read(write("Unnamed: 0,u,u,kind\n1,2,3,yes\n4,5,6,no\n")).feature_names == ("Unnamed: 0", "u", "u.1")


def test_another_delimiter_and_a_path_as_text(write):
    assert read(str(write(GOOD.replace(",", ";"))), delimiter=";").n == 3
    assert read(write(GOOD.replace(",", "  ")), delimiter=r"\s+") == read(write(GOOD))


def test_a_delimiter_at_the_end_of_each_row_is_no_column(write):
    assert read(write("u,v,kind\n1,2,yes,\n3,4,no,\n")).X.tolist() == [[1, 2], [3, 4]]


def test_all_classes_are_kept_on_request(write):
    path = write("u,kind\n1,a\n2,b\n3,c\n")
    data = rf.datasets.from_csv(path, label="kind", multiclass=True)
    assert (data.K, data.classes) == (3, ("a", "b", "c"))
    assert rf.datasets.from_csv(path, label="kind", positive=["a", "c"]).y.tolist() == [1, -1, 1]


def test_rows_with_holes_are_dropped_on_request_only(write):
    path = write("u,v,kind\n1,2,yes\n,3,no\n4,5,\n6,7,no\n")
    with pytest.raises(ValueError, match=r"column 'u' must have no missing entry .*, found nan at row 1"):
        read(path)
    assert read(path, missing="drop").X.tolist() == [[1, 2], [6, 7]]


SEVERITY = "x,kind\n1,None\n2,Mild\n3,Severe\n1.5,None\n"


@pytest.mark.parametrize("word", ["None", "NA", "null", "n/a", "NULL", "N/A", "<NA>"])
@pytest.mark.parametrize(
    ("text", "delimiter"),
    [(SEVERITY, ","), (SEVERITY.replace(",", "  "), r"\s+"), (SEVERITY.replace("\n", ",\n"), ",")],
)
def test_words_that_pandas_takes_for_missing_are_labels(write, word, text, delimiter):
    text = text.replace("None", word).replace("kind,", "kind")
    path = write(text)
    assert read(path, positive=word, delimiter=delimiter).y.tolist() == [1, -1, -1, 1]
    for missing in ("raise", "drop"):
        data = read(path, positive=None, multiclass=True, missing=missing, delimiter=delimiter)
        assert data.classes == tuple(sorted((word, "Mild", "Severe")))
        assert data.n == 4


def test_labels_that_are_all_words_for_missing_are_labels(write):
    data = read(write("x,kind\n1,NA\n2,null\n3,NA\n"), positive="null")
    assert data.y.tolist() == [-1, 1, -1]


@pytest.mark.parametrize("empty", ["", '""', "NaN", "nan"])
def test_an_empty_label_is_missing_beside_words_for_missing(write, empty):
    path = write(f"x,kind\n1,None\n2,{empty}\n3,Mild\n")
    with pytest.raises(ValueError, match="column 'kind' must have a label in each row, found nan at row 1"):
        read(path, positive="Mild")
    assert read(path, positive="Mild", missing="drop").X.tolist() == [[1], [3]]


@pytest.mark.parametrize("numbers", [("0", "1"), ("2.5", "1"), ("True", "False")])
def test_words_for_missing_are_missing_among_numbers(write, numbers):
    first, second = numbers
    path = write(f"x,kind\n1,{first}\n2,NA\n3,{second}\nNA,{first}\n")
    positive = {"0": 0, "2.5": 2.5, "True": True}[first]
    assert read(path, positive=positive, missing="drop").y.tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"column 'x' must have no missing entry .*, found nan at row 3"):
        read(path, positive=positive)
    with pytest.raises(ValueError, match="column 'kind' must have a label in each row, found nan at row 0"):
        read(write(f"x,kind\n1,NA\n2,{first}\n3,{second}\n"), positive=positive)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("4,inf,no", "X must hold finite numbers only, found inf at row 3, column 1"),
        ("0,0,no", "X must have no row of zeros, found zeros only at row 3"),
        ("1e150,1,no", "X must have a largest entry between .* in each row, found 1e\\+150 at row 3"),
        ("4,'5 at row 0',no", "column 'v' must hold numbers only, found .*5 at row 0.* at row 3"),
    ],
)
@pytest.mark.parametrize("multiclass", [False, True])
def test_rows_are_counted_in_the_file_where_others_were_dropped(write, cells, message, multiclass):
    path = write(f"u,v,kind\n,3,no\n1,2,yes\n4,,no\n{cells}\n")
    with pytest.raises(ValueError, match=message):
        read(path, missing="drop", multiclass=multiclass, positive=None if multiclass else "yes")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("u,v,kind\n1,2,yes\n3,soon,no\n", {}, "column 'v' must hold numbers only, found 'soon' at row 1"),
        (
            f"u,v,kind\n1,{10**400},yes\n3,4,no\n",
            {},
            "column 'v' must hold numbers only, found an integer that no float can hold at row 0",
        ),
        ("u,v,kind\n1,2,yes\n3,inf,no\n", {}, "X must hold finite numbers only, found inf at row 1, column 1"),
        ("u,v,kind\n1,2,yes\n3,4,yes\n", {}, "column 'kind' must hold at least two classes, found 'yes' in all"),
        ("u,v,kind\n1,2,yes\n0,0,no\n", {}, "X must have no row of zeros, found zeros only at row 1"),
        ("u,v,kind\n1,2,yes\n3,4,\n", {}, "column 'kind' must have a label in each row, found nan at row 1"),
        (GOOD, {"label": "class"}, r"label must name columns of the file \('u', 'v', 'kind'\), found 'class'"),
        (GOOD, {"features": ["w"]}, "features must name columns of the file .*, found 'w'"),
        (GOOD, {"features": [""]}, "features must name columns of the file .*, found ''"),
        (
            "u,,,kind\n1,2,0,yes\n3,4,1,no\n",
            {"label": "", "features": ["u"]},
            "a name for each column .*, found none for",
        ),
        (GOOD, {"features": "u"}, "features must be a sequence of column names, found 'u'"),
        (GOOD, {"features": ["kind"]}, "features must name at least one column, and not the label"),
        (GOOD, {"features": []}, "features must name at least one column, and not the label"),
        (GOOD, {"features": ["u", "u"]}, r"features must name columns, each once, found \['u', 'u'\]"),
        (GOOD, {"features": [["u"]]}, r"features must name columns, each once, found \[\['u'\]\]"),
        (GOOD, {"features": 3}, "features must name columns, each once, found 3"),
        (GOOD, {"label": None, "target": 3, "positive": None}, "target must name columns, each once, found 3"),
        (GOOD, {"positive": "maybe"}, r"positive must be a class that occurs \('no', 'yes'\), found 'maybe'"),
        (GOOD, {"positive": None}, "positive must name the class that gets"),
        (GOOD, {"missing": "skip"}, "missing must be one of 'raise', 'drop', found 'skip'"),
        ("u,v,kind\n", {}, "path must name a file with at least one complete row, found none in 'table.csv'"),
        ("", {}, "path must name a table of text, found 'table.csv': No columns"),
        ("u,kind,v\n0,1,yes,2\n1,3,no,4\n", {}, "path must name a table with a name for each column, found rows long"),
        (GOOD, {"delimiter": ""}, "delimiter must be a character, or a regular expression, found ''"),
        (GOOD, {"delimiter": None}, "delimiter must be a character, or a regular expression, found None"),
        (GOOD, {"delimiter": "(["}, "path must name a table of text, found 'table.csv': unterminated character set"),
        ("u,kind\n1,yes\n1,2,3\n", {}, "path must name a table of text, found 'table.csv'"),
    ],
)
def test_defects_of_a_table_are_named(write, text, options, message):
    with pytest.raises(ValueError, match=message):
        read(write(text), **options)


def test_a_missing_file_is_named(tmp_path):
    for reader in (read, rf.datasets.from_npz, lambda p: rf.datasets.from_parquet(p, label="y")):
        with pytest.raises(FileNotFoundError, match=r"path must name a file, found no file '.*nowhere'"):
            reader(tmp_path / "nowhere")


def test_what_is_no_path_is_named():
    for reader in (read, rf.datasets.from_npz, lambda p: rf.datasets.from_parquet(p, label="y")):
        with pytest.raises(ValueError, match="path must be the path of a file, found None"):
            reader(None)


def test_parquet_gives_the_same_data_as_the_table_it_came_from(tmp_path, write):
    pd.read_csv(write(GOOD)).to_parquet(tmp_path / "table.parquet")
    data = rf.datasets.from_parquet(tmp_path / "table.parquet", label="kind", positive="yes")
    assert data == read(write(GOOD))
    assert rf.datasets.from_parquet(tmp_path / "table.parquet", label="kind", multiclass=True).K == 2


def test_a_missing_entry_of_a_parquet_file_is_named(tmp_path):
    path = tmp_path / "table.parquet"
    holes, y = pd.array([1, None, 3], dtype="Int64"), pd.array([1, 0, None], dtype="Int64")
    pd.DataFrame({"u": holes, "v": [1, 2, 3], "y": y}).to_parquet(path)
    with pytest.raises(ValueError, match=r"column 'u' must have no missing entry .*, found <NA> at row 1"):
        rf.datasets.from_parquet(path, label="y")
    with pytest.raises(ValueError, match="column 'y' must have a label in each row, found <NA> at row 2"):
        rf.datasets.from_parquet(path, label="y", features=["v"])


def test_an_integer_beyond_floats_is_named_where_a_reader_leaves_its_column_as_text(tmp_path):
    """As pandas 2.2 does with such a column of a table."""
    path = tmp_path / "table.parquet"
    pd.DataFrame({"u": [1, 2], "v": ["3", f" -{10**400}"], "y": [0, 1]}).to_parquet(path)
    found = "column 'v' must hold numbers only, found an integer that no float can hold at row 1"
    with pytest.raises(ValueError, match=found):
        rf.datasets.from_parquet(path, label="y", positive=1)


def test_a_file_that_is_no_parquet_is_refused(write):
    with pytest.raises(ValueError, match=r"path must name a Parquet file, found 'table\.csv'"):
        rf.datasets.from_parquet(write(GOOD), label="kind")


def test_an_archive_keeps_every_bit(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 3)), np.array([1, 0, 1, 1, 0])
    np.savez(tmp_path / "points.npz", X=X, y=y, inputs=2 * X, kinds=np.array(list("abcab")))
    assert np.array_equal(rf.datasets.from_npz(tmp_path / "points.npz").X, X)
    other = rf.datasets.from_npz(tmp_path / "points.npz", X="inputs", y="kinds", multiclass=True)
    assert np.array_equal(other.X, 2 * X)
    assert other.classes == ("a", "b", "c")
    assert rf.datasets.from_npz(tmp_path / "points.npz", y="kinds", positive="a").y.tolist() == [1, -1, -1, 1, -1]


def test_defects_of_an_archive_are_named(tmp_path, write):
    path = tmp_path / "points.npz"
    np.savez(path, X=np.ones((3, 2)), y=np.array([1, -1]), text=np.array([["a"], ["b"]]), holes=[[1, math.nan]] * 2)
    np.save(tmp_path / "single.npy", np.ones(3))
    np.savez(tmp_path / "objects.npz", X=np.array([{}]), y=np.array([1]))
    refusals = {
        "y must have one entry for each of the 3 rows of X, found 2 entries": lambda: rf.datasets.from_npz(path),
        r"X must name an array of the file \(X, y, text, holes\), found 'Z'": lambda: rf.datasets.from_npz(path, X="Z"),
        "X must hold real numbers, found the dtype <U1": lambda: rf.datasets.from_npz(path, X="text"),
        "X must hold finite numbers only, found nan at row 0": lambda: rf.datasets.from_npz(path, X="holes"),
        "path must name a NumPy archive": lambda: rf.datasets.from_npz(write(GOOD)),
        r"path must name a NumPy archive \(.npz\), found 'single.npy'": lambda: rf.datasets.from_npz(
            tmp_path / "single.npy"
        ),
        "X must name an array of numbers or strings, found pickled objects in 'X'": lambda: rf.datasets.from_npz(
            tmp_path / "objects.npz"
        ),
    }
    for message, call in refusals.items():
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_archive_is_refused_or_read_as_it_was_written(tmp_path, save):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 3)), np.array([1, -1, 1, 1, -1])
    path = tmp_path / "points.npz"
    save(path, X=X, y=y)
    whole, messages = path.read_bytes(), []
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            data = rf.datasets.from_npz(path)
        except ValueError as error:
            messages.append(str(error))
            continue
        assert np.array_equal(data.X, X)
        assert np.array_equal(data.y, y)
    refusals = ("path must name a", "X must name an array", "y must name an array")
    assert messages
    assert all(message.startswith(refusals) for message in messages)


def test_a_file_in_an_archive_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "points.npz", "w") as archive:
        archive.writestr("X", "text")
        archive.writestr("y", "text")
    with pytest.raises(ValueError, match="X must name an array of numbers or strings, found another kind of file"):
        rf.datasets.from_npz(tmp_path / "points.npz")


@pytest.mark.parametrize("module", ["pandas", "pyarrow"])
def test_without_the_library_the_message_names_the_extra(write, monkeypatch, module):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ImportError, match=rf"{module} is needed here .*reluflow\[data\]"):
        rf.datasets.from_parquet(write(GOOD), label="kind")
