"""A policy that was written acts as the agent does: ONNX in onnxruntime, arrays in a process without JAX."""

import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import teen
from teen import UserError
from teen.export import networks, numpy_files, onnx_file

from .agents import ALGORITHMS, MEMBERS, TASK, apart, observations, untrained

CASES = [(algo, settings, seen) for algo, settings in ALGORITHMS for seen in (False, True)]
IDS = [f"{algo}-{settings.get('base', '')}{'-normalised' if seen else ''}" for algo, settings, seen in CASES]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write every algorithm's policies once. Return, by case, what was written: (seed, member, ONNX, npz, actions)."""
    folder, made = tmp_path_factory.mktemp("policies"), {}
    for name, (algo, settings, seen) in zip(IDS, CASES, strict=True):
        agent, made[name] = untrained(algo, normalise_obs=seen, **settings), []
        for seed, member in [(7, None), *([(3, MEMBERS - 1)] if agent.algo.size(agent.config) else [])]:
            policy, stem = networks.networks_of(agent, seed, member), f"{name}-{member}"
            assert onnx_file.write(policy, folder / f"{stem}.onnx") < TOLERANCE
            module, difference = numpy_files.write(policy, folder / f"{stem}.npz")
            assert difference < TOLERANCE
            assert module == folder / f"{stem}.py"
            actions = agent.act(observations(), seed=seed, member=member)
            made[name].append((seed, member, folder / f"{stem}.onnx", folder / f"{stem}.npz", actions))
    return made


@pytest.mark.parametrize("name", IDS)
def test_onnxruntime_acts_as_the_agent(written, name):
    for seed, member, path, _, expected in written[name]:
        session = onnxruntime.InferenceSession(path)
        for rows in (1, 7, 1_000):
            (actions,) = session.run(["action"], {"obs": observations()[:rows]})
            assert actions.dtype == np.float32
            assert apart(actions, expected[:rows]) < TOLERANCE
        graph = onnx.load(path)
        onnx.checker.check_model(graph, full_check=True)
        facts = {prop.key: prop.value for prop in graph.metadata_props}
        algorithm = facts.pop("algorithm").split()[0]
        size = "single" if member is None and len(written[name]) == 1 else f"mean of {MEMBERS} members"
        policy = size if member is None else f"member {member}"
        assert algorithm == name.split("-")[0]
        assert facts == {"task": TASK, "seed": str(seed), "step": "0", "policy": policy, "teen": teen.__version__}


CHILD = """
import importlib.util, json, sys
import numpy as np

for name in ("jax", "jaxlib", "teen", "onnx"):
    sys.modules[name] = None  # to import one is an ImportError
obs, half, answers = np.load("obs.npy"), np.array([[1, 0.5], [200, 0.5]]), {}
for line in sys.stdin:
    path, = line.split()
    spec = importlib.util.spec_from_file_location("policy", path.replace(".npz", ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    policy, expected = module.Policy(path), np.load(path.replace(".npz", "-expected.npy"))
    answers[path] = [
        max(float(np.abs((policy.act(obs[:n]) - expected[:n]) / half).max()) for n in (1, 7, 1000)),
        list(policy.act(obs[0]).shape),
        float(np.abs((policy.act(obs[0]) - expected[0]) / half).max()),
    ]
print(json.dumps(answers))
"""


def test_numpy_acts_as_the_agent_where_there_is_no_jax(written):
    cases = [case for made in written.values() for case in made]
    folder = cases[0][3].parent
    np.save(folder / "obs.npy", observations())
    for *_, path, expected in cases:
        np.save(str(path).replace(".npz", "-expected.npy"), expected)
    paths = "\n".join(path.name for *_, path, _ in cases)
    command = [sys.executable, "-I", "-c", CHILD]
    done = subprocess.run(command, input=paths, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == len(cases)
    assert all(shape == [2, 2] and max(batch, one) < TOLERANCE for batch, shape, one in answers.values()), answers


def test_the_arrays_have_plain_names_and_no_pickles(written):
    plain, seen = written["teen-"][0][3], written["teen--normalised"][0][3]
    with np.load(plain, allow_pickle=False) as file:
        shapes = {name: file[name].shape for name in file.files}
        assert {file[name].dtype for name in file.files} == {np.dtype(np.float32)}
    assert shapes == {
        "weight0": (3, 7, 8), "bias0": (3, 1, 8), "weight1": (3, 8, 8), "bias1": (3, 1, 8), "weight2": (3, 8, 4),
        "bias2": (3, 1, 4), "low": (2, 2), "high": (2, 2),
    }  # fmt: skip
    with np.load(seen, allow_pickle=False) as file:
        assert {*file.files} - {*shapes} == {"mean", "std", "limit"}
        assert (file["limit"], file["std"][0]) == (10, 1)
    text = plain.with_suffix(".py").read_text()
    assert len(text.splitlines()) <= 35
    assert "MIT" in text


@pytest.mark.parametrize("critic", [{}, {"base": "sac", "critics": 2, "critic_norm": "layer"}], ids=["plain", "norm"])
def test_a_vote_is_in_the_graph(critic, tmp_path):
    """The critics choose: not the mean, and not always the same member. NumPy's module has no critics."""
    agent = untrained("teen", n=MEMBERS, epsilon=0.05, evaluate="vote", normalise_obs=True, **critic)
    policy = networks.networks_of(agent)
    onnx_file.write(policy, tmp_path / "vote.onnx")
    (actions,) = onnxruntime.InferenceSession(tmp_path / "vote.onnx").run(None, {"obs": observations()})
    assert apart(actions, agent.act(observations())) < TOLERANCE
    members = np.stack([agent.act(observations(), member=k) for k in range(MEMBERS)])
    chosen = np.abs(members - actions).max((2, 3)).argmin(0)
    assert len({*chosen.tolist()}) > 1
    with pytest.raises(UserError, match="--evaluate vote asks the critics"):
        numpy_files.write(policy, tmp_path / "vote.npz")


def test_what_is_no_function_of_the_observation_is_refused():
    agent = untrained("teen", n=MEMBERS, epsilon=0.05, evaluate="mixture")
    with pytest.raises(UserError, match="draws a member for each episode: choose one with --member"):
        networks.networks_of(agent)
    assert networks.networks_of(agent, member=1).facts["policy"] == "member 1"


def test_weights_that_are_not_finite_are_refused():
    agent = untrained("td3")
    agent.weights.actor[1].bias[0] = np.nan
    with pytest.raises(UserError, match="the weights of seed 3 are not finite"):
        networks.networks_of(agent)
    networks.networks_of(agent, 7)  # whose are


def test_actions_of_one_axis_stay_in_their_bounds(tmp_path):
    """Saturated actions are the bounds themselves: an environment refuses what is a rounding error beyond them."""
    agent = untrained("td3", "tests.toys:Counter-v0", seeds=1)
    last = agent.weights.actor[-1]
    extreme = (*agent.weights.actor[:-1], last._replace(bias=last.bias * 0 + np.array([[100.0, -100.0]])))
    agent.weights = agent.weights._replace(actor=extreme)
    policy = networks.networks_of(agent)
    onnx_file.write(policy, tmp_path / "p.onnx")
    (actions,) = onnxruntime.InferenceSession(tmp_path / "p.onnx").run(None, {"obs": np.zeros((5, 2), np.float32)})
    np.testing.assert_array_equal(actions, [[3, 0]] * 5)


def test_a_policy_that_is_something_else_is_refused(tmp_path):
    """Somebody's own algorithm: its weights have another form, or are used in another way."""
    agent = untrained("td3")
    agent.algo = agent.algo._replace(policy=lambda cfg, w, memo, obs: 0.5 * teen.algos.td3.policy(cfg, w.actor, obs))
    with pytest.raises(UserError, match="the policy of td3 cannot be exported: it is not tanh of the network `actor`"):
        onnx_file.write(networks.networks_of(agent), tmp_path / "p.onnx")
    agent.weights = (agent.weights,)
    agent.algo = agent.algo._replace(policy=lambda cfg, w, memo, obs: teen.algos.td3.policy(cfg, w[0].actor, obs))
    with pytest.raises(UserError, match="the policy of td3 cannot be exported"):
        networks.networks_of(agent)


@pytest.mark.parametrize(("seed", "member", "words"), [(5, None, "has seeds"), (3, 3, "there is no member 3")])
def test_no_such_policy(seed, member, words):
    agent = untrained("teen", n=MEMBERS, epsilon=0.05)
    with pytest.raises(UserError, match=words):
        networks.networks_of(agent, seed, member)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_one_line(package, monkeypatch, tmp_path):
    policy = networks.networks_of(untrained("td3"))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf'--to onnx needs {package}: pip install "teen-rl\[onnx\]"'):
        onnx_file.write(policy, tmp_path / "p.onnx")
    assert not (tmp_path / "p.onnx").exists()


def test_no_file_of_the_user_is_overwritten(tmp_path):
    policy = networks.networks_of(untrained("td3"))
    (tmp_path / "mine.py").write_text("print('mine')\n")
    with pytest.raises(UserError, match=r"mine\.py is there and was not written by teen export"):
        numpy_files.write(policy, tmp_path / "mine.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
    for _ in range(2):  # its own may be
        numpy_files.write(policy, tmp_path / "p.npz")
    with pytest.raises(UserError, match=r"does not end in \.onnx"):
        onnx_file.write(policy, tmp_path / "p.py")
    with pytest.raises(UserError, match=r"does not end in \.npz"):
        numpy_files.write(policy, tmp_path / "p.py")
