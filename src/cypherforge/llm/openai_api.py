"""Chat and embeddings of OpenAI and of every server that speaks its API (vLLM, llama.cpp, Ollama and others).

One call is one attempt: the SDK's own retries are off. The key comes from the environment alone, and the key for
OpenAI is sent to OpenAI alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import openai

from cypherforge.core.errors import ModelAnswerError, ModelAuthError, UsageError
from cypherforge.core.files import dumps, loads
from cypherforge.llm.base import (
    ChatAnswer,
    ChatRequest,
    Finish,
    TokenLogprob,
    estimate_tokens,
)
from cypherforge.llm.failures import (
    AttemptFailed,
    from_status,
    no_connection,
    read_document,
    redact,
)
from cypherforge.llm.specs import ModelSpec
from cypherforge.llm.watch import CUT, Watch, current_watch

_WHOLE = {"stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete", "completed"}
_REFUSED = {"content_filter", "refusal", "safety"}
# JSON has no infinities, and some servers say null for an impossible token.
_IMPOSSIBLE = -9999.0


class OpenAIEndpoint:
    """A client for one model at one address. Thread-safe."""

    def __init__(self, spec: ModelSpec, timeout: float = 180.0) -> None:
        """``timeout`` is in seconds an attempt. Raises ModelAuthError where OpenAI's key is missing."""
        self._official = spec.kind == "openai"
        self._model = spec.name
        self.name = f"openai:{spec.name}" if self._official else spec.name
        self.where = spec.destination
        self._timeout = timeout
        self._key_name = "OPENAI_API_KEY" if self._official else "CYPHERFORGE_API_KEY"
        self._key = os.environ.get(self._key_name) or None
        if self._official and self._key is None:
            raise ModelAuthError(
                "OPENAI_API_KEY is not set", where=self.where, hint="export OPENAI_API_KEY=..."
            )
        base = os.environ.get("OPENAI_BASE_URL") if self._official else spec.url
        self._client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=base or "https://api.openai.com/v1",
            timeout=timeout,
            max_retries=0,
        )
        if not self._official:
            # The SDK would tell any server the organisation that the environment names for OpenAI.
            self._client.organization = None
            self._client.project = None
        self._dropped: set[str] = set()

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """One attempt. Raises AttemptFailed, PromptTooLong, ModelAuthError, QuotaExhausted and others.

        An answer with log probabilities is streamed if somebody watches it (``llm/watch.py``).
        """
        body = self._body(request)
        watch = current_watch() if request.logprobs else None
        while True:
            sent = {key: value for key, value in body.items() if key not in self._dropped}
            try:
                if watch is not None:
                    return self._streamed(sent, request, watch)
                raw = self._client.chat.completions.with_raw_response.create(
                    model=self._model,
                    messages=sent.pop("messages"),
                    extra_body=sent,
                )
                return self._answer(raw.http_response.text)
            except openai.APIStatusError as error:
                if not self._may_drop(error, sent):
                    refused = self._filtered(error)
                    if refused is not None:
                        return refused
                    raise self._status(error) from None
            except openai.APITimeoutError:
                raise self._timed_out() from None
            except openai.APIConnectionError as error:
                raise self._unreachable(error) from None

    def _streamed(self, sent: dict[str, Any], request: ChatRequest, watch: Watch) -> ChatAnswer:
        """One streamed attempt; the connection is closed as soon as the watch has seen enough."""
        reader = StreamReader(watch)
        with self._client.chat.completions.with_streaming_response.create(
            model=self._model,
            messages=sent.pop("messages"),
            extra_body={**sent, "stream": True, "stream_options": {"include_usage": True}},
        ) as raw:
            try:
                for line in raw.iter_lines():
                    if not reader.take(line):
                        break
            except Exception as error:
                # The SDK does not wrap what breaks in mid-stream; its HTTP library goes by two names.
                if not type(error).__module__.startswith("httpx"):
                    raise
                if "Timeout" in type(error).__name__:
                    raise self._timed_out() from None
                raise no_connection(error, self.where, self._key) from None
        if reader.cut:
            return reader.partial(self._model, estimate_tokens(request.prompt_chars()))
        return self._answer(reader.document())

    def embed(self, texts: list[str]) -> tuple[list[list[float]], int]:
        """Vectors in the order of ``texts``, and the tokens used. Raises as :meth:`chat`."""
        try:
            raw = self._client.embeddings.with_raw_response.create(
                model=self._model, input=texts, encoding_format="float"
            )
        except openai.APIStatusError as error:
            raise self._status(error) from None
        except openai.APITimeoutError:
            raise self._timed_out() from None
        except openai.APIConnectionError as error:
            raise self._unreachable(error) from None
        try:
            document = loads(raw.http_response.text)
            rows = sorted(document["data"], key=lambda row: int(row["index"]))
            vectors = [[float(x) for x in row["embedding"]] for row in rows]
            used = int((document.get("usage") or {}).get("prompt_tokens") or 0)
        except (ValueError, KeyError, TypeError):
            vectors, used = [], 0
        if len(vectors) != len(texts) or len({len(v) for v in vectors}) > 1:
            raise ModelAnswerError(
                f"sent no {len(texts)} vectors of one length for {len(texts)} texts",
                where=self.where,
                hint="is it an embedding model?",
            )
        return vectors, used

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            # OpenAI's reasoning models know the new name only, other servers mostly the old.
            "max_completion_tokens" if self._official else "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.seed is not None:
            body["seed"] = request.seed + request.sample
        if request.stop:
            body["stop"] = list(request.stop)
        if request.logprobs:
            body.update(logprobs=True, top_logprobs=request.logprobs)
        if request.json_schema is not None:
            schema = {"name": "answer", "strict": True, "schema": dict(request.json_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        for name in ("top_k", "grammar"):
            value = getattr(request, name)
            if value is not None:
                if self._official:
                    raise UsageError(f"{self.name} has no parameter {name}", hint="leave it out")
                body[name] = value
        body.update(request.extra)
        return body

    def _may_drop(self, error: openai.APIStatusError, sent: Mapping[str, Any]) -> bool:
        """Whether the server refuses a parameter that its reasoning models lack; remembered for later calls."""
        if error.status_code != 400 or not self._official:
            return False
        body = error.body if isinstance(error.body, dict) else {}
        name = body.get("param")
        lacking = body.get("code") in ("unsupported_value", "unsupported_parameter")
        if lacking and name in ("temperature", "top_p", "seed", "stop") and name in sent:
            self._dropped.add(name)
            return True
        return False

    def _filtered(self, error: openai.APIStatusError) -> ChatAnswer | None:
        body = error.body if isinstance(error.body, dict) else {}
        if error.status_code == 400 and body.get("code") == "content_filter":
            note = redact(str(body.get("message") or "content filter"), self._key)
            return ChatAnswer("", "refused", model=self._model, note=note)
        return None

    def _status(self, error: openai.APIStatusError) -> Exception:
        return from_status(
            error.status_code,
            error.response.headers,
            error.response.text,
            model=self._model,
            where=self.where,
            key_name=self._key_name,
            secret=self._key,
        )

    def _timed_out(self) -> AttemptFailed:
        return AttemptFailed(
            f"no answer within {self._timeout:g} s",
            kind="timeout",
            where=self.where,
            hint="give it more time: CYPHERFORGE_MODEL_TIMEOUT=SECONDS, or fewer --workers",
        )

    def _unreachable(self, error: openai.APIConnectionError) -> AttemptFailed:
        return no_connection(error, self.where, self._key)

    def _answer(self, text: str) -> ChatAnswer:
        document = read_document(text, self.where, self._key)
        if not document.get("choices") and document.get("error"):
            # Some proxies wrap an error in a 200.
            error = document["error"]
            status = error.get("code") if isinstance(error, dict) else None
            raise from_status(
                status if isinstance(status, int) and 400 <= status < 600 else 500,
                {},
                text,
                model=self._model,
                where=self.where,
                key_name=self._key_name,
                secret=self._key,
            )
        return read_answer(document, self._model)


class StreamReader:
    """Puts a streamed chat completion together, line by line of its server-sent events."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._text: list[str] = []
        self._tokens: list[Any] = []
        self._plain: list[str] = []
        self._head: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._finish: Any = None
        self.cut = False

    def take(self, line: str) -> bool:
        """Read a line; False when nothing more is wanted."""
        if not line.startswith("data:"):
            # A server that cannot stream sends the whole document.
            if line.strip() and not line.startswith((":", "event:", "id:", "retry:")):
                self._plain.append(line)
            return True
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            return False
        try:
            chunk = loads(data)
        except ValueError:
            self._plain.append(data)
            return True
        if not isinstance(chunk, dict) or chunk.get("error"):
            self._plain.append(data)
            return False
        self._head |= {key: chunk[key] for key in ("model", "usage") if chunk.get(key)}
        choices = chunk.get("choices") or [{}]
        choice = choices[0] if isinstance(choices[0], dict) else {}
        delta = choice.get("delta") or {}
        self._text.append(delta["content"] if isinstance(delta.get("content"), str) else "")
        self._message |= {k: delta[k] for k in ("refusal", "reasoning_content") if delta.get(k)}
        self._finish = choice.get("finish_reason") or self._finish
        logprobs = choice.get("logprobs")
        for row, token in zip(_rows(logprobs), _logprobs(logprobs), strict=True):
            self._tokens.append(row)
            if not self._watch(token):
                self.cut = True
        return not self.cut

    def document(self) -> str:
        """The completion as JSON, as if it had come whole; what was no stream as it came."""
        if self._plain:
            return "\n".join(self._plain)
        message = {"role": "assistant", "content": "".join(self._text), **self._message}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": self._finish,
            "logprobs": {"content": self._tokens},
        }
        return dumps({**self._head, "choices": [choice]})

    def partial(self, model: str, prompt_tokens: int) -> ChatAnswer:
        """What came until the cut; the tokens of the prompt are an estimate, nobody told them."""
        return ChatAnswer(
            "".join(self._text),
            "length",
            prompt_tokens=prompt_tokens,
            completion_tokens=len(self._tokens),
            model=str(self._head.get("model") or model),
            logprobs=_logprobs({"content": self._tokens}),
            note=CUT,
        )


def read_answer(document: Mapping[str, Any], model: str) -> ChatAnswer:
    """The answer in a chat completion, whatever shape its content has.

    Blocks of text are joined, reasoning is left alone; cut off is ``length``, also where no reason for the end was
    given (a stream that broke) and where reasoning used up the tokens.
    """
    usage = document.get("usage") or {}
    choices = document.get("choices") or [{}]
    choice = choices[0] if isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(
            block if isinstance(block, str) else str(block.get("text") or "")
            for block in content
            if isinstance(block, str)
            or (isinstance(block, dict) and block.get("type") in ("text", "output_text"))
        )
    text = content if isinstance(content, str) else ""
    reason = choice.get("finish_reason")
    finish, note = _finish(reason, text)
    if message.get("refusal"):
        finish, note = "refused", " ".join(str(message["refusal"]).split())
    if finish == "length" and not text.strip():
        note = "no answer: token budget used up before it" + (
            " by reasoning" if message.get("reasoning_content") or message.get("reasoning") else ""
        )
    return ChatAnswer(
        text,
        finish,
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        model=str(document.get("model") or model),
        logprobs=_logprobs(choice.get("logprobs")),
        note=note,
    )


def _finish(reason: Any, text: str) -> tuple[Finish, str]:
    word = str(reason).lower() if reason else ""
    if word in _REFUSED:
        return "refused", word
    if word in ("tool_calls", "function_call"):
        return "empty", "a tool call instead of an answer"
    if word in _WHOLE:
        return ("stop", "") if text.strip() else ("empty", "")
    if word in ("length", "max_tokens", "model_length"):
        return "length", ""
    return "length", f"ended with {reason!r}" if reason else "ended without a reason"


def _logprobs(value: Any) -> tuple[TokenLogprob, ...]:
    return tuple(
        TokenLogprob(
            str(row.get("token", "")),
            _finite(row.get("logprob")),
            tuple(
                (str(top.get("token", "")), _finite(top.get("logprob")))
                for top in row.get("top_logprobs") or ()
            ),
        )
        for row in _rows(value)
    )


def _rows(value: Any) -> list[Any]:
    rows = value.get("content") if isinstance(value, dict) else None
    return [row for row in rows or () if isinstance(row, dict)]


def _finite(value: Any) -> float:
    number = float(value) if isinstance(value, int | float) else _IMPOSSIBLE
    return number if math.isfinite(number) else _IMPOSSIBLE
