"""From what people write after ``--model`` to a model that retries, counts, records and remembers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, cast
from urllib.parse import urlsplit, urlunsplit

from cypherforge.core.errors import UsageError
from cypherforge.core.progress import Progress
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest, Embedder
from cypherforge.llm.budget import Budget, Meter, MeteredModel
from cypherforge.llm.cache import AnswerCache, CachedModel
from cypherforge.llm.prices import Prices
from cypherforge.llm.recorded import RecordedModel, RecordingModel
from cypherforge.llm.scripted import ScriptedModel

_HINT = "write openai:NAME, anthropic:NAME, NAME@URL, scripted:FILE, recorded:FILE or none"


Kind = Literal["openai", "anthropic", "url", "scripted", "recorded", "none"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed spec: what kind, and the model's name, file or address."""

    kind: Kind
    name: str = ""
    url: str = ""

    @property
    def leaves_machine(self) -> bool:
        """Whether prompts go to another machine."""
        if self.kind == "url":
            return (urlsplit(self.url).hostname or "") not in ("localhost", "127.0.0.1", "::1")
        return self.kind in ("openai", "anthropic")

    @property
    def destination(self) -> str:
        """Where prompts go, for people: no password, ``""`` where nothing is sent."""
        if self.kind == "url":
            return public_url(self.url)
        if self.kind == "openai":
            return public_url(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
        if self.kind == "anthropic":
            return public_url(os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com")
        return ""


def public_url(url: str) -> str:
    """A URL without user, password and query: fit for messages and logs."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def parse_spec(spec: str) -> ModelSpec:
    """Read a spec. Raises UsageError that lists the forms."""
    spec = spec.strip()
    if spec == "none":
        return ModelSpec("none", "none")
    at_url = re.match(r"(?P<name>.+?)@(?P<url>https?://.+)$", spec)
    if at_url:
        url = at_url["url"].rstrip("/")
        try:
            host = urlsplit(url).hostname
            _ = urlsplit(url).port
        except ValueError:
            host = None
        if not host:
            raise UsageError(f"no host in the URL of model {at_url['name']!r}", hint=_HINT)
        return ModelSpec("url", at_url["name"], url)
    kind, found, rest = spec.partition(":")
    if found and rest and kind in ("openai", "anthropic", "scripted", "recorded"):
        return ModelSpec(cast(Kind, kind), rest)
    raise UsageError(f"not a model: {spec!r}", hint=_HINT)


def _seconds(timeout: float | None) -> float:
    text = os.environ.get("CYPHERFORGE_MODEL_TIMEOUT", "180") if timeout is None else str(timeout)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise UsageError(
            f"not a number of seconds: {text!r}", hint="CYPHERFORGE_MODEL_TIMEOUT=180, for example"
        )
    return seconds


class NoModel:
    """What ``none`` opens: it cannot be asked."""

    name = "none"

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """Raises UsageError."""
        raise UsageError("this step asks a model, and none was given", hint=f"--model: {_HINT}")


def _recording(name: str) -> Path:
    """The file of a recording; ``example`` is the one that comes with the package."""
    if name == "example":
        return Path(str(files("cypherforge.artifacts") / "example" / "answers.jsonl"))
    return Path(name)


def open_model(
    spec: str,
    *,
    cache: Path | None = None,
    budget: Budget | None = None,
    record: Path | None = None,
    meter: Meter | None = None,
    prices: Prices | None = None,
    progress: Progress | None = None,
    timeout: float | None = None,
    record_command: str = "",
) -> ChatModel:
    """The model of a spec, from outside in: recording, cache, more room, retries, budget and meter, endpoint.

    ``cache`` is a folder, ``record`` a file that all answers are added to, with ``record_command`` for those who
    miss one later. ``progress`` is told of every wait; ``timeout`` is in seconds an
    attempt (``CYPHERFORGE_MODEL_TIMEOUT``, else 180). Raises UsageError (not a spec, a money budget without a price), InputError (script, recording).
    """
    parsed = parse_spec(spec)
    meter = meter if meter is not None else Meter()
    prices = prices or (budget.prices if budget else Prices())
    model: ChatModel
    if parsed.kind == "none":
        return NoModel()
    if parsed.kind == "recorded":
        if record is not None:
            raise UsageError("a recorded model cannot be recorded", hint="name a live --model")
        return RecordedModel(_recording(parsed.name), meter)
    if parsed.kind == "scripted":
        model = MeteredModel(ScriptedModel.from_file(parsed.name), meter, budget, prices)
    else:
        # The SDKs take a second to import: only who sends something pays that.
        from cypherforge.llm.endpoints import open_endpoint

        model = open_endpoint(
            parsed,
            meter=meter,
            budget=budget,
            prices=prices,
            progress=progress,
            timeout=_seconds(timeout),
        )
    if budget is not None:
        budget.check_price(model.name)
    if cache is not None:
        model = CachedModel(model, AnswerCache(Path(cache)), meter)
    if record is not None:
        # Outermost, so that an answer from the cache is recorded too.
        model = RecordingModel(model, record, record_command, meter)
    return model


def open_embedder(
    spec: str,
    *,
    corpus: Sequence[str] = (),
    meter: Meter | None = None,
    budget: Budget | None = None,
    prices: Prices | None = None,
    progress: Progress | None = None,
    timeout: float | None = None,
) -> Embedder:
    """``wordllama`` (offline), ``tfidf`` (weights from ``corpus``), ``openai:NAME`` or NAME@URL.

    Raises UsageError (not a spec, a money budget without a price), ModelAuthError (no key).
    """
    from cypherforge.llm import embeddings

    if spec == "wordllama":
        return embeddings.WordLlamaEmbedder()
    if spec == "tfidf":
        return embeddings.TfidfEmbedder(corpus)
    try:
        parsed = parse_spec(spec)
    except UsageError:
        parsed = ModelSpec("none")
    if parsed.kind not in ("openai", "url"):
        raise UsageError(
            f"not an embedder: {spec!r}", hint="write wordllama, tfidf, openai:NAME or NAME@URL"
        )
    return embeddings.EndpointEmbedder(
        parsed,
        meter=meter,
        budget=budget,
        prices=prices,
        progress=progress,
        timeout=_seconds(timeout),
    )
