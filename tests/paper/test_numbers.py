"""The paper's and others' numbers are read right, and the paper's claims come out of its tables as the page says."""

from pathlib import Path

import pytest

from teen.paper import claims, numbers
from teen.paper.experiments import MUJOCO, SUITE
from teen.paper.numbers import Score

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("algo", "env", "step", "score"),
    [
        ("TEEN", "HalfCheetah-v4", 500_000, (10139, 623)),
        ("SUNRISE", "Ant-v4", 1_000_000, (3523, 1430)),
        ("RND", "dm_control/walker-run", 500_000, (180, 107)),
        ("SAC", "dm_control/walker-walk", 1_000_000, (976, 3)),
        ("TD3", "Hopper-v5", 1_000_000, (3479, 147)),
    ],
)
def test_the_papers_tables(algo, env, step, score):
    assert numbers.in_paper(algo, env, step) == Score(*score)


def test_what_the_paper_does_not_print():
    assert numbers.in_paper("TEEN α=0", "Ant-v4", 1_000_000) is None
    assert numbers.in_paper("TEEN", "Ant-v4", 300_000) is None
    assert numbers.in_paper("TEEN", "Humanoid-v4", 1_000_000) is None


def test_every_cell_of_both_tables_is_there():
    labels = ("TEEN", *claims.BASELINES)
    cells = [numbers.in_paper(a, env, step) for a in labels for env in (*MUJOCO, *SUITE) for step in numbers.STEPS]
    assert len(cells) == 90
    assert None not in cells


@pytest.mark.parametrize(
    ("env", "task"),
    [
        ("HalfCheetah-v3", "halfcheetah"),
        ("walker2d-v4", "walker2d"),
        ("dm_control/cheetah-run", "cheetah-run"),
        ("cheetah_run", "cheetah-run"),
    ],
)
def test_a_task_has_one_name(env, task):
    assert numbers.task(env) == task


def test_others_results_name_their_source():
    references = {(r.source, r.env): r for r in numbers.references("TD3", "HalfCheetah-v4", 500_000)}
    tianshou = references["thu-ml/tianshou@39acf209 benchmark csv", "HalfCheetah-v3"]
    assert (tianshou.last, tianshou.best, tianshou.window, tianshou.seeds) == (
        (8733.0, 770.5),
        (8921.1, 777.0),
        "50k",
        10,
    )
    assert references["sfujim/TD3@34770cc learning_curves", "HalfCheetah-v1"].best == (8714.6, 868.9)
    assert all(r.algo.startswith("TD3") for r in references.values())


def test_others_results_whose_names_have_commas():
    references = numbers.references("SAC", "dm_control/cheetah-run", 500_000)
    assert "SAC(1024x2,lr1e-4,b1024)" in [r.algo for r in references]
    assert {r.note for r in references} == {"action repeat 1", "action repeat 2"}


def test_there_are_none_at_other_steps_and_of_other_algorithms():
    assert numbers.references("TD3", "HalfCheetah-v4", 400_000) == []
    assert numbers.references("TEEN", "HalfCheetah-v4", 500_000) == []


def paper_gain(tasks, over, step=1_000_000):
    return claims.gain(claims.paper_means(tasks, step), tasks, "TEEN", over)


def test_41_percent_by_hand():
    """TEEN over SUNRISE at 1M: HalfCheetah, Hopper, Walker2d, Ant."""
    by_hand = (11914 / 6269 + 3687 / 3644 + 5099 / 4819 + 5930 / 3523) / 4 - 1
    gain = paper_gain(MUJOCO, ("SUNRISE",))
    assert gain.value == pytest.approx(by_hand)
    assert str(gain) == "41.3 %"


def test_7_3_percent_by_hand():
    """TEEN over the best of TD3, SAC, RND and SUNRISE: SAC on HalfCheetah, SUNRISE twice, TD3 on Ant."""
    by_hand = (11914 / 11129 + 3687 / 3644 + 5099 / 4819 + 5930 / 5142) / 4 - 1
    gain = paper_gain(MUJOCO, claims.BASELINES)
    assert gain.value == pytest.approx(by_hand)
    assert str(gain) == "7.3 %"


@pytest.mark.parametrize(
    ("tasks", "over", "gain"),
    [
        (SUITE, ("SUNRISE",), "32.0 %"),
        ((*MUJOCO, *SUITE), ("SUNRISE",), "36.2 %"),
        (SUITE, claims.BASELINES, "8.9 %"),
        ((*MUJOCO, *SUITE), claims.BASELINES, "8.2 %"),
        (MUJOCO, claims.BASELINES[:3], "11.4 %"),
    ],
)
def test_what_does_not_come_out_is_as_the_page_says(tasks, over, gain):
    assert str(paper_gain(tasks, over)) == gain
    assert any(gain in note for note in claims.NOTES)


def test_the_better_of_td3_and_sac_by_hand():
    """At 1M: SAC on HalfCheetah, Hopper and Walker2d, TD3 on Ant; on DeepMind Control SAC, but TD3 on fish-swim."""
    mujoco = [11914 / 11129, 3687 / 3484, 5099 / 4349, 5930 / 5142]
    suite = [891 / 871, 976 / 971, 519 / 367, 974 / 976, 800 / 746]
    page = (ROOT / "docs" / "paper.md").read_text()
    gains = []
    for tasks, ratios in ((MUJOCO, mujoco), (SUITE, suite), ((*MUJOCO, *SUITE), mujoco + suite)):
        gains.append(paper_gain(tasks, claims.BASELINES[:2]))
        assert gains[-1].value == pytest.approx(sum(ratios) / len(ratios) - 1)
    assert f"| the better of TD3 and SAC on each task | {' | '.join(map(str, gains))} |" in page


def test_a_gain_counts_the_tasks_that_have_all_numbers():
    means = {("TEEN", "a"): 3.0, ("SAC", "a"): 2.0, ("TEEN", "b"): 1.0, ("SAC", "b"): -1.0, ("TEEN", "c"): 9.0}
    gain = claims.gain(means, "abc", "TEEN", ("SAC",))
    assert gain == (pytest.approx(0.5), 1, 3)
    assert str(gain) == "50.0 % (1 of 3 tasks)"
    assert str(claims.gain(means, "bc", "TEEN", ("SAC",))) == "–"
