"""Arguments of an environment as part of its name."""

import pytest

from teen.config.job import resolve
from teen.envs import GymnasiumEnvs, arguments, names
from teen.errors import UserError

CHEETAH = "HalfCheetah-v5"


def test_a_name_with_arguments_is_written_in_one_way_and_read_back():
    values = {"b": True, "a": 0.1, "c": [1, 2.5], "d": 'say "{a: b}", é'}
    name = arguments.joined(CHEETAH, values)
    assert name == CHEETAH + '{a = 0.1, b = true, c = [1, 2.5], d = "say \\"{a: b}\\", é"}'
    assert arguments.split(name) == (CHEETAH, values)
    assert arguments.joined(f"{CHEETAH}{{b=true,a=0.1}}", {}) == f"{CHEETAH}{{a = 0.1, b = true}}"
    assert arguments.joined(f"{CHEETAH}{{a=1,b=2}}", {"a": 3}) == f"{CHEETAH}{{a = 3, b = 2}}"  # the later one counts
    assert arguments.joined(CHEETAH, {}) == CHEETAH
    assert names.registered_id(name) == CHEETAH


@pytest.mark.parametrize("text", ["a", "a=", "a=b", "a=1,a=2", "a={", "=1", "a=1\nb=2", "a" + ".a" * 10_000 + "=1"])
def test_what_is_no_toml_is_one_line(text):
    with pytest.raises(UserError, match=r"are no arguments of an environment: write key=value"):
        arguments.read(text)


def test_unfinished_braces_and_values_that_no_file_can_hold_are_named():
    with pytest.raises(UserError, match="whose brace is not closed"):
        arguments.split(f"{CHEETAH}{{a=1")
    for value in (object(), float("nan"), {"a": 1}, None):
        with pytest.raises(UserError, match="the argument size of an environment is"):
            arguments.joined(CHEETAH, {"size": value})
    with pytest.raises(UserError, match="named like one of Python's functions"):
        arguments.joined(CHEETAH, {"a b": 1})


def test_settings_make_them_part_of_the_name():
    job = resolve({"algo": "td3", "env": "Pendulum-v1", "env_kwargs": {"g": 3}})
    assert job.settings.env == "Pendulum-v1{g = 3}"
    assert "env_kwargs" not in job.flat()
    assert resolve(job.flat()).settings.env == job.settings.env
    with pytest.raises(UserError, match="--env-kwargs must be a table"):
        resolve({"algo": "td3", "env": "Pendulum-v1", "env_kwargs": "g=3"})


def test_the_environment_gets_them():
    made = GymnasiumEnvs("Pendulum-v1{g = 3.5, max_episode_steps = 7}", 1).envs[0]
    assert made.unwrapped.g == 3.5
    assert made.spec.max_episode_steps == 7
    with pytest.raises(UserError, match="unexpected keyword argument 'gravity'"):
        GymnasiumEnvs("Pendulum-v1{gravity = 3.5}", 1)
