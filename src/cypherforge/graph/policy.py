"""Which database values may leave the database: ``--exclude LABEL.property`` and ``--no-values``.

The policy is asked before a value is kept, so an excluded one is in no schema, index, statistic or
prompt. Names, types and counts are no values: they stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cypherforge.core.errors import UsageError
from cypherforge.graph.formats.arrows import unquote
from cypherforge.graph.schema import Label, Property, RelType, Schema


@dataclass(frozen=True, slots=True)
class ValuePolicy:
    """``excluded`` holds (owner, property) pairs; ``*`` stands for any owner or any property."""

    excluded: frozenset[tuple[str, str]] = frozenset()
    no_values: bool = False

    @classmethod
    def of(cls, exclude: Iterable[str] | None = (), no_values: bool = False) -> ValuePolicy:
        """Build a policy from ``LABEL.property`` texts.

        ``LABEL`` alone and ``LABEL.*`` mean all its properties, ``*.property`` that property
        everywhere; a relationship type stands where a label may. Names may be back-ticked, and
        must be where they hold a dot. Raises ``UsageError`` for an empty name.
        """
        pairs = set()
        for text in exclude or ():
            owner, name = _split(text.strip())
            if not owner or not name:
                raise UsageError(
                    f"--exclude {text!r} names nothing", hint="write LABEL.property or LABEL"
                )
            pairs.add((owner, name))
        return cls(frozenset(pairs), no_values)

    def allows(self, owner: str, name: str) -> bool:
        """Return whether values of a property of a label or type may be kept."""
        return not self.no_values and not any(
            pair in self.excluded for pair in ((owner, name), (owner, "*"), ("*", name))
        )

    def unknown(self, schema: Schema) -> tuple[str, ...]:
        """Return the exclusions that name nothing in a schema: most likely misspelt."""
        owners: dict[str, set[str]] = {}
        for item in _owners(schema):
            owners.setdefault(item.name, set()).update(p.name for p in item.properties)
        names = set().union(*owners.values()) if owners else set()
        return tuple(
            f"{owner}.{name}"
            for owner, name in sorted(self.excluded)
            if (owner != "*" and owner not in owners)
            or (name != "*" and name not in (names if owner == "*" else owners[owner]))
        )

    def apply(self, schema: Schema) -> Schema:
        """Return the schema without the example values, least and greatest of what is excluded."""
        return replace(
            schema,
            labels={n: replace(x, properties=self._clean(x)) for n, x in schema.labels.items()},
            types={n: replace(x, properties=self._clean(x)) for n, x in schema.types.items()},
            raw="",
        )

    def _clean(self, owner: Label | RelType) -> tuple[Property, ...]:
        return tuple(
            item
            if self.allows(owner.name, item.name)
            else replace(item, values=(), low=None, high=None)
            for item in owner.properties
        )


#: Nothing is held back.
ALL_VALUES = ValuePolicy()


def _owners(schema: Schema) -> list[Label | RelType]:
    return [*schema.labels.values(), *schema.types.values()]


def _split(text: str) -> tuple[str, str]:
    if text.startswith("`"):
        end = 1
        while end < len(text) and (text[end] != "`" or text[end : end + 2] == "``"):
            end += 2 if text[end : end + 2] == "``" else 1
        owner, rest = unquote(text[: end + 1]), text[end + 1 :]
        name = rest[1:] if rest.startswith(".") else ("" if rest else "*")
    else:
        owner, dot, name = text.partition(".")
        name = name if dot else "*"
    return owner, unquote(name)
