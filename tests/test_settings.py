from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, settings
from teen.algos import td3, teen
from teen.config import toml
from teen.config.job import parse_seeds, resolve
from teen.config.run import RunSettings
from teen.errors import UserError
from teen.snapshot import named


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", (0, 1, 2)),
        (2, (0, 1)),
        ("3,5,8", (3, 5, 8)),
        ("7,", (7,)),
        ("10-13", (10, 11, 12, 13)),
        ("1,4-6", (1, 4, 5, 6)),
        ([4], (4,)),
        ([0, 1, 2], (0, 1, 2)),
    ],
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "-3", "a", "3,3", "5-2", "1.5", [], [-1], ","])
def test_no_seeds(text):
    with pytest.raises(UserError, match="--seeds"):
        parse_seeds(text)


def test_names_are_flat_and_values_checked():
    cfg = settings.replace(teen.Config(), {"n": 3, "lr": "1e-3", "width": 32, "m": "1"})
    assert (cfg.n, cfg.m, cfg.member.lr, cfg.member.width) == (3, 1, 1e-3, 32)
    assert settings.flat(cfg)["width"] == 32
    names = [leaf.name for leaf in settings.leaves(cfg)]
    assert len(names) == len(set(names))
    run_names = {leaf.name for leaf in settings.leaves(RunSettings())}
    assert not run_names & set(names)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 2.5}, "--n must be a whole number"),
        ({"n": True}, "--n must be a whole number"),
        ({"alpha": "nan"}, "--alpha must be a finite number"),
        ({"alpha": "inf"}, "--alpha must be a finite number"),
        ({"lr": 0}, "--lr must be greater than 0"),
        ({"noise": -0.1}, "--noise must be at least 0"),
        ({"regularise": "none"}, "--regularise is one of selected, all, round-robin"),
        ({"target_actors": "yes"}, "--target-actors must be true or false"),
        ({"steps": -5}, "--steps must be at least 1"),
        ({"gamma": 1.5}, "--gamma"),
        ({"depth": [2, 3]}, "cannot differ between lanes"),
        ({"alpha": [0.1, 0.1]}, "different numbers"),
        ({"alpa": 1}, "unknown setting 'alpa' for algorithm 'teen'; did you mean 'alpha'"),
        ({"algo": "sacc"}, "unknown algorithm 'sacc'"),
        ({"algo": "no.such"}, "cannot be imported"),
        ({"algo": "os.path"}, "it lacks ALGORITHM"),
        ({"m": 11}, "--m 11 is more than --n 10"),
        ({"env": ""}, "--env is missing"),
    ],
    ids=str,
)
def test_wrong_values_name_the_flag(values, message):
    with pytest.raises(UserError, match=message):
        resolve({"env": "Pendulum-v1", **values})


def test_lists_of_per_lane_numbers_become_variants():
    job = resolve({"env": "Pendulum-v1", "seeds": "2", "alpha": [0, "0.2"], "lr": [1e-3, 1e-4], "n": 4})
    assert [v.name for v in job.variants] == [
        "alpha=0,lr=0.001",
        "alpha=0,lr=0.0001",
        "alpha=0.2,lr=0.001",
        "alpha=0.2,lr=0.0001",
    ]
    assert [(v.config.alpha, v.config.member.lr) for v in job.variants][1] == (0, 1e-4)
    assert len({jax.tree.structure(v.config) for v in job.variants}) == 1  # one program
    assert job.lane_seeds == [0, 1] * 4


@pytest.mark.parametrize(
    ("name", "base"), [*((name, None) for name in algos.NAMES), ("teen", "sac"), ("rnd", "teen")], ids=str
)
def test_every_per_lane_number_reaches_the_learner(name, base):
    """The leaves of a config are its per-lane numbers, those of the configs inside it too, and nothing else."""
    cfg = algos.default_config(name, base)
    numbers = {leaf.name: leaf.value for leaf in settings.leaves(cfg) if leaf.per_lane}
    arguments = {path.rpartition(".")[2]: value for path, value in named(cfg).items()}
    assert arguments == numbers
    assert len(named(cfg)) == len(numbers)


@settings.config
@dataclass(frozen=True)
class Inner:
    rate: float = settings.per_lane(0.5, "a number of a lane", low=0, high=1)
    width: int = settings.setting(4, "fixed for a program")

    def __post_init__(self):
        if not self.rate < 0.9:  # of a tracer, this question has no answer
            raise UserError("--rate must be below 0.9")


@settings.config
@dataclass(frozen=True)
class Outer:
    scale: float = settings.per_lane(2.0, "a number of a lane")
    kind: str = settings.setting("plain", "fixed for a program")
    inner: Inner = field(default_factory=Inner)


def test_a_config_is_a_tree_of_its_per_lane_numbers():
    leaves, structure = jax.tree.flatten(Outer())
    assert leaves == [2.0, 0.5]
    assert named(Outer()) == {"scale": 2.0, "inner.rate": 0.5}
    assert jax.tree.unflatten(structure, [3, 0.1]) == Outer(scale=3, inner=Inner(rate=0.1))
    assert structure == jax.tree.structure(Outer(scale=7, inner=Inner(rate=0)))
    for other in (Outer(kind="fancy"), Outer(inner=Inner(width=5))):
        assert structure != jax.tree.structure(other)


def test_settings_that_are_no_leaves_stay_plain_values_inside_a_compiled_function():
    traced = []

    @jax.jit
    def function(cfg):
        assert (cfg.kind, type(cfg.inner.width)) == ("plain", int)
        traced.append(cfg.inner.width)
        return cfg.scale * cfg.inner.rate * jnp.ones(cfg.inner.width)

    np.testing.assert_array_equal(function(Outer()), [1, 1, 1, 1])
    np.testing.assert_array_equal(function(Outer(scale=6.0)), [3, 3, 3, 3])
    assert traced == [4]  # another number needs no other program
    np.testing.assert_array_equal(function(Outer(inner=Inner(width=2))), [1, 1])
    assert traced == [4, 2]


def test_numbers_are_checked_where_a_config_is_made_and_not_where_it_is_traced():
    """A check of a tracer would raise an error of JAX, and one of an array of several lanes an error of NumPy."""
    with pytest.raises(UserError, match="--rate must be below"):
        Inner(rate=0.95)
    gradient = jax.grad(lambda cfg: cfg.scale * cfg.inner.rate)(Outer())
    assert (gradient.scale, gradient.inner.rate) == (0.5, 2)  # as a rate, 2 would not pass
    lanes = settings.stacked([Outer(), Outer(inner=Inner(rate=0.25))])
    products = jax.jit(jax.vmap(lambda cfg: cfg.scale * cfg.inner.rate))(lanes)
    np.testing.assert_array_equal(products, [1, 0.5])
    assert jax.vmap(lambda cfg: cfg)(lanes).inner.rate.tolist() == [0.5, 0.25]


def test_the_configs_of_all_lanes_are_one_of_float32_arrays():
    configs = [teen.Config(n=3, alpha=alpha, member=td3.Config(width=8, lr=lr)) for alpha, lr in ((0, 1e-3), (1, 3e-4))]
    lanes = settings.stacked(configs)
    assert {(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(lanes)} == {((2,), np.dtype("float32"))}
    np.testing.assert_array_equal(lanes.alpha, np.float32([0, 1]))
    np.testing.assert_array_equal(lanes.member.lr, np.float32([1e-3, 3e-4]))
    assert (lanes.n, lanes.member.width, lanes.member.hidden) == (3, 8, (8, 8))
    with pytest.raises(ValueError, match="node"):
        settings.stacked([teen.Config(n=3), teen.Config(n=4)])


def test_a_config_file_gives_the_same_job_again(tmp_path):
    job = resolve({"env": "Pendulum-v1", "seeds": "3,5", "n": 3, "alpha": 0.5, "regularise": "all"})
    path = tmp_path / "config.toml"
    path.write_text(toml.dump(job.settings, job.variants[0].config))
    assert resolve(toml.read(path)) == job
    versions = path.read_text().split("[versions]")[1]
    assert all(name in versions for name in ("python", "jax", "gymnasium", "mujoco", "teen"))
    assert "out" not in toml.read(path)
