"""Files of proofs that were damaged or changed: refused with their path, or read as they were written."""

from __future__ import annotations

import json

import numpy as np
import pytest

import reluflow as rf
from damage import flipped, read_or_refused
from reluflow.proof._writing import encode


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[rf.proof.Proof, bytes]:
    data = rf.datasets.phuong_lampert(6, 4, seed=3)
    sol = rf.integrate(data, rf.Network.init(4, 4, scale=1e-2, seed=2), until=5.0)
    proof = rf.prove(sol, at=[0.5, 2.0])
    assert len(proof.events) > 3
    path = tmp_path_factory.mktemp("written") / "proof.json"
    proof.save(path)
    return proof, path.read_bytes()


def is_same(one: rf.proof.Proof, two: rf.proof.Proof) -> bool:
    """Compare what two certificates say, by what is written of them: every digit of every float."""
    names = [name for name in vars(one) if name not in ("events", "states", "_again", "order_undecided")]
    parts = [[encode(getattr(proof, name)) for name in names] for proof in (one, two)]
    for proof, part in zip((one, two), parts, strict=True):
        part.append([encode(vars(state)) for state in (proof.events, *proof.states)])
    return parts[0] == parts[1]


def other_digit(content: bytes, rng: np.random.Generator) -> bytes:
    digits = [place for place, byte in enumerate(content) if chr(byte) in "0123456789abcdef"]
    damaged = bytearray(content)
    damaged[rng.choice(digits)] = ord(rng.choice(list("0123456789abcdef")))
    return bytes(damaged)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


@pytest.mark.parametrize("damage", [flipped, other_digit, cut])
def test_a_damaged_certificate_is_refused_with_its_path_or_read_as_it_was(damage, written, tmp_path) -> None:
    proof, content = written
    rng = np.random.default_rng(3)
    path = tmp_path / "proof.json"
    refused = 0
    for _ in range(150):
        path.write_bytes(damage(content, rng))
        again = read_or_refused(rf.proof.load, path)
        refused += again is None
        assert again is None or is_same(again, proof)
    assert refused > 50


@pytest.mark.parametrize(
    "change",
    [
        {"proved_until": (1e9).hex()},
        {"format": "reluflow-proof 1"},
        {"checksum": "0" * 64},
        {"checksum": None},
        {"events": None},
        {"more": 1},
    ],
)
def test_a_changed_record_is_refused(change, written, tmp_path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps({**json.loads(written[1]), **change}))
    with pytest.raises(ValueError, match=r"name a whole certificate, found .*proof\.json.*damaged: the content"):
        rf.proof.load(path)


def test_certificates_from_before_the_checksum_are_read_and_those_that_hold_no_numbers_refused(
    written, tmp_path
) -> None:
    proof, content = written
    record = {**json.loads(content), "format": "reluflow-proof 1"}
    del record["checksum"]
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(record))
    assert is_same(rf.proof.load(path), proof)
    for change in ({"bound": "0y1"}, {"bound": 1}, {"states": [{}]}, {"events": []}):
        path.write_text(json.dumps({**record, **change}))
        with pytest.raises(ValueError, match=r"proof\.json.*damaged: "):
            rf.proof.load(path)
    new = {**json.loads(content)}
    del new["checksum"]
    path.write_text(json.dumps(new))
    with pytest.raises(ValueError, match="damaged: no 'checksum'"):
        rf.proof.load(path)
    for text in ("[]", "[" * 100_000, "", "1"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"name a certificate .*proof\.json"):
            rf.proof.load(path)
