"""What a study's file may say, and the one line for each thing that it may not."""

import sys

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from teen.errors import UserError
from teen.tune import file as study_file
from teen.tune import kinds
from teen.tune.space import grid, space_of
from tests.tune.pretending import SETTINGS, write


def test_a_whole_file(tmp_path):
    search = """\
lr = {low = 1e-5, high = 1e-2, log = true}
tau = {low = 0.001, high = 0.01, step = 0.001}
gamma = {choices = [0.9, 1]}
width = {low = 64, high = 256, step = 64}
critic_norm = {choices = ["none", "layer"]}
normalise_obs = {choices = [true, false]}
"""
    tune = "trials = 30\nlanes = 6\nbatch = 12\nlast = 3\nseed = 5\nname = 'n'\nout = 'runs/o'\nstorage = 'sqlite:///x.db'\n"
    tune += "sampler = {name = 'tpe', n_startup_trials = 4}\npruner = {name = 'percentile', percentile = 40}"
    read = study_file.read(write(tmp_path, search, tune))
    assert (read.trials, read.lanes, read.asked, read.last, read.seed) == (30, 6, 12, 3, 5)
    assert (read.name, read.out, read.storage) == ("n", "runs/o", "sqlite:///x.db")
    space = space_of(read)
    assert space.distributions == {
        "lr": FloatDistribution(1e-5, 1e-2, log=True),
        "tau": FloatDistribution(0.001, 0.01, step=0.001),
        "gamma": CategoricalDistribution([0.9, 1.0]),
        "width": IntDistribution(64, 256, step=64),
        "critic_norm": CategoricalDistribution(["none", "layer"]),
        "normalise_obs": CategoricalDistribution([True, False]),
    }
    assert space.per_lane == {"lr", "tau", "gamma"}
    assert space.settings["seeds"] == [0, 1]
    assert kinds.pruning(read, space) == {"name": "percentile", "percentile": 40, "n_warmup_steps": 51}
    with pytest.raises(UserError, match="sampler grid needs a list: give lr choices, or a step"):
        grid(space)


def test_what_a_file_leaves_out(tmp_path):
    path = tmp_path / "walker.toml"
    path.write_text(f"[settings]\n{SETTINGS}\n[search]\nlr = {{low = 1e-5, high = 1e-2, log = true}}\n")
    read = study_file.read(path)
    assert (read.name, read.trials, read.lanes, read.asked, read.last) == ("walker", 64, 0, 0, 5)
    assert (read.sampler, read.pruner, read.storage) == ({"name": "tpe"}, {"name": "median"}, "")
    hyperband = kinds.pruning(read._replace(pruner={"name": "hyperband"}), space_of(read))
    assert hyperband == {"name": "hyperband", "min_resource": 100, "max_resource": 300}  # from after the warm-up on


def test_a_grid_has_the_ends_of_its_ranges(tmp_path):
    search = "tau = {low = 0.1, high = 0.3, step = 0.1}\ngamma = {choices = [0.9, 0.5]}\n"
    search += "width = {low = 8, high = 11, step = 2}"
    values = grid(space_of(study_file.read(write(tmp_path, search))))
    assert values["tau"] == pytest.approx([0.1, 0.2, 0.3])
    assert (values["gamma"], values["width"]) == ([0.9, 0.5], [8, 10])


LR = "lr = {low = 1e-5, high = 1e-2}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[search", "is no TOML"),
        (f"[settings]\n{SETTINGS}", r"\[search\] is empty"),
        (f"[settings]\n{SETTINGS}\n[search]", r"\[search\] is empty"),
        (f"[search]\n{LR}\n[serch]\nx = 1", "has an unknown key 'serch'"),
        ("search = 3", "search must be a table"),
        (f"[tune]\ntrails = 3\n[search]\n{LR}", r"\[tune\] has no key 'trails': there are trials, lanes"),
        (f"[tune]\ntrials = 0\n[search]\n{LR}", "trials must be a whole number from 1"),
        (f"[tune]\nlanes = 2.5\n[search]\n{LR}", "lanes must be a whole number"),
        (f"[tune]\nname = 3\n[search]\n{LR}", "name must be text"),
        (f"[tune]\npruner = 3\n[search]\n{LR}", "pruner must be a name"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, content, says):
    path = tmp_path / "bad.toml"
    path.write_text(content)
    with pytest.raises(UserError, match=says) as error:
        study_file.read(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value) or "TOML" in str(error.value)


@pytest.mark.parametrize(
    ("search", "says"),
    [
        ("lrr = {low = 1, high = 2}", "lrr"),
        ("alpha = {low = 0, high = 1}", "alpha"),  # TEEN's, not TD3's
        ("lr = 3", "lr must be {low, high, log, step} or {choices}, not 3"),
        ("lr = {low = 1e-5}", "lr needs low and high, or choices"),
        ("lr = {low = 1e-5, high = 1e-2, choices = [1]}", "lr must be"),
        ("lr = {low = 1e-5, hihg = 1e-2}", "lr must be"),
        ("lr = {low = 1e-2, high = 1e-5}", "lr: "),
        ("lr = {low = 1e-5, high = 1e-2, log = true, step = 1e-5}", "lr: "),
        ("lr = {low = 1e-5, high = 1e-2, log = 1}", "log of lr must be true or false"),
        ("lr = {low = 1e-5, high = 1e-2, step = 0}", "step of lr must be a number above 0"),
        ("lr = {low = 'a', high = 1}", "--lr must be a number"),
        ("lr = {low = -1, high = 1}", "--lr must be"),
        ("gamma = {low = 0.9, high = 1.5}", "--gamma must be at most 1"),
        ("width = {low = 8.5, high = 16}", "--width must be a whole number"),
        ("width = {low = 8, high = 16, step = 1.5}", "step of width must be a whole number"),
        ("critic_norm = {low = 1, high = 2}", "critic_norm is no number: give {choices"),
        ("critic_norm = {choices = ['batch']}", "--critic-norm is one of"),
        ("width = {choices = []}", "choices of width must be a list of different values"),
        ("width = {choices = [8, 8]}", "choices of width must be a list of different values"),
        ("width = {choices = [[8]]}", "width must be a single value"),
        ("warmup = {choices = [100, 500]}", "warmup is in .settings., too"),
        ("algo = {choices = ['td3', 'sac']}", "algo cannot be searched"),
        ("steps = {choices = [300]}", "steps cannot be searched"),
        ("seeds = {choices = [1]}", "seeds cannot be searched"),
        ("eval_every = {choices = [10]}", "eval_every cannot be searched"),
    ],
)
def test_what_is_wrong_with_a_search(tmp_path, search, says):
    with pytest.raises(UserError, match=rf"study file .*small.toml, \[search\]: .*{says}") as error:
        space_of(study_file.read(write(tmp_path, search)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (SETTINGS + "lrr = 1", r"\[settings\]: .*lrr"),
        (SETTINGS.replace("warmup = 50", "warmup = 300"), r"\[settings\]: --warmup 300 is not below --steps 300"),
        (SETTINGS + "tau = [0.1, 0.2]", r"\[settings\] has a list"),
    ],
)
def test_what_is_wrong_with_settings(tmp_path, settings, says):
    with pytest.raises(UserError, match=says):
        space_of(study_file.read(write(tmp_path, LR, settings=settings)))


@pytest.mark.parametrize(
    ("tune", "says"),
    [
        ("sampler = 'tpa'", "sampler is one of tpe, random, qmc, cmaes, grid, not 'tpa'"),
        ("pruner = {x = 1}", "pruner is one of median, percentile, hyperband, none, not None"),
        ("pruner = {name = 'median', steps = 3}", "pruner median has no option 'steps': its options are n_startup"),
        ("sampler = {name = 'random', seed = 3}", "sampler random has no option 'seed': it has none"),
        ("pruner = {name = 'median', interval_steps = 0}", "interval_steps must be a whole number of at least 1"),
        ("sampler = {name = 'tpe', multivariate = 1}", "multivariate must be true or false"),
        ("pruner = {name = 'percentile', percentile = 300}", "pruner percentile: Percentile must be between"),
        ("sampler = {name = 'qmc', qmc_type = 'x'}", "sampler qmc: "),
        ("sampler = 'grid'", "sampler grid needs a list"),
    ],
)
def test_what_is_wrong_with_a_sampler_or_pruner(tmp_path, tune, says):
    read = study_file.read(write(tmp_path, LR, tune))
    space = space_of(read)
    make = kinds.pruning if "pruner" in tune else lambda *args: kinds.sampler(*args, 0)
    with pytest.raises(UserError, match=says) as error:
        make(read, space)
    assert "\n" not in str(error.value)


def test_a_sampler_whose_package_is_missing_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cmaes", None)
    read = study_file.read(write(tmp_path, LR, "sampler = 'cmaes'"))
    with pytest.raises(UserError, match=r"sampler cmaes needs a further package: .*cmaes"):
        kinds.sampler(read, space_of(read), 0)
