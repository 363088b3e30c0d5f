"""The algorithms learn, on every one of several seeds.

Measured over 9 seeds before the thresholds were set: on Pendulum-v1 the best evaluation in 10,000 steps was
-108 to -160 for TEEN and -102 to -171 for TD3; on PointMass the last one was -0.1 to -3.0 for them
and -0.1 to -0.8 for the others.
"""

import numpy as np
import pytest

import teen
from teen.report.runs import evaluations

PENDULUM = {
    "seeds": 3, "steps": 10_000, "width": 64, "warmup": 1_000, "lr": 1e-3, "eval_every": 1_000,
}  # fmt: skip
POINT = {
    "seeds": 3, "steps": 1_200, "width": 16, "batch": 64, "warmup": 200, "lr": 3e-3, "eval_every": 1_200,
    "log_every": 10_000, "gamma": 0.9,
}  # fmt: skip


def curves(outcome) -> list[np.ndarray]:
    """Per seed, the mean return of each evaluation."""
    return list(evaluations(outcome.folders[0]).returns)


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("teen", {"n": 3}),
        ("td3", {}),
        ("sac", {}),
        ("redq", {"critics": 3}),
        ("sunrise", {"n": 2}),
        ("rnd", {"rnd_width": 16}),
        ("teen", {"n": 3, "base": "sac"}),
    ],
    ids=str,
)
def test_point_mass(algo, settings, tmp_path):
    """Standing still scores about -13, a perfect policy about -1."""
    outcome = teen.train(algo, "tests.toys:PointMass-v0", **POINT, **settings, out=tmp_path / "run", show=False)
    assert min(scores[-1] for scores in curves(outcome)) > -5


@pytest.mark.learning
@pytest.mark.parametrize(
    ("algo", "settings", "threshold"),
    [
        ("td3", {}, 1500),
        ("rnd", {}, 1500),
        ("sunrise", {"n": 3}, 1500),
        ("sac", {}, 5000),
        ("redq", {}, 5000),
        ("teen", {"n": 5}, 5000),
        ("teen", {"n": 5, "base": "sac"}, 5000),
    ],
    ids=str,
)
def test_inverted_double_pendulum(algo, settings, threshold, tmp_path):
    """Random play scores under 100, a balanced pendulum 9360.

    Measured over 8 seeds: the worst seed's best evaluation was 3178 (TD3), 2953 (RND), above 3071 (SUNRISE, cut at
    14,000 steps), and 9358 or more for the others.
    """
    outcome = teen.train(
        algo, "InvertedDoublePendulum-v5", **settings, seeds=3, steps=20_000, warmup=1_000, eval_every=2_000,
        log_every=20_000, out=tmp_path / "run", show=False,
    )  # fmt: skip
    assert min(scores.max() for scores in curves(outcome)) > threshold


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("teen", {"n": 5}),
        ("td3", {}),
        pytest.param("sac", {}, marks=pytest.mark.full),
        pytest.param("redq", {"critics": 5}, marks=pytest.mark.full),
        pytest.param("sunrise", {"n": 2}, marks=pytest.mark.full),
        pytest.param("rnd", {"rnd_width": 64}, marks=pytest.mark.full),
        pytest.param("teen", {"n": 3, "base": "sac"}, marks=pytest.mark.full),
    ],
    ids=str,
)
def test_pendulum_is_swung_up_within_ten_thousand_steps(algo, settings, tmp_path):
    """Random actions score about -1200; a pendulum that is swung up and held about -150."""
    outcome = teen.train(algo, "Pendulum-v1", **PENDULUM, **settings, out=tmp_path / "run", show=False)
    learnt = curves(outcome)
    assert len(learnt) == 3
    assert min(scores.max() for scores in learnt) > -250
