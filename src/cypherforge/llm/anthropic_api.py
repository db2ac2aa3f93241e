"""Chat of Anthropic's models. One call is one attempt: the SDK's own retries are off."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import anthropic

from cypherforge.core.errors import ModelAuthError, UsageError
from cypherforge.llm.base import ChatAnswer, ChatRequest, Finish
from cypherforge.llm.failures import AttemptFailed, from_status, no_connection, read_document
from cypherforge.llm.specs import ModelSpec


class AnthropicEndpoint:
    """A client for one model. Thread-safe."""

    def __init__(self, spec: ModelSpec, timeout: float = 180.0) -> None:
        """``timeout`` is in seconds an attempt. Raises ModelAuthError where the key is missing."""
        self._model = spec.name
        self.name = f"anthropic:{spec.name}"
        self.where = spec.destination
        self._timeout = timeout
        self._key = os.environ.get("ANTHROPIC_API_KEY") or ""
        if not self._key:
            raise ModelAuthError(
                "ANTHROPIC_API_KEY is not set",
                where=self.where,
                hint="export ANTHROPIC_API_KEY=...",
            )
        self._client = anthropic.Anthropic(
            api_key=self._key,
            base_url=os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com",
            timeout=timeout,
            max_retries=0,
        )

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """One attempt. Raises AttemptFailed, PromptTooLong, ModelAuthError, QuotaExhausted and others.

        There are no seeds: samples differ by temperature alone. Raises UsageError for grammar and logprobs.
        """
        fixed = self._arguments(request)
        try:
            raw = self._client.messages.with_raw_response.create(**fixed)
            text = raw.http_response.text
        except anthropic.APIStatusError as error:
            raise from_status(
                error.status_code,
                error.response.headers,
                error.response.text,
                model=self._model,
                where=self.where,
                key_name="ANTHROPIC_API_KEY",
                secret=self._key,
            ) from None
        except anthropic.APITimeoutError:
            raise AttemptFailed(
                f"no answer within {self._timeout:g} s",
                kind="timeout",
                where=self.where,
                hint="give it more time: CYPHERFORGE_MODEL_TIMEOUT=SECONDS",
            ) from None
        except anthropic.APIConnectionError as error:
            raise no_connection(error, self.where, self._key) from None
        document = read_document(text, self.where, self._key)
        return read_answer(document, self._model)

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        for name in ("grammar", "logprobs"):
            if getattr(request, name):
                raise UsageError(
                    f"{self.name} has no {name}", hint="leave it out, or take another model"
                )
        system = "\n\n".join(m.content for m in request.messages if m.role == "system")
        # Sampling parameters go by the body: the SDK's signature no longer has them, the API does.
        body: dict[str, Any] = {"temperature": request.temperature}
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.top_k is not None:
            body["top_k"] = request.top_k
        if request.json_schema is not None:
            schema = dict(request.json_schema)
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        body.update(request.extra)
        arguments: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": m.role, "content": m.content}
                for m in request.messages
                if m.role != "system"
            ],
            "extra_body": body,
        }
        if system:
            arguments["system"] = system
        if request.stop:
            arguments["stop_sequences"] = list(request.stop)
        return arguments


def read_answer(document: Mapping[str, Any], model: str) -> ChatAnswer:
    """The answer in a message: its text blocks joined, thinking left alone."""
    usage = document.get("usage") or {}
    blocks = [block for block in document.get("content") or () if isinstance(block, dict)]
    text = "".join(str(b.get("text") or "") for b in blocks if b.get("type") == "text")
    reason = document.get("stop_reason")
    finish: Finish
    note = ""
    if reason in ("end_turn", "stop_sequence"):
        finish = "stop" if text.strip() else "empty"
    elif reason == "refusal":
        finish, note = "refused", "the model declined"
    elif reason in ("tool_use", "pause_turn"):
        finish, note = "empty", f"ended with {reason!r}"
    else:
        finish = "length"
        if not text.strip():
            note = "no answer: token budget used up before it"
        elif reason != "max_tokens":
            note = f"ended with {reason!r}" if reason else "ended without a reason"
    prompt = sum(
        int(usage.get(name) or 0)
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    return ChatAnswer(
        text,
        finish,
        prompt_tokens=prompt,
        completion_tokens=int(usage.get("output_tokens") or 0),
        model=str(document.get("model") or model),
        note=note,
    )
