"""Variants as a list of tables: any combinations of per-lane numbers, beside the grid that lists make."""

import filecmp
from dataclasses import make_dataclass

import numpy as np
import pytest

import teen
from teen.cli import main as cli
from teen.config.job import resolve
from teen.config.variants import LONGEST_NAME, combined
from teen.disk import checkpoint
from teen.errors import UserError
from teen.settings import per_lane

TASK = {"env": "Pendulum-v1", "algo": "td3"}
TWO = [{"lr": 1e-3}, {"lr": 1e-4, "tau": 0.01}]
SMALL = {
    "algo": "td3", "env": "tests.toys:PointMass-v0", "seeds": 2, "width": 8, "batch": 16, "warmup": 50, "buffer": 400,
    "eval_every": 100, "eval_episodes": 1, "log_every": 50, "checkpoint_every": 100, "steps": 200,
}  # fmt: skip


def numbers(job):
    return [(v.config.lr, v.config.tau) for v in job.variants]


def test_each_table_is_a_variant_named_by_all_in_which_they_differ():
    job = resolve({**TASK, "variants": TWO, "seeds": [3, 5]})
    assert [v.name for v in job.variants] == ["lr=0.001,tau=0.005", "lr=0.0001,tau=0.01"]
    assert numbers(job) == [(1e-3, 0.005), (1e-4, 0.01)]
    assert job.lane_seeds == [3, 5, 3, 5]
    np.testing.assert_array_equal(job.lane_configs().lr, np.float32([1e-3, 1e-3, 1e-4, 1e-4]))


def test_what_a_table_leaves_out_is_as_for_all():
    job = resolve({**TASK, "tau": 0.5, "variants": [{}, {"lr": 0.1}, {"tau": 0.25}]})
    assert numbers(job) == [(3e-4, 0.5), (0.1, 0.5), (3e-4, 0.25)]
    assert [v.name for v in job.variants] == ["lr=0.0003,tau=0.5", "lr=0.1,tau=0.5", "lr=0.0003,tau=0.25"]


def test_tables_and_lists_make_a_product():
    job = resolve({**TASK, "variants": TWO, "gamma": [0.9, 0.99]})
    assert [(v.config.lr, v.config.gamma) for v in job.variants] == [(a, b) for a in (1e-3, 1e-4) for b in (0.9, 0.99)]
    assert job.variants[3].name == "lr=0.0001,gamma=0.99,tau=0.01"


def test_a_single_table_is_no_variant_by_name():
    job = resolve({**TASK, "variants": [{"lr": 0.1}]})
    assert [(v.name, v.config.lr) for v in job.variants] == [("", 0.1)]
    assert job.flat() == resolve({**TASK, "lr": 0.1}).flat()


@pytest.mark.parametrize("given", [{"variants": TWO}, {"variants": TWO, "gamma": [0.9, 0.99]}, {"lr": [0.1, 0.2]}])
def test_the_flat_settings_make_the_same_job_again(given):
    job = resolve({**TASK, **given, "seeds": [1, 4]})
    assert resolve(job.flat()) == job


def test_tables_that_form_a_grid_are_stored_as_lists_and_others_as_tables():
    grid = [{"lr": lr, "tau": tau} for lr in (1e-3, 1e-4) for tau in (0.1, 0.2)]
    there = resolve({**TASK, "lr": [1e-3, 1e-4], "tau": [0.1, 0.2]})
    assert resolve({**TASK, "variants": grid}).flat() == there.flat()
    assert [there.flat()[name] for name in ("lr", "tau")] == [[1e-3, 1e-4], [0.1, 0.2]]
    cut = resolve({**TASK, "variants": grid[:3]}).flat()
    assert cut["variants"] == grid[:3]


def test_long_names_are_numbers():
    """A dozen settings of seventeen digits are no name for a folder."""
    numbers = [f"number_{i}" for i in range(12)]
    config = make_dataclass("Config", [(n, float, per_lane(0.1, "")) for n in numbers], frozen=True)()
    tables = [dict.fromkeys(numbers, factor) for factor in (1 / 3, 1 / 7)]
    assert len(",".join(f"{name}={1 / 3!r}" for name in numbers)) > LONGEST_NAME
    assert [name for name, _ in combined(config, {"variants": tables})] == ["variant=0", "variant=1"]
    with pytest.raises(UserError, match="the same: variant=0"):
        combined(config, {"variants": [*tables, tables[0]]})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"variants": []}, "variants is an empty list"),
        ({"variants": [{"lr": 0.1}, {"lr": 0.1}]}, "variants has two that are the same"),
        ({"variants": [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.1}]}, "the same: lr=0.1"),
        ({"variants": [{}, {"lr": 3e-4}]}, "two that are the same"),
        ({"variants": [{"lrr": 0.1}]}, "there is no setting 'lrr': did you mean 'lr'"),
        ({"variants": [{"learning_rate": 0.1}]}, "did you mean 'lr'"),
        ({"variants": [{"alpha": 0.1}]}, "td3 has no setting 'alpha'"),
        ({"variants": [{"width": 8}]}, "variants names 'width', which takes one value"),
        ({"variants": [{"steps": 8}]}, "variants names 'steps', which takes one value"),
        ({"variants": [{"variants": []}]}, "there is no setting 'variants'"),
        ({"variants": [{"lr": "fast"}]}, "--lr must be a number"),
        ({"variants": [{"lr": [0.1, 0.2]}]}, "--lr must be a number"),
        ({"variants": [{"lr": float("nan")}]}, "--lr must be"),
        ({"variants": {"lr": 0.1}}, "variants must be a list of tables"),
        ({"variants": [0.1]}, "variants must be a list of tables"),
        ({"variants": "lr"}, "variants must be a list of tables"),
        ({"variants": [{1: 2}]}, "there is no setting '1'"),
        ({"variants": [{"lr": i + 1} for i in range(1001)]}, "1,001 tables: 1,000 are the most"),
        ({"variants": [{"lr": i + 1} for i in range(501)], "tau": [0.1, 0.2]}, "more than 1,000 combinations"),
        ({"variants": TWO, "lr": [0.1, 0.2]}, "--lr is a list and in variants as well"),
    ],
)
def test_a_wrong_list_is_one_line(given, words):
    with pytest.raises(UserError, match=words) as caught:
        resolve({**TASK, **given})
    assert "\n" not in str(caught.value)


def test_a_file_has_them_as_tables_and_a_flag_does_not_hide_them(tmp_path, capsys):
    file = tmp_path / "two.toml"
    file.write_text('env = "Pendulum-v1"\nalgo = "td3"\n[[variants]]\nlr = 1e-3\n[[variants]]\nlr = 1e-4\n')
    assert cli.main(["train", "--config", str(file), "--lr", "0.1", "--out", str(tmp_path / "run")]) == 2
    assert f"--lr is a setting of the variants in {file}" in capsys.readouterr().err
    assert cli.main(["train", "--config", str(file), "--steps", "10", "--out", str(file)]) == 2
    assert "variants" not in capsys.readouterr().err  # the file is taken, the folder is not


def test_a_run_that_was_cut_goes_on_with_every_variant(tmp_path):
    """The second half comes later, and equals a run in one piece; agents load by their folder."""
    whole = teen.train(**SMALL, variants=TWO, out=tmp_path / "whole", show=False)
    teen.train(**{**SMALL, "steps": 100}, variants=TWO, out=tmp_path / "cut", show=False)
    assert [folder.name for folder in whole.folders] == ["lr=0.001,tau=0.005", "lr=0.0001,tau=0.01"]
    teen.resume(tmp_path / "cut", show=False, steps=200)
    ours, theirs = (checkpoint.newest(tmp_path / name / "checkpoint") for name in ("cut", "whole"))
    assert ours.snapshot.facts == theirs.snapshot.facts
    for name, array in ours.snapshot.arrays.items():
        np.testing.assert_array_equal(array, theirs.snapshot.arrays[name], err_msg=name)
    for folder in whole.folders:
        for name in ("eval.csv", "train.csv", "config.toml", "agent/weights.safetensors"):
            assert filecmp.cmp(folder / name, tmp_path / "cut" / folder.name / name, shallow=False), name
    assert teen.load(whole.folders[1]).config.tau == 0.01
