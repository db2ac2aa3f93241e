"""The fault taxonomy as data: eight families of four codes (CypherGuard, section 3.2 and Table 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from cypherforge.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Code:
    """One fault: ``slip`` and ``repair`` are Cypher in placeholders, ``guard`` what catches it."""

    code: str
    family: str
    name: str
    definition: str
    slip: str
    repair: str
    guard: str


@dataclass(frozen=True, slots=True)
class Family:
    """A family of codes, in the order in which a draft is to be repaired."""

    name: str
    definition: str
    codes: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """All families; ``version`` changes whenever a code or its meaning does."""

    version: int
    families: tuple[Family, ...]

    @property
    def codes(self) -> tuple[Code, ...]:
        """All codes, family by family."""
        return tuple(code for family in self.families for code in family.codes)

    def __getitem__(self, code: str) -> Code:
        """The code of that id; UsageError if there is none."""
        for candidate in self.codes:
            if candidate.code == code:
                return candidate
        raise UsageError(
            f"no such fault code: {code!r}", hint="`cypherforge taxonomy` lists all of them"
        )

    def __contains__(self, code: object) -> bool:
        return any(candidate.code == code for candidate in self.codes)

    def to_json(self) -> dict[str, Any]:
        """The taxonomy as plain data, as bundles carry it."""
        return asdict(self)

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Taxonomy:
        """Read the taxonomy's own YAML, or what :meth:`to_json` gave."""
        return Taxonomy(
            version=data["version"],
            families=tuple(
                Family(
                    name=family["name"],
                    definition=family["definition"],
                    codes=tuple(
                        Code(**{**code, "family": family["name"]}) for code in family["codes"]
                    ),
                )
                for family in data["families"]
            ),
        )


@cache
def taxonomy() -> Taxonomy:
    """The shipped taxonomy."""
    import yaml

    text = (files("cypherforge.rules") / "taxonomy.yaml").read_text(encoding="utf-8")
    return Taxonomy.from_data(yaml.safe_load(text))


def taxonomy_page(source: Taxonomy | None = None) -> str:
    """The taxonomy as a Markdown page."""
    source = source or taxonomy()
    lines = [
        "# The 32 faults of a Cypher draft",
        "",
        (
            "Written by `cypherforge taxonomy`; the data are in `src/cypherforge/rules/taxonomy.yaml` "
            f"(version {source.version})."
        ),
        "Only the family `syntax` names faults that stop a query: the others run, and answer wrongly.",
        "Examples are in placeholders: `NodeLabel`, `relType`, `propertyKey`, `$value`.",
        "",
        "| family | codes |",
        "| --- | --- |",
    ]
    for family in source.families:
        listed = ", ".join(f"`{code.code}`" for code in family.codes)
        lines.append(f"| [{family.name}](#{family.name}) | {listed} |")
    for family in source.families:
        lines += ["", f"## {family.name}", "", family.definition]
        for code in family.codes:
            lines += [
                "",
                f"### `{code.code}`: {code.name}",
                "",
                code.definition,
                "",
                "```cypher",
                f"// slip\n{code.slip}",
                f"// repair\n{code.repair}",
                "```",
                "",
                f"Caught by {code.guard}.",
            ]
    return "\n".join(lines) + "\n"
