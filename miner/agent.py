"""An agent that mines rules through tools, on any chat model (CypherGuard, section 3.2).

One session: it lists, reads and clusters failures, proposes rules, sees what the validator says,
may correct each rejected rule once, and finishes. Actions are JSON objects in ordinary answers, so
that endpoints without native tool calls can serve too. Budgets are the model's (``llm.budget``).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cypherforge.core.errors import ModelAnswerError
from cypherforge.core.files import dumps
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.llm.base import ChatModel, ChatRequest, Message
from cypherforge.miner.attempts import Attempt
from cypherforge.miner.cluster import cluster
from cypherforge.miner.handoff import failure_view, mining_prompt
from cypherforge.rules.model import Rule, check_rules
from cypherforge.templates import render

MAX_TURNS = 60
READ_AT_ONCE = 8
MAX_BAD_ANSWERS = 3
TOOLS = ("clusters", "list_failures", "read_failures", "propose_rules", "finish")
ACTION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"tool": {"enum": list(TOOLS)}, "arguments": {"type": "object"}},
    "required": ["tool", "arguments"],
}

# What is wrong with a rule beyond its form: one sentence each, empty where it is fine.
Validator = Callable[[Rule], list[str]]


@dataclass(slots=True)
class Session:
    """What the agent has written: accepted rules by id, and rejections for good, with reasons."""

    accepted: dict[str, Rule] = field(default_factory=dict)
    rejected: dict[str, list[str]] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    finished: bool = False


def mine_with_agent(
    model: ChatModel,
    failures: Sequence[Attempt],
    validate: Validator,
    *,
    max_turns: int = MAX_TURNS,
    max_tokens: int = 4096,
    progress: Progress | None = None,
) -> Session:
    """Run one agent session; returns when it finishes or its turns are used up.

    Raises what the model raises (``BudgetExhausted`` among them); answers that were received are
    in the model's cache, so that a second run goes through them without cost.
    """
    progress = progress or NullProgress()
    progress.start("agent", max_turns)
    session = Session()
    tools = _Tools(failures, validate, session)
    system = render("prompts/mine_agent.jinja", task=mining_prompt(), most=READ_AT_ONCE)
    messages = [Message("system", system), Message("user", f"{len(failures)} failures. Begin.")]
    bad = 0
    while session.turns < max_turns and not session.finished:
        request = ChatRequest(
            messages=tuple(messages), max_tokens=max_tokens, json_schema=ACTION_SCHEMA
        )
        answer = model.chat(request)
        session.turns += 1
        if not answer.usable:
            reply, bad = f"your answer was not usable: {answer.finish}", bad + 1
        else:
            reply, ok = tools.act(answer.text)
            bad = 0 if ok else bad + 1
        if bad > MAX_BAD_ANSWERS:
            raise ModelAnswerError(
                f"the agent gave {bad} answers in a row that are no action",
                hint="use a stronger model for --agent, or --agent none",
            )
        messages += [Message("assistant", answer.text), Message("user", reply)]
        progress.advance(1, f"{len(session.accepted)} rules")
    end = "finished" if session.finished else "stopped at its limit of turns"
    progress.finish(
        f"{end} after {session.turns} turns: {len(session.accepted)} rules accepted, "
        f"{len(session.rejected)} rejected"
    )
    return session


class _Tools:
    def __init__(self, failures: Sequence[Attempt], validate: Validator, session: Session) -> None:
        self._failures = {f.id: f for f in failures}
        self._validate = validate
        self._session = session

    def act(self, text: str) -> tuple[str, bool]:
        """Do what the answer asks; the reply, and whether it was an action at all."""
        try:
            start, end = text.index("{"), text.rindex("}") + 1
            action = json.loads(text[start:end])
            tool, arguments = action["tool"], action.get("arguments") or {}
        except (ValueError, KeyError, TypeError) as error:
            return f"not an action: {error}; answer with one JSON object", False
        if tool not in TOOLS or not isinstance(arguments, dict):
            return f"no such tool: {tool!r}; the tools are {', '.join(TOOLS)}", False
        reply = getattr(self, f"_{tool}")(arguments)
        return dumps(reply), True

    def _clusters(self, _: dict[str, Any]) -> Any:
        found = cluster(list(self._failures.values()))
        return [{"name": c.name, "codes": c.codes, "ids": c.ids} for c in found]

    def _list_failures(self, arguments: dict[str, Any]) -> Any:
        code = arguments.get("code")
        return [
            {"id": f.id, "code": f.code, "outcome": f.outcome, "question": f.question}
            for f in self._failures.values()
            if not code or f.code == code
        ]

    def _read_failures(self, arguments: dict[str, Any]) -> Any:
        ids = arguments.get("ids")
        if not isinstance(ids, list):
            return {"error": "ids must be a list"}
        return [
            failure_view(self._failures[i]) if i in self._failures else {"error": f"no failure {i}"}
            for i in map(str, ids[:READ_AT_ONCE])
        ]

    def _propose_rules(self, arguments: dict[str, Any]) -> Any:
        rows = arguments.get("rules")
        if not isinstance(rows, list):
            return {"error": "rules must be a list"}
        rules, problems = check_rules(rows)
        wrong: dict[str, list[str]] = {}
        for problem in problems:
            wrong.setdefault(problem.rule, []).append(f"{problem.field}: {problem.reason}")
        for rule in rules:
            reasons = self._validate(rule)
            lost = [i for i in rule.cites if i not in self._failures]
            if lost:
                reasons.append(f"cites: no failure {lost[0]}")
            if reasons:
                wrong.setdefault(rule.id, []).extend(reasons)
        answer: dict[str, Any] = {"accepted": [], "rejected": wrong}
        for rule in rules:
            if rule.id not in wrong and self._session.tries.get(rule.id, 0) < 2:
                self._session.accepted[rule.id] = rule
                self._session.rejected.pop(rule.id, None)
                answer["accepted"].append(rule.id)
        for rule_id, reasons in wrong.items():
            self._session.tries[rule_id] = self._session.tries.get(rule_id, 0) + 1
            self._session.rejected[rule_id] = reasons
            if self._session.tries[rule_id] > 1:
                answer.setdefault("given_up", []).append(rule_id)
        return answer

    def _finish(self, _: dict[str, Any]) -> Any:
        self._session.finished = True
        return {"accepted": sorted(self._session.accepted)}
