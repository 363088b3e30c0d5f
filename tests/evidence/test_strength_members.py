"""How members differ with a stronger term of the discriminator: results/stronger-term."""

import numpy as np
import pytest

from .logs import short, small, spread
from .pages import STRONGER, cells, flat, table_of
from .strength import (
    ALL,
    CHEETAH,
    CONTROL,
    ENDS,
    HOPPER,
    IN_TABLE,
    MEDIUM,
    MILD,
    OF_Q,
    PAPERS,
    ROWS,
    STRONG,
    logged,
    measured,
    names_on,
    p_of,
)

MEMBERS = table_of(STRONGER, "who follows the term", "accuracy (p)")
TEXT = flat(STRONGER)
ACCURACY, KL, DISTANCE, VISITS = "discriminator_accuracy", "kl_members", "action_distance", "entropy_all"


def mean(task, name, quantity):
    return np.mean(measured(task, name, quantity))


@pytest.mark.parametrize(("task", "words"), IN_TABLE)
def test_the_table_of_members(task, words):
    name, expected = ROWS[words], []
    for quantity, digits in ((ACCURACY, 2), (KL, 2), (DISTANCE, 2), (VISITS, 1)):
        p = "" if name == CONTROL else f" ({short(p_of(task, name, quantity))})"
        expected.append(spread(measured(task, name, quantity), digits) + p)
    expected.append(f"{np.mean(logged(task, name, 'own_log_q')):.1f}".replace("-", "−"))
    expected.append(f"{100 * np.mean(logged(task, name, 'clipped_share')):.0f} %")
    assert cells(MEMBERS, f"{task.removesuffix('-v4')}: {words}") == expected


def test_members_can_be_made_to_differ():
    both = [f"{mean(task, MEDIUM, ACCURACY):.2f} instead of {mean(task, CONTROL, ACCURACY):.2f}" for task in ENDS]
    assert "the discriminator's accuracy is {} on Hopper-v4 and {} on HalfCheetah-v4".format(*both) in TEXT
    for task in ENDS:
        for quantity in (ACCURACY, KL, DISTANCE):
            assert mean(task, MEDIUM, quantity) > mean(task, CONTROL, quantity)
            assert p_of(task, MEDIUM, quantity) < 0.05
    other = p_of(HOPPER, MEDIUM, "kl_members_any_episode")
    assert f"by its other estimate, which is biased the other way (p = {other:.3f})" in TEXT
    assert mean(HOPPER, STRONG, KL) > 0.95 * np.log(5)


def test_one_change_at_a_time():
    apart = [(task, name) for task in ENDS for name in (ALL, OF_Q)]
    assert all(
        p_of(*pair, ACCURACY) < 0.05 and mean(*pair, ACCURACY) > mean(pair[0], CONTROL, ACCURACY) for pair in apart
    )
    assert [pair for pair in apart if p_of(*pair, KL) < 0.05] == [(CHEETAH, OF_Q)]
    assert min(p_of(*pair, DISTANCE) for pair in apart) > 0.05
    most = max(p_of(*pair, ACCURACY, PAPERS) for pair in apart)
    assert f"the accuracy is higher with either on both tasks, too (p ≤ {np.ceil(1000 * most) / 1000:.3f})" in TEXT
    assert all(mean(*pair, ACCURACY) > mean(pair[0], PAPERS, ACCURACY) for pair in apart)


def test_a_smaller_epsilon():
    p = {task: [p_of(task, MILD, quantity, ALL) for quantity in (ACCURACY, KL)] for task in ENDS}
    accuracy, kl = map(small, p[CHEETAH])
    assert f"accuracy and KL are higher with ε = 0.02 than with 0.1 (p {accuracy} and p = {kl})" in TEXT
    assert all(mean(CHEETAH, MILD, quantity) > mean(CHEETAH, ALL, quantity) for quantity in (ACCURACY, KL))
    assert "On Hopper-v4 this is not shown (p = {} and {})".format(*map(short, p[HOPPER])) in TEXT


def test_what_the_ensemble_visits():
    names = {task: [name for name in names_on(task) if name != CONTROL] for task in ENDS}
    found = {(task, name) for task in ENDS for name in names[task] if p_of(task, name, VISITS) < 0.05}
    more = {pair for pair in found if mean(*pair, VISITS) > mean(pair[0], CONTROL, VISITS)}
    assert more == {(HOPPER, MILD), (HOPPER, OF_Q)}
    assert found - more == {(HOPPER, STRONG)}
    own = [mean(HOPPER, name, "entropy_members_mean") for name in (STRONG, CONTROL)]
    assert "a single member's H(ρ given z) is {:.1f} instead of {:.1f} nats".format(*own) in TEXT


def test_replayed_states():
    assert f"(chance: −{np.log(5):.1f})" in TEXT
    hopper, cheetah = (
        {name: np.mean(logged(task, name, "own_log_q")) for name in names_on(task)} for task in (HOPPER, CHEETAH)
    )
    assert hopper[STRONG] < hopper[MEDIUM] < hopper[CONTROL]
    assert max(cheetah, key=cheetah.get) == MEDIUM
    said = f"On HalfCheetah-v4 it rises from −{-cheetah[CONTROL]:.1f} to −{-cheetah[MEDIUM]:.1f} at most, still below"
    assert said in TEXT
    assert cheetah[MEDIUM] < np.log(1 / 5)
    assert mean(CHEETAH, MEDIUM, DISTANCE) > mean(CHEETAH, CONTROL, DISTANCE)


def test_how_strong_the_terms_are():
    pulls = [np.mean(logged(task, name, "diversity_pull")) for task in ENDS for name in (OF_Q, MEDIUM)]
    assert f"with 0.01 of Q it is {min(pulls):.1f} to {max(pulls):.1f} times as long as Q's" in TEXT
    assert round(np.mean(logged(HOPPER, STRONG, "diversity_pull"))) == 4
    assert "Where all members follow a term four times as strong as Q, with a small ε, the return on Hopper-v4" in TEXT
