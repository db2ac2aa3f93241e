"""What people and programs see: queries and values byte for byte, on any terminal or none."""

import io
import json
import os
import subprocess
import sys

import pytest

from cypherforge.core.console import echo, echo_json, error_line, fit, format_table
from cypherforge.core.errors import InputError
from cypherforge.core.progress import ConsoleProgress, NullProgress

TEXTS = [
    "MATCH (p:Person)-[r:ACTED_IN]->(m:Movie) RETURN r.role",
    "RETURN [x IN nodes(p) | x.name]",
    "MATCH (n:Fire:Movie) RETURN n",
    "l[i]",
    "[/x]",
    "[bold]x[/bold]",
    ":smile: \\[a]",
    "Zoë 人物 → ü",
]


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True

    encoding = "utf-8"


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_texts_are_printed_as_they_are(text: str, kind: type[io.StringIO]) -> None:
    stream = kind()
    echo(text, stream)
    assert stream.getvalue() == text + "\n"
    assert text in format_table(["q", text], [[text, "1"], ["", text]])
    stream = kind()
    progress = ConsoleProgress(stream)
    progress.start("stage", 3)
    progress.say(text)
    progress.warn(text * 5)
    progress.finish(text)
    progress.start(text, 3)
    progress.advance(1, text)
    progress.finish(text)
    shown = stream.getvalue()
    assert f"{text}\n" in shown.replace(f"stage: {text}\n", "")
    assert f"warning: {text * 5}" in shown
    assert f"{text}: {text}" in shown
    assert text in error_line(InputError(f"cannot read {text}", where=text))


def test_progress_is_plain_lines_with_percent_where_nobody_looks() -> None:
    stream = io.StringIO()
    progress = ConsoleProgress(stream, every=0.0)
    progress.start("collect", 20)
    for _ in range(20):
        progress.advance()
    progress.finish("20 drafts")
    assert stream.getvalue().splitlines() == [
        "collect: 0/20",
        *(f"collect: {n}/20 ({5 * n} %)" for n in range(2, 21, 2)),
        "collect: 20 drafts",
    ]
    assert "\x1b" not in stream.getvalue()


def test_progress_without_a_total_and_nothing_at_all() -> None:
    stream = io.StringIO()
    progress = ConsoleProgress(stream, every=3600)
    progress.start("read")
    progress.advance(5)
    progress.finish()
    assert stream.getvalue() == "read ...\nread: done\n"
    nothing = NullProgress()
    nothing.start("x")
    nothing.advance()
    nothing.say("x")
    nothing.warn("x")
    nothing.finish()


def test_a_value_cannot_drive_the_terminal_but_is_whole_in_a_file() -> None:
    evil = "a\x1b]0;title\x07b\rc\x9b2J"
    terminal, file = Terminal(), io.StringIO()
    echo(evil, terminal)
    echo(evil, file)
    assert terminal.getvalue() == "a\\x1b]0;title\\x07b\\x0dc\\x9b2J\n"
    assert file.getvalue() == evil + "\n"


def test_tables_align_by_width_and_keep_lines_within_cells() -> None:
    table = format_table(["name", "n"], [["人物", "1"], ["a\nb", "22"]])
    assert table.splitlines() == ["name  n", "----  --", "人物  1", "a     22", "b"]
    assert format_table(["a"], []) == "a\n-"


def test_fit_cuts_by_width_on_one_line() -> None:
    assert fit("ab\n cd", 10) == "ab cd"
    assert fit("人物人物", 5) == "人物…"


def test_errors_are_one_line() -> None:
    error = InputError("no\nquestion", where="a.csv", hint="map it")
    assert error_line(error) == "error: a.csv: no question (map it)"
    assert error_line(KeyError()) == "error: KeyError"


CODE = """
import sys
from cypherforge.core.console import echo, echo_json, format_table
from cypherforge.core.progress import ConsoleProgress
names = ["Zoë", "人物", "→", "\\ud83d", "MATCH (n)-[r:R]->(m) " * 10]
progress = ConsoleProgress()
progress.start("人物", 2)
progress.say("→ Zoë")
progress.advance(2)
progress.finish("→")
if sys.argv[1] == "json":
    echo_json({"names": names})
else:
    for name in names:
        echo(name)
    echo(format_table(["name"], [[name] for name in names]))
"""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_a_legacy_code_page_never_stops_a_command(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "20"}
    for mode in ("text", "json"):
        done = subprocess.run(
            [sys.executable, "-c", CODE, mode], capture_output=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in done.stdout + done.stderr
        if mode == "json":
            names = json.loads(done.stdout.decode(encoding))["names"]
            assert names[:4] == ["Zoë", "人物", "→", "\ud83d"]
            assert len(names[4]) == 210
        else:
            lines = done.stdout.decode(encoding).splitlines()
            known = {"cp1252": "Zoë", "ascii": "Zo?", "utf-8": "Zoë"}[encoding]
            assert lines[0] == known
            assert "MATCH (n)-[r:R]->(m) " * 10 in done.stdout.decode(encoding)


def test_json_is_one_document_whatever_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    echo_json({"query": "MATCH (n) " * 40, "x": "[bold]"}, stream)
    assert json.loads(stream.getvalue()) == {"query": "MATCH (n) " * 40, "x": "[bold]"}
