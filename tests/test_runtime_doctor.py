"""Doctor: what it finds on endpoints that can more and less, and what would leave the machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cypherforge.cli import app
from cypherforge.core.errors import QueryError
from cypherforge.runtime import doctor
from cypherforge.runtime.doctor import check_extras, check_graph, check_model, leaving


class Endpoint(BaseHTTPRequestHandler):
    """Speaks OpenAI's API; the class attributes say what it is able to do."""

    logprobs = True
    grammar = True
    status = 200

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "zq7qz" if self.grammar and "grammar" in body else "Yes."
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        if self.logprobs and body.get("logprobs"):
            token = {"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}
            choice["logprobs"] = {"content": [token]}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "tiny",
            "choices": [choice],
            "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
        }
        if self.status != 200:
            answer = {"error": {"message": "no such key", "type": "auth"}}
        data = json.dumps(answer).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


@pytest.fixture
def serve() -> Iterator[Any]:
    """Start an endpoint with the given abilities; gives its model spec."""
    servers = []

    def start(**abilities: Any) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("One", (Endpoint,), abilities))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"tiny@http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("abilities", "found"),
    [
        ({}, {"model": "ok", "logprobs": "ok", "grammar": "ok"}),
        (
            {"logprobs": False, "grammar": False},
            {"model": "ok", "logprobs": "note", "grammar": "note"},
        ),
        ({"status": 401}, {"model": "missing"}),
    ],
)
def test_an_endpoint_is_known_by_what_it_answers(
    serve: Any, abilities: dict[str, Any], found: dict[str, str]
) -> None:
    checks = list(check_model(serve(**abilities)))
    assert {check.subject: check.status for check in checks} == found


def test_what_is_no_model_is_said_with_the_forms() -> None:
    (check,) = check_model("gpt")
    assert check.status == "missing" and "NAME@URL" in check.fix


@pytest.mark.neo4j
def test_a_neo4j_is_read_and_its_apoc_found(neo4j_uri: str) -> None:
    found = {check.subject: check for check in check_graph(neo4j_uri)}
    assert found["graph"].status == found["explain"].status == "ok"
    # A server without data is reachable, and has no schema to read.
    assert found["schema"].status in ("ok", "missing")
    assert found["graph"].detail.startswith("neo4j-5")
    assert found["apoc"].status in ("ok", "note")


def test_no_apoc_is_a_note_with_the_way_to_get_it() -> None:
    def refuse() -> str:
        raise QueryError("Unknown function 'apoc.version'")

    check = doctor._apoc(refuse)
    assert check.status == "note" and "plugins" in check.fix


def test_a_dead_database_is_missing() -> None:
    (check,) = check_graph("bolt://127.0.0.1:9")
    assert check.status == "missing" and "no connection" in check.detail and check.fix


def test_extras_are_those_of_the_package() -> None:
    assert "extra dev" in {check.subject for check in check_extras()}


@pytest.mark.parametrize(
    ("graph", "model", "embed", "lines"),
    [
        ("example", "none", "wordllama", []),
        ("bolt://127.0.0.1:7687", "q@http://localhost:8091/v1", "tfidf", []),
        (
            "neo4j+s://user:secret@db.example.org",
            "anthropic:some-model",
            "openai:text-embedding-3-small",
            [
                "queries, with the values they compare, go to neo4j+s://db.example.org",
                (
                    "schema with example values, questions, exemplars and rules go to "
                    "https://api.anthropic.com (--model some-model)"
                ),
                "questions go to https://api.openai.com/v1 (--embed text-embedding-3-small)",
            ],
        ),
        (
            "example",
            "q@https://u:p@models.example.org/v1?key=1",
            "none",
            [
                (
                    "schema with example values, questions, exemplars and rules go to "
                    "https://models.example.org/v1 (--model q)"
                )
            ],
        ),
        ("example", "recorded:answers.jsonl", "none", []),
    ],
)
def test_what_would_leave_is_said_without_secrets(
    graph: str, model: str, embed: str, lines: list[str]
) -> None:
    assert leaving(graph, model, embed) == lines


def test_the_configuration_is_shown_as_it_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'graph = "none"\nembed = "none"\n[mine]\nlimit = 200\n[rules.write]\nagent = "none"\n'
    )
    monkeypatch.setenv("CYPHERFORGE_CONFIG", str(path))
    shown = CliRunner().invoke(app, ["doctor"]).stdout
    assert f"Options from {path}:" in shown
    assert shown.endswith(
        "  --embed none\n  --graph none\n  mine --limit 200\n  rules write --agent none\n"
    )
    assert "arcadedb" not in shown
