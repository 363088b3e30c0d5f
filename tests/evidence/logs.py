"""Scores and tests from evaluation logs, worked out from the logs alone."""

import csv
import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind

ROOT = Path(__file__).parents[2]


@cache
def evaluations(run, every=1):
    """Return (steps, mean return of the evaluation at each) of every seed."""
    episodes = defaultdict(lambda: defaultdict(list))
    with gzip.open(ROOT / "results" / run / "eval.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["policy"] == "mean" and int(row["step"]) % every == 0:
                episodes[row["seed"]][int(row["step"])].append(float(row["return"]))
    return [
        (np.array(list(returns)), np.array([np.mean(r) for r in returns.values()])) for returns in episodes.values()
    ]


def train_rows(run):
    """Return the rows of a run's train.csv."""
    with gzip.open(ROOT / "results" / run / "train.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def logged_means(runs, end, metric):
    """Return the mean of a metric of train.csv over the 50,000 steps before the end, for every seed of several runs."""
    values = defaultdict(list)
    for run in runs:
        for row in train_rows(run):
            if end - 50_000 < int(row["step"]) <= end:
                values[run, row["seed"]].append(float(row[metric]))
    return [np.mean(seed) for seed in values.values()]


def several(runs, step=0):
    """Return the evaluations of every seed of several runs that came so far."""
    return [(steps, means) for run in runs for steps, means in evaluations(run) if steps[-1] >= step]


def spread(values, digits=0):
    """Return the text of mean ± sample standard deviation, which divides by n − 1."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def last_means(seeds, step):
    assert all(steps[-1] >= step for steps, _ in seeds)
    return [means[(steps > step - 50_000) & (steps <= step)].mean() for steps, means in seeds]


def last(seeds, step):
    return spread(last_means(seeds, step))


def p_value(one, other, step):
    """Welch's test between the seeds' means of the last 50,000 steps."""
    return ttest_ind(last_means(one, step), last_means(other, step), equal_var=False).pvalue


def p_values(values, control):
    """Return Welch's p and that of ranks."""
    return ttest_ind(values, control, equal_var=False).pvalue, mannwhitneyu(values, control).pvalue


def holm(p):
    """Return the p after the correction: the smallest times their number, the next times one less, and so on."""
    corrected, least = {}, 0.0
    for place, pair in enumerate(sorted(p, key=p.get)):
        least = corrected[pair] = min(1.0, max(least, (len(p) - place) * p[pair]))
    return corrected


def best(seeds, step):
    return spread([means[steps <= step].max() for steps, means in seeds])


def point(seeds, step):
    return spread([means[steps == step].item() for steps, means in seeds])


def gain(one, other, step):
    return f"{round(100 * (np.mean(last_means(one, step)) / np.mean(last_means(other, step)) - 1))} %"


def small(p):
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def short(p):
    return f"{p:.2f}" if p >= 0.1 else small(p)


def interval(one, other, step):
    """The 95 % interval of the gain of one over the other, in per cent of the other's mean."""
    both = last_means(one, step), last_means(other, step)
    found = ttest_ind(*both, equal_var=False).confidence_interval()
    return "{} to {} %".format(*(round(100 * end / np.mean(both[1])) for end in found)).replace("-", "−")
