"""What a failed attempt means: read from status, headers and body, alike for every endpoint."""

from __future__ import annotations

import calendar
import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_tz
from typing import Any, Literal

from cypherforge.core.errors import (
    CypherForgeError,
    ModelAnswerError,
    ModelAuthError,
    ModelUnavailable,
    PromptTooLong,
    QuotaExhausted,
    UsageError,
)
from cypherforge.core.files import loads

Kind = Literal["rate", "server", "connection", "timeout"]

LONGEST_WAIT = 300.0
"""Seconds: no server can make us wait longer at a time."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded|"
    r"maximum context length|context length exceeded|exceeds? the (?:available |maximum )?context|"
    r"prompt is too long|input is too long|longer than the maximum model length|"
    r"request too large for",
    re.IGNORECASE,
)
_NUMBERS = (
    # (prompt, window) or (window, prompt), as servers write them
    (re.compile(r"(\d[\d,]*) tokens? > (\d[\d,]*)"), False),
    (re.compile(r"\((\d[\d,]*) tokens\) exceeds? the available context size \((\d[\d,]*)"), False),
    (
        re.compile(
            r"maximum context length is (\d[\d,]*).{0,80}?"
            r"(?:requested|resulted in|contains?|has) (?:about |at least )?(\d[\d,]*)",
            re.DOTALL,
        ),
        True,
    ),
    (re.compile(r"Limit (\d[\d,]*), Requested (\d[\d,]*)"), True),
)
_SECRET = re.compile(r"\b(?:sk|pk|key|rk)-[A-Za-z0-9_\-*.]{6,}|(?<=Bearer )[^\s\"']+")


class AttemptFailed(ModelUnavailable):
    """One attempt failed in a way that another may not.

    ``kind``: ``rate`` (the server turned it away without work), ``server``, ``connection`` or ``timeout``. ``wait``:
    seconds the server asked for, None where it did not say or said nonsense.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Kind,
        wait: float | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.kind = kind
        self.wait = wait


def redact(text: str, secret: str | None = None) -> str:
    """``text`` on one line without anything that is, or looks like, an API key."""
    if secret:
        text = text.replace(secret, "***")
    return " ".join(_SECRET.sub("***", text).split())


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the server asks to wait, within 0 and :data:`LONGEST_WAIT`; None if not said or nonsense.

    Reads ``retry-after-ms`` and ``Retry-After`` as seconds or as an HTTP date. ``now`` is Unix time.
    """
    low = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(low[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_WAIT)
    date = parsedate_tz(low.get("retry-after", ""))
    if date is None:
        return None
    year, month, day, hour, minute, second = date[:6]
    if year > 9999:
        return LONGEST_WAIT
    try:
        moment = calendar.timegm((year, month, day, hour, minute, second, 0, 1, 0)) - (date[9] or 0)
    except (ValueError, OverflowError):
        return None
    return min(max(moment - (time.time() if now is None else now), 0.0), LONGEST_WAIT)


def read_document(text: str, where: str, secret: str | None = None) -> dict[str, Any]:
    """The JSON object of a body. Raises AttemptFailed: a proxy's page, or a body cut off, may not come again."""
    try:
        document = loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise AttemptFailed(
            f"sent no JSON object but {redact(text, secret)[:80]!r}", kind="server", where=where
        )
    return document


def no_connection(error: Exception, where: str, secret: str | None = None) -> AttemptFailed:
    """The error for a connection that was refused, or that broke before the answer was whole."""
    cause = error.__cause__ or error
    reason = redact(str(cause), secret)
    if type(cause).__name__ != "ConnectError":
        return AttemptFailed(f"the connection broke: {reason}", kind="server", where=where)
    return AttemptFailed(
        f"model unreachable: {reason}",
        kind="connection",
        where=where,
        hint="is the server running, and the URL right?",
    )


def from_status(
    status: int,
    headers: Mapping[str, str],
    body: str,
    *,
    model: str,
    where: str,
    key_name: str,
    secret: str | None = None,
) -> CypherForgeError:
    """The error for an HTTP status: AttemptFailed where another attempt may do, else what stops the call or the run.

    A prompt that is too long is told by its signs, whatever status a proxy has given it. ``key_name`` is the
    environment variable of the key, for the way out.
    """
    code, message = _read(body)
    text = redact(message, secret)[:300] or f"HTTP {status}"
    signs = f"{code} {message}"
    if _TOO_LONG.search(signs) or status == 413:
        return _too_long(body, text, where)
    if status == 402 or "insufficient_quota" in signs or "credit balance is too low" in signs:
        return QuotaExhausted(
            f"the account's quota is used up: {text}",
            where=where,
            hint="top it up and start it again: what was done is kept",
        )
    if status in (401, 403):
        return ModelAuthError(
            f"refuses the key (HTTP {status}): {text}", where=where, hint=f"set {key_name} rightly"
        )
    if status == 404:
        return UsageError(
            f"no such model or path (HTTP 404): {text}",
            where=where,
            hint=f"check the name {model!r}; the URL of an OpenAI-compatible server ends in /v1",
        )
    wait = retry_after(headers)
    if status in (429, 529) or (status == 503 and wait is not None):
        return AttemptFailed(f"busy (HTTP {status}): {text}", kind="rate", wait=wait, where=where)
    if status in (408, 425) or status >= 500:
        return AttemptFailed(
            f"failed (HTTP {status}): {text}", kind="server", wait=wait, where=where
        )
    return ModelAnswerError(
        f"refuses the request (HTTP {status}): {text}", where=where, hint="see what it says"
    )


def _read(body: str) -> tuple[str, str]:
    """Code (with type) and message of an error body; of anything that is not JSON, its beginning."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return "", re.sub(r"<[^>]*>", " ", body)[:2000]
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return "", str(value)[:2000]
    inner = value.get("error", value)
    if not isinstance(inner, dict):
        return "", str(inner)[:2000]
    code = f"{inner.get('code') or ''} {inner.get('type') or ''}".strip()
    message = inner.get("message") or inner.get("detail") or value.get("detail") or body
    return code, str(message)[:2000]


def _too_long(body: str, text: str, where: str) -> PromptTooLong:
    prompt = window = None
    try:
        inner = json.loads(body)["error"]
        prompt, window = int(inner["n_prompt_tokens"]), int(inner["n_ctx"])
    except (ValueError, KeyError, TypeError, RecursionError):
        for pattern, window_first in _NUMBERS:
            if found := pattern.search(text):
                prompt, window = (int(number.replace(",", "")) for number in found.groups())
                if window_first:
                    prompt, window = window, prompt
                break
    figures = f"{prompt} tokens, the window holds {window}" if prompt and window else text
    return PromptTooLong(
        f"the prompt is too long: {figures}",
        where=where,
        hint="narrow the schema, give fewer examples, or take a model with a larger window",
    )
