"""The command line's base: fast help, one-line errors, exit codes, output in any code page."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cypherforge import __version__
from cypherforge.artifacts.store import ArtifactRef, ArtifactWriter
from cypherforge.cli import COMMANDS, GROUPS, app
from cypherforge.core.cli_support import JsonOption, RootGroup, lazy_group, new_app
from cypherforge.core.console import echo_json
from cypherforge.core.errors import (
    BudgetExhausted,
    CypherForgeError,
    GraphUnavailable,
    InputError,
    QueryRefused,
)

HEAVY = {"jinja2", "neo4j", "numpy", "openai", "pandas", "pyarrow", "pydantic", "sklearn", "yaml"}
QUERY = "MATCH (p:Person)-[r:ACTED_IN]->(n:Fire:Movie) RETURN [x IN l | l[i]], '[/x]'"
RUN = CliRunner()


def command_line(*args: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "cypherforge", *args],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
        timeout=60,
    )


# ---------------------------------------------------------------- help


def test_help_imports_no_room_and_is_fast() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from cypherforge.cli import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name.startswith("cypherforge.")} <= {
        f"cypherforge.{name}"
        for name in ("cli", "core", "core.cli_support", "core.console", "core.errors", "core.files")
    }
    # Processor time, for the wall clock measures what else the machine does.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert command_line("--help").returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def test_groups_and_commands_belong_together() -> None:
    assert {path.split()[0] for path in COMMANDS if " " in path} == set(GROUPS)
    text = RUN.invoke(app, ["--help"]).stdout
    for path in COMMANDS:
        assert f"\n  {path.split()[0]} " in text
    assert RUN.invoke(app, ["--version"]).stdout == f"{__version__}\n"


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_has_help_and_json(path: str) -> None:
    shown = RUN.invoke(app, [*path.split(), "--help"])
    assert shown.exit_code == 0, shown.output
    assert f"{path} " in shown.stdout.split("\n")[0]
    assert "--json" in shown.stdout


def test_an_unknown_command_or_option_is_usage() -> None:
    for args in (["frobnicate"], ["bundle", "frobnicate"], ["bundle", "show", "--colour"]):
        done = RUN.invoke(app, args)
        assert done.exit_code == 2
        assert done.stdout == "" and args[-1] in done.stderr


# ---------------------------------------------------------------- errors


@pytest.fixture
def failing() -> Iterator[Any]:
    """An app with one command, ``fail``, that raises what it is given."""
    module = ModuleType("commands_of_this_test")

    def fail(json: JsonOption = False) -> None:
        """Fail."""
        raise module.error

    vars(module).update(fail=fail)
    sys.modules[module.__name__] = module
    table = {
        "fail": (f"{module.__name__}:fail", "Fails."),
        "deep fail": (f"{module.__name__}:fail", "Fails."),
    }
    root = new_app(cls=lazy_group(table, {"deep": "Deeper."}, RootGroup))
    root.callback()(lambda: None)

    def run(error: BaseException, *args: str) -> Any:
        vars(module)["error"] = error
        return RUN.invoke(root, list(args or ["fail"]))

    yield run
    del sys.modules[module.__name__]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("no such file", where="a.csv", hint="check the path"), 2),
        (GraphUnavailable("no connection", where="bolt://x", hint="start it"), 3),
        (QueryRefused("a write", where=QUERY), 4),
        (CypherForgeError("the work found something wrong"), 1),
        (InputError("two\nlines", where="[bold]x[/bold] :fire:"), 2),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    failing: Any, error: CypherForgeError, code: int
) -> None:
    for args in (["fail"], ["deep", "fail"]):
        done = failing(error, *args)
        assert done.exit_code == code
        assert done.stdout == ""
        assert done.stderr == f"error: {' '.join(str(error).split(chr(10)))}\n"


def test_what_stops_a_run_says_that_it_can_be_resumed(failing: Any) -> None:
    interrupted = failing(KeyboardInterrupt())
    assert interrupted.exit_code == 130
    assert interrupted.stderr == "interrupted: what was done is kept; run again to resume\n"
    spent = failing(BudgetExhausted("100 calls are spent", hint="raise --max-calls"))
    assert spent.exit_code == 1
    assert "kept; run again to resume" in spent.stderr


def test_a_bug_is_not_dressed_up_as_an_error(failing: Any) -> None:
    assert isinstance(failing(ZeroDivisionError()).exception, ZeroDivisionError)


# ---------------------------------------------------------------- output


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    """An artifact whose summary holds what terminals and code pages stumble over."""
    with ArtifactWriter(tmp_path / "Zoë", "thing", 1, {"query": QUERY}) as out:
        out.write_jsonl("rows.jsonl", [1])
        out.summary = {"names": "Zoë 人物 →", "long": "x" * 300}
    return tmp_path / "Zoë"


@pytest.mark.parametrize("encoding", ["cp1252"])
def test_output_survives_every_code_page(artifact: Path, encoding: str) -> None:
    shown = command_line("artifacts", "show", str(artifact), PYTHONIOENCODING=encoding)
    assert shown.returncode == 0, shown.stderr
    text = shown.stdout.decode(encoding)
    assert QUERY in text and "x" * 300 in text and "\x1b" not in text
    document = command_line("artifacts", "show", str(artifact), "--json", PYTHONIOENCODING=encoding)
    data = json.loads(document.stdout.decode(encoding))
    assert data["summary"]["names"] == "Zoë 人物 →"
    assert data["params"] == {"query": QUERY}
    wrong = command_line("artifacts", "show", str(artifact / "人物"), PYTHONIOENCODING=encoding)
    assert wrong.returncode == 2 and wrong.stderr.startswith(b"error: ")


def test_artifact_commands_tell_good_from_changed(tmp_path: Path, artifact: Path) -> None:
    with ArtifactWriter(
        tmp_path / "next", "other", inputs=[ArtifactRef("thing", "sha256:00", str(artifact))]
    ) as out:
        out.write_jsonl("rows.jsonl", [1, 2])
    listed = json.loads(RUN.invoke(app, ["artifacts", "list", str(tmp_path), "--json"]).stdout)
    assert [(row["kind"], row["rows"]) for row in listed] == [("thing", 1), ("other", 2)]
    assert "other v1" in RUN.invoke(app, ["artifacts", "list", str(tmp_path)]).stdout
    good = RUN.invoke(app, ["artifacts", "verify", str(artifact)])
    assert good.exit_code == 0 and "CHANGED" not in good.stdout
    done = RUN.invoke(app, ["artifacts", "verify", str(tmp_path), "--json"])
    assert done.exit_code == 1
    problems = {Path(row["path"]).name: row["problems"] for row in json.loads(done.stdout)}
    assert problems["Zoë"] == [] and "is another one now" in problems["next"][0]
    (artifact / "rows.jsonl").write_text("2\n")
    changed = RUN.invoke(app, ["artifacts", "verify", str(artifact)])
    assert changed.exit_code == 1 and "rows.jsonl was edited" in changed.stdout


def test_gc_removes_what_dead_processes_left_and_nothing_else(
    tmp_path: Path, artifact: Path
) -> None:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    dead = int(done.stdout)
    (tmp_path / f".stage.tmp-{dead}-abc123").mkdir()
    (tmp_path / f".stage.tmp-{dead}-abc123" / "rows.jsonl").write_text("half")
    (artifact / f".rows.jsonl.{dead}-0123abcd.tmp").write_text("half")
    (tmp_path / f".stage.tmp-{os.getpid()}-abc123").mkdir()
    planned = RUN.invoke(app, ["artifacts", "gc", str(tmp_path), "--dry-run"])
    assert "2 left-over files and folders would be removed" in planned.stdout
    removed = RUN.invoke(app, ["artifacts", "gc", str(tmp_path), "--json"])
    assert json.loads(removed.stdout)["bytes"] == 8
    assert {path.name for path in tmp_path.iterdir()} == {
        "Zoë",
        f".stage.tmp-{os.getpid()}-abc123",
    }
    assert RUN.invoke(app, ["artifacts", "verify", str(tmp_path)]).exit_code == 0


def test_doctor_reaches_the_example_and_lets_nothing_leave() -> None:
    done = RUN.invoke(app, ["doctor", "--json"])
    found = {check["subject"]: check for check in json.loads(done.stdout)["checks"]}
    assert found["graph"]["detail"].startswith("arcadedb-")
    assert found["schema"]["status"] == found["embedder"]["status"] == "ok"
    assert json.loads(done.stdout)["leaves_machine"] == []


def test_doctor_says_what_is_down_how_to_mend_it_and_what_would_leave() -> None:
    done = RUN.invoke(
        app,
        [
            "doctor",
            "--graph",
            "bolt://127.0.0.1:9",
            "--model",
            "openai:gpt-x",
            "--embed",
            "none",
        ],
    )
    assert done.exit_code == 3
    assert "OPENAI_API_KEY is not set" in done.stdout
    assert "export OPENAI_API_KEY=" in done.stdout
    assert "no connection" in done.stdout
    assert "go to https://api.openai.com/v1 (--model gpt-x)" in done.stdout


def test_json_without_a_console_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"q": QUERY})
    assert json.loads(capsys.readouterr().out) == {"q": QUERY}


def test_groups_can_be_whole_typer_apps() -> None:
    module = ModuleType("whole_app_of_this_test")
    inner = typer.Typer()
    inner.command("one")(lambda: print("one"))
    inner.command("two")(lambda: print("two"))
    vars(module)["inner"] = inner
    sys.modules[module.__name__] = module
    root = new_app(cls=lazy_group({"both": (f"{module.__name__}:inner", "Both.")}, {}, RootGroup))
    root.callback()(lambda: None)
    assert RUN.invoke(root, ["both", "two"]).stdout == "two\n"
    del sys.modules[module.__name__]
