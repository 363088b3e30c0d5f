"""Every algorithm, with tiny networks on a point mass: the right rows, finite, and the same twice."""

import csv
import gzip
import sys
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import teen
from teen import algos, envs
from teen.algos import td3
from teen.config import job as config
from teen.disk import folder as rundir
from teen.engine.evaluate import Abandoned
from teen.errors import UserError
from teen.measure.diagnose import diagnose
from teen.measure.rollouts import Scene
from teen.measure.visits import frozen_normaliser, visit
from teen.report.quantities import MEANING
from teen.settings import replace
from teen.training import analyze

TASK = "tests.toys:PointMass-v0"
SETTINGS = {"width": 8, "n": 3, "critics": 2, "rnd_width": 8, "epsilon": 0.05, "gamma": 0.8}

NUMBERS = ("value_mean", "return_mean", "raw_mean", "raw_std", "relative_mean", "relative_std", "normalised_mean")
BIAS = [f"bias_{name}" for name in ("states", *NUMBERS, "normalised_std")]
MIXTURE = [name.replace("bias", "bias_mixture") for name in BIAS]
DECOMPOSED = ["entropy_members_mean", "kl_members", "kl_members_any_episode"]
RECOGNISED = ["discriminator_bound", "discriminator_accuracy"]
RETURNS = [f"return_{name}" for name in ("mean_action", "random_member", "members_mean", "best_member")]
REST = ["entropy_particle", "entropy_ties"]
SINGLE = [*BIAS, "entropy_all", *REST]
ENSEMBLE = [*BIAS, *MIXTURE, "entropy_all", *DECOMPOSED, *REST, "action_distance", *RETURNS]
KNOWN = [*ENSEMBLE[:-5], *RECOGNISED, *ENSEMBLE[-5:]]


def quantities(*args, **options):
    """Of each lane."""
    return [own.get("diagnostics.csv", []) for own in diagnose(*args, **options)]


def agents_of(name, base, lanes, **changes):
    cfg = replace(algos.default_config(name, base), {**SETTINGS, **changes})
    algo = algos.build(name, cfg)
    spec, hyper = envs.make(TASK, 1).spec, algos.find(name).hyper(cfg)
    start = jax.jit(jax.vmap(lambda key: algo.agent(algo.init(key, spec, hyper))))
    return cfg, algo, start(jax.random.split(jax.random.key(0), lanes))


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        ("teen", None, KNOWN),
        ("teen", "sac", KNOWN),
        ("td3", None, SINGLE),
        ("sac", None, SINGLE),
        ("rnd", None, SINGLE),
        ("sunrise", None, ENSEMBLE),
        ("redq", None, SINGLE),
        pytest.param("rnd", "teen", KNOWN, marks=pytest.mark.full),
    ],
)
def test_every_algorithm(name, base, expected):
    _, algo, agents = agents_of(name, base, lanes=2)
    pool = envs.make(TASK, 6)
    rows = quantities(algo, agents, pool, [4, 5], 100, 4)
    assert [[quantity for quantity, _ in own] for own in rows] == [expected] * 2
    assert np.isfinite([value for own in rows for _, value in own]).all()
    assert rows[0] != rows[1]
    assert quantities(algo, agents, pool, [4, 5], 100, 4) == rows


@pytest.fixture(scope="module")
def ensemble():
    return agents_of("teen", None, lanes=2)[1:]


def test_a_lane_alone_and_any_number_of_copies_give_the_same(ensemble):
    algo, agents = ensemble
    both = quantities(algo, agents, envs.make(TASK, 8), [4, 5], 100, 4)
    second = jax.tree.map(lambda leaf: leaf[1:], agents)
    (alone,) = quantities(algo, second, envs.make(TASK, 2), [5], 100, 4)
    assert [name for name, _ in alone] == [name for name, _ in both[1]]
    np.testing.assert_allclose([v for _, v in alone], [v for _, v in both[1]], rtol=2e-3, atol=2e-4)
    assert quantities(algo, agents, envs.make(TASK, 8), [4, 5], 200, 4) != both


def test_lanes_that_are_not_asked_for_or_not_finite_have_no_rows(ensemble):
    algo, agents = ensemble
    pool = envs.make(TASK, 6)
    first, second = quantities(algo, agents, pool, [4, 5], 100, 4, lanes=[1])
    assert not first
    assert len(second) == len(KNOWN)
    broken = jax.tree.map(lambda leaf: leaf.at[0].set(jnp.nan), agents)
    assert quantities(algo, broken, pool, [4, 5], 100, 4) == [[], second]
    nobody = jax.tree.map(lambda leaf: leaf * jnp.nan, agents)
    assert quantities(algo, nobody, pool, [4, 5], 100, 4) == [[], []]


def test_every_quantity_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text()
    for name in set(KNOWN) - set(MIXTURE):
        assert f"`{name}`" in page
    assert "`bias_mixture_…`" in page
    assert set(MEANING) == set(KNOWN)


def test_it_can_be_abandoned(ensemble):
    algo, agents = ensemble
    with pytest.raises(Abandoned):
        quantities(algo, agents, envs.make(TASK, 6), [4, 5], 100, 4, wanted=lambda: False)


def test_rewards_are_scaled_as_in_training(ensemble):
    algo, agents = ensemble
    one, ten = (
        dict(quantities(algo, agents, envs.make(TASK, 6), [4, 5], 100, 4, reward_scale=scale)[0]) for scale in (1, 10)
    )
    assert ten["bias_return_mean"] == pytest.approx(10 * one["bias_return_mean"])
    assert ten["bias_value_mean"] == one["bias_value_mean"]
    assert ten["return_mean_action"] == one["return_mean_action"]


def test_no_bias_where_episodes_are_too_short_for_the_discount():
    _, algo, agents = agents_of("td3", None, lanes=1, gamma=0.99)
    rows = dict(quantities(algo, agents, envs.make(TASK, 4), [4], 100, 4)[0])
    assert rows["bias_states"] == 0
    assert "bias_raw_mean" not in rows


def test_visits_are_as_many_of_each_member_and_half(ensemble):
    algo, agents = ensemble
    scene = Scene(algo, agents, envs.make(TASK, 6), [4, 5], 100, [0, 1])
    for found in visit(scene, episodes=2, count=100):  # 40 steps an episode: two a member are too few
        assert found.pairs().shape == (3, 100, 2)
        assert found.half.sum(1).tolist() == [50, 50, 50]
        for own, half in zip(found.action[..., 0], found.half, strict=True):
            assert not set(own[half == 0]) & set(own[half == 1])


def test_the_frozen_normaliser_is_the_tasks():
    normaliser = frozen_normaliser(TASK)
    assert normaliser.mean.shape == (2,)
    np.testing.assert_allclose(normaliser.mean[1], 0, atol=0.05)
    np.testing.assert_allclose(normaliser.std[1], 1 / np.sqrt(3), atol=0.02)


@pytest.fixture
def run(tmp_path):
    cfg, _, agents = agents_of("teen", None, lanes=2)
    settings = config.Run(algo="teen", env=TASK, seeds=(4, 5))
    folder = rundir.RunDir(tmp_path / "run", settings, cfg)
    folder.begin()
    folder.save_agent(agents, envs.make(TASK, 1).spec, 300)
    return tmp_path / "run"


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_saved_agent_is_analysed_into_its_run_directory(run):
    (run / "diagnostics.csv").write_text("seed,step,quantity,value\n4,100,entropy_all,1.5\n4,300,entropy_all,99\n")
    measured = analyze.analyze(run, episodes=3)
    rows = table(run / "diagnostics.csv")
    assert measured.step == 300
    assert measured.quantities == [(int(r["seed"]), r["quantity"], float(r["value"])) for r in rows[1:]]
    assert rows[0] == {"seed": "4", "step": "100", "quantity": "entropy_all", "value": "1.5"}
    assert {row["step"] for row in rows[1:]} == {"300"}
    assert [row["quantity"] for row in rows[1:]] == KNOWN * 2
    assert "99" not in [row["value"] for row in rows]

    shares = table(run / "confusion.csv")
    assert len(shares) == 2 * 9
    assert sum(float(row["share"]) for row in shares) == pytest.approx(6)
    scores = table(run / "members.csv")
    assert {row["policy"] for row in scores} == {"0", "1", "2", "random member", "mean action"}
    mean = np.mean([float(row["return"]) for row in scores if (row["seed"], row["policy"]) == ("5", "mean action")])
    (row,) = [row for row in rows if (row["seed"], row["quantity"]) == ("5", "return_mean_action")]
    assert float(row["value"]) == pytest.approx(mean)

    before = (run / "diagnostics.csv").read_text()
    analyze.analyze(run, episodes=3)
    assert (run / "diagnostics.csv").read_text() == before


@pytest.fixture(scope="module")
def compressed():
    return gzip.compress(b"seed,step,quantity,value\n4,100,entropy_all,1.5\n")


def test_compressed_rows_of_before_are_kept(run, compressed):
    """What reads a run takes a plain file before a compressed one."""
    (run / "diagnostics.csv.gz").write_bytes(compressed)
    analyze.analyze(run, episodes=2)
    assert {row["step"] for row in table(run / "diagnostics.csv")} == {"100", "300"}
    assert {row["step"] for row in table(run / "members.csv")} == {"300"}
    (run / "diagnostics.csv").write_text("seed,step,quantity,value\n4,200,entropy_all,1.5\n")
    analyze.analyze(run, episodes=2)
    assert {row["step"] for row in table(run / "diagnostics.csv")} == {"200", "300"}


def test_damaged_compressed_rows_are_named_before_anything_is_played(run, compressed, monkeypatch):
    monkeypatch.setattr(analyze, "examine", lambda *_: pytest.fail("played"))
    for damage in (compressed[:-9], b"no gzip", compressed[:30] + b"x" * 9):
        (run / "diagnostics.csv.gz").write_bytes(damage)
        with pytest.raises(teen.UserError, match=r"diagnostics\.csv\.gz cannot be read"):
            analyze.analyze(run, episodes=2)


def test_the_command(run, capsys):
    later = "seed,step,quantity,value\n4,900,entropy_all,123456\n"  # of a training that was killed after its checkpoint
    (run / "diagnostics.csv").write_text(later)
    assert analyze.command([str(run), "--episodes", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "kl_members" in text
    assert "after 300 steps" in text
    assert "1.235e+05" not in text
    with pytest.raises(teen.UserError, match="at least 1"):
        analyze.command([str(run), "--episodes", "0"])
    (run / "diagnostics.csv").write_text("something else\n")
    with pytest.raises(teen.UserError, match=r"diagnostics.csv is damaged: its first line is not seed,step"):
        analyze.command([str(run), "--episodes", "2"])


def test_an_algorithm_without_insight_trains_and_is_not_diagnosed(tmp_path, monkeypatch):
    plain = types.ModuleType("tests.plain_td3")
    plain.Config, plain.hyper = td3.Config, td3.hyper
    plain.make = lambda cfg: td3.make(cfg)._replace(insight=None)
    monkeypatch.setitem(sys.modules, "tests.plain_td3", plain)
    small = {"seeds": 1, "steps": 20, "warmup": 20, "eval_every": 20, "eval_episodes": 1, "width": 8, "show": False}
    for case in ({}, {"normalise_obs": True}):
        out = tmp_path / f"run{len(case)}"
        with pytest.raises(UserError, match="give its Algorithm an `insight`"):
            teen.train("tests.plain_td3", TASK, **small, **case, diagnose_every=20, out=tmp_path / "diagnosed")
        teen.train("tests.plain_td3", TASK, **small, **case, out=out)
        with pytest.raises(UserError, match="give its Algorithm an `insight`"):
            analyze.analyze(out)
