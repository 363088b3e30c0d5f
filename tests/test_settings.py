import pytest

from teen import settings
from teen.algos import redq, sac, td3, teen
from teen.config import job as config
from teen.errors import UserError


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
    assert config.parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "-3", "a", "3,3", "5-2", "1.5", [], [-1], ","])
def test_no_seeds(text):
    with pytest.raises(UserError, match="--seeds"):
        config.parse_seeds(text)


def test_names_are_flat_and_values_checked():
    cfg = settings.replace(teen.Config(), {"n": 3, "lr": "1e-3", "width": 32, "m": "1"})
    assert (cfg.n, cfg.m, cfg.member.lr, cfg.member.width) == (3, 1, 1e-3, 32)
    assert settings.flat(cfg)["width"] == 32
    names = [leaf.name for leaf in settings.leaves(cfg)]
    assert len(names) == len(set(names))
    run_names = {leaf.name for leaf in settings.leaves(config.Run())}
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
        ({"algo": "os.path"}, "it lacks Config, hyper, make"),
        ({"m": 11}, "--m 11 is more than --n 10"),
        ({"env": ""}, "--env is missing"),
    ],
    ids=str,
)
def test_wrong_values_name_the_flag(values, message):
    with pytest.raises(UserError, match=message):
        config.resolve({"env": "Pendulum-v1", **values})


def test_lists_of_per_lane_numbers_become_variants():
    job = config.resolve({"env": "Pendulum-v1", "seeds": "2", "alpha": [0, "0.2"], "lr": [1e-3, 1e-4], "n": 4})
    assert [v.name for v in job.variants] == [
        "alpha=0,lr=0.001",
        "alpha=0,lr=0.0001",
        "alpha=0.2,lr=0.001",
        "alpha=0.2,lr=0.0001",
    ]
    assert [(v.config.alpha, v.config.member.lr) for v in job.variants][1] == (0, 1e-4)
    assert len({settings.static(v.config) for v in job.variants}) == 1  # one program
    assert job.lane_seeds == [0, 1] * 4


def test_every_per_lane_number_reaches_the_learner():
    for module in (teen, td3, sac, redq):
        cfg = module.Config()
        numbers = {leaf.name for leaf in settings.leaves(cfg) if leaf.per_lane}
        hyper = module.hyper(cfg)
        found = {*hyper._fields, *(hyper.member._fields if hasattr(hyper, "member") else ())} - {"member"}
        assert found == numbers


def test_a_config_file_gives_the_same_job_again(tmp_path):
    job = config.resolve({"env": "Pendulum-v1", "seeds": "3,5", "n": 3, "alpha": 0.5, "regularise": "all"})
    path = tmp_path / "config.toml"
    path.write_text(config.dump(job.run, job.variants[0].config))
    assert config.resolve(config.read(path)) == job
    versions = path.read_text().split("[versions]")[1]
    assert all(name in versions for name in ("python", "jax", "gymnasium", "mujoco", "teen"))
    assert "out" not in config.read(path)
