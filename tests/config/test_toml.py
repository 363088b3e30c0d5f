"""Config files, as editors, users and strangers write them."""

from pathlib import Path

import pytest

from teen.cli import main as cli
from teen.config import toml
from teen.config.job import resolve
from teen.errors import UserError

PATH = Path("some.toml")


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_settings_are_read(begin):
    data = begin + 'env = "Pendulum-v1"\r\nalpha = [0.1, 1_0.0]\n# é\n[versions]\nteen = "0.1.0"\n'.encode()
    assert toml.parse(data, PATH) == {"env": "Pendulum-v1", "alpha": [0.1, 10.0]}


@pytest.mark.parametrize(
    "data",
    [
        b"steps = = 3",
        b"steps = " + b"9" * 5_000,
        b"\xff\xfe",
        b"a = 1\na = 2",
        b"a = " + b"[" * 100_000,
        b"a = " + b"{a = " * 10_000,
        b"a" + b".a" * 500_000 + b" = 1",
        b'" "' + b'." "' * 200_000 + b" = 1",
        b"[a" + b".a" * 500_000 + b"]",
    ],
    ids=["syntax", "digits", "bytes", "twice", "deep list", "deep table", "long key", "quoted key", "long table"],
)
def test_what_cannot_be_parsed_is_refused_at_once(data):
    with pytest.raises(UserError, match=r"config file some.toml is damaged") as error:
        toml.parse(data, PATH)
    assert len(str(error.value)) < 300


def test_a_table_that_is_none_of_ours_is_named():
    with pytest.raises(UserError, match=r"unknown table \[network\]"):
        toml.parse(b"[network]\nwidth = 3", PATH)
    with pytest.raises(UserError, match=r"unknown table \[env\]"):
        toml.parse(b"env.name = 3", PATH)


@pytest.mark.parametrize(
    "line",
    [
        f"steps = {'9' * 400}",
        f"width = 0x{'f' * 10_000}",
        f"alpha = {'9' * 400}",
        f"alpha = [1, 1e{'9' * 400}]",
        f"env_timeout = -{'9' * 400}.0",
        f"seeds = [{'9' * 400}]",
        f"seeds = [0x{'f' * 10_000}]",
        'base = ["td3"]',
        'env = ["Pendulum-v1"]',
        "algo = [[]]",
        "env = 2020-01-01",
        "width = 2020-01-01T00:00:00Z",
        "lr = 07:32:00",
        "batch = [256]",
        "seeds = [[1]]",
        "preset = []",
        "preset = false",
        'preset = "paper"\nalgo = "steps"',
        'alpha = [{ a = 1 }]\n"\\u001b[2J" = 3',
        '"\\ud7ff\\u0000" = 3',
    ],
)
def test_a_wrong_value_is_one_line_and_exit_code_2(line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = line if line.startswith(("env =", "algo =")) else f'env = "Pendulum-v1"\n{line}'
    (tmp_path / "some.toml").write_text(values)
    assert cli.main(["train", "--config", "some.toml"]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("teen: ")
    assert message.isprintable()
    assert len(message) < 300
    with pytest.raises(UserError):
        resolve(toml.parse(values.encode(), PATH))
