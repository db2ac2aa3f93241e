"""Rules: what a drafting model is told before it drafts, so that a known fault does not happen.

A rule is a decision procedure (CypherGuard, section 3.2): the situation, why the naive query is
wrong, the corrective pattern, and the boundary that stops its over-use. It is written only in
placeholders, cites the failures it came from, and carries the evidence of what it changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cypherforge.core.errors import InputError
from cypherforge.core.files import read_text
from cypherforge.rules.taxonomy import taxonomy

Tier = Literal["universal", "schema", "question"]
Predicate = Literal[
    "boolean_property",
    "date_property",
    "list_property",
    "mutual_type",
    "multi_label",
    "reciprocal_type",
    "relationship_property",
    "self_relationship",
    "several_patterns_per_type",
    "several_types_per_pair",
    "sparse_property",
]

PROMPT_WORDS = 60


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Trigger(_Strict):
    """When a rule applies: features the schema declares, or words of the question; never both.

    ``mode`` says whether one of them is enough. A phrase matches whole words in any case, plurals
    included.
    """

    predicates: tuple[Predicate, ...] = ()
    words: tuple[Annotated[str, Field(min_length=2, max_length=60)], ...] = Field(
        default=(), max_length=40
    )
    mode: Literal["any", "all"] = "any"

    @model_validator(mode="after")
    def _one_kind(self) -> Trigger:
        if bool(self.predicates) == bool(self.words):
            raise ValueError("give either predicates or words")
        return self


class Evidence(_Strict):
    """What a rule changed when drafts were made with and without it.

    ``lift`` is the net change of execution accuracy over all questions tried, as a share
    (-1..1), with its bootstrap interval; ``prompt_tokens`` is what the rule adds to a prompt.
    Only rules with the verdict ``kept`` are used; the others stay on record.
    """

    failures: int = Field(ge=0, description="held-out questions that fail without the rule")
    passes: int = Field(ge=0, description="held-out questions that pass without the rule")
    fixed: int = Field(ge=0, description="failures that pass with the rule")
    broken: int = Field(ge=0, description="passes that fail with the rule")
    lift: float = Field(ge=-1, le=1)
    low: float = Field(ge=-1, le=1)
    high: float = Field(ge=-1, le=1)
    prompt_tokens: int = Field(ge=0)
    verdict: Literal["kept", "demoted", "dropped"] = "kept"
    model: str = ""
    engine: str = ""

    @model_validator(mode="after")
    def _adds_up(self) -> Evidence:
        if self.fixed > self.failures or self.broken > self.passes:
            raise ValueError("more fixed or broken than were tried")
        return self


class Rule(_Strict):
    """One preventive rule.

    ``wrong`` and ``right`` are whole queries in placeholders; ``codes`` are of the taxonomy;
    ``cites`` are ids of failures.
    """

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")
    tier: Tier
    title: str = Field(min_length=3, max_length=100)
    situation: str = Field(min_length=10, max_length=600, description="when the mistake happens")
    why: str = Field(min_length=10, max_length=600, description="why the naive query is wrong")
    correction: str = Field(min_length=10, max_length=900, description="what to write instead")
    boundary: str = Field(min_length=5, max_length=600, description="when not to apply it")
    wrong: str | None = Field(default=None, max_length=800)
    right: str | None = Field(default=None, max_length=800)
    trigger: Trigger | None = None
    codes: tuple[str, ...] = Field(min_length=1)
    cites: tuple[str, ...] = ()
    evidence: Evidence | None = None

    @model_validator(mode="after")
    def _hangs_together(self) -> Rule:
        unknown = [code for code in self.codes if code not in taxonomy()]
        if unknown:
            raise ValueError(f"codes: no such fault code {unknown[0]!r}")
        if self.wrong is not None and self.right is None:
            raise ValueError("wrong: show what is right beside it")
        kind = {
            "universal": self.trigger is None,
            "schema": self.trigger is not None and bool(self.trigger.predicates),
            "question": self.trigger is not None and bool(self.trigger.words),
        }
        if not kind[self.tier]:
            need = {
                "universal": "no trigger",
                "schema": "a trigger of schema predicates",
                "question": "a trigger of question words",
            }
            raise ValueError(f"trigger: a rule of tier {self.tier!r} takes {need[self.tier]}")
        words = sum(len(t.split()) for t in (self.situation, self.correction, self.boundary))
        if words > PROMPT_WORDS:
            raise ValueError(
                f"situation, correction and boundary have {words} words together; "
                f"a prompt has room for {PROMPT_WORDS}"
            )
        return self

    def prompt_text(self) -> str:
        """The rule as a prompt shows it: at most about 60 words, and one wrong/right pair.

        The reason is told only where there is room for it; the boundary always is.
        """
        parts = [self.situation, self.why, self.correction, f"Not: {self.boundary}"]
        if sum(len(part.split()) for part in parts) > PROMPT_WORDS:
            del parts[1]
        lines = [f"- {self.title}. " + " ".join(_sentence(part) for part in parts)]
        # A naive query that does not even parse cannot be shown as a snippet; the right one can.
        if self.wrong is not None:
            lines.append(f"  Wrong: {_one_line(self.wrong)}")
        if self.right is not None:
            lines.append(f"  Right: {_one_line(self.right)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """What is wrong with one rule of a file: ``rule`` is its id, or its place (``#3``)."""

    rule: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"rule {self.rule}, {self.field}: {self.reason}" if self.field else (
            f"rule {self.rule}: {self.reason}"
        )  # fmt: skip


def check_rules(data: Any) -> tuple[list[Rule], list[RuleProblem]]:
    """Validate ``{"rules": [...]}`` (or the bare list): the good rules, and every problem found."""
    rows = data.get("rules") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return [], [RuleProblem("#0", "rules", "the file must hold a list named rules")]
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        name = str(row["id"]) if isinstance(row, dict) and row.get("id") else f"#{number}"
        try:
            rule = Rule.model_validate(row)
        except ValidationError as error:
            problems += [_problem(name, dict(e)) for e in error.errors(include_url=False)]
            continue
        if rule.id in seen:
            problems.append(RuleProblem(name, "id", "given to an earlier rule too"))
            continue
        seen.add(rule.id)
        rules.append(rule)
    return rules, problems


def load_rules(path: Path) -> list[Rule]:
    """Read a ``rules.yaml`` (or JSON). InputError names the file, the rule and the field."""
    import yaml

    try:
        data = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not YAML: {reason}", where=str(path)) from error
    rules, problems = check_rules(data)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError(f"{problems[0]}{more}", where=str(path), hint="correct the file")
    return rules


def dump_rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Rules as plain data, empty fields left out, as bundles and YAML carry them."""
    return [rule.model_dump(mode="json", exclude_none=True) for rule in rules]


class RuleFile(_Strict):
    """What a ``rules.yaml`` holds; its JSON Schema is handed to an agent."""

    rules: list[Rule]


def rules_schema() -> dict[str, Any]:
    """JSON Schema of a rules file, with the codes spelled out."""
    schema = RuleFile.model_json_schema()
    codes = [code.code for code in taxonomy().codes]
    schema["$defs"]["Rule"]["properties"]["codes"]["items"] = {"type": "string", "enum": codes}
    # Evidence is measured, never written by hand.
    del schema["$defs"]["Rule"]["properties"]["evidence"]
    schema["$defs"].pop("Evidence", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _problem(rule: str, error: dict[str, Any]) -> RuleProblem:
    field = ".".join(str(part) for part in error["loc"])
    reason = str(error["msg"]).removeprefix("Value error, ")
    if not field and ": " in reason:
        field, reason = reason.split(": ", 1)
    return RuleProblem(rule, field, reason)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _one_line(query: str) -> str:
    return " ".join(query.split())
