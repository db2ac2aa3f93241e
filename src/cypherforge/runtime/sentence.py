"""One sentence that says an answer and cites its rows: ``ask --answer``, off by default.

One model call sees the question and at most twenty rows. What it says is kept only if every number
and every name in it stands in the rows or in the question, and if it cites rows that it was shown;
else a plain sentence is made of the first row, and the trace says why. The rows are given as JSON,
as data; a value that reads like an order can at worst be quoted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import replace

from cypherforge.core.errors import CypherForgeError
from cypherforge.core.files import dumps
from cypherforge.graph.value_text import squeeze
from cypherforge.graph.values import display
from cypherforge.llm.base import ChatModel, ChatRequest, Message
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.question import NUMBER_WORDS
from cypherforge.runtime.trace import Listener
from cypherforge.templates import render

#: Rows shown to the model, characters of a value, and tokens and characters of a sentence.
ROWS, VALUE, TOKENS, LENGTH = 20, 120, 160, 600
_CITE = re.compile(r"\[(\d+)\]")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_COMMAS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_QUOTED = re.compile(r"[\"“”]([^\"“”]+)[\"“”]|(?<!\w)'([^']+)'(?!\w)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
#: Words that may open a sentence without being a name of anything.
_OPENERS = frozenset(
    "a all according among an as at based both by each every for from he her his in it no of on only"
    " our she some that the their there these they this those to which who with yes".split()
)


def with_sentence(
    answer: Answer, question: str, model: ChatModel, *, listener: Listener | None = None
) -> Answer:
    """The answer with ``sentence`` set; ``listener`` sees the step that is added to the trace.

    Costs one model call where rows came, none elsewhere. A model that fails, or says what the rows
    do not, never costs the rows: the sentence is then made without it.
    """
    begun = time.monotonic()
    trace = replace(answer.trace, steps=list(answer.trace.steps), listener=listener)
    text, reason, tokens = "", "", {"prompt_tokens": 0, "completion_tokens": 0}
    if answer.outcome == "answered":
        try:
            said = model.chat(sentence_request(answer, question))
        except CypherForgeError as error:
            reason = str(error)
        else:
            tokens = {
                "prompt_tokens": said.prompt_tokens,
                "completion_tokens": said.completion_tokens,
            }
            text = " ".join(said.text.split())
            reason = unsupported(text, answer, question) if said.usable else said.finish
    if reason or not text:
        told = f"{reason}: {text}" if text else reason
        text = plain_sentence(answer)
    else:
        told = ""
    trace.add(
        "sentence",
        f"{told}\nmade without the model: {text}" if told else text,
        time.monotonic() - begun,
        by="template" if reason or answer.outcome != "answered" else "model",
        model=model.name,
        **tokens,
    )
    return replace(answer, sentence=text, trace=trace)


def sentence_request(answer: Answer, question: str) -> ChatRequest:
    """The request: instructions apart from the data, rows as JSON objects with a number each."""
    rows = [dumps(_named(answer, row)) for row in answer.rows[:ROWS]]
    user = render(
        "prompts/answer_sentence_user.jinja",
        question=" ".join(question.split()),
        rows=rows,
        shown=len(rows),
        total=len(answer.rows),
    )
    system = render("prompts/answer_sentence_system.jinja")
    return ChatRequest((Message("system", system), Message("user", user)), max_tokens=TOKENS)


def unsupported(text: str, answer: Answer, question: str) -> str:
    """Why a sentence is not taken; "" where rows and question bear it out."""
    if not text or len(text) > LENGTH:
        return "the model's sentence is empty or too long"
    shown = answer.rows[:ROWS]
    cites = [int(number) for number in _CITE.findall(text)]
    if not cites:
        return "the model's sentence cites no row"
    wrong = [number for number in cites if not 1 <= number <= len(shown)]
    if wrong:
        return f"the model's sentence cites row {wrong[0]}, which it was not shown"
    told = _CITE.sub(" ", text)
    source = " ".join([question, *_texts(answer)])
    counted = {len(answer.rows), len(set(cites))}
    numbers = {_plain_number(n) for n in _NUMBER.findall(_COMMAS.sub("", source))}
    numbers |= {str(number) for number in counted}
    for number in _NUMBER.findall(_COMMAS.sub("", told)):
        if _plain_number(number) not in numbers:
            return f"the model's sentence says {number}, which stands in no row"
    words = set(squeeze(source).split())
    for item in _QUOTED.finditer(told):
        quoted = squeeze(item[1] or item[2])
        if quoted not in squeeze(source):
            return f"the model's sentence quotes {quoted!r}, which stands in no row"
    for place, word in enumerate(_WORD.findall(told)):
        plain = squeeze(word)
        if plain in NUMBER_WORDS and plain not in words:
            if str(NUMBER_WORDS[plain]) not in numbers:
                return f"the model's sentence says {word}, which stands in no row"
        elif word[0].isupper() and not set(_stems(plain)) & (words if place else words | _OPENERS):
            return f"the model's sentence names {word}, which stands in no row"
    return ""


def plain_sentence(answer: Answer) -> str:
    """The answer in fixed words: the first row, and how many there are."""
    if answer.outcome != "answered":
        return f"There is no answer: {answer.reason}." if answer.reason else "There is no answer."
    first = ", ".join(
        f"{column} is {display(value, VALUE)}"
        for column, value in zip(answer.columns, answer.rows[0], strict=True)
    )
    if len(answer.rows) == 1:
        return f"{first} [1]."
    more = " at least" if answer.truncated else ""
    return f"There are{more} {len(answer.rows)} rows; in the first, {first} [1]."


def _named(answer: Answer, row: tuple[object, ...]) -> dict[str, str]:
    pairs = zip(answer.columns, row, strict=True)
    return {column: display(value, VALUE) for column, value in pairs}


def _texts(answer: Answer) -> Iterable[str]:
    yield from answer.columns
    for row in answer.rows[:ROWS]:
        yield from (display(value, VALUE) for value in row)


def _plain_number(number: str) -> str:
    """``2.50`` and ``2.5`` are one number."""
    return number.rstrip("0").rstrip(".") if number.count(".") == 1 else number


def _stems(word: str) -> tuple[str, ...]:
    """A word with and without its ending: "Ann's", "Germans"."""
    return word, word.removesuffix("s"), word.removesuffix("es")
