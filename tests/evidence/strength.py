"""The runs of results/stronger-term."""

from scipy.stats import ttest_ind

from .logs import ROOT, last_means, logged_means, p_values, several
from .runs import diagnosed

HERE = ROOT / "results" / "stronger-term"
ROWS = {
    "α = 0": "alpha=0",
    "one member, α = 0.2, ε = 0.1 (the paper's)": "paper",
    "all, α = 0.2, ε = 0.1": "all,epsilon=0.1",
    "all, α = 0.2, ε = 0.02": "all,alpha=0.2",
    "one member, α = 0.01 of Q, ε = 0.1": "one,q,alpha=0.01",
    "all, α = 0.01 of Q, ε = 0.02": "all,q,alpha=0.01",
    "all, α = 0.1 of Q, ε = 0.02": "all,q,alpha=0.1",
}
CONTROL, PAPERS = "alpha=0", "paper"
ALL, OF_Q = "all,epsilon=0.1", "one,q,alpha=0.01"  # one change each
MILD, MEDIUM, STRONG = "all,alpha=0.2", "all,q,alpha=0.01", "all,q,alpha=0.1"
HOPPER, CHEETAH = "Hopper-v4", "HalfCheetah-v4"
ENDS = {HOPPER: 150_000, CHEETAH: 100_000}
FIRST, SECOND, THIRD = ("0-4", "5-9"), ("10-14", "15-19"), ("20-24", "25-29")
AGAIN = {  # by the words of the table: the task, the setting, its seeds
    "Hopper, 10–19: all, α = 0.2, ε = 0.02": (HOPPER, MILD, SECOND),
    "Hopper, 20–29: all, α = 0.2, ε = 0.02": (HOPPER, MILD, THIRD),
    "Hopper, 10–29: one member, α = 0.01 of Q, ε = 0.1": (HOPPER, OF_Q, SECOND + THIRD),
    "HalfCheetah, 10–19: one member, α = 0.2, ε = 0.1 (the paper's)": (CHEETAH, PAPERS, SECOND),
    "HalfCheetah, 10–19: all, α = 0.01 of Q, ε = 0.02": (CHEETAH, MEDIUM, SECOND),
}


def names_on(task):
    return sorted(path.name for path in (HERE / task).iterdir())


# every row of the tables of settings: its task and its words
IN_TABLE = [(task, words) for task in ENDS for words in ROWS if ROWS[words] in names_on(task)]


def folders(task, name, seeds=FIRST):
    return [f"stronger-term/{task}/{name}/seeds={block}" for block in seeds]


def scored(task, name, seeds=FIRST):
    found = several(folders(task, name, seeds), ENDS[task])
    assert len(found) == 5 * len(seeds)
    return found


def beside(task, name, other=CONTROL, seeds=FIRST):
    """Return the seeds of a setting, those of another, and the step at which they are compared."""
    return scored(task, name, seeds), scored(task, other, seeds), ENDS[task]


def both_p(one, other, end):
    return p_values(last_means(one, end), last_means(other, end))


def measured(task, name, quantity):
    return [value for run in folders(task, name) for value in diagnosed(run, ENDS[task])[quantity]]


def logged(task, name, metric):
    return logged_means(folders(task, name), ENDS[task], metric)


def p_of(task, name, quantity, other=CONTROL):
    both = (measured(task, one, quantity) for one in (name, other))
    return ttest_ind(*both, equal_var=False).pvalue
