"""Models without a model: scripts and recordings; and the specs that open them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cypherforge.core.errors import InputError, ReplayMiss, UsageError
from cypherforge.llm.base import ChatAnswer, ChatRequest, Message, request_key, samples
from cypherforge.llm.budget import Budget, Meter
from cypherforge.llm.recorded import RecordedModel, RecordingModel, tidy_recording
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.llm.specs import open_model, parse_spec, public_url

ASK = ChatRequest((Message("user", "How many {x}?"),), temperature=0.8)


def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.jsonl"
    file.write_text(
        '{"contains":["How","many"],"answers":["first","second"]}\n'
        '{"contains":"cut","answer":"MATCH (n)","finish":"length"}\n'
        '{"answer":"else"}\n'
    )
    return file


def test_a_script_answers_by_content_and_sample(tmp_path: Path) -> None:
    model = ScriptedModel.from_file(script(tmp_path))
    assert [model.chat(r).text for r in samples(ASK, 3)] == ["first", "second", "first"]
    cut = model.chat(ChatRequest((Message("user", "cut"),)))
    assert (cut.finish, cut.usable) == ("length", False)
    assert model.chat(ChatRequest((Message("user", "?"),))).text == "else"


def test_a_script_in_yaml_and_by_key(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    key = request_key("scripted:s.yaml", ASK)
    file.write_text(f"- key: {key[:16]}\n  answer: |\n    MATCH (n)\n    RETURN n\n- answer: ''\n")
    model = open_model(f"scripted:{file}")
    assert model.chat(ASK).text == "MATCH (n)\nRETURN n\n"
    assert model.chat(replace(ASK, max_tokens=1)).finish == "empty"


def test_a_function_is_a_model() -> None:
    model = ScriptedModel(lambda r: r.messages[-1].content.upper(), name="upper")
    assert (model.name, model.chat(ASK).text) == ("upper", "HOW MANY {X}?")
    whole = ScriptedModel(lambda _: ChatAnswer("", "refused", note="no"))
    assert whole.chat(ASK).finish == "refused"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "holds no rules"),
        ("[1]", "row 1: is not an object"),
        ('{"answer":"a"}\n{"contain":"x","answer":"a"}', "row 2: unknown key 'contain'"),
        ('{"contains":"x"}', 'needs "answer"'),
        ('{"answer":7}', "must be text"),
        ('{"answer":"a","finish":"done"}', "finish 'done' is none of stop, length"),
        ('{"answers":[]}', "is empty"),
    ],
)
def test_a_script_that_cannot_be_read_says_where(tmp_path: Path, text: str, match: str) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=match):
        ScriptedModel.from_file(file)


def test_a_script_without_a_rule_for_it_says_what_was_asked(tmp_path: Path) -> None:
    model = ScriptedModel([{"contains": "x", "answer": "a"}])
    with pytest.raises(UsageError, match="no rule answers the message that ends 'why'"):
        model.chat(ChatRequest((Message("user", "why"),)))


def test_a_recording_replays_by_the_exact_request(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    live = ScriptedModel(lambda r: f"answer {r.sample} \u2028\ud83d", name="qwen")
    recorder = RecordingModel(live, file, "cypherforge record --model qwen@URL")
    answers = [recorder.chat(r) for r in samples(ASK, 3)]
    assert tidy_recording(file) == 3
    meter = Meter()
    replay = RecordedModel(file, meter)
    assert replay.name == "qwen"
    assert [replay.chat(r).text for r in samples(ASK, 3)] == [a.text for a in answers]
    assert meter.to_json()["cache_hits"] == 3
    with pytest.raises(
        ReplayMiss, match=r"never recorded.*cypherforge record --model qwen@URL"
    ) as e:
        replay.chat(replace(ASK, messages=(Message("user", "How many {x}? "),)))
    assert e.value.exit_code == 3


def test_unusable_answers_are_recorded_too(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    RecordingModel(ScriptedModel(lambda _: ChatAnswer("MATCH", "length")), file).chat(ASK)
    assert RecordedModel(file).chat(ASK).finish == "length"


def test_a_killed_recording_goes_on_and_ends_in_the_same_bytes(tmp_path: Path) -> None:
    live = ScriptedModel(lambda r: f"answer {r.sample}", name="qwen")
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    for r in samples(ASK, 5):
        RecordingModel(live, whole, "cmd").chat(r)
    tidy_recording(whole)
    recorder = RecordingModel(live, killed, "cmd")
    for r in samples(ASK, 3)[::-1]:
        recorder.chat(r)
    with open(killed, "ab") as file:
        file.write(b'{"answer":"answer 3","comp')
    asked: list[int] = []

    def count(request: ChatRequest) -> str:
        asked.append(request.sample)
        return f"answer {request.sample}"

    again = RecordingModel(ScriptedModel(count, name="qwen"), killed, "cmd")
    for r in samples(ASK, 5):
        again.chat(r)
    assert asked == [3, 4]
    tidy_recording(killed)
    assert killed.read_bytes() == whole.read_bytes()


def test_a_recording_of_another_model_or_format_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    RecordingModel(ScriptedModel(lambda _: "x", name="a"), file).chat(ASK)
    with pytest.raises(InputError, match="holds answers of 'a', not of 'b'"):
        RecordingModel(ScriptedModel(lambda _: "x", name="b"), file)
    file.write_text('{"format":"cypherforge-answers/9"}\n')
    with pytest.raises(InputError, match="this version reads"):
        RecordedModel(file)
    file.write_text('{"key":"k"}\n')
    with pytest.raises(InputError, match="row 1: no answer"):
        RecordedModel(file)
    with pytest.raises(InputError, match="no such file"):
        open_model(f"recorded:{tmp_path / 'none.jsonl'}")


def test_replay_does_not_depend_on_hash_seeds(tmp_path: Path) -> None:
    code = (
        "from cypherforge.llm.base import *\n"
        "r = ChatRequest((Message('user', 'Zoë'),), extra={'b': 1, 'a': {'d': 1, 'c': 2}})\n"
        "print(request_key('m', r))"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(keys) == 1


def test_specs_are_parsed() -> None:
    spec = parse_spec("org/qwen@v2@http://127.0.0.1:8091/v1/")
    assert (spec.kind, spec.name, spec.url) == ("url", "org/qwen@v2", "http://127.0.0.1:8091/v1")
    assert not spec.leaves_machine
    assert parse_spec("m@https://models.example/v1").leaves_machine
    assert parse_spec("openai:gpt-4o").destination == "https://api.openai.com/v1"
    assert parse_spec("recorded:C:/a:b.jsonl").name == "C:/a:b.jsonl"
    assert parse_spec(" none ").destination == ""
    assert public_url("http://me:pass@host:1/v1?key=x") == "http://host:1/v1"


@pytest.mark.parametrize("bad", ["", "gpt-4o", "openai:", "@http://x/v1", "m@ftp://x", "m@http://"])
def test_what_is_no_spec_is_told_the_forms(bad: str) -> None:
    with pytest.raises(UsageError, match="openai:NAME, anthropic:NAME, NAME@URL"):
        open_model(bad)


def test_none_opens_and_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="none was given.*--model"):
        open_model("none").chat(ASK)


def test_an_opened_model_caches_counts_and_records(tmp_path: Path) -> None:
    meter, record = Meter(), tmp_path / "r.jsonl"
    spec = f"scripted:{script(tmp_path)}"
    for _ in range(2):
        model = open_model(
            spec,
            cache=tmp_path / "cache",
            meter=meter,
            budget=Budget(calls=2, money=0),
            record=record,
        )
        assert [model.chat(r).text for r in samples(ASK, 2)] == ["first", "second"]
    assert (meter.calls, meter.cache_hits) == (2, 2)
    record.unlink()
    model = open_model(spec, cache=tmp_path / "cache", meter=meter, record=record)
    model.chat(ASK)
    # From the cache, and in the recording all the same.
    assert json.loads(record.read_text().splitlines()[1])["answer"] == "first"
    with pytest.raises(UsageError, match="cannot be recorded"):
        open_model(f"recorded:{record}", record=tmp_path / "x.jsonl")
