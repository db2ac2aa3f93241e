"""What every chat model and every embedder is: requests, answers, and the key of a request.

A request is plain frozen data, and its key is a digest of every byte that can change the answer: messages,
parameters, grammar, the extra body, the sample's number, the model's name; never the address of the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cypherforge.core.files import clean_text, dumps

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "refused", "empty"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Lone surrogates, which no transport can carry, become U+FFFD."""

    role: Role
    content: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", clean_text(self.content))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """All that is sent for one answer.

    ``sample`` numbers repeated drafts of one prompt: each has an answer of its own, unless ``temperature`` is 0
    and so one answer serves them all. ``grammar`` is GBNF (llama.cpp), ``json_schema`` a JSON Schema that the
    answer must fit, ``logprobs`` the number of alternatives wanted a token (0: none), ``roomy`` whether a
    cut-off answer is asked for once more with more tokens (no part of the request's key: it changes no whole
    answer), ``extra`` further keys of the request's body.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    grammar: str | None = None
    json_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    logprobs: int = 0
    sample: int = 0
    roomy: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "stop", tuple(self.stop))
        object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled, and requests cross process borders.
        values = [getattr(self, f.name) for f in fields(self)]
        return ChatRequest, (*values[:-1], dict(self.extra))

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults: a field added later changes no old key."""
        result: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
        }
        for name in ("top_p", "top_k", "seed", "grammar"):
            if getattr(self, name) is not None:
                result[name] = getattr(self, name)
        if self.stop:
            result["stop"] = list(self.stop)
        if self.json_schema is not None:
            result["json_schema"] = dict(self.json_schema)
        if self.logprobs:
            result["logprobs"] = self.logprobs
        if self.sample and self.temperature > 0:
            result["sample"] = self.sample
        if self.extra:
            result["extra"] = dict(self.extra)
        return result

    def prompt_chars(self) -> int:
        """Characters of all messages together."""
        return sum(len(message.content) for message in self.messages)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token of an answer with its natural log probability and the likeliest alternatives."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What came back. ``finish`` says whether it is whole; only a whole answer with text is usable.

    ``stop``: whole. ``length``: cut off by the token budget or by a stream that broke, not an answer even where it
    parses. ``refused``: by the model or a content filter. ``empty``: nothing to read. ``note`` says more.
    """

    text: str
    finish: Finish = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    cached: bool = False
    note: str = ""

    @property
    def usable(self) -> bool:
        """Whether this is a whole answer with text in it."""
        return self.finish == "stop" and bool(self.text.strip())

    def to_json(self) -> dict[str, Any]:
        """All but ``cached``, which is about how it was got."""
        result: dict[str, Any] = {
            "answer": self.text,
            "finish": self.finish,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "model": self.model,
        }
        if self.logprobs:
            result["logprobs"] = [
                [t.token, t.logprob, [list(x) for x in t.top]] for t in self.logprobs
            ]
        if self.note:
            result["note"] = self.note
        return result

    @classmethod
    def from_json(cls, row: Mapping[str, Any], *, cached: bool = False) -> ChatAnswer:
        """The answer that :meth:`to_json` wrote. Raises KeyError, TypeError or ValueError on anything else."""
        finish = row.get("finish", "stop")
        if finish not in ("stop", "length", "refused", "empty"):
            raise ValueError(f"finish is {finish!r}")
        return cls(
            text=str(row["answer"]),
            finish=finish,
            prompt_tokens=int(row.get("prompt_tokens", 0)),
            completion_tokens=int(row.get("completion_tokens", 0)),
            model=str(row.get("model", "")),
            logprobs=tuple(
                TokenLogprob(str(token), float(p), tuple((str(t), float(q)) for t, q in top))
                for token, p, top in row.get("logprobs", ())
            ),
            cached=cached,
            note=str(row.get("note", "")),
        )


class ChatModel(Protocol):
    """A chat model. ``name`` is part of every request's key; ``chat`` may be called from many threads."""

    @property
    def name(self) -> str:
        """What the model is called in keys, records and prices."""

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer, usable or not. Raises the environment and model errors of the tree."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """What the embedder is called in records and prices."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, shape (n, d), each of length 1 (a text without words: all zeros)."""


def request_key(model_name: str, request: ChatRequest) -> str:
    """Hex digest (SHA-256) over the model's name and every byte of the request that matters."""
    document = dumps({"model": model_name, "request": request.to_json()})
    return hashlib.sha256(document.encode()).hexdigest()


def estimate_tokens(text_or_chars: str | int) -> int:
    """About how many tokens a text has, at three characters each: rather too many than too few for English."""
    chars = text_or_chars if isinstance(text_or_chars, int) else len(text_or_chars)
    return chars // 3 + 1


def samples(request: ChatRequest, count: int) -> list[ChatRequest]:
    """``count`` requests for drafts of their own, numbered from 0."""
    return [replace(request, sample=number) for number in range(count)]
