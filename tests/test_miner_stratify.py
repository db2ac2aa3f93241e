import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cypherforge.core.datasets import Example, load_dataset
from cypherforge.core.errors import InputError
from cypherforge.cypher import parse
from cypherforge.miner.stratify import UNPARSABLE, StratifyOptions, stratify, tokens_of


def example(number: int, cypher: str, graph: str = "g") -> Example:
    return Example(f"q{number}", f"question {number}", cypher, graph, "train")


# Ten questions of one shape: only labels and literals differ.
SAME_SHAPE = [
    example(i, f"MATCH (n:Label{i % 4}) WHERE n.p = 'v{i}' RETURN n.p") for i in range(10)
]


def test_at_most_three_of_a_group_and_the_choice_covers_the_labels() -> None:
    result = stratify(SAME_SHAPE, StratifyOptions(literals="none"))
    assert len(result.group_sizes) == 1
    assert result.kept == 3
    # Four labels, three kept: the fourth must come back, and one question is enough.
    assert result.backfilled == 1
    labels = {c.example.cypher.split(":")[1].split(")")[0] for c in result.chosen}
    assert labels == {"Label0", "Label1", "Label2", "Label3"}
    assert result.coverage["label"].share == 1.0


def test_each_graph_comes_first() -> None:
    rows = [example(i, f"MATCH (n:A) WHERE n.p = {i} RETURN n.p", "g1") for i in range(5)]
    rows += [example(9, "MATCH (n:A) WHERE n.p = 9 RETURN n.p", "g2")]
    chosen = stratify(rows, StratifyOptions(per_group=2, literals="none")).chosen
    assert {c.example.graph for c in chosen} == {"g1", "g2"}
    assert len(chosen) == 2


def test_a_literal_that_occurs_once_brings_its_question_back() -> None:
    rows = [
        *(example(i, "MATCH (n:A {name: 'Common'}) RETURN n.p") for i in range(6)),
        example(7, "MATCH (n:A {name: \"O'Brien's Ærø\"}) RETURN n.p"),
        example(8, "MATCH (n:A {name: 'Twice'}) RETURN n.p"),
        example(9, "MATCH (n:A {name: 'Twice'}) RETURN n.p"),
    ]
    once = stratify(rows, StratifyOptions(per_group=1))
    assert [c.example.id for c in once.chosen] == ["q7"]
    every = stratify(rows, StratifyOptions(per_group=1, literals="all"))
    assert every.coverage["literal"].total == 3
    assert every.coverage["literal"].covered == 3
    assert len(every.chosen) == 3


def test_numbers_of_structure_are_no_literals() -> None:
    query = parse("MATCH (n:A)-[:R*1..3]->(m) WHERE n.p = 7 RETURN n.list[0] SKIP 2 LIMIT 5")
    names, literals = tokens_of(query, "g")
    assert {value for _, _, value in literals} == {"7"}
    assert ("type", "g", "R") in names
    assert ("label", "g", "A") in names


def test_golds_that_do_not_parse_are_listed_and_kept_in_a_group_of_their_own() -> None:
    rows = [*SAME_SHAPE, example(99, "SELECT name FROM people")]
    result = stratify(rows)
    assert [i for i, _ in result.unparsable] == ["q99"]
    assert result.group_sizes[UNPARSABLE] == 1
    assert "q99" in {c.example.id for c in result.chosen}


def test_nothing_to_stratify_is_an_error() -> None:
    with pytest.raises(InputError):
        stratify([])


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_subset_does_not_depend_on_the_order(shuffler: random.Random) -> None:
    rows = [*SAME_SHAPE, example(20, "MATCH (a)-->(b) RETURN count(*)")]
    expected = [c.example.id for c in stratify(rows).chosen]
    shuffler.shuffle(rows)
    assert [c.example.id for c in stratify(rows).chosen] == expected


@pytest.mark.shared
def test_cypherbench_train_is_covered_whole(shared: Path) -> None:
    examples = load_dataset(shared / "data" / "cypherbench" / "train.jsonl").examples
    result = stratify(examples)
    assert result.questions == 8534
    assert result.unparsable == ()
    kept = Counter(c.group for c in result.chosen if c.reason == "kept")
    assert max(kept.values()) <= 3
    assert sum(kept.values()) == sum(min(3, n) for n in result.group_sizes.values())
    # Coverage counted here by itself, from the schemas' own names that the golds use.
    for kind in ("label", "type", "property", "literal"):
        assert result.coverage[kind].missed == ()
    chosen = {c.example.id for c in result.chosen}
    counts: Counter[str] = Counter()
    holders: dict[str, str] = {}
    for e in examples:
        for _, _, value in tokens_of(parse(e.cypher), e.graph)[1]:
            counts[value] += 1
            holders[value] = e.id
    alone = {holders[v] for v, n in counts.items() if n == 1}
    assert alone <= chosen
    # No question is brought back in vain: each backfilled one is the only holder of a literal here.
    assert {c.example.id for c in result.chosen if c.reason == "backfilled"} <= alone
    schema = json.loads((shared / "data" / "cypherbench" / "schemas" / "art.json").read_text())
    declared = {entity["label"] for entity in schema["entities"]}
    used = {
        name
        for e in examples
        if e.graph == "art"
        for kind, _, name in tokens_of(parse(e.cypher), "art")[0]
        if kind == "label"
    }
    assert used <= declared
