"""A job's name says what it is, never means two things, and is the same when the sweep has grown."""

import re

import pytest

from teen.config.job import resolve
from teen.jobs.naming import LONGEST, digest, job_name

TASK = {"env": "Walker2d-v4", "algo": "teen", "seeds": [0, 1, 2, 7]}
HEX = "[0-9a-f]{8}"


def name(shown=(), **changes):
    return job_name(resolve({**TASK, **changes}).flat(), shown)


@pytest.mark.parametrize(
    ("shown", "changes", "expected"),
    [
        ((), {}, "teen-Walker2d-v4,seeds=0-2+7"),
        (("width",), {}, "teen-Walker2d-v4,width=256,seeds=0-2+7"),
        (("width", "lr"), {"lr": [3e-4, 1e-3]}, "teen-Walker2d-v4,width=256,lr=0.0003+0.001,seeds=0-2+7"),
        ((), {"lr": [3e-4, 1e-3]}, "teen-Walker2d-v4,lr=0.0003+0.001,seeds=0-2+7"),
        (("lr",), {"variants": [{"lr": 1}, {"lr": 2, "tau": 0.5}, {}]}, "teen-Walker2d-v4,variants=3,seeds=0-2+7"),
        (("algo", "env", "seeds", "critics_of_redq"), {}, "teen-Walker2d-v4,seeds=0-2+7"),
        (("lr",), {"lr": list(range(1, 13))}, "teen-Walker2d-v4,lr=12-values,seeds=0-2+7"),
        (("normalise_obs",), {"normalise_obs": True}, "teen-Walker2d-v4,normalise_obs=true,seeds=0-2+7"),
        (("regularise",), {"regularise": "all"}, "teen-Walker2d-v4,regularise=all,seeds=0-2+7"),
        (("steps",), {"steps": 1000}, "teen-Walker2d-v4,steps=1000,seeds=0-2+7"),
        ((), {"env": "dm_control/walker-run"}, "teen-dm_control-walker-run,seeds=0-2+7"),
        ((), {"env": 'a.b:C-v1{x = "../é"}'}, "teen-a.b-C-v1-x-=-..-,seeds=0-2+7"),
    ],
)
def test_a_name_says_what_a_job_is(shown, changes, expected):
    assert re.fullmatch(re.escape(expected) + f",{HEX}", name(shown, **changes))


def test_what_is_learnt_changes_the_digest_and_what_is_watched_does_not():
    usual = digest(resolve(TASK).flat())
    for same in ({"steps": 77_000}, {"seeds": 2}, {"log_every": 10}, {"checkpoint_every": 0}, {"on_nan": "stop"}):
        assert digest(resolve({**TASK, **same}).flat()) == usual
    changes = [{"width": 128}, {"lr": 0.1}, {"lr": [0.1, 0.2]}, {"env": "Walker2d-v5"}, {"algo": "td3"}, {"batch": 8}]
    digests = [usual, *(digest(resolve({**TASK, **change}).flat()) for change in changes)]
    assert len(set(digests)) == len(digests)


def test_a_setting_that_older_versions_lack_does_not_change_names():
    settings = resolve(TASK).flat()
    older = {key: value for key, value in settings.items() if key not in ("n_step", "from_", "from_seed")}
    assert digest(older) == digest(settings)
    assert digest({**settings, "n_step": 3}) != digest(settings)


def test_long_names_are_cut_and_still_differ():
    """Seeds that are no ranges make any name too long; other seeds do not change the digest of what is learnt."""
    odd, even = list(range(1, 400, 2)), list(range(0, 400, 2))
    later = [*odd[:-1], 1001]
    names = [name(seeds=seeds) for seeds in (odd, even, later)]
    assert len(set(names)) == 3
    assert all(len(one.encode()) <= LONGEST < 200 for one in names)
    assert all(re.fullmatch(f"teen-Walker2d-v4,seeds=[0-9+]+,{HEX}", one) for one in names)


@pytest.mark.parametrize("env", ["../../etc", ".hidden-v1", "a" * 255, "Ü:Ü-v1", "x y\tz", "C:\\x", "-v1"])
def test_names_are_safe_folders(env):
    one = job_name({**resolve(TASK).flat(), "env": env, "algo": ".."})
    assert re.fullmatch(r"[A-Za-z0-9_=+,][A-Za-z0-9._=+,-]*", one)
    assert len(one) < 200
