"""A model without a model: answers from a file or a function, for tests and for users' own tests.

A script is JSON Lines, or YAML with a list, one rule a row. The first rule whose condition holds answers::

    {"contains": "How many", "answer": "MATCH (n) RETURN count(n)"}
    {"contains": ["draft", "Germany"], "answers": ["first sample", "second sample"]}
    {"key": "9f2c...", "answer": "..."}                      the request's key, or its first characters
    {"answer": "no condition: for everything else", "finish": "length"}

``contains`` asks that every text stands in some message; ``answers`` are taken by the sample's number, round and
round. Nothing depends on the order of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml

from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.files import read_jsonl, read_text
from cypherforge.llm.base import (
    ChatAnswer,
    ChatRequest,
    Finish,
    estimate_tokens,
    request_key,
)

_KEYS = {"contains", "key", "answer", "answers", "finish", "note"}


@dataclass(frozen=True, slots=True)
class _Rule:
    contains: tuple[str, ...]
    key: str
    answers: tuple[str, ...]
    finish: Finish
    note: str

    def holds(self, request: ChatRequest, name: str) -> bool:
        if self.key and not request_key(name, request).startswith(self.key):
            return False
        return all(any(text in m.content for m in request.messages) for text in self.contains)


class ScriptedModel:
    """Answers by rules, or by a function of the request that gives a text or a whole answer."""

    def __init__(
        self,
        script: Callable[[ChatRequest], str | ChatAnswer] | Sequence[Mapping[str, Any]],
        name: str = "scripted:function",
    ) -> None:
        """Raises InputError for a rule that cannot be read."""
        self.name = name
        self._function = script if callable(script) else None
        self._rules: list[_Rule] = []
        if not callable(script):
            self._rules = [_rule(row, f"{name}, row {n}") for n, row in enumerate(script, 1)]

    @classmethod
    def from_file(cls, path: Path | str) -> ScriptedModel:
        """Rules of a ``.yaml``, ``.yml`` or JSON Lines file. Raises InputError."""
        path = Path(path)
        if path.suffix.lower() in (".yaml", ".yml"):
            try:
                rows = yaml.safe_load(read_text(path)) or []
            except yaml.YAMLError as error:
                reason = " ".join(str(error).split())
                raise InputError(f"not YAML: {reason}", where=str(path), hint="mend it") from None
            if not isinstance(rows, list):
                raise InputError(
                    "is not a list of rules", where=str(path), hint="start rules with '-'"
                )
        else:
            rows = [row for _, row in read_jsonl(path)]
        if not rows:
            raise InputError("holds no rules", where=str(path), hint='write {"answer": "..."}')
        # The file's name, not its folder: keys, and with them caches, survive a move.
        return cls(rows, f"scripted:{path.name}")

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The scripted answer; tokens are estimates. Raises UsageError where no rule holds."""
        if self._function is not None:
            given = self._function(request)
            return (
                given if isinstance(given, ChatAnswer) else self._answer(request, given, "stop", "")
            )
        for rule in self._rules:
            if rule.holds(request, self.name):
                text = rule.answers[request.sample % len(rule.answers)]
                return self._answer(request, text, rule.finish, rule.note)
        last = request.messages[-1].content if request.messages else ""
        raise UsageError(
            f"no rule answers the message that ends {last[-60:]!r}",
            where=self.name,
            hint='add a rule without "contains" for everything else',
        )

    def _answer(self, request: ChatRequest, text: str, finish: Finish, note: str) -> ChatAnswer:
        if finish == "stop" and not text.strip():
            finish = "empty"
        return ChatAnswer(
            text,
            finish,
            prompt_tokens=estimate_tokens(request.prompt_chars()),
            completion_tokens=estimate_tokens(text),
            model=self.name,
            note=note,
        )


def _rule(row: Any, where: str) -> _Rule:
    def wrong(reason: str) -> InputError:
        return InputError(
            reason, where=where, hint='a rule is like {"contains": "...", "answer": "..."}'
        )

    if not isinstance(row, Mapping):
        raise wrong("is not an object")
    unknown = sorted(str(key) for key in row if key not in _KEYS)
    if unknown:
        raise wrong(f"unknown key {unknown[0]!r}")
    if ("answer" in row) == ("answers" in row):
        raise wrong('needs "answer" or "answers", one of them')
    answers = row["answers"] if "answers" in row else [row["answer"]]
    contains = row.get("contains", [])
    contains = [contains] if isinstance(contains, str) else contains
    for name, value in (("answers", answers), ("contains", contains)):
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise wrong(f"{name!r} must be text")
    if not answers:
        raise wrong('"answers" is empty')
    finish = row.get("finish", "stop")
    if finish not in get_args(Finish):
        raise wrong(f"finish {finish!r} is none of {', '.join(get_args(Finish))}")
    return _Rule(
        tuple(contains), str(row.get("key", "")), tuple(answers), finish, str(row.get("note", ""))
    )
