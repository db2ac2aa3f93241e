"""The taxonomy: eight families of four codes, examples that are Cypher, and the page of it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cypherforge.cli import app
from cypherforge.core.errors import UsageError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.rules.taxonomy import Code, Taxonomy, taxonomy, taxonomy_page

CODES = [
    "syntax.parse",
    "syntax.scope",
    "syntax.dialect",
    "syntax.type",
    "direction.reversed",
    "direction.undirected",
    "direction.mutual",
    "direction.chain",
    "schema.label",
    "schema.type",
    "schema.property",
    "schema.endpoints",
    "entity.literal",
    "entity.alias",
    "entity.property",
    "entity.label",
    "pattern.missing_hop",
    "pattern.extra_hop",
    "pattern.join",
    "pattern.topology",
    "aggregation.fanout",
    "aggregation.distinct",
    "aggregation.grouping",
    "aggregation.function",
    "filter.missing",
    "filter.operator",
    "filter.literal_type",
    "filter.null",
    "return.item",
    "return.columns",
    "return.order",
    "return.unasked",
]


def test_eight_families_of_four_codes() -> None:
    assert [code.code for code in taxonomy().codes] == CODES
    assert [len(family.codes) for family in taxonomy().families] == [4] * 8
    for code in taxonomy().codes:
        assert code.code.split(".")[0] == code.family
        assert code.name and code.definition.endswith(".") and code.guard
    assert len({code.name for code in taxonomy().codes}) == 32


@pytest.mark.parametrize("code", taxonomy().codes, ids=lambda code: code.code)
def test_examples_are_cypher_in_placeholders(code: Code) -> None:
    repair = parse(code.repair)
    assert code.slip != code.repair
    if code.code == "syntax.parse":
        with pytest.raises(CypherSyntaxError):
            parse(code.slip)
        queries = [repair]
    else:
        queries = [repair, parse(code.slip)]
    # Only names made of these words may stand in a prompt for any graph.
    names = {
        node.name for query in queries for node in query.walk() if isinstance(node, ast.Name)
    } - {"coalesce", "ifnull", "count", "date", "duration", "year", "sum", "max"}
    for name in names:
        base = name[:-1] if name[-1] in "ABC" else name
        assert base in {
            "NodeLabel", "UnknownLabel", "relType", "unknownType", "propertyKey", "unknownKey"
        }  # fmt: skip


def test_unknown_codes_are_said() -> None:
    assert "direction.chain" in taxonomy() and "direction.sideways" not in taxonomy()
    assert taxonomy()["return.order"].name == "wrong order or LIMIT"
    with pytest.raises(UsageError, match=r"no such fault code: 'direction\.sideways'"):
        taxonomy()["direction.sideways"]


def test_bundles_carry_it_whole() -> None:
    assert Taxonomy.from_data(taxonomy().to_json()) == taxonomy()


def test_the_page_in_the_repository_is_the_one_of_the_data() -> None:
    page = Path(__file__).parents[1] / "docs" / "taxonomy.md"
    if not page.parent.is_dir():
        pytest.skip("no docs folder beside the tests")
    assert page.read_text(encoding="utf-8") == taxonomy_page(), (
        "write it again: cypherforge taxonomy --out docs/taxonomy.md"
    )


def test_the_command_prints_and_writes_the_page(tmp_path: Path) -> None:
    run = CliRunner()
    assert run.invoke(app, ["taxonomy"]).stdout == taxonomy_page()
    assert run.invoke(app, ["taxonomy", "--out", str(tmp_path / "t.md")]).exit_code == 0
    assert (tmp_path / "t.md").read_text(encoding="utf-8") == taxonomy_page()
