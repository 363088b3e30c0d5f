"""What config.toml, agent.json and the manifests of checkpoints say of a run is compared before any of it is used, and
no module is imported because one of them names it."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import teen
from teen import UserError
from teen.config.job import resolve
from teen.disk import agreement
from teen.settings import flat
from tests.disk.test_forgery import Forged

SAVED = Path(__file__).parent / "agents-0.1.0"


@pytest.fixture
def run(tmp_path):
    """Return a run folder with an agent and no checkpoint."""
    shutil.copytree(SAVED / "teen", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def killed(stopped, tmp_path):
    """Return a run folder with one checkpoint and no agent."""
    shutil.copytree(stopped, tmp_path / "killed")
    shutil.rmtree(min(tmp_path.glob("killed/checkpoint/step-*")))
    shutil.rmtree(tmp_path / "killed" / "agent")
    return tmp_path / "killed"


def say(run: Path, part: str, **changes: object) -> None:
    """Change what agent.json says."""
    card = json.loads((run / "agent" / "agent.json").read_text())
    card[part] |= changes
    (run / "agent" / "agent.json").write_text(json.dumps(card))


def sign(run: Path, **changes: object) -> None:
    """Change what the manifest says, and sign it."""
    forged = Forged(run)
    forged.content["facts"]["run"]["settings"] |= changes
    forged.sign_content()


def test_equal_numbers_may_be_written_differently(run):
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(text.replace("alpha = 0.2", "alpha = 2e-1").replace("batch = 8", "batch = 8.0"))
    say(run, "run", steps=70, checkpoint_every=5, seeds=[1, 0], backend="auto")  # may change, or change nothing learnt
    assert teen.load(run).seeds == (1, 0)


def test_settings_that_only_one_file_names_are_not_compared(run):
    lines = (run / "config.toml").read_text().splitlines()
    (run / "config.toml").write_text("\n".join([*lines[:1], "colour = 3", *lines[20:]]))
    card = json.loads((run / "agent" / "agent.json").read_text())
    del card["run"]["batch"], card["config"]["delay"]
    (run / "agent" / "agent.json").write_text(json.dumps(card))
    assert teen.load(run).step == 60


@pytest.mark.parametrize(
    ("part", "name", "value", "words"),
    [
        ("run", "env", "Acrobot-v1", "env is 'Acrobot-v1' in the one and 'Pendulum-v1' in the other"),
        ("run", "reward_scale", 2, "reward_scale is 2.0 in the one and 1.0 in the other"),
        ("run", "normalise_obs", True, "normalise_obs is True in the one and False in the other"),
        ("config", "alpha", 0.20000000000000001e-1, "alpha is 0.02 in the one and 0.2 in the other"),
        ("config", "evaluate", "vote", "evaluate is 'vote' in the one and 'mean' in the other"),
    ],
)
def test_an_agent_of_other_settings_is_refused(run, part, name, value, words):
    say(run, part, **{name: value})
    with pytest.raises(UserError, match=words) as error:
        teen.load(run)
    assert f"{run / 'agent' / 'agent.json'} does not belong to {run / 'config.toml'}" in str(error.value)


@pytest.mark.parametrize(("name", "value"), [("env", "Pendulum-v1"), ("gamma", 0.5), ("width", 9), ("batch", 17)])
def test_a_checkpoint_of_other_settings_is_refused(killed, name, value):
    assert teen.load(killed).step
    sign(killed, **{name: value})
    with pytest.raises(UserError, match=rf"manifest.json does not belong to .*config.toml: {name} is {value!r} in"):
        teen.load(killed)


def test_the_older_agent_does_not_stand_in_for_a_checkpoint_that_is_refused(killed, stopped):
    shutil.copytree(stopped / "agent", killed / "agent")
    card = json.loads((killed / "agent" / "agent.json").read_text())
    (killed / "agent" / "agent.json").write_text(json.dumps({**card, "step": 30}))
    sign(killed, gamma=0.5)
    with pytest.raises(UserError, match="does not belong"):
        teen.load(killed)


def test_every_variant_is_compared(tmp_path):
    job = resolve({"algo": "td3", "env": "Pendulum-v1", "gamma": [0.5, 0.9], "seeds": 2})
    named, who = job.flat(), tmp_path / "manifest.json"
    agreement.check_job(tmp_path, job, named, who)  # nothing to compare with
    for variant in job.variants:
        (tmp_path / variant.name).mkdir()
        numbers = {name: value for name, value in flat(variant.config).items() if isinstance(value, float)}
        lines = [f"{name} = {value}" for name, value in numbers.items()]
        (tmp_path / variant.name / "config.toml").write_text("\n".join(lines))
    agreement.check_job(tmp_path, job, named, who)
    text = (tmp_path / "gamma=0.9" / "config.toml").read_text()
    (tmp_path / "gamma=0.9" / "config.toml").write_text(text.replace("tau = 0.005", "tau = 0.006"))
    with pytest.raises(UserError, match=r"manifest.json does not belong .*gamma=0.9/config.toml: tau is 0.005 in"):
        agreement.check_job(tmp_path, job, named, who)
    agreement.check_job(tmp_path, job, {name: value for name, value in named.items() if name != "tau"}, who)


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """Return the name of a module that can be imported, and the file that it writes when it is."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delenv("TEEN_TRUST", raising=False)
    (tmp_path / "canary_of_files.py").write_text(f"import os; os.mkdir({str(tmp_path / 'executed')!r})")
    yield "canary_of_files", tmp_path / "executed"
    sys.modules.pop("canary_of_files", None)


@pytest.mark.parametrize("name", ["env", "algo"])
def test_no_module_is_imported_because_an_agent_names_it(run, canary, name):
    module, executed = canary
    value = f"{module}:Pendulum-v1" if name == "env" else f"{module}.algo"
    say(run, "run", **{name: value})
    say(run, "config", **{name: "Pendulum-v1"})
    with pytest.raises(UserError, match=rf"agent.json asks for the module '{module}"):
        teen.load(run)
    assert not executed.exists()


def test_no_module_is_imported_because_a_manifest_names_it(killed, canary):
    module, executed = canary
    sign(killed, env=f"{module}:Pendulum-v1")
    with pytest.raises(UserError, match=rf"manifest.json asks for the module '{module}'"):
        teen.load(killed)
    assert not executed.exists()


def test_a_trusted_module_is_imported(run, canary):
    module, executed = canary
    env = f"{module}:Pendulum-v1"
    say(run, "run", env=env)
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(text.replace("Pendulum-v1", env))
    assert teen.load(run, trust=module).settings.env == env
    assert executed.exists()
