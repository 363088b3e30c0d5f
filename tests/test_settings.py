from dataclasses import dataclass, field
from datetime import date

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
from teen.spec import Spec


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", (0, 1, 2)),
        (2, (0, 1)),
        ("3,5,8", (3, 5, 8)),
        ("7,", (7,)),
        (" 3, 5 - 6 , 8 ", (3, 5, 6, 8)),
        ("10-13", (10, 11, 12, 13)),
        ("1,4-6", (1, 4, 5, 6)),
        ([4], (4,)),
        ([0, 1, 2], (0, 1, 2)),
    ],
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "-3", "a", "3,3", "5-2", "1.5", [], [-1], ","),
        *("1_0", "1 0", "３", "+3", "0x3", "3,,5", "1--2", "2147483648,", "9" * 5_000),
        *([1.0], [True], [[1]], ["a"], [None], [10**5_000], {}, {"a": 1}, None, True, 3.0, 10**5_000),
    ],
    ids=lambda value: "huge" if isinstance(value, (int, list)) and value not in ([], True) else repr(value)[:20],
)
def test_no_seeds(text):
    with pytest.raises(UserError, match="--seeds") as error:
        parse_seeds(text)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("text", ["10001", "0-10000", "5-9999999999", ",".join(["0-9999"] * 10_000), [*range(10_001)]])
def test_too_many_seeds_are_named_before_they_are_listed(text):
    with pytest.raises(UserError, match="names more than 10,000 seeds"):
        parse_seeds(text)


def test_as_many_lanes_as_a_program_may_have():
    values = {"env": "Pendulum-v1", "alpha": [0.1, 0.2], "seeds": "5000"}
    assert len(resolve(values).lane_seeds) == 10_000
    with pytest.raises(UserError, match="make 10,002 lanes"):
        resolve({**values, "seeds": "5001"})
    numbers = [i / 100 for i in range(100)]
    with pytest.raises(UserError, match="more than 1,000 combinations"):
        resolve({**values, "alpha": numbers, "lr": numbers[1:]})


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
        ({"alpa": 1}, "there is no setting 'alpa': did you mean 'alpha'"),
        ({"algo": "sacc"}, "unknown algorithm 'sacc'"),
        ({"algo": "no.such"}, "is a module that has not been imported"),
        ({"algo": "os.path"}, "it lacks ALGORITHM"),
        ({"m": 11}, "--m 11 is more than --n 10"),
        ({"env": ""}, "--env is missing"),
    ],
    ids=str,
)
def test_wrong_values_name_the_flag(values, message):
    with pytest.raises(UserError, match=message):
        resolve({"env": "Pendulum-v1", **values})


HUGE = 10**400
HUGER = 0x10**9_000  # more digits than Python writes


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *(
            ({name: HUGE}, f"--{name} must be at most")
            for name in ("steps", "width", "depth", "n", "m", "utd", "batch")
        ),
        *(({name: HUGER}, "too long to show") for name in ("buffer", "sync", "warmup", "period", "critics", "delay")),
        *(({name: -HUGER}, "too long to show") for name in ("width", "env", "base", "regularise", "normalise_obs")),
        ({"eval_every": HUGE}, "--eval-every must be at most 1,000,000,000,000"),
        ({"eval_episodes": 10_001}, "--eval-episodes must be at most 10,000, not 10001"),
        ({"action_repeat": HUGE}, "--action-repeat must be at most"),
        ({"alpha": -HUGER}, "--alpha must be a finite number in single precision, not -inf"),
        ({"lr": -HUGER}, "--lr must be greater than 0, not -inf"),
        ({"alpha": 1e39}, "--alpha must be a finite number in single precision, not 1e\\+39"),
        ({"alpha": [0.1, HUGER]}, "--alpha must be a finite number"),
        ({"env_timeout": 1e300}, "--env-timeout must be at most"),
        ({"reward_scale": -1e300}, "--reward-scale must be a finite number"),
        *(({name: ["td3"]}, f"--{name} must be text") for name in ("algo", "base", "env", "preset")),
        *(({name: {"a": 1}}, f"--{name} must be text") for name in ("algo", "base", "env", "preset")),
        *(({name: 5}, f"--{name} must be text") for name in ("algo", "base", "env", "preset")),
        *(({name: date(2020, 1, 1)}, f"--{name} must be") for name in ("width", "alpha", "normalise-obs", "env")),
        *(({name: [2, 3]}, f"--{name} ") for name in ("width", "steps", "batch", "regularise", "backend", "on-nan")),
        *(({name: {"a": 1}}, f"--{name} ") for name in ("width", "alpha", "batch", "regularise", "normalise-obs")),
        ({"alpha": [{"a": 1}]}, "--alpha must be a number"),
        ({"alpha": [True, 0.5]}, "--alpha must be a number"),
        ({"env": "Pen\x1b[2Jdulum"}, "printable characters"),
        ({"env": "A" * 1001}, "at most 1000 printable"),
        ({"algo": "steps", "preset": "paper"}, "unknown algorithm 'steps'"),
        ({"x" * 10_000: 1}, "there is no setting 'x"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) and len(str(value.keys())) < 60 else "",
)
def test_absurd_values_name_the_flag_in_few_words(values, message):
    values = {name.replace("-", "_"): value for name, value in values.items()}
    with pytest.raises(UserError, match=message) as error:
        resolve({"env": "Pendulum-v1", **values})
    assert len(str(error.value)) < 250
    assert str(error.value).isprintable()


def test_every_whole_number_that_is_a_setting_has_a_limit():
    """They size arrays and loops. The greatest are still taken."""
    for config in (RunSettings(), *(algos.default_config(name) for name in algos.NAMES)):
        for leaf in settings.leaves(config):
            if leaf.type is int:
                assert leaf.limits.high is not None, leaf.name
                assert settings.checked(leaf, leaf.limits.high) == leaf.limits.high >= 1_000 * (leaf.name != "depth")


def test_the_largest_settings_are_traced_at_once():
    """Shapes of the largest networks are known within seconds, whatever a forged file says."""
    most = {"width": 100_000, "depth": 100, "n": 10_000, "m": 10_000, "critics": 10_000, "rnd_width": 100_000}
    cfg, algo = settings.replace(algos.default_config("rnd", "teen"), most), algos.find("rnd", normalise_obs=True)
    shapes = jax.eval_shape(lambda key: algo.init(cfg, key, Spec(2**31, 2**31)), jax.random.key(0))
    assert named(shapes)["inner.inner.members.critics.50.weight"].shape == (10_000, 10_000, 100_000, 100_000)


def test_names_of_variants_differ_where_numbers_do():
    """Each is a folder; those of existing runs stay as they are."""
    job = resolve({"env": "Pendulum-v1", "alpha": ["0.1", "0.1000000001", "1e-3", "1000000", "0.30000000000000004"]})
    names = ["alpha=0.1", "alpha=0.1000000001", "alpha=0.001", "alpha=1e+06", "alpha=0.30000000000000004"]
    assert [v.name for v in job.variants] == names
    numbers = np.random.default_rng(0).normal(size=1_000) * 10.0 ** np.arange(-30, 20).repeat(20)
    close = [*numbers, *np.nextafter(numbers, np.inf), *np.round(numbers[700:], 3)]
    texts = {settings.number_text(float(number)) for number in close}
    assert len(texts) == len(set(close))
    assert {float(text) for text in texts} == set(close)


def test_a_module_that_nobody_imported_is_not_imported_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "canary_package").mkdir()
    (tmp_path / "canary_package" / "algo.py").write_text(f"import os; os.mkdir({str(tmp_path / 'executed')!r})")
    monkeypatch.syspath_prepend(tmp_path)
    for look_up in (algos.find, algos.default_config, lambda name: resolve({"env": "Pendulum-v1", "algo": name})):
        with pytest.raises(UserError, match=r"algorithm 'canary_package.algo' is a module that has not been imported"):
            look_up("canary_package.algo")
    assert not (tmp_path / "executed").exists()


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
    values = toml.parse(path.read_bytes(), path)
    assert resolve(values) == job
    versions = path.read_text().split("[versions]")[1]
    assert all(name in versions for name in ("python", "jax", "gymnasium", "mujoco", "teen"))
    assert "out" not in values
