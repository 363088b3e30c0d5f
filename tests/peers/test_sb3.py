"""Our agents in the hands of Stable-Baselines3 itself."""

import gymnasium
import numpy as np
import pytest

import teen

pytestmark = pytest.mark.peers


@pytest.mark.filterwarnings("ignore")  # SB3's own, such as of an environment without a Monitor
@pytest.mark.parametrize("copies", [1, 3])
def test_evaluate_policy_plays_a_model_and_what_is_loaded(tmp_path, copies):
    """The mean return is that of the same episodes played by hand."""
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    model = teen.TD3("Pendulum-v1", out=tmp_path / "run", width=16, batch=16, warmup=50, show=False).learn(200)
    agent = teen.load(tmp_path / "run")
    for policy in (model, agent):
        vector = make_vec_env("Pendulum-v1", n_envs=copies, seed=3)
        scores, lengths = evaluate_policy(policy, vector, n_eval_episodes=copies, return_episode_rewards=True)
        assert lengths == [200] * copies
        for copy, score in enumerate(scores):
            env = gymnasium.make("Pendulum-v1")
            obs, _ = env.reset(seed=3 + copy)
            total = 0.0
            for _ in range(200):
                obs, reward, *_ = env.step(agent.act(obs))
                total += reward
            np.testing.assert_allclose(score, total, rtol=1e-3)
