"""The table of all tasks, and TEEN against TD3 and SAC on each."""

import re

import numpy as np

from .logs import last, last_means, p_value, several, small
from .pages import PAGE, README, cells, flat, printed, steps_of, table, table_of
from .runs import ALL_TASKS, FIRST, MILLION, SECOND, SECOND_WALKER, TUNED, WALKER, all_runs, setting


def counted(runs, step):
    """The score of all runs that came so far, and their number; "–" for none."""
    seeds = several(runs, step)
    return f"{last(seeds, step)} ({len(seeds)})" if seeds else "–"


def test_readme_has_the_same_scores():
    for task, runs in ALL_TASKS.items():
        step, words = {
            "HalfCheetah-v4": (1_000_000, "1M"),
            "Hopper-v4": (300_000, "300k"),
            "Walker2d-v4": (290_000, "290k"),
            "Ant-v4": (200_000, "200k"),
        }[task]
        found = [cell.replace(" runs)", ")") for cell in cells(README, f"{task}, {words}")]
        assert found == [counted(runs.get(label, []), step) for label in MILLION]
    walker, cheetah = (setting(task, TUNED["teen"]) for task in ("Walker2d-v4", "HalfCheetah-v4"))
    paper = last(several(MILLION["TEEN"]), 300_000)
    assert (
        f"at 300k TEEN with `--preset tuned` has {last(walker, 300_000)} on Walker2d-v4, "
        f"and {last(cheetah, 300_000)} on HalfCheetah-v4 where the paper's settings have {paper};" in flat(README)
    )


def test_the_table_of_all_tasks():
    lines = re.findall(r"^\| (\S+-v4), (\w+) \|(.*)\|$", table_of(PAGE, "task, steps"), re.MULTILINE)
    assert [line[:2] for line in lines] == [
        *(("HalfCheetah-v4", steps) for steps in ("200k", "300k", "500k", "1M")),
        *(("Hopper-v4", steps) for steps in ("200k", "300k")),
        *(("Walker2d-v4", steps) for steps in ("200k", "290k", "300k")),
        *(("Ant-v4", steps) for steps in ("200k", "300k")),
    ]
    for task, words, rest in lines:
        step = steps_of(words)
        expected = [counted(ALL_TASKS[task].get(label, []), step) for label in MILLION]
        expected += [printed(algo, task, step) for algo in ("TEEN", "SAC", "TD3")]
        *found, others = (cell.strip() for cell in rest.split("|"))
        assert found == expected
        best_there = best_of_others(task, step)
        assert others == "–" if best_there == "–" else others.startswith(best_there)


COMPARED = {  # the rows of TEEN against TD3 and SAC: what is compared
    "HalfCheetah-v4, 1M: all runs": "",
    "Hopper-v4, 160k: `paper-early/first`": FIRST,
    "Hopper-v4, 200k: all runs": "",
    "Hopper-v4, 300k: all runs": "",
    "Hopper-v4, 300k: `settings-300k`": "settings-300k",
    "Walker2d-v4, 290k: all runs": "",
    "Walker2d-v4, 290k: `settings-300k`": "settings-300k",
    "Walker2d-v4, 290k: `paper-early/second`": SECOND,
    "Ant-v4, 110k: `paper-early/first`": FIRST,
    "Ant-v4, 200k: all runs": "",
}


def test_teen_against_td3_and_sac():
    found = table_of(PAGE, "", "TEEN", "TEEN α = 0", "TD3", "p", "SAC", "p")
    assert re.findall(r"^\| (\S.*?) \|", found, re.MULTILINE)[1:] == list(COMPARED)
    for row, part in COMPARED.items():
        task, words = row.split(":")[0].split(", ")
        step = steps_of(words)
        seeds = {label: all_runs(task, label, step, part) for label in MILLION}
        expected = []
        for label in ("TEEN", "TEEN α = 0", "TD3", "SAC"):
            own = seeds[label]
            expected.append(f"{np.mean(last_means(own, step)):.0f} ({len(own)})" if own else "–")
            if label in ("TD3", "SAC"):
                p = p_value(seeds["TEEN"], own, step) if own else None
                expected.append("" if p is None else f"{p:.2f}" if p >= 0.1 else small(p))
        assert cells(found, row) == expected, row


def test_what_is_said_of_the_comparisons():
    text = flat(PAGE)

    def mean(task, label, step, part=""):
        return np.mean(last_means(all_runs(task, label, step, part), step))

    seeds = [all_runs("Hopper-v4", label, 100_000) for label in ("TEEN", "SAC")]
    means = [np.mean(last_means(some, 100_000)) for some in seeds]
    said = "{:.0f} against {:.0f} at 100k (p = {:.3f}), level at 200k"
    assert said.format(*means, p_value(*seeds, 100_000)) in text
    for part in ("settings-300k", SECOND):  # TEEN's mean is the lowest
        assert all(
            mean("Walker2d-v4", "TEEN", 290_000, part) < mean("Walker2d-v4", label, 290_000, part)
            for label in ("TD3", "SAC")
        )
    sets = {run: several([run], 290_000) for run in ALL_TASKS["Walker2d-v4"]["TEEN"]}
    sets = {run: np.mean(last_means(seeds, 290_000)) for run, seeds in sets.items() if seeds}
    assert (min(sets, key=sets.get), max(sets, key=sets.get)) == (WALKER, SECOND_WALKER)
    ant = [*all_runs("Ant-v4", "TD3", 200_000), *all_runs("Ant-v4", "SAC", 200_000)]
    untrained = [means[steps < 25_000].mean() for steps, means in ant]  # during the warm-up
    assert f"an untrained agent has {np.mean(untrained):.0f} here" in text
    assert max(last_means(ant, 200_000)) < 2_000
    without = all_runs("Ant-v4", "TEEN α = 0", 110_000)
    for label in ("TD3", "SAC"):
        assert p_value(without, all_runs("Ant-v4", label, 110_000, FIRST), 110_000) < 0.05


def best_of_others(task, step):
    """The highest last mean of any TD3 or SAC, and the beginning of whose it is."""
    rows = [
        (float(row["mean"]), float(row["std"]), row)
        for row in table("reference_results.csv")
        if row["env"].lower().startswith(task.removesuffix("-v4").lower() + "-v") and row["env_step"] == str(step)
        if row["metric"].startswith("mean_last_") and re.fullmatch(r"(TD3|SAC)(\(.*)?", row["algo"].upper())
    ]
    if not rows:
        return "–"
    mean, std, row = max(rows, key=lambda row: row[0])
    return f"{mean:.0f} ± {std:.0f} ({re.split('[@/_]', row['source'])[1].capitalize()}'s {row['algo'][:3]}"
