"""One retry layer with one pause, on a clock that only the code under test moves."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import pytest

from cypherforge.core.errors import (
    BudgetExhausted,
    CypherForgeError,
    ModelAnswerError,
    ModelAuthError,
    ModelUnavailable,
    PromptTooLong,
    QuotaExhausted,
    UsageError,
)
from cypherforge.core.executor import map_ordered
from cypherforge.llm.base import ChatAnswer, ChatRequest, Message
from cypherforge.llm.budget import Budget, Meter, MeteredModel
from cypherforge.llm.endpoints import RoomierModel
from cypherforge.llm.failures import LONGEST_WAIT, AttemptFailed, from_status, redact, retry_after
from cypherforge.llm.retry import Pause, Retrier, RetryingModel, RetryPolicy

ASK = ChatRequest((Message("user", "q"),))
NOW = 1_800_000_000.0


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    now: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> float:
        with self.lock:
            return self.now

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


@dataclass
class Rig:
    """A retrier on a clock of its own, and what it told people."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Clock = field(default_factory=Clock)
    meter: Meter = field(default_factory=Meter)
    told: list[tuple[float, str]] = field(default_factory=list)

    def retrier(self) -> Retrier:
        pause = Pause(self.clock, self.clock.sleep, lambda s, why: self.told.append((s, why)))
        return Retrier(self.meter, self.policy, pause)

    def model(self, chat: Callable[[ChatRequest], ChatAnswer]) -> RetryingModel:
        return RetryingModel(MeteredModel(Fake(chat), self.meter), self.retrier())


@dataclass
class Fake:
    """A model made of a function."""

    answer: Callable[[ChatRequest], ChatAnswer]
    name: str = "fake"

    def chat(self, request: ChatRequest) -> ChatAnswer:
        return self.answer(request)


def fails(*errors: Exception) -> Callable[[ChatRequest], ChatAnswer]:
    """Raises each error once, then answers."""
    left = list(errors)

    def chat(request: ChatRequest) -> ChatAnswer:
        if left:
            raise left.pop(0)
        return ChatAnswer("ok", "stop", 1, 1)

    return chat


def rate(wait: float | None) -> AttemptFailed:
    return AttemptFailed("busy (HTTP 429)", kind="rate", wait=wait)


def server() -> AttemptFailed:
    return AttemptFailed("failed (HTTP 500)", kind="server")


def test_fifty_items_through_a_rate_limit_keep_order_and_spend_no_retry() -> None:
    rig = Rig(RetryPolicy(attempts=2))
    lock = threading.Lock()
    limited = 3

    def chat(request: ChatRequest) -> ChatAnswer:
        nonlocal limited
        with lock:
            if limited:
                limited -= 1
                raise rate(2.0)
        return ChatAnswer(request.messages[0].content, "stop", 1, 1)

    model = rig.model(chat)
    requests = [ChatRequest((Message("user", f"q{n}"),)) for n in range(50)]
    answers = list(map_ordered(model.chat, requests, workers=8))
    assert [a.text for a in answers] == [f"q{n}" for n in range(50)]
    counted = rig.meter.to_json()
    assert (counted["calls"], counted["rate_limited"], counted["retries"]) == (50, 3, 3)
    assert 2.0 <= rig.clock.now <= 6.0
    assert rig.told
    assert all(reason == "busy (HTTP 429), it asks to wait" for _, reason in rig.told)


def test_a_stated_wait_is_kept_to_the_second_and_told_once() -> None:
    rig = Rig(RetryPolicy(attempts=1))
    assert rig.model(fails(rate(2.0), rate(1.5), rate(3.0))).chat(ASK).text == "ok"
    assert rig.clock.now == 6.5
    assert [seconds for seconds, _ in rig.told] == [2.0, 1.5, 3.0]
    assert rig.meter.waited == 6.5


def test_without_a_usable_wait_the_back_off_grows_and_ends() -> None:
    rig = Rig()
    with pytest.raises(ModelUnavailable, match=r"busy \(HTTP 429\) \(tried 5 times\)"):
        rig.model(fails(*[rate(None)] * 9)).chat(ASK)
    waits = [seconds for seconds, _ in rig.told]
    assert [round(w) for w in waits[:1]] == [1]
    assert all(0.75 * 2**n <= w <= 2**n for n, w in enumerate(waits))
    assert rig.meter.rate_limited == 5


def test_a_wait_of_nothing_does_not_hammer_for_ever() -> None:
    rig = Rig()
    with pytest.raises(ModelUnavailable):
        rig.model(fails(*[rate(0.0)] * 9)).chat(ASK)
    assert rig.meter.rate_limited == 5


def test_patience_with_pauses_ends() -> None:
    rig = Rig(RetryPolicy(patience=100))
    with pytest.raises(ModelUnavailable):
        rig.model(fails(*[rate(30.0)] * 50)).chat(ASK)
    assert 100 <= rig.clock.now <= 160


def test_calls_sent_before_a_pause_spend_no_retry_on_it() -> None:
    rig = Rig(RetryPolicy(attempts=2))
    barrier = threading.Barrier(4)
    first = threading.local()

    def chat(request: ChatRequest) -> ChatAnswer:
        if not getattr(first, "done", False):
            first.done = True
            barrier.wait()
            raise rate(None)
        return ChatAnswer("ok")

    model = rig.model(chat)
    assert len(list(map_ordered(model.chat, [ASK] * 4, workers=4))) == 4
    assert rig.meter.rate_limited == 4


def test_server_errors_are_retried_with_growing_waits_and_shown() -> None:
    rig = Rig()
    assert rig.model(fails(server(), server(), server())).chat(ASK).text == "ok"
    assert [reason for _, reason in rig.told] == ["failed (HTTP 500)"] * 3
    assert 0.75 * 7 <= rig.clock.now <= 7
    assert rig.meter.to_json()["failed"] == 3


def test_a_server_that_never_answered_is_given_up_soon() -> None:
    gone = AttemptFailed(
        "model unreachable: refused", kind="connection", where="http://h/v1", hint="is it running?"
    )
    rig = Rig()
    with pytest.raises(ModelUnavailable, match=r"http://h/v1: .*tried 2 times.*is it running") as e:
        rig.model(fails(*[gone] * 9)).chat(ASK)
    assert e.value.exit_code == 3
    rig = Rig()
    model = rig.model(fails())
    model.chat(ASK)
    model.inner.inner.answer = fails(*[gone] * 4)  # type: ignore[attr-defined]
    assert model.chat(ASK).text == "ok"


def test_timeouts_are_tried_twice() -> None:
    slow = AttemptFailed("no answer within 180 s", kind="timeout")
    rig = Rig()
    with pytest.raises(ModelUnavailable, match="tried 2 times"):
        rig.model(fails(*[slow] * 9)).chat(ASK)


@pytest.mark.parametrize(
    "error", [ModelAuthError("x"), QuotaExhausted("x"), PromptTooLong("x"), BudgetExhausted("x")]
)
def test_what_cannot_get_better_is_never_retried(error: CypherForgeError) -> None:
    rig = Rig()
    with pytest.raises(type(error)):
        rig.model(fails(error)).chat(ASK)
    assert (rig.meter.calls, rig.meter.retries, rig.clock.now) == (1, 0, 0.0)


def test_one_prompt_that_is_too_long_leaves_the_other_nineteen_alone() -> None:
    rig = Rig()

    def chat(request: ChatRequest) -> ChatAnswer:
        if request.messages[0].content == "q7":
            raise from_status(
                500,
                {},
                '{"error":{"message":"upstream: context_length_exceeded"}}',
                model="m",
                where="u",
                key_name="K",
            )
        return ChatAnswer(request.messages[0].content, "stop", 1, 1)

    model = rig.model(chat)

    def draft(number: int) -> str:
        try:
            return model.chat(ChatRequest((Message("user", f"q{number}"),))).text
        except PromptTooLong:
            return "too long"

    drafts = list(map_ordered(draft, range(20), workers=4))
    assert drafts == ["too long" if n == 7 else f"q{n}" for n in range(20)]
    assert (rig.meter.calls, rig.meter.retries) == (20, 0)


def test_a_key_that_is_refused_in_mid_run_stops_it_and_keeps_what_was_done() -> None:
    kept: list[int] = []

    def work(number: int) -> int:
        if number >= 10:
            raise ModelAuthError("refuses the key")
        return number

    with pytest.raises(ModelAuthError):
        list(map_ordered(work, range(1000), workers=4, on_result=lambda n, _: kept.append(n)))
    assert sorted(kept) == list(range(10))


def test_a_budget_counts_attempts_but_not_those_turned_away() -> None:
    rig, budget = Rig(), Budget(calls=3)
    model = RetryingModel(
        MeteredModel(Fake(fails(rate(1.0), rate(1.0), server(), server())), rig.meter, budget),
        rig.retrier(),
    )
    assert model.chat(ASK).text == "ok"
    with pytest.raises(BudgetExhausted):
        model.chat(ASK)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"Retry-After": formatdate(NOW + 3, usegmt=True)}, 3.0),
        ({"Retry-After": formatdate(NOW - 60, usegmt=True)}, 0.0),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "abc"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "86400"}, LONGEST_WAIT),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_WAIT),
        ({"Retry-After": "Fri, 31 Dec 99999 23:59:59 GMT"}, LONGEST_WAIT),
        ({"Retry-After": "99999"}, LONGEST_WAIT),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After-Ms": "1500", "Retry-After": "9"}, 1.5),
        ({"retry-after-ms": "x", "Retry-After": "9"}, 9.0),
        ({}, None),
    ],
)
def test_every_form_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


LLAMA = (
    '{"error":{"code":400,"message":"request (5012 tokens) exceeds the available context size '
    '(4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5012,'
    '"n_ctx":4096}}'
)
OPENAI = (
    '{"error":{"message":"This model\'s maximum context length is 8192 tokens. However, your messages '
    'resulted in 9001 tokens. Please reduce the length.","type":"invalid_request_error",'
    '"param":"messages","code":"context_length_exceeded"}}'
)
ANTHROPIC = (
    '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: '
    '210000 tokens > 200000 maximum"}}'
)
QUOTA = '{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}'


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (400, LLAMA, PromptTooLong, "5012 tokens, the window holds 4096"),
        (400, OPENAI, PromptTooLong, "9001 tokens, the window holds 8192"),
        (500, OPENAI, PromptTooLong, "9001 tokens, the window holds 8192"),
        (502, f"<html>upstream said {OPENAI}</html>", PromptTooLong, "9001 tokens"),
        (400, ANTHROPIC, PromptTooLong, "210000 tokens, the window holds 200000"),
        (413, "", PromptTooLong, "HTTP 413"),
        (429, QUOTA, QuotaExhausted, "quota"),
        (402, "", QuotaExhausted, "HTTP 402"),
        (400, '{"error":{"message":"Your credit balance is too low"}}', QuotaExhausted, "credit"),
        (
            401,
            '{"error":"bad key sk-abcdefghijkl"}',
            ModelAuthError,
            r"bad key \*\*\*.*set THE_KEY",
        ),
        (403, "no", ModelAuthError, "HTTP 403"),
        (404, '{"detail":"Not Found"}', UsageError, "Not Found.*'m'.*ends in /v1"),
        (429, '{"error":{"message":"slow down"}}', AttemptFailed, "busy.*slow down"),
        (529, '{"error":{"type":"overloaded_error"}}', AttemptFailed, "busy"),
        (500, "", AttemptFailed, "failed .HTTP 500"),
        (502, "<html><h1>Bad Gateway</h1></html>", AttemptFailed, "Bad Gateway"),
        (400, '{"error":{"message":"bad grammar"}}', ModelAnswerError, "bad grammar"),
        (422, '[{"error":{"message":"x"}}]', ModelAnswerError, "x"),
    ],
)
def test_what_each_status_means(status: int, body: str, kind: type[Exception], text: str) -> None:
    error = from_status(status, {}, body, model="m", where="http://h", key_name="THE_KEY")
    assert type(error) is kind
    with pytest.raises(kind, match=text):
        raise error
    assert "\n" not in str(error)


def test_a_503_that_says_how_long_is_a_pause() -> None:
    def kind(headers: dict[str, str]) -> Any:
        error = from_status(503, headers, "", model="m", where="u", key_name="K")
        assert isinstance(error, AttemptFailed)
        return error.kind, error.wait

    assert kind({"Retry-After": "2"}) == ("rate", 2.0)
    assert kind({}) == ("server", None)


def test_keys_never_reach_a_message() -> None:
    secret = "myownkey123"
    text = redact("key myownkey123, sk-proj-aB_9-xyzzy, Authorization: Bearer abc.def\nok", secret)
    assert text == "key ***, ***, Authorization: Bearer *** ok"


def test_a_cut_off_answer_gets_more_room_once() -> None:
    asked: list[int] = []

    def chat(request: ChatRequest) -> ChatAnswer:
        asked.append(request.max_tokens)
        return ChatAnswer("MATCH (m) RETURN m.title", "stop" if len(asked) == 2 else "length")

    model = RoomierModel(Fake(chat))
    assert model.chat(ASK).usable
    assert asked == [512, 1024]
    assert model.chat(ASK).finish == "length"
    assert asked == [512, 1024, 512, 1024]


def test_more_room_only_as_far_as_the_budget_goes() -> None:
    meter = Meter()
    reasoning = Fake(lambda _: ChatAnswer("", "length", 10, 512))
    model = RoomierModel(MeteredModel(reasoning, meter, Budget(tokens=1000)))
    answer = model.chat(ASK)
    assert (answer.finish, meter.calls, meter.completion_tokens) == ("length", 1, 512)
