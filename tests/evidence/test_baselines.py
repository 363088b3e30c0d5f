"""docs/baselines.md says of TD3 and SAC what the logs say."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from .logs import best, evaluations, last, last_means, p_value, point
from .pages import BASELINES, cells, flat


@pytest.mark.parametrize("algo", ["TD3", "SAC"])
@pytest.mark.parametrize("task", ["HalfCheetah", "Hopper"])
def test_beside_other_implementations_at_300k(algo, task):
    seeds = evaluations(f"reference-300k/{algo.lower()}-{task}-v4")
    assert cells(BASELINES, f"{algo} {task}") == [
        "**ours, v4**", *(measure(seeds, 300_000) for measure in (point, last, best))
    ]  # fmt: skip


def test_normalised_observations():
    score = last(evaluations("reference-300k/td3-HalfCheetah-v4-normalised"), 300_000)
    assert f"with `--normalise-obs` ours has {score} by the last 50k" in " ".join(BASELINES.split())


def test_settings_of_sac_at_300k():
    for row, rate in (("learning rate 3e-4", "0.0003"), ("learning rate 1e-3, of the temperature too", "0.001")):
        runs = [f"{task}/lr={rate},target_entropy={e}" for task in ("halfcheetah", "hopper") for e in ("-1", "-0.5")]
        assert cells(BASELINES, row) == [last(evaluations(f"sac-settings-300k/{run}"), 300_000) for run in runs]


def test_settings_of_sac_on_hopper_at_240k():
    for row, name in (
        ("tuned temperature, −abs(A)", "hopper/lr={},target_entropy=-1"),
        ("tuned temperature, −abs(A)/2", "hopper/lr={},target_entropy=-0.5"),
        ("temperature 0.2", "hopper-fixed-temperature/lr={}"),
    ):
        both = [evaluations("sac-settings-300k/" + name.format(rate), 10_000) for rate in ("0.0003", "0.001")]
        assert cells(BASELINES, row) == [measure(seeds, 240_000) for measure in (last, best) for seeds in both]


def test_what_is_said_of_sacs_settings():
    text = flat(BASELINES)

    def sac(task, rate, entropy, every=1):
        return evaluations(f"sac-settings-300k/{task}/lr={rate},target_entropy={entropy}", every)

    p = p_value(sac("halfcheetah", "0.0003", "-1"), sac("halfcheetah", "0.001", "-1"), 300_000)
    assert f"(3e-4 against 1e-3 at −abs(A): p = {p:.3f})" in text
    half = last_means(sac("halfcheetah", "0.0003", "-0.5"), 300_000)
    assert f"our mean is {8413 - np.mean(half):.0f} below jaxrl's" in text  # 8413 ± 268, ten seeds
    error = (np.var(half, ddof=1) / 5 + 268**2 / 10) ** 0.5
    assert f", {(8413 - np.mean(half)) / error:.1f} standard errors" in text
    found = {}
    for rate in ("0.001", "0.0003"):
        tuned = [sac("hopper", rate, entropy, 10_000) for entropy in ("-1", "-0.5")]
        fixed = evaluations(f"sac-settings-300k/hopper-fixed-temperature/lr={rate}", 10_000)
        found[rate] = [means[steps <= 240_000].max() for seeds in (*tuned, fixed) for steps, means in seeds]
    p = ttest_ind(*found.values(), equal_var=False).pvalue
    assert "is {:.0f} against {:.0f}, p = {:.3f}".format(*map(np.mean, found.values()), p) in text
    both = [[m for e in ("-1", "-0.5") for m in last_means(sac("hopper", rate, e), 300_000)] for rate in found]
    assert "({:.0f} against {:.0f}, in the two settings".format(*map(np.mean, both)) in text
    cheetah, hopper = (evaluations(f"reference-300k/sac-{task}-v4-warmup10k") for task in ("HalfCheetah", "Hopper"))
    assert f"HalfCheetah has {point(cheetah, 300_000)} at the last point and Hopper {point(hopper, 300_000)} " in text
    assert f"(best so far {best(hopper, 300_000)})" in text
    ours = [
        evaluations(f"sac-settings-300k/{run}", 10_000)
        for run in ("hopper-fixed-temperature/lr=0.001", "hopper/lr=0.0003,target_entropy=-1")
    ]
    assert f"at 240,000 no difference is shown (p = {p_value(*ours, 240_000):.2f})" in text
