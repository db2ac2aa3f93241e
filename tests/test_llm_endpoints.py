"""Real clients against a server on loopback: what is sent, what comes back, what goes wrong."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cypherforge.core.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelUnavailable,
    PromptTooLong,
    QuotaExhausted,
    UsageError,
)
from cypherforge.core.executor import map_ordered
from cypherforge.core.progress import NullProgress
from cypherforge.llm.base import ChatModel, ChatRequest, Message, TokenLogprob, samples
from cypherforge.llm.budget import Budget, Meter
from cypherforge.llm.specs import open_embedder, open_model
from cypherforge.llm.watch import CUT, watching

Reply = tuple[int, dict[str, str], Any]
ASK = ChatRequest((Message("system", "schema"), Message("user", "How many? {x}")))


@dataclass
class Server:
    """Answers each request by ``reply(path, body)``; remembers all of them."""

    reply: Callable[[str, dict[str, Any]], Reply]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server(lambda path, body: (200, {}, completion("MATCH (n) RETURN n")))
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                state.bodies.append(body)
                state.headers.append({k.lower(): v for k, v in self.headers.items()})
            status, headers, value = state.reply(self.path, body)
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            try:
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(headers.get("X-Claim", len(data))))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass
            self.close_connection = "X-Claim" in headers

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    state.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()


def completion(content: Any, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "served-alias",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }


def model_at(server: Server, **options: Any) -> ChatModel:
    return open_model(f"qwen@{server.url}", **options)


def test_a_request_is_sent_whole(server: Server) -> None:
    request = replace(
        ASK,
        top_p=0.9,
        top_k=40,
        seed=7,
        sample=2,
        temperature=0.8,
        stop=(";",),
        grammar='root ::= "x"',
        logprobs=2,
        json_schema={"type": "object"},
        extra={"cache_prompt": True},
    )
    answer = model_at(server).chat(request)
    assert (answer.text, answer.finish) == ("MATCH (n) RETURN n", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
    assert server.bodies[0] == {
        "model": "qwen",
        "messages": [
            {"role": "system", "content": "schema"},
            {"role": "user", "content": "How many? {x}"},
        ],
        "max_tokens": 512,
        "temperature": 0.8,
        "top_p": 0.9,
        "top_k": 40,
        "seed": 9,
        "stop": [";"],
        "grammar": 'root ::= "x"',
        "logprobs": True,
        "top_logprobs": 2,
        "cache_prompt": True,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}},
        },
    }


def test_keys_go_where_they_belong_and_nowhere_else(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-secret")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    model_at(server).chat(ASK)
    monkeypatch.setenv("CYPHERFORGE_API_KEY", "own-secret")
    model_at(server).chat(ASK)
    assert "secret" not in str(server.headers[0])
    assert server.headers[1]["authorization"] == "Bearer own-secret"
    assert "sk-openai" not in str(server.headers)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    open_model("openai:gpt-x").chat(ASK)
    assert server.headers[2]["authorization"] == "Bearer sk-openai-secret"
    assert server.bodies[2]["max_completion_tokens"] == 512


def test_no_key_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for spec in ("openai:gpt-4o", "anthropic:claude-x"):
        with pytest.raises(ModelAuthError, match="API_KEY is not set.*export") as caught:
            open_model(spec)
        assert caught.value.exit_code == 3


def test_a_key_is_in_no_error_log_cache_or_recording(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("CYPHERFORGE_API_KEY", "own-secret-key")
    caplog.set_level(logging.DEBUG)
    told: list[str] = []

    class Loud(NullProgress):
        def warn(self, text: str) -> None:
            told.append(text)

    echo = {"error": {"message": "Incorrect key: own-secret-key"}}
    replies: list[Reply] = [
        (500, {"Retry-After": "0"}, echo),
        (200, {}, completion("ok")),
        (401, {}, echo),
    ]
    server.reply = lambda path, body: replies.pop(0)
    model = model_at(server, cache=tmp_path / "c", record=tmp_path / "r.jsonl", progress=Loud())
    model.chat(ASK)
    with pytest.raises(ModelAuthError, match=r"Incorrect key: \*\*\*") as caught:
        model.chat(replace(ASK, seed=1))
    written = "".join(p.read_text() for p in tmp_path.rglob("*") if p.is_file())
    for text in (str(caught.value), repr(caught.value.__cause__), written, caplog.text, *told):
        assert "own-secret-key" not in text


@pytest.mark.parametrize(
    ("document", "text", "finish", "note"),
    [
        # H30: (a) reasoning ate the budget; (b) blocks; (c) cut off; (d) refused; (e) no final event
        (
            completion(None, "length", reasoning_content="MATCH (draft) RETURN draft"),
            "",
            "length",
            "token budget used up before it by reasoning",
        ),
        (
            completion(
                [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "MATCH (p:Person) "},
                    {"type": "text", "text": "RETURN count(p)"},
                ]
            ),
            "MATCH (p:Person) RETURN count(p)",
            "stop",
            "",
        ),
        (
            completion("MATCH (m:Movie) RETURN m.title ORDER BY m.released DESC", "length"),
            "MATCH (m:Movie) RETURN m.title ORDER BY m.released DESC",
            "length",
            "",
        ),
        (completion(None, "stop", refusal="I can't help"), "", "refused", "I can't help"),
        (completion("part", "content_filter"), "part", "refused", "content_filter"),
        (completion("MATCH (n)", None), "MATCH (n)", "length", "ended without a reason"),
        (completion("MATCH (n)", "abort"), "MATCH (n)", "length", "ended with 'abort'"),
        (completion("", "stop"), "", "empty", ""),
        (completion(None, "tool_calls"), "", "empty", "a tool call instead of an answer"),
        ({"choices": []}, "", "length", "token budget"),
        (completion("x", "eos"), "x", "stop", ""),
    ],
)
def test_every_shape_of_answer(
    server: Server, document: Any, text: str, finish: str, note: str, tmp_path: Path
) -> None:
    server.reply = lambda path, body: (200, {}, document)
    meter = Meter()
    answer = model_at(server, cache=tmp_path, meter=meter).chat(ASK)
    assert (answer.text, answer.finish) == (text, finish)
    assert note in answer.note
    assert answer.usable == (finish == "stop")
    assert meter.calls == (2 if finish == "length" else 1)
    assert bool(list(tmp_path.iterdir())) == answer.usable


def test_a_cut_off_answer_is_asked_again_with_more_room(server: Server) -> None:
    server.reply = lambda path, body: (
        200,
        {},
        completion("whole") if body["max_tokens"] > 512 else completion(None, "length"),
    )
    meter = Meter()
    assert model_at(server, meter=meter).chat(ASK).text == "whole"
    assert [body["max_tokens"] for body in server.bodies] == [512, 2048]
    assert meter.completion_tokens == 14


def test_a_draft_of_a_vote_that_is_cut_off_is_not_asked_again(
    server: Server, tmp_path: Path
) -> None:
    server.reply = lambda path, body: (200, {}, completion("MATCH (n)", "length"))
    meter = Meter()
    model = model_at(server, cache=tmp_path, meter=meter)
    for _ in range(2):
        assert model.chat(replace(ASK, roomy=False)).finish == "length"
    assert meter.calls == 1
    # Who wants a whole answer is not given the piece.
    server.reply = lambda path, body: (200, {}, completion("MATCH (n) RETURN n"))
    assert model.chat(ASK).text == "MATCH (n) RETURN n"
    assert model.chat(replace(ASK, roomy=False)).text == "MATCH (n) RETURN n"
    assert meter.calls == 2


def test_logprobs_are_read_and_impossible_ones_are_numbers(server: Server) -> None:
    document = completion("ab")
    document["choices"][0]["logprobs"] = {
        "content": [
            {"token": "a", "logprob": -0.25, "top_logprobs": [{"token": "b", "logprob": None}]}
        ]
    }
    server.reply = lambda path, body: (200, {}, document)
    (token,) = model_at(server).chat(replace(ASK, logprobs=1)).logprobs
    assert (token.token, token.logprob, token.top) == ("a", -0.25, (("b", -9999.0),))


def test_a_rate_limit_pauses_every_thread(server: Server) -> None:
    limited = [
        (429, {"Retry-After": "1"}, {"error": {"message": "slow down"}}),
        (503, {"retry-after-ms": "300"}, b"busy"),
    ]
    lock = threading.Lock()

    def reply(path: str, body: dict[str, Any]) -> Reply:
        with lock:
            if limited:
                return limited.pop(0)
        return 200, {}, completion(body["messages"][-1]["content"])

    server.reply = reply
    meter = Meter()
    model = model_at(server, meter=meter)
    requests = [ChatRequest((Message("user", f"q{n}"),)) for n in range(20)]
    began = time.monotonic()
    answers = list(map_ordered(model.chat, requests, workers=8))
    assert [answer.text for answer in answers] == [f"q{n}" for n in range(20)]
    assert time.monotonic() - began >= 1
    assert (meter.calls, meter.rate_limited) == (20, 2)


@pytest.mark.parametrize(
    ("reply", "error", "calls"),
    [
        ((401, {}, {"error": {"message": "no"}}), ModelAuthError, 1),
        ((404, {}, {"error": {"message": "model not found"}}), UsageError, 1),
        ((400, {}, {"error": {"message": "bad grammar"}}), ModelAnswerError, 1),
        (
            (400, {}, {"error": {"code": "context_length_exceeded", "message": "x"}}),
            PromptTooLong,
            1,
        ),
        ((500, {}, {"detail": "litellm: context_length_exceeded"}), PromptTooLong, 1),
        (
            (200, {}, {"error": {"code": 400, "message": "maximum context length is 5"}}),
            PromptTooLong,
            1,
        ),
        ((429, {}, {"error": {"code": "insufficient_quota"}}), QuotaExhausted, 1),
        ((500, {"Retry-After": "0"}, b"<html>oops</html>"), ModelUnavailable, 5),
    ],
)
def test_errors_are_told_apart_and_asked_as_often_as_it_helps(
    server: Server, reply: Reply, error: type[Exception], calls: int
) -> None:
    server.reply = lambda path, body: reply
    with pytest.raises(error) as caught:
        model_at(server).chat(ASK)
    assert len(server.bodies) == calls
    assert "\n" not in str(caught.value)
    assert server.url in str(caught.value)


def test_a_page_instead_of_json_and_a_body_cut_off_are_tried_again(server: Server) -> None:
    replies: list[Reply] = [
        (200, {}, b"<html>login</html>"),
        (200, {"X-Claim": "5000"}, b'{"choices": ['),
        (200, {}, completion("ok")),
    ]
    server.reply = lambda path, body: replies.pop(0)
    assert model_at(server).chat(ASK).text == "ok"


def test_an_unreachable_model_is_one_line_with_the_way_out(server: Server) -> None:
    model = open_model("qwen@http://user:pw@127.0.0.1:9/v1")
    with pytest.raises(
        ModelUnavailable, match="model unreachable.*is the server running"
    ) as caught:
        model.chat(ASK)
    assert "pw" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_hanging_model_times_out(server: Server) -> None:
    release = threading.Event()

    def reply(path: str, body: dict[str, Any]) -> Reply:
        release.wait(10)
        return 200, {}, completion("late")

    server.reply = reply
    with pytest.raises(ModelUnavailable, match=r"no answer within 0.2 s.*MODEL_TIMEOUT"):
        model_at(server, timeout=0.2).chat(ASK)
    release.set()
    assert len(server.bodies) == 2


def test_samples_through_the_cache_are_calls_of_their_own(server: Server, tmp_path: Path) -> None:
    server.reply = lambda path, body: (200, {}, completion(f"draft {len(server.bodies)}"))
    warm = replace(ASK, temperature=0.8)
    meter = Meter()
    for count, calls in ((5, 5), (5, 5), (8, 8)):
        model = model_at(server, cache=tmp_path, meter=meter)
        texts = [model.chat(r).text for r in samples(warm, count)]
        assert texts == [f"draft {n}" for n in range(1, count + 1)]
        assert len(server.bodies) == calls
    model_at(server, cache=tmp_path).chat(replace(ASK, temperature=0.0))
    assert len(server.bodies) == 9


def test_one_key_whatever_the_port(server: Server, tmp_path: Path) -> None:
    model_at(server, cache=tmp_path).chat(ASK)
    other = open_model("qwen@http://127.0.0.1:9/v1", cache=tmp_path)
    assert other.chat(ASK).cached


def test_a_budget_stops_before_anything_is_sent(server: Server) -> None:
    with pytest.raises(UsageError, match="no price is known for model 'qwen'"):
        model_at(server, budget=Budget(money=1.0))
    assert server.bodies == []


def test_openai_s_reasoning_models_get_what_they_know(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    def reply(path: str, body: dict[str, Any]) -> Reply:
        if "temperature" in body:
            error = {"param": "temperature", "code": "unsupported_value", "message": "no"}
            return 400, {}, {"error": error}
        return 200, {}, completion("ok")

    server.reply = reply
    model = open_model("openai:o9")
    assert model.name == "openai:o9"
    assert [model.chat(replace(ASK, seed=n)).text for n in range(2)] == ["ok", "ok"]
    assert len(server.bodies) == 3
    with pytest.raises(UsageError, match="openai:o9 has no parameter grammar"):
        model.chat(replace(ASK, grammar="root ::= x"))


def test_azure_s_content_filter_is_a_refusal(server: Server) -> None:
    server.reply = lambda path, body: (
        400,
        {},
        {"error": {"code": "content_filter", "message": "policy"}},
    )
    answer = model_at(server).chat(ASK)
    assert (answer.finish, answer.note) == ("refused", "policy")


@pytest.fixture
def claude(server: Server, monkeypatch: pytest.MonkeyPatch) -> ChatModel:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
    return open_model("anthropic:claude-x")


def message(blocks: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": blocks,
        "stop_reason": reason,
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 6, "output_tokens": 7},
    }


def test_anthropic_is_asked_in_its_own_way(server: Server, claude: ChatModel) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "MATCH (n) RETURN n"},
    ]
    server.reply = lambda path, body: (200, {}, message(blocks, "end_turn"))
    answer = claude.chat(replace(ASK, top_k=3, stop=(";",), json_schema={"type": "object"}))
    assert (answer.text, answer.finish) == ("MATCH (n) RETURN n", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
    assert server.bodies[0] == {
        "model": "claude-x",
        "max_tokens": 512,
        "system": "schema",
        "messages": [{"role": "user", "content": "How many? {x}"}],
        "temperature": 0.0,
        "top_k": 3,
        "stop_sequences": [";"],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    }
    with pytest.raises(UsageError, match="has no logprobs"):
        claude.chat(replace(ASK, logprobs=1))


@pytest.mark.parametrize(
    ("reason", "text", "finish"),
    [
        ("max_tokens", "MATCH", "length"),
        ("refusal", "", "refused"),
        ("tool_use", "", "empty"),
        ("end_turn", "", "empty"),
        (None, "MATCH", "length"),
        ("stop_sequence", "MATCH", "stop"),
    ],
)
def test_anthropic_s_ends(
    server: Server, claude: ChatModel, reason: str | None, text: str, finish: str
) -> None:
    server.reply = lambda path, body: (200, {}, message([{"type": "text", "text": text}], reason))
    assert claude.chat(ASK).finish == finish


def test_anthropic_s_errors(server: Server, claude: ChatModel) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    replies: list[Reply] = [
        (529, {"Retry-After": "0.01"}, overloaded),
        (200, {}, message([{"type": "text", "text": "ok"}], "end_turn")),
        (401, {}, {"type": "error", "error": {"message": "invalid x-api-key sk-ant-secret"}}),
    ]
    server.reply = lambda path, body: replies.pop(0)
    assert claude.chat(ASK).text == "ok"
    with pytest.raises(ModelAuthError, match=r"x-api-key \*\*\*.*ANTHROPIC_API_KEY"):
        claude.chat(ASK)


def test_embeddings_of_a_server(server: Server) -> None:
    def reply(path: str, body: dict[str, Any]) -> Reply:
        assert path == "/v1/embeddings"
        rows = [
            {"index": n, "embedding": [float(len(text)), 4.0]}
            for n, text in enumerate(body["input"])
        ]
        return 200, {}, {"data": rows[::-1], "usage": {"prompt_tokens": 3}}

    server.reply = reply
    meter = Meter()
    embedder = open_embedder(f"nomic@{server.url}", meter=meter)
    rows = embedder.embed(["abc", "x", "abc"])
    assert np.allclose(rows, [[0.6, 0.8], [1 / 17**0.5, 4 / 17**0.5], [0.6, 0.8]])
    embedder.embed(["abc"])
    assert embedder.embed([]).shape[0] == 0
    assert (len(server.bodies), meter.prompt_tokens) == (1, 3)
    server.reply = lambda path, body: (200, {}, {"data": []})
    with pytest.raises(ModelAnswerError, match="is it an embedding model"):
        embedder.embed(["new"])


def chunks(tokens: list[tuple[str, float]], finish: str = "stop") -> bytes:
    """A streamed completion of single tokens whose alternatives are all as likely as they."""
    rows: list[dict[str, Any]] = [{"choices": [{"delta": {"role": "assistant", "content": None}}]}]
    for token, logprob in tokens:
        told = {"token": token, "logprob": logprob}
        rows.append(
            {
                "model": "served-alias",
                "choices": [
                    {
                        "delta": {"content": token},
                        "logprobs": {"content": [{**told, "top_logprobs": [told]}]},
                    }
                ],
            }
        )
    rows.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    rows.append({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": len(tokens)}})
    lines = [": a comment"] + [f"data: {json.dumps(row)}" for row in rows] + ["data: [DONE]"]
    return "\n\n".join(lines).encode() + b"\n\n"


SURE = ChatRequest((Message("user", "How many?"),), logprobs=1, roomy=False)
TOKENS = [("MATCH", -0.1), (" (n)", -0.2), (" RETURN", -3.0), (" n", -0.1)]


def test_a_watched_answer_is_streamed_and_comes_whole(server: Server) -> None:
    server.reply = lambda path, body: (200, {"Content-Type": "text/event-stream"}, chunks(TOKENS))
    seen: list[str] = []

    def look(token: TokenLogprob) -> bool:
        seen.append(token.token)
        return True

    with watching(look):
        answer = model_at(server).chat(SURE)
    assert server.bodies[0]["stream"] is True
    assert server.bodies[0]["stream_options"] == {"include_usage": True}
    assert seen == [token for token, _ in TOKENS]
    assert (answer.text, answer.finish, answer.usable) == ("MATCH (n) RETURN n", "stop", True)
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 4)
    assert [t.logprob for t in answer.logprobs] == [-0.1, -0.2, -3.0, -0.1]
    assert answer.model == "served-alias"


def test_a_watch_cuts_an_answer_off_and_it_is_not_kept(server: Server, tmp_path: Path) -> None:
    server.reply = lambda path, body: (200, {"Content-Type": "text/event-stream"}, chunks(TOKENS))
    meter = Meter()
    model = model_at(server, cache=tmp_path, meter=meter)
    with watching(lambda token: token.logprob > -1):
        answer = model.chat(SURE)
    assert (answer.text, answer.finish, answer.note) == ("MATCH (n) RETURN", "length", CUT)
    assert answer.completion_tokens == 3 and not answer.usable
    assert meter.calls == 1 and meter.completion_tokens == 3
    # Nobody watches now: the same request is sent again, unstreamed, for nothing was kept.
    server.reply = lambda path, body: (200, {}, completion("MATCH (n) RETURN n"))
    assert model.chat(SURE).usable
    assert "stream" not in server.bodies[1]
    # A kept answer is whole, whoever watches.
    with watching(lambda token: False):
        assert model.chat(SURE).cached
    assert len(server.bodies) == 2


def test_a_server_that_does_not_stream_answers_all_the_same(server: Server) -> None:
    with watching(lambda token: False):
        answer = model_at(server).chat(SURE)
    assert (answer.text, answer.finish) == ("MATCH (n) RETURN n", "stop")


def test_without_log_probabilities_nothing_is_streamed(server: Server) -> None:
    with watching(lambda token: False):
        assert model_at(server).chat(ASK).usable
    assert "stream" not in server.bodies[0]


def test_errors_of_a_stream_are_those_of_any_answer(server: Server) -> None:
    def watch(token: object) -> bool:
        return True

    server.reply = lambda path, body: (401, {}, {"error": {"message": "no key"}})
    with watching(watch), pytest.raises(ModelAuthError):
        model_at(server).chat(SURE)
    # It breaks off in the middle and says nothing of an end: cut off, not an answer.
    broken = chunks(TOKENS).split(b'data: {"choices": [{"delta": {}')[0]
    server.reply = lambda path, body: (200, {"Content-Type": "text/event-stream"}, broken)
    with watching(watch):
        answer = model_at(server).chat(SURE)
    assert (answer.finish, answer.usable) == ("length", False)
