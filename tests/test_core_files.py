"""Files: what comes in as text, what goes out, and what a kill or a full disk leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cypherforge.core.errors import InputError, StorageError
from cypherforge.core.files import (
    Problem,
    append_line,
    atomic_write,
    decode,
    digest,
    dumps,
    loads,
    read_bytes,
    read_jsonl,
    read_text,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=10,
)


@given(json_values)
def test_canonical_json_comes_back_and_is_one_utf8_line(value: Any) -> None:
    text = dumps(value)
    assert loads(text) == value
    assert len(text.encode().decode().splitlines()) == 1
    assert dumps(json.loads(text)) == text


def test_keys_are_sorted_and_text_is_readable() -> None:
    assert dumps({"b": 1, "a": "Zoë\u2028"}) == '{"a":"Zoë\\u2028","b":1}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(float("nan"))


def test_reading_forgives_nan_and_names_broken_json() -> None:
    assert loads('{"a": NaN, "b": [Infinity]}') == {"a": None, "b": [None]}
    with pytest.raises(ValueError, match="not JSON: .* at character 7"):
        loads('{"a": }')
    with pytest.raises(ValueError, match="nested too deeply"):
        loads("[" * 100_000)


def test_digest_is_sha256_of_utf8() -> None:
    # The digest of "abc" is the standard's own example (FIPS 180-4).
    expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest("abc") == digest(b"abc") == expected
    assert digest("\ud83d") == digest("\ufffd")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_is_read_in_every_unicode_form(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("question,cypher\nZoë \u4eba,x\n".encode(encoding))
    assert read_text(file) == "question,cypher\nZoë \u4eba,x\n"


def test_a_legacy_code_page_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("a,b\nZoë,1\n".encode("cp1252"))
    with pytest.raises(InputError, match="line 2 is not UTF-8 text.*save the file as UTF-8"):
        read_text(file)
    with pytest.raises(InputError, match="line 1 is not UTF-16-LE"):
        decode(b"\xff\xfea\x00\x00\xd8", "x")


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_bytes(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_bytes(tmp_path)
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match="not a whole gzip file"):
        read_bytes(tmp_path / "a.jsonl.gz")


def test_jsonl_lines_end_at_lf_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes('\ufeff{"q":"a\u2028b\u0085c"}\r\n\r\n  \n{"q":"d"}'.encode())
    assert list(read_jsonl(file)) == [(1, {"q": "a\u2028b\u0085c"}), (4, {"q": "d"})]
    file.write_bytes('{"q":"a\u2028b"}\n'.encode("utf-16"))
    assert list(read_jsonl(file)) == [(1, {"q": "a\u2028b"})]


def test_bad_jsonl_rows_are_raised_or_collected(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"q":1}\n{"q":\n\xff\xfe\n\xff\n{"q":2}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, row 2: not JSON"):
        list(read_jsonl(file))
    problems: list[Problem] = []
    assert [row for _, row in read_jsonl(file, problems)] == [{"q": 1}, {"q": 2}]
    assert [p.row for p in problems] == [2, 3, 4]
    assert problems[1].reason == "not UTF-8 text"


def test_our_own_lines_are_read_back_whatever_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    rows = [{"q": "a\u2028b\u0085\ud83d"}, {"q": "\n\r"}]
    for row in rows:
        append_line(file, dumps(row))
    assert [row for _, row in read_jsonl(file)] == rows


def test_append_goes_on_after_a_torn_line(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'{"a":1}\n{"a":')
    append_line(file, '{"a":3}')
    problems: list[Problem] = []
    assert [row["a"] for _, row in read_jsonl(file, problems)] == [1, 3]
    assert len(problems) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    atomic_write(file, "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left.*free some space"):
        atomic_write(file, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert file.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_a_storage_error() -> None:
    with pytest.raises(StorageError, match="free some space"):
        append_line("/dev/full", "x")


def test_a_kill_never_tears_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    code = (
        "import sys\nfrom cypherforge.core.files import atomic_write\n"
        "n = 0\nwhile True:\n    n += 1\n"
        "    atomic_write(sys.argv[1], str(n % 10) * 1_000_000, durable=False)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(file)])
    deadline = time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    for _ in range(20):
        text = file.read_text()
        assert len(text) == 1_000_000
        assert len(set(text)) == 1
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(file.read_text()) == 1_000_000
