import numpy as np
import pytest

from cypherforge.core.datasets import Example
from cypherforge.miner.prove import Lift, RuleProof, Status, bootstrap, choose, draw


def proof(rule: str, status: Status, lift: float, tokens: int) -> RuleProof:
    return RuleProof(rule, status, 4, 4, (), (), Lift(lift, 0, 0), tokens)


def test_the_best_rules_are_chosen_as_long_as_their_tokens_fit() -> None:
    proofs = [
        proof("small", "proven", 0.05, 100),
        proof("best", "proven", 0.10, 200),
        proof("large", "proven", 0.08, 500),
        proof("idle", "unproven", 0.0, 10),
        proof("bad", "harmful", -0.2, 10),
    ]
    assert choose(proofs, 300) == {"best", "small"}
    assert choose(proofs, 700) == {"best", "large"}
    assert choose(proofs, 50) == set()


def test_the_lift_weighs_what_was_tried_by_what_it_stands_for() -> None:
    # 40 of 100 questions fail; of 8 tried the rule fixes 2. 60 pass; of 10 tried it breaks 1.
    fixes = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    breaks = np.array([-1] + [0] * 9)
    lift = bootstrap([(0.4, fixes), (0.6, breaks)], 4000, seed=1)
    assert lift.mean == pytest.approx(0.4 * 0.25 - 0.6 * 0.1)
    # Normal approximation: sqrt(.4^2 * .1875/8 + .6^2 * .09/10) = 0.0836, times 1.96 to each side.
    assert lift.low == pytest.approx(0.04 - 0.164, abs=0.03)
    assert lift.high == pytest.approx(0.04 + 0.164, abs=0.03)


def test_a_sure_gain_has_no_width() -> None:
    assert bootstrap([(0.5, np.array([1, 1, 1]))], 500, seed=0) == Lift(0.5, 0.5, 0.5)
    assert bootstrap([], 500, seed=0) == Lift(0.0, 0.0, 0.0)


def test_the_draw_repeats_itself_and_ignores_order() -> None:
    examples = [Example(f"q{i}", "?", "RETURN 1", "g") for i in range(30)]
    once = [e.id for e in draw(examples, 5, seed=0)]
    assert once == [e.id for e in draw(list(reversed(examples)), 5, seed=0)]
    assert once != [e.id for e in draw(examples, 5, seed=1)]
    assert len(draw(examples, 50, seed=0)) == 30
