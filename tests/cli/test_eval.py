"""`teen eval` and the agent that it loads."""

import json
import shutil

import gymnasium
import numpy as np
import pytest
import safetensors.numpy

import teen
from teen.cli import main as cli
from teen.cli.tables import show_episodes
from teen.engine.evaluate import Episode

from .conftest import ENV


def test_eval_plays_fresh_episodes_of_the_saved_agent(trained, capsys):
    assert cli.main(["eval", str(trained), "--episodes", "3", "--members"]) == 0
    table = capsys.readouterr().out
    assert table.count("│") == 6 * (2 + 2 * 3)  # one line for a seed and each of its members
    assert "│ mean │" in " ".join(table.split())
    assert cli.main(["eval", str(trained), "--episodes", "3", "--members"]) == 0
    assert capsys.readouterr().out == table


def test_eval_shows_a_line_per_seed(trained, capsys):
    assert cli.main(["eval", str(trained), "--episodes", "1"]) == 0
    table = capsys.readouterr().out
    assert table.count("│") == 5 * 2
    assert "policy" not in table
    assert "±" not in table.partition("mean over 2 seeds: ")[0]  # of single episodes


def shown(scores: dict[tuple[int, str], tuple[float, ...]], capsys, **options) -> str:
    """The table of these returns, by seed and policy, with single spaces between its cells."""
    rows = [Episode(s, 9, p, e, x, 40) for (s, p), row in scores.items() for e, x in enumerate(row)]
    show_episodes("run", rows, **options)
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_the_table_shows_sample_deviations_and_none_of_a_single_value(capsys):
    scores = {(0, "mean"): (1.0, 3.0), (1, "mean"): (4.0, 8.0), (0, "2"): (7.0,)}
    text = shown(scores, capsys, members=True)
    assert "0 mean 2 2.0 ± 1.4 40" in text
    assert "1 mean 2 6.0 ± 2.8 40" in text
    assert "0 2 1 7.0 40" in text
    assert "mean over 2 seeds: 4.0 ± 2.8" in text
    text = shown(scores, capsys)
    assert "0 2 2.0 ± 1.4 40" in text
    assert "7.0" not in text
    assert "mean over 2 seeds: 4.0 ± 2.8" in text
    text = shown({(4, "mean"): (7.0,)}, capsys)
    assert "4 1 7.0 40" in text
    assert text.endswith("mean over 1 seed: 7.0")


def test_the_agent_predicts_in_the_environments_bounds(trained):
    agent = teen.load(trained)
    env = gymnasium.make(ENV)
    obs, _ = env.reset(seed=0)
    action = agent.act(obs, seed=1)
    assert env.action_space.contains(action)
    both = agent.act(np.array([[0.5], [-0.5]], np.float32), seed=1)
    assert both.shape == (2, 1)
    np.testing.assert_allclose(both[0], agent.act(np.array([0.5]), seed=1), rtol=1e-6)
    # the mean of the members' actions, computed from the file's arrays alone
    w = safetensors.numpy.load_file(trained / "agent" / "weights.safetensors")

    def layer(i, x):
        name = f"members.actor.{i}"
        return np.einsum("ni,noi->no", x, w[f"{name}.weight"][1]) + w[f"{name}.bias"][1]

    x = np.full((3, 1), 0.5)
    by_hand = np.tanh(layer(2, np.maximum(layer(1, np.maximum(layer(0, x), 0)), 0))).mean(0)
    np.testing.assert_allclose(both[0], by_hand, rtol=1e-5)
    with pytest.raises(teen.UserError, match="seeds"):
        agent.act(obs, seed=5)


@pytest.mark.parametrize("harm", ["cut", "shape", "missing", "pickle", "newer", "card"])
def test_a_damaged_agent_is_a_named_error(harm, trained, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    weights, card = run / "agent" / "weights.safetensors", run / "agent" / "agent.json"
    if harm == "cut":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif harm == "pickle":
        weights.write_bytes(b"\x80\x04\x95cos\nsystem\n(S'touch owned'\ntR.")
    elif harm == "card":
        card.write_text("{")
    elif harm == "newer":
        card.write_text(json.dumps({**json.loads(card.read_text()), "format": 99}))
    else:
        arrays = safetensors.numpy.load_file(weights)
        name = next(iter(arrays))
        if harm == "shape":
            arrays[name] = arrays[name][..., :-1].copy()
        else:
            del arrays[name]
        safetensors.numpy.save_file(arrays, weights)
    assert cli.main(["eval", str(run)]) == 2
    error = capsys.readouterr().err
    assert "agent" in error
    assert "format 99" in error if harm == "newer" else "damaged" in error
    assert error.count("\n") == 1
