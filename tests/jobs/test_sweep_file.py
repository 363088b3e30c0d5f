"""A sweep's file becomes combinations; one that is wrong is one line with the key and the file."""

import pytest

from teen.errors import UserError
from teen.jobs.sweep_file import Sweep, parse, read

FILE = b"""
lanes = 20
seeds_per_job = 5
out = "runs/here"
[settings]
env = "Pendulum-v1"
[grid]
width = [8, 16]
[[list]]
algo = "td3"
[[list]]
algo = "teen"
alpha = [0, 0.2]
seeds = [3, 5]
"""


def test_the_list_is_combined_with_the_grid():
    sweep = parse(FILE)
    assert (sweep.lanes, sweep.seeds_per_job, sweep.out) == (20, 5, "runs/here")
    assert sweep.varied == ["width", "algo", "alpha", "seeds"]
    task = {"env": "Pendulum-v1"}
    assert list(sweep.combinations()) == [
        {**task, "width": 8, "algo": "td3"},
        {**task, "width": 16, "algo": "td3"},
        {**task, "width": 8, "algo": "teen", "alpha": 0, "seeds": [3, 5]},
        {**task, "width": 8, "algo": "teen", "alpha": 0.2, "seeds": [3, 5]},
        {**task, "width": 16, "algo": "teen", "alpha": 0, "seeds": [3, 5]},
        {**task, "width": 16, "algo": "teen", "alpha": 0.2, "seeds": [3, 5]},
    ]


def test_a_list_may_override_the_settings_of_all():
    sweep = parse(b"[settings]\nwidth = 8\n[[list]]\nwidth = 16\n[[list]]\nlr = 0.1")
    assert list(sweep.combinations()) == [{"width": 16}, {"width": 8, "lr": 0.1}]


def test_settings_alone_are_one_combination():
    assert list(parse(b"[settings]\nseeds = 100").combinations()) == [{"seeds": 100}]


def test_seeds_in_the_grid_are_blocks():
    sweep = parse(b'[grid]\nseeds = ["0-4", [7, 9]]')
    assert list(sweep.combinations()) == [{"seeds": "0-4"}, {"seeds": [7, 9]}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[grids]\nlr = [1]", "there is no key 'grids', only settings, grid, list, lanes, seeds_per_job, out: did you"),
        ("env = 'Pendulum-v1'", "there is no key 'env', .* settings of the jobs belong in \\[settings\\]"),
        ("[grid]", "\\[grid\\] is empty"),
        ("[grid]\nlr = []", "lr in \\[grid\\] is an empty list"),
        ("[grid]\nlr = 0.1", "lr in \\[grid\\] must be a list; one value, 0.1, belongs in \\[settings\\]"),
        ("[grid]\nseeds = [1, 2]", "seeds in \\[grid\\] lists blocks"),
        ("[grid]\nvariants = [{lr = 1}]", "variants is in \\[grid\\], but belongs in \\[settings\\]"),
        ("[[list]]\nvariants = [{lr = 1}]", "variants is in \\[\\[list\\]\\]"),
        ("[settings]\nlr = 1\n[grid]\nlr = [1]", "'lr' is in \\[settings\\] and in \\[grid\\]"),
        ("[grid]\nlr = [1]\n[[list]]\nlr = 2", "'lr' is in \\[grid\\] and in \\[\\[list\\]\\]"),
        ("[[list]]\nlr = []", "lr in \\[\\[list\\]\\] is an empty list"),
        ("list = []", "list is empty"),
        ("[list]\nlr = 1", "list must be tables, each headed \\[\\[list\\]\\]"),
        ("list = [1]", "list must be tables"),
        ("grid = 3", "grid must be a table"),
        ("settings = [1]", "settings must be a table"),
        *((f"lanes = {n}", "lanes must be a whole number from 1 to") for n in ("0", "-1", "1.5", "true", "10001")),
        ("seeds_per_job = 'all'", "seeds_per_job must be a whole number"),
        ("out = 3", "out must be the path of a folder, or a URL"),
        ("out = ''", "out must be"),
        ('out = "a\\nb"', "out must be"),
        ("[grid", "it is no TOML: "),
        ("a" + ".a" * 1000 + " = 1", "it is no TOML: a line has more than 500 points"),
        ("[grid]\n" + "\n".join(f"{k} = {list(range(100))}" for k in "abc"), "make 1,000,000 combinations: 100,000"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_with_its_name(text, words, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=words) as caught:
        read(file)
    assert str(caught.value).startswith(f"sweep file {file}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            read(path)
    (tmp_path / "large.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(UserError, match="more than 1,048,576 bytes"):
        read(tmp_path / "large.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="it is no TOML"):
        read(tmp_path / "bytes.toml")


def test_a_million_combinations_are_counted_and_not_listed():
    axes = [{name: list(range(100)) for name in "abc"}]
    assert next(Sweep({}, axes).combinations()) == {"a": 0, "b": 0, "c": 0}
