"""The runner of claims: what it writes, what it keeps, what it survives, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import reluflow as rf
from reluflow.cli import main
from reluflow.papers import Claim, Number, Outcome, _jobs, _registry, _run
from reluflow.papers._digest import code_digest
from reluflow.papers._result import Key, Result, from_dict

RUNS: list[str] = []


def outcome(context, *, value=1.0):
    import pandas as pd

    RUNS.append("run")
    context.progress("half way")
    figure, ax = rf.figures.panels(1)
    ax.plot([0, 1], [0, context.seed])
    figure.set_label("A line <that> rises")
    frame = pd.DataFrame({"n": [10, 20], "error": [0.30000001, float("nan")]})
    numbers = (
        Number("one", value, 1.0, source="exact"),
        Number("infinite", float("inf")),
        Number("size", context.pick(1.0, 2.0)),
    )
    return Outcome("one line with `code`", numbers, {"line": figure}, {"errors": frame}, note="A <note>.")


def wrong(context):
    return outcome(context, value=2.0)


def raising(context):
    raise ZeroDivisionError("nothing to divide")


def claim(claim_id, run, **changes):
    fields = {"source": "Figure 1", "title": f"Title of {claim_id}", "statement": "A & B.", "rows": ("D-1",)}
    return Claim(claim_id, "WP", run=run, **{**fields, **changes})


GOOD = claim("WP-good", outcome)
WRONG = claim("WP-wrong", wrong)
RAISING = claim("WP-raising", raising)
OPEN = claim("WP-open", None, expected="open", reason="Not this network.")


@pytest.fixture
def registered(monkeypatch):
    """Put claims of the test into the place of all claims."""

    def register(*listed):
        RUNS.clear()
        monkeypatch.setattr(_registry, "all_claims", lambda: listed)

    return register


def test_a_run_writes_results_figures_and_a_report(registered, tmp_path):
    registered(GOOD, OPEN)
    news = []
    done = rf.papers.reproduce("all", out=tmp_path, quick=True, seed=3, progress=lambda update: news.append(update))
    assert (done.ok, done.interrupted) == (True, False)
    assert done.counts == {"holds": 1, "misprint": 0, "differs": 0, "open": 1, "failed": 0}
    assert {path.name for path in tmp_path.iterdir()} == {"WP-good", "WP-open", "results.json", "report.html"}
    with Image.open(tmp_path / "WP-good" / "line.png") as picture:
        assert picture.width > 400
    assert [(update.kind, update.text) for update in news[:3]] == [
        ("started", ""),
        ("says", "half way"),
        ("finished", ""),
    ]
    record = json.loads((tmp_path / "results.json").read_text(), parse_constant=pytest.fail)
    assert (record["seed"], record["quick"], record["versions"]["reluflow"]) == (3, True, rf.__version__)
    first = record["claims"][0]
    assert (first["id"], first["verdict"], first["rows"]) == ("WP-good", "holds", ["D-1"])
    assert [number["value"] for number in first["numbers"]] == [1.0, "inf", 1.0]
    assert first["tables"][0]["rows"] == [["10", "0.3"], ["20", ""]]
    assert done.table()["verdict"].tolist() == ["holds", "open"]


def test_the_same_run_gives_the_same_results_file_and_no_time_or_path_in_it(registered, tmp_path):
    registered(GOOD, OPEN, RAISING)
    texts = []
    for name in ("one", "two"):
        rf.papers.reproduce(out=tmp_path / name, quick=True)
        texts.append((tmp_path / name / "results.json").read_text())
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]
    assert "seconds" not in texts[0]


def test_a_claim_that_ran_on_other_data_is_open_shows_its_numbers_and_is_kept(registered, tmp_path):
    registered(claim("WP-digits", wrong, mnist=True))
    for _ in range(2):
        done = rf.papers.reproduce(out=tmp_path, quick=True)
        [result] = done.results
        assert (done.ok, result.verdict, result.message) == (True, "open", "")
        assert (
            result.note
            == "The claim is about MNIST, and these are other digits: --mnist FOLDER gives its files. A <note>."
        )
        assert [number.ok for number in result.numbers] == [None] * 3
    assert len(RUNS) == 1
    (tmp_path / "mnist").mkdir()
    assert rf.papers.reproduce(out=tmp_path, quick=True, mnist=tmp_path / "mnist").results[0].verdict == "failed"


def test_a_stored_result_is_used_again_only_where_nothing_has_changed(registered, tmp_path, monkeypatch):
    registered(GOOD)
    runs = []
    for options in (
        {},
        {},
        {"seed": 1},
        {"seed": 1},
        {"seed": 1, "quick": True},
        {"seed": 1, "quick": True, "again": True},
    ):
        rf.papers.reproduce(out=tmp_path, **options)
        runs.append(len(RUNS))
    assert runs == [1, 1, 2, 2, 3, 4]
    monkeypatch.setattr(_run, "code_digest", lambda paper: "other code")
    rf.papers.reproduce(out=tmp_path, seed=1, quick=True)
    assert len(RUNS) == 5
    (tmp_path / "WP-good" / "line.png").unlink()
    rf.papers.reproduce(out=tmp_path, seed=1, quick=True)
    assert len(RUNS) == 6
    (tmp_path / "WP-good" / "result.json").write_text("{")
    assert rf.papers.reproduce(out=tmp_path, seed=1, quick=True).ok
    assert len(RUNS) == 7


def test_a_claim_that_fails_stops_no_other_and_is_run_again(registered, tmp_path):
    registered(RAISING, WRONG, GOOD)
    done = rf.papers.reproduce(out=tmp_path)
    assert not done.ok
    assert [result.verdict for result in done.results] == ["failed", "failed", "holds"]
    assert done.results[0].message == "ZeroDivisionError: nothing to divide"
    assert done.results[1].message == "not as derived: one"
    assert "raise ZeroDivisionError" in (tmp_path / "WP-raising" / "traceback.txt").read_text()
    before = len(RUNS)
    rf.papers.reproduce(out=tmp_path)
    assert len(RUNS) == before + 1  # the wrong one again, the good one not


def test_ctrl_c_keeps_what_is_done(registered, tmp_path):
    def pressing(context):
        signal.raise_signal(signal.SIGINT)
        return outcome(context)

    def swallowing(context):
        """Go on after Ctrl-C, as an integration that returns what it has."""
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return outcome(context)

    for run in (pressing, swallowing):
        registered(GOOD, claim("WP-pressed", run), OPEN)
        done = rf.papers.reproduce(out=tmp_path)
        assert (done.interrupted, done.ok, [result.id for result in done.results]) == (True, False, ["WP-good"])
        assert json.loads((tmp_path / "results.json").read_text())["interrupted"] is True
        assert "2 claims are missing" in (tmp_path / "report.html").read_text()
        assert not (tmp_path / "WP-pressed" / "result.json").exists()


def test_the_report_is_one_file_that_escapes_its_texts(registered, tmp_path):
    registered(GOOD, OPEN, WRONG)
    rf.papers.reproduce(out=tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert re.findall(r'(?:src|href)="(?!data:|#)', text) == []
    assert "http" not in text
    assert 'name="viewport"' in text
    assert "A &amp; B." in text
    assert "A &lt;note&gt;." in text
    assert 'alt="A line &lt;that&gt; rises"' in text
    assert "one line with <code>code</code>" in text
    assert "not as derived: one" in text
    assert "Not this network." in text
    for anchor in re.findall(r'href="#([^"]+)"', text):
        assert f'id="{anchor}"' in text
    assert text.count("<article") == text.count("</article>") == 3


def test_a_result_comes_back_from_json_as_it_went():
    numbers = (
        Number("a", float("-inf"), 1.0, relation="at_most"),
        Number("b", "word", "word"),
        Number("c", True, True),
    )
    result = Result("WP-x", "holds", Key("1", 0, True, "ab"), numbers=numbers, note="n", warnings=("w",))
    assert from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_the_digest_of_each_paper_is_its_own():
    assert code_digest("WP") != code_digest("PL")
    assert re.fullmatch(r"[0-9a-f]{16}", code_digest("VSS"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ids": "WP-god"}, r"id of a claim \(near: WP-good\), found 'WP-god'"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"n_threads": 0}, "n_threads must be an integer of at least 1"),
        ({"out": __file__}, "out must name a folder that can be made"),
    ],
)
def test_bad_input_is_named(registered, tmp_path, options, message):
    registered(GOOD)
    with pytest.raises(ValueError, match=message):
        rf.papers.reproduce(**{"ids": "all", "out": tmp_path, **options})


# --- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_give_the_same_results_as_one(tmp_path):
    ids = [claim.id for claim in rf.papers.claims() if claim.paper == "PL"][:3]
    texts = []
    for n_threads in (1, 2):
        rf.papers.reproduce(ids, out=tmp_path / str(n_threads), quick=True, n_threads=n_threads)
        texts.append((tmp_path / str(n_threads) / "results.json").read_text())
    assert texts[0] == texts[1]


def dying(pipe, claim_id, key, folder, n_threads):
    os._exit(3)


@pytest.mark.slow
def test_a_process_that_dies_is_a_failed_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(_jobs, "_work", dying)
    jobs = [_jobs.Job(claim, Key("1", 0, True, ""), tmp_path) for claim in (GOOD, WRONG)]
    results = list(_jobs.run_apart(jobs, 2, 1, lambda claim_id, text: None))
    assert [(result.verdict, result.message) for result in results] == [("failed", "its process ended with code 3")] * 2


def test_ctrl_c_waits_until_a_process_has_started() -> None:
    """The server of the processes lost its client halfway, and printed a traceback."""
    done = []

    def start() -> None:
        with _jobs._ctrl_c_waits():
            signal.raise_signal(signal.SIGINT)
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_ctrl_c_on_the_command_line_ends_with_130_and_the_next_call_goes_on(tmp_path):
    command = [
        sys.executable,
        "-m",
        "reluflow.cli",
        "reproduce",
        "PL",
        "--quick",
        "--threads",
        "2",
        "--out",
        str(tmp_path),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert "the same command goes on" in out
    kept = len(list(tmp_path.glob("*/result.json")))
    assert 0 < kept < len([claim for claim in rf.papers.claims() if claim.paper == "PL"])
    assert (tmp_path / "report.html").is_file()
    assert json.loads((tmp_path / "results.json").read_text())["interrupted"] is True


# --- the command -----------------------------------------------------------------------------------------------------


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return end.value.code, out, err


@pytest.mark.parametrize(("listed", "code"), [((GOOD, OPEN), 0), ((GOOD, WRONG), 1)])
def test_the_exit_code_says_whether_all_is_as_expected(registered, capsys, tmp_path, listed, code):
    registered(*listed)
    found, text, err = call(capsys, "reproduce", "all", "--quick", "--threads", "1", "--out", tmp_path)
    assert (found, err) == (code, "")
    assert "WP-good" in text
    assert str(Path(tmp_path) / "report.html") in text


def test_the_list_names_every_claim(capsys):
    code, text, _ = call(capsys, "reproduce", "list")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == [claim.id for claim in rf.papers.claims()]
    code, text, _ = call(capsys, "reproduce", "list", "PL")
    assert {line.split()[0][:3] for line in text.splitlines()} == {"PL-"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "ID must be list, all, a paper or the ids of claims, found nothing"),
        (["WP-nothing"], "ids must be 'all', one of WP, PL, LLWA, VSS, BPF, TK, CEL or the id of a claim"),
        (["all", "--threads", "0"], "n_threads must be an integer of at least 1, found 0"),
        (["all", "--seed", "x"], "--seed"),
        (["all", "--out", __file__], "out must name a folder that can be made"),
    ],
)
def test_bad_input_of_the_command_ends_with_one_line_and_code_2(capsys, arguments, message):
    code, out, err = call(capsys, "reproduce", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
