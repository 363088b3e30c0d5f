"""Agents that an earlier version saved load, and act as they did."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import teen
from teen import UserError

SAVED = Path(__file__).parent / "agents-0.1.0"  # saved by version 0.1.0, format 2, with the actions it predicted
EXPECTED = json.loads((SAVED / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED["actions"])
def test_agents_of_format_2_load_and_act_as_they_did(name):
    agent = teen.load(SAVED / name)
    obs = np.array(EXPECTED["obs"], np.float32)
    for seed, action in EXPECTED["actions"][name].items():
        np.testing.assert_allclose(agent.predict(obs, seed=int(seed)), action, rtol=1e-6)


@pytest.mark.parametrize("number", [1, 4, "2"])
def test_another_format_is_refused_by_number(tmp_path, number):
    shutil.copytree(SAVED / "teen", tmp_path / "run")
    card = tmp_path / "run" / "agent" / "agent.json"
    card.write_text(json.dumps({**json.loads(card.read_text()), "format": number}))
    with pytest.raises(UserError, match=f"has format {number}; this version reads 2 and 3"):
        teen.load(tmp_path / "run")
