"""Tokens and trivia join to the source, and each piece has the right kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cypherforge.cypher.tokens import Tokens, string_value, tokenize

PIECES = st.sampled_from(
    ["MATCH", "n", "`a``b`", "`", "'it\\'s'", '"', "'", "\\", "/*", "*/", "//", "\n", " ", "0x1F"]
    + ["1e-3", ".5", "..", "1_000", "3x", "<=", "<", "-", "->", "\\u0041", "\\u", "é", "😀", "名前"]
    + ["\u0301", "\u2014", "\u27e8", "\ud800", "\x00", "$", "(", ")", "{", "}", "|", "::", "!="]
)


@given(st.lists(PIECES).map("".join) | st.text())
def test_tokens_and_trivia_join_to_the_source(text: str) -> None:
    tokens = list(tokenize(text))
    assert "".join(token.text for token in tokens) == text
    place = 0
    for token in tokens:
        assert (token.start, token.end) == (place, place + len(token.text))
        assert token.text
        place = token.end


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("match", "MATCH"),
        ("MaTcH", "MATCH"),
        ("matched", "name"),
        ("`MATCH`", "name"),
        ("_x1", "name"),
        ("größe", "name"),
        ("名前", "name"),
        ("n\u0303a", "name"),
        ("€", "name"),
        ("a$b", "name"),
        ("0", "int"),
        ("1_000", "int"),
        ("0x1F", "int"),
        ("0x_1", "int"),
        ("0o17", "int"),
        ("1e5", "float"),
        (".5", "float"),
        ("6.022E23", "float"),
        ("1.0d", "float"),
        ("1_0.0_1e1_0", "float"),
        ("'a\nb'", "str"),
        ("'it\\'s'", "str"),
        ('"q\\"q"', "str"),
        ("''", "str"),
        ("||", "||"),
        ("<>", "<>"),
        ("\u2014", "-"),
        ("\u27e8", "<"),
        ("\uff1e", ">"),
        ("3x", "bad"),
        ("017", "bad"),
        ("0X1F", "bad"),
        ("0O17", "bad"),
        ("1__0", "bad"),
        ("1_", "bad"),
        ("'abc", "bad"),
        ('"a\\"', "bad"),
        ("`a``", "bad"),
        ("/* a", "bad"),
        ("\u2192", "bad"),
        ("#", "bad"),
    ],
)
def test_one_token_and_its_kind(text: str, kind: str) -> None:
    assert [(t.kind, t.text) for t in tokenize(text)] == [(kind, text)]


@pytest.mark.parametrize("trivia", [" ", "\t\r\n", "// x", "/**/", "/* * / */", "\u00a0", "\u3000"])
def test_white_space_and_comments_are_trivia(trivia: str) -> None:
    assert [t.kind for t in tokenize(f"a{trivia}\nb")] == ["name", "", "name"]


def test_two_dots_after_a_number_are_a_range() -> None:
    assert [t.text for t in tokenize("*1..3")] == ["*", "1", "..", "3"]
    assert [t.text for t in tokenize("[..5]")] == ["[", "..", "5", "]"]
    assert [t.text for t in tokenize("1.5.x")] == ["1.5", ".", "x"]


def test_unicode_escapes_count_anywhere_and_keep_their_places() -> None:
    tokens = Tokens("RET\\u0055RN '\\u0027 AS \\\\u0041")
    assert tokens.kinds[:2] == ["RETURN", "str"]
    assert (tokens.starts[0], tokens.ends[0]) == (0, 11)
    assert tokens.text[tokens.starts[1] : tokens.ends[1]] == "'\\u0027"
    assert tokens.values[1] == "''"


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'a'", "a"),
        ("'it\\'s'", "it's"),
        ('"\\"\\\\\\n\\t\\b\\f\\r\\`"', '"\\\n\t\b\f\r`'),
        ("'\\x'", "\\x"),
        ("'😀'", "😀"),
    ],
)
def test_values_of_strings(literal: str, value: str) -> None:
    assert string_value(literal) == value
