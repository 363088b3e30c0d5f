"""What the discriminator goes by: the script that asks it, and what is said of its answers."""

import csv

import numpy as np
import pytest

from scripts.discriminator_memory import asked
from teen.spec import Spec
from tests.play.agents import drawn

from .logs import ROOT, logged_means, spread, train_rows
from .pages import DIVERSITY, FISH, cells, flat, table_of
from .runs import CONTROL, HALF_MILLION, MILLION, diagnosed, half_million

FOLDER = ROOT / "results" / "discriminator"


@pytest.mark.parametrize("blind", [True, False])
def test_a_discriminator_that_does_not_see_actions_gives_the_same_answers(blind):
    agent = drawn(Spec(1, 1), algo="teen", env="tests.toys:PointMass-v0", n=3, seeds="3,", epsilon=0.05)
    agent.weights.discriminator[0].weight[:] *= (20, 0) if blind else (0, 20)  # of the observation, of the action
    draws = np.random.default_rng(1)
    rows = draws.uniform(-1, 1, (50, 7)).astype(np.float32)  # obs, action, reward, two flags, next_obs, z
    rows[:, -1] = draws.integers(-1, 3, 50)
    answers = list(asked(agent, rows))
    assert [answer[0] for answer in answers] == ["stored", "own, now", "another member's, now"]
    assert {int(answer[1]) for answer in answers} == {int((rows[:, -1] >= 0).sum())}
    there, whose = ([float(answer[column]) for answer in answers] for column in (2, 3))
    assert there[:2] == whose[:2]
    assert (len(set(there)) == 1) == blind


def answers(task):
    with (FOLDER / f"{task}.csv").open() as file:
        return {(row["newest"], row["action"]): row for row in csv.DictReader(file)}


def test_what_is_said_of_the_answers():
    found = table_of(DIVERSITY, "", "Hopper-v4, 80,000 steps, 10 members")
    hopper, fish = answers("Hopper-v4"), answers("fish-swim")
    for task in (hopper, fish):
        assert {row["rows"] for (newest, _), row in task.items() if newest == "50000"} == {"20000"}
    other = "another member's, now"
    for words, action, column in (
        ("the stored action: names the member that was there", "stored", "names_who_was_there"),
        ("that member's present action: names it", "own, now", "names_who_was_there"),
        ("another member's present action: names the member that was there", other, "names_who_was_there"),
        ("another member's present action: names this other one", other, "names_whose_action_it_is"),
    ):
        assert cells(found, words) == [f"{float(task['50000', action][column]):.2f}" for task in (hopper, fish)]
    evenly = [(1 - float(task["50000", other]["names_who_was_there"])) / n for task, n in ((hopper, 9), (fish, 4))]
    said = "If its wrong answers were spread evenly over the other members, it would be {:.2f} and {:.2f}."
    assert said.format(*evenly) in flat(DIVERSITY)
    assert f"none of them with probability {0.9**10:.2f}" in flat(DIVERSITY)
    newest = [float(task["5000", "stored"]["names_who_was_there"]) for task in (hopper, fish)]
    runs = {"discriminator": 80_000, "fish-swim/teen/base=sac,action_repeat=2": 250_000}
    fresh = [diagnosed(run, step)["discriminator_accuracy"][0] for run, step in runs.items()]
    said = "it names {:.2f} on Hopper-v4 and {:.2f} on fish-swim, of fresh episodes {:.2f} and {:.2f}"
    assert said.format(*newest, *fresh) in flat(DIVERSITY)


def test_how_strong_the_term_is_on_hopper():
    rows = {int(row["step"]): row for row in train_rows("discriminator")}
    first, last = rows[26_000], rows[80_000]
    said = "from {:.2f} at step 26,000 to {:.2f} at 80,000, while Q rises from {:.0f} to {:.0f}"
    numbers = [float(row[name]) for name in ("diversity_pull", "q") for row in (first, last)]
    assert said.format(*numbers) in flat(DIVERSITY)


def test_replay_and_fresh_episodes():
    found = table_of(DIVERSITY, "the paper's α, [five seeds, on HalfCheetah-v4 ten](../results/paper/README.md)")
    runs = {f"{task}, 500k": ([half_million(task)[0]], 500_000) for task in (*HALF_MILLION, *CONTROL)}
    runs["HalfCheetah-v4, 1M"] = MILLION["TEEN"], 1_000_000
    more = {}
    for first, (folders, end) in runs.items():
        replayed = logged_means(folders, end, "discriminator_accuracy")
        fresh = [value for folder in folders for value in diagnosed(folder, end)["discriminator_accuracy"]]
        own = logged_means(folders, end, "own_log_q")
        assert cells(found, first) == [spread(values, 2).replace("-", "−") for values in (replayed, fresh, own)]
        more[first] = np.mean(replayed) / np.mean(fresh)
    finger = more.pop("finger-spin, 500k")
    said = f"{min(more.values()):.1f} to {max(more.values()):.1f} times that in fresh episodes, on finger-spin"
    assert f"{said} {finger:.1f} times" in flat(DIVERSITY)


def test_the_discriminator_of_fish_swim():
    rows = [row for row in train_rows("fish-swim/teen/base=sac,action_repeat=2") if int(row["step"]) > 5_000]
    accuracy, own, clipped, pull = (
        [float(row[name]) for row in rows]
        for name in ("discriminator_accuracy", "own_log_q", "clipped_share", "diversity_pull")
    )
    text = flat(FISH)
    assert f"names {min(accuracy):.2f} to {max(accuracy):.2f} of the replayed pairs" in text
    assert f"log q of −{-np.mean(own):.1f} on average" in text
    assert f"{100 * min(clipped):.0f} to {100 * max(clipped):.0f} % of them are clipped" in text
    assert f"`diversity_pull` is at most {max(pull):.3f}" in text
