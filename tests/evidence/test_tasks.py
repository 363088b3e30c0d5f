"""The table of all tasks, TEEN against TD3 and SAC on each, and that all runs count."""

import re
import tomllib

import numpy as np
from scipy.stats import mannwhitneyu

from teen.config.job import resolve

from .logs import ROOT, evaluations, gain, interval, last, last_means, p_value, several, short
from .pages import PAGE, README, cells, flat, printed, steps_of, table, table_of
from .runs import ALL_TASKS, FIRST_FIVE, HALF_MILLION, MILLION, PAPER, SECOND, SECOND_WALKER, TUNED, all_runs, setting

STEPS = {
    "HalfCheetah-v4": ("300k", "500k", "1M"),
    **dict.fromkeys((*HALF_MILLION, "cheetah-run"), ("300k", "500k")),
    "walker-run": ("300k",),
}
BESIDE = {
    "seeds",
    "steps",
    "backend",
    "collector",
    "replay",
    "env_timeout",
    "on_nan",
}  # settings that do not matter here
BESIDE |= {"eval_every", "eval_episodes", "members_every", "log_every", "checkpoint_every"}
BESIDE |= {"diagnose_every", "diagnose_episodes", "buffer", "alpha"}


def test_all_runs_with_the_papers_settings_count():
    """All that are longer than 125,000 steps, whatever they were made for. No replay is ever full."""
    alike, long = set(), set()
    for file in (ROOT / "results").rglob("config.toml"):
        own, run = tomllib.loads(file.read_text()), str(file.parent.relative_to(ROOT / "results"))
        preset = resolve({"preset": "paper", "algo": own["algo"], "env": own["env"]}).flat()
        same = all(own.get(name, value) == value for name, value in preset.items() if name not in BESIDE)
        if same and own.get("alpha", 0) in (0, 0.2) and (file.parent / "eval.csv.gz").exists():
            longest = max(steps[-1] for steps, _ in evaluations(run))
            assert longest <= own["buffer"]
            alike.add(run)
            long |= {run} if longest > 125_000 else set()
    assert long <= {run for task in ALL_TASKS.values() for runs in task.values() for run in runs} <= alike


def counted(runs, step):
    """The score of all runs that came so far, and their number; "–" for none."""
    seeds = several(runs, step)
    return f"{last(seeds, step)} ({len(seeds)})" if seeds else "–"


def test_readme_has_the_same_scores():
    for task, words in {"HalfCheetah-v4": "1M", **dict.fromkeys(HALF_MILLION, "500k")}.items():
        step = steps_of(words)
        ours = [counted(ALL_TASKS[task][label], step) for label in MILLION]
        paper = [printed(label, task, step) if label != "TEEN α = 0" else "" for label in MILLION]
        assert cells(README.replace(" runs)", ")"), f"{task}, {words}") == ours
        assert cells(README, f"the paper, {task.removesuffix('-v4')}") == paper
    walker, cheetah = (setting(task, TUNED["teen"]) for task in ("Walker2d-v4", "HalfCheetah-v4"))
    paper = [last(all_runs("Walker2d-v4", "TEEN", 300_000), 300_000), last(evaluations(FIRST_FIVE), 300_000)]
    assert (
        f"`--preset tuned` gives TEEN {last(walker, 300_000)} instead of {paper[0]} on Walker2d-v4, "
        f"and {last(cheetah, 300_000)} instead of {paper[1]} on HalfCheetah-v4;" in flat(README)
    )


def test_the_table_of_all_tasks():
    lines = re.findall(r"^\| ([\w-]+), (\w+) \|(.*)\|$", table_of(PAGE, "task, steps"), re.MULTILINE)[1:]
    assert [line[:2] for line in lines] == [(task, words) for task, each in STEPS.items() for words in each]
    for task, words, rest in lines:
        step = steps_of(words)
        expected = [counted(ALL_TASKS[task].get(label, []), step) for label in MILLION]
        *found, others = (cell.strip() for cell in rest.split("|"))
        assert found == expected
        best_there = best_of_others(task, step)
        assert others == "–" if best_there == "–" else others.startswith(best_there)
        if step in (500_000, 1_000_000):
            paper = [printed(label, task, step) if label != "TEEN α = 0" else "" for label in MILLION]
            assert cells(PAGE, f"the paper, {task.removesuffix('-v4')}, {words}") == [*paper, ""]


def test_gains_of_teen():
    found = table_of(PAGE, "TEEN over", "TD3", "p")
    rows = {("HalfCheetah-v4", "1M"), *((task, "500k") for task in ("HalfCheetah-v4", *HALF_MILLION))}
    assert {tuple(row.split(", ")) for row in re.findall(r"^\| (\S+, \w+) \|", found, re.MULTILINE)} == rows
    for task, words in rows:
        step, expected = steps_of(words), []
        for label in ("TD3", "SAC", "TEEN α = 0"):
            both = all_runs(task, "TEEN", step, PAPER), all_runs(task, label, step, PAPER)
            more = f"{gain(*both, step)} ({interval(*both, step).removesuffix(' %')})".replace("-", "−")
            ranks = mannwhitneyu(*(last_means(seeds, step) for seeds in both)).pvalue
            expected += [more, f"{short(p_value(*both, step))}, {short(ranks)}"]
        assert cells(found, f"{task}, {words}") == expected


def mean(task, label, step, part=""):
    return np.mean(last_means(all_runs(task, label, step, part), step))


def test_what_is_said_of_ant_and_hopper():
    text = flat(PAGE)
    half = {label: all_runs("Ant-v4", label, 500_000) for label in MILLION}
    td3, sac = (gain(half["TEEN α = 0"], half[label], 500_000) for label in ("TD3", "SAC"))
    p = p_value(half["TEEN α = 0"], half["TD3"], 500_000)
    assert f"with α = 0 as well (+{td3} over TD3, p = {p:.3f}; +{sac} over SAC, p < 0.001)" in text
    assert p_value(half["TEEN α = 0"], half["SAC"], 500_000) < 0.001
    five = [f"{value:.0f}" for value in sorted(last_means(half["TD3"], 500_000), reverse=True)]
    untrained = np.mean([means[steps < 25_000].mean() for steps, means in half["TD3"]])  # during the warm-up
    said = f"TD3's five runs have {', '.join(five[:4])} and {five[4]} at 500k; untrained actors stand still and have"
    assert f"{said} {untrained:.0f}." in text
    hopper = [all_runs("Hopper-v4", label, 100_000) for label in ("SAC", "TEEN")]
    means = [np.mean(last_means(seeds, 100_000)) for seeds in hopper]
    assert "SAC is ahead at 100k ({:.0f} against {:.0f}, all runs, p < 0.001)".format(*means) in text
    assert p_value(*hopper, 100_000) < 0.001
    apart = [all_runs("Hopper-v4", label, 100_000, PAPER) for label in ("SAC", "TEEN")]
    assert [len(seeds) for seeds in apart] == [5, 5]
    assert f"the five of each in results/paper have p = {p_value(*apart, 100_000):.3f}" in text
    assert p_value(*(all_runs("Hopper-v4", label, 200_000) for label in ("SAC", "TEEN")), 200_000) > 0.4


def test_what_is_said_of_walker2d():
    text = flat(PAGE)
    half = last_means(all_runs("Walker2d-v4", "TEEN", 500_000), 500_000)
    assert f"TEEN's five at 500k have {min(half):.0f} to {max(half):.0f}" in text
    ranks = []
    for part in ("settings-300k", SECOND, PAPER):  # those that have all three
        means = {label: mean("Walker2d-v4", label, 290_000, part) for label in ("TEEN", "TD3", "SAC")}
        ranks.append(sorted(means, key=means.get).index("TEEN"))
    assert ranks == [0, 0, 1]
    teen = [mean("Walker2d-v4", "TEEN", 290_000, part) for part in ("settings-300k", SECOND, PAPER)]
    alone = mean("Walker2d-v4", "TEEN", 290_000, SECOND_WALKER)
    assert f"and {alone:.0f} where the others have {min(teen):.0f} to {max(teen):.0f}" in text
    others = several([run for run in ALL_TASKS["Walker2d-v4"]["TEEN"] if run != SECOND_WALKER], 300_000)
    assert f"without it TEEN has {last(others, 300_000)}" in text


def test_deepmind_control():
    text = flat(PAGE)
    runs = {
        (task, algo): all_runs(task, algo, 300_000) for task in ("cheetah-run", "walker-run") for algo in ("TD3", "SAC")
    }
    assert {int(steps[-1]) for algo in ("TD3", "SAC") for steps, _ in runs["walker-run", algo]} == {360_000}
    assert "on walker-run, which was cut at 360,000 steps" in text
    scores = [last(runs["cheetah-run", algo], 500_000) for algo in ("TD3", "SAC")]
    paper = [printed(algo, "cheetah-run", 500_000) for algo in ("TD3", "SAC")]
    assert f"TD3 has {scores[0]} at 500k (the paper {paper[0]}), SAC {scores[1]} ({paper[1]})" in text
    assert f"Tonic's {best_of_others('cheetah-run', 500_000).split(' (')[0]}" in text
    less = 1 - np.mean(last_means(runs["cheetah-run", "SAC"], 500_000)) / float(paper[1].split()[0])
    assert f"SAC has {100 * less:.0f} % less than the paper's" in text
    both = [last(runs["walker-run", algo], 350_000) for algo in ("TD3", "SAC")]
    assert "TD3 and SAC have {} and {} at 350k".format(*both) in text
    there = [printed(algo, "walker-run", 500_000) for algo in ("TD3", "SAC")]
    assert "The paper prints {} and {} at 500k".format(*there) in text


def best_of_others(task, step):
    """The highest last mean of any TD3 or SAC, and the beginning of whose it is."""
    name = task.removesuffix("-v4").lower()
    rows = [
        (float(row["mean"]), float(row["std"]), row)
        for row in table("reference_results.csv")
        if re.fullmatch(rf"{name}(-v\d)?", row["env"].lower().replace("_", "-")) and row["env_step"] == str(step)
        if row["metric"].startswith("mean_last_") and re.fullmatch(r"(TD3|SAC)(\(.*)?", row["algo"].upper())
    ]
    if not rows:
        return "–"
    mean, std, row = max(rows, key=lambda row: row[0])
    return f"{mean:.0f} ± {std:.0f} ({re.split('[@/_]', row['source'])[1].capitalize()}'s {row['algo'][:3]}"
