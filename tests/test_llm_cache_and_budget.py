"""Requests and their keys, the cache, budgets and prices."""

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cypherforge.core.errors import BudgetExhausted, StorageError, UsageError
from cypherforge.llm.base import (
    ChatAnswer,
    ChatRequest,
    Message,
    TokenLogprob,
    request_key,
    samples,
)
from cypherforge.llm.budget import Budget, Meter, MeteredModel, project
from cypherforge.llm.cache import AnswerCache, CachedModel
from cypherforge.llm.prices import Price, Prices, parse_price
from cypherforge.llm.scripted import ScriptedModel

ASK = ChatRequest((Message("system", "schema"), Message("user", "How many {names}?")))


class Counting:
    """Answers with the number of the call."""

    name = "counting"

    def __init__(self, finish: Any = "stop", seconds: float = 0.0) -> None:
        self.calls: list[ChatRequest] = []
        self.finish = finish
        self.seconds = seconds
        self.lock = threading.Lock()

    def chat(self, request: ChatRequest) -> ChatAnswer:
        with self.lock:
            self.calls.append(request)
            number = len(self.calls)
        time.sleep(self.seconds)
        return ChatAnswer(f"answer {number}", self.finish, 10, 5, self.name)


def test_the_key_covers_every_byte_that_matters() -> None:
    changed: list[ChatRequest] = [
        replace(ASK, messages=(*ASK.messages[:1], Message("user", "How many {names}? "))),
        replace(ASK, messages=ASK.messages[::-1]),
        replace(ASK, messages=(Message("user", "schemaHow many {names}?"),)),
        replace(ASK, max_tokens=513),
        replace(ASK, temperature=0.1),
        replace(ASK, top_p=0.9),
        replace(ASK, top_k=40),
        replace(ASK, seed=0),
        replace(ASK, stop=("\n",)),
        replace(ASK, grammar="root ::= x"),
        replace(ASK, json_schema={"type": "object"}),
        replace(ASK, logprobs=5),
        replace(ASK, extra={"cache_prompt": False}),
        replace(ASK, temperature=0.8, sample=1),
        replace(ASK, temperature=0.8, sample=2),
    ]
    keys = [request_key("m", ASK), request_key("n", ASK), *(request_key("m", r) for r in changed)]
    assert len(set(keys)) == len(keys)
    assert request_key("m", replace(ASK, extra={"a": 1, "b": 2})) == request_key(
        "m", replace(ASK, extra={"b": 2, "a": 1})
    )
    assert request_key("m", replace(ASK, sample=3)) == request_key("m", ASK)


def test_the_key_is_a_digest_of_canonical_json() -> None:
    # A key that changes orphans every cache and recording there is; so this one is written out.
    document = (
        '{"model":"m","request":{"max_tokens":512,"messages":[{"content":"schema","role":"system"},'
        '{"content":"How many {names}?","role":"user"}],"temperature":0.0}}'
    )
    assert request_key("m", ASK) == hashlib.sha256(document.encode()).hexdigest()


def test_requests_are_frozen_and_carry_any_text() -> None:
    body = {"cache_prompt": False}
    request = replace(ASK, extra=body)
    body["cache_prompt"] = True
    assert request.extra == {"cache_prompt": False}
    with pytest.raises(TypeError):
        request.extra["x"] = 1  # type: ignore[index]
    assert Message("user", "a\ud83d").content == "a\ufffd"
    assert pickle.loads(pickle.dumps(request)) == request


def test_only_whole_answers_with_text_are_usable() -> None:
    assert ChatAnswer("x").usable
    assert not ChatAnswer(" \n").usable
    assert not any(
        ChatAnswer("MATCH (n) RETURN n", f).usable for f in ("length", "refused", "empty")
    )
    answer = ChatAnswer("x\ud83d", "stop", 1, 2, "m", (TokenLogprob("x", -0.5, (("y", -1.0),)),))
    assert ChatAnswer.from_json(answer.to_json()) == answer
    with pytest.raises(ValueError, match="finish"):
        ChatAnswer.from_json({"answer": "x", "finish": "done"})


def test_samples_have_answers_of_their_own(tmp_path: Path) -> None:
    inner, meter = Counting(), Meter()
    model = CachedModel(inner, AnswerCache(tmp_path), meter)
    warm = replace(ASK, temperature=0.8)
    first = [model.chat(r).text for r in samples(warm, 5)]
    assert first == [f"answer {n}" for n in range(1, 6)]
    assert [model.chat(r).text for r in samples(warm, 5)] == first
    assert len(inner.calls) == 5
    assert meter.cache_hits == 5
    assert [model.chat(r).text for r in samples(warm, 8)][:5] == first
    assert len(inner.calls) == 8
    with ThreadPoolExecutor(5) as pool:
        cold = list(pool.map(model.chat, samples(replace(ASK, temperature=0.0), 5)))
    assert len(inner.calls) == 9
    assert len({answer.text for answer in cold}) == 1


@pytest.mark.parametrize("finish", ["length", "refused", "empty"])
def test_what_is_no_answer_is_never_kept(tmp_path: Path, finish: str) -> None:
    inner = Counting(finish)
    model = CachedModel(inner, AnswerCache(tmp_path))
    assert [model.chat(ASK).text for _ in range(2)] == ["answer 1", "answer 2"]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_or_foreign_entry_is_asked_again(tmp_path: Path) -> None:
    model = CachedModel(Counting(), AnswerCache(tmp_path))
    model.chat(ASK)
    (file,) = tmp_path.rglob("*.json")
    good = file.read_text()
    for bad in ("", good[:20], good.replace(file.stem, "0" * 64), '{"key":1}', "[]", "\xff"):
        file.write_text(bad, encoding="latin-1")
        assert not model.chat(ASK).cached
        assert model.chat(ASK).cached


def test_the_cache_holds_neither_prompts_nor_parameters(tmp_path: Path) -> None:
    CachedModel(Counting(), AnswerCache(tmp_path)).chat(ASK)
    (file,) = tmp_path.rglob("*.json")
    assert "How many" not in file.read_text()
    assert "schema" not in file.read_text()


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        CachedModel(Counting(), AnswerCache(tmp_path / "file")).chat(ASK)


WRITER = """
import sys
from cypherforge.llm.base import ChatAnswer
from cypherforge.llm.cache import AnswerCache
from pathlib import Path
cache = AnswerCache(Path(sys.argv[1]))
print("go", flush=True)
for turn in range(10_000):
    for n in range(20):
        cache.put(f"{n:064x}", ChatAnswer(str(n) * 50_000))
"""


def test_processes_share_a_cache_and_a_kill_tears_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    cache = AnswerCache(tmp_path)
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    deadline = time.monotonic() + 30
    while cache.get(f"{19:064x}") is None and time.monotonic() < deadline:
        time.sleep(0.01)
    for writer in writers:
        for n in range(20):
            answer = cache.get(f"{n:064x}")
            assert answer is not None
            assert answer.text == str(n) * 50_000
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    assert all(cache.get(f"{n:064x}") for n in range(20))


def test_budgets_stop_before_the_call_that_would_pass_them() -> None:
    request = replace(ASK, max_tokens=100)
    # 23 characters of prompt are at most 8 tokens by estimate; the calls use 15.
    for budget, allowed in (
        (Budget(calls=3), 3),
        (Budget(tokens=8 + 100 + 2 * 15), 3),
        (Budget(tokens=107), 0),
        (
            Budget(
                money=(8 + 2 * 100 + 2 * (10 + 2 * 5)) / 1e6,
                prices=Prices({"counting": Price(1, 2)}),
            ),
            3,
        ),
        (Budget(calls=0), 0),
    ):
        inner, meter = Counting(), Meter()
        model = MeteredModel(inner, meter, budget, budget.prices)
        for _ in range(allowed):
            model.chat(request)
        with pytest.raises(BudgetExhausted, match="the budget is spent"):
            model.chat(request)
        assert len(inner.calls) == meter.calls == allowed
        assert meter.tokens == 15 * allowed


def test_a_budget_holds_when_many_threads_spend_it() -> None:
    inner = Counting(seconds=0.01)
    model = MeteredModel(inner, Meter(), Budget(tokens=10 * 15 + 110))
    request = replace(ASK, max_tokens=100)

    def spend(_: int) -> bool:
        try:
            model.chat(request)
        except BudgetExhausted:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = sum(pool.map(spend, range(40)))
    # Reservations in flight are waited for, so that the budget is used up and never passed.
    assert done == len(inner.calls)
    assert 10 <= done <= 11


def test_a_money_budget_needs_a_price() -> None:
    with pytest.raises(UsageError, match="no price is known for model 'qwen'.*--price qwen="):
        Budget(money=1.0).check_price("qwen")
    Budget(money=1.0, prices=Prices({"qwen": Price(0, 0)})).check_price("qwen")
    Budget(calls=1).check_price("qwen")
    with pytest.raises(UsageError, match="cannot be -1"):
        Budget(calls=-1)


def test_prices_are_dated_and_a_release_has_its_family_s() -> None:
    prices = Prices({"openai:gpt-4o-mini": Price(1, 2)})
    table = prices.of("openai:gpt-4o-2024-08-06")
    assert table is not None
    assert table.source
    assert table.read_on
    assert table == prices.of("openai:gpt-4o")
    assert prices.of("anthropic:claude-sonnet-4-5-20250929") == prices.of(
        "anthropic:claude-sonnet-4-5"
    )
    assert prices.of("openai:gpt-4o-mini-2024-07-18") == Price(1, 2)
    assert prices.of("openai:gpt-4o-audio") is None
    assert prices.of("openai:unheard-of") is None
    assert Price(2, 8).cost(1_000_000, 500_000) == 6.0


def test_prices_are_read_from_the_command_line() -> None:
    assert parse_price("org/qwen=0.2,0.6") == ("org/qwen", Price(0.2, 0.6))
    for bad in ("qwen", "qwen=1", "qwen=a,b", "=1,2", "qwen=-1,2", "qwen=nan,1", "qwen=1,2,3"):
        with pytest.raises(UsageError, match="not a price"):
            parse_price(bad)


def test_the_meter_says_unknown_rather_than_nothing() -> None:
    meter = Meter()
    MeteredModel(Counting(), meter).chat(ASK)
    assert meter.to_json()["money"] is None
    scripted = Meter()
    MeteredModel(ScriptedModel(lambda _: "x"), scripted).chat(ASK)
    assert scripted.to_json()["money"] == 0.0


def test_a_dry_run_projects_what_it_would_cost() -> None:
    request = replace(ASK, max_tokens=100)
    projection = project("qwen", [request] * 10, Prices({"qwen": Price(1, 2)}))
    assert (projection.calls, projection.prompt_tokens, projection.completion_tokens) == (
        10,
        80,
        1000,
    )
    assert projection.money == pytest.approx((80 + 2 * 1000) / 1e6)
    assert "price unknown" in str(project("qwen", [request]))
