"""`teen train --log`: a choice that cannot be made is one line and exit code 2, before anything is done."""

import sys

import pytest

from teen.cli import main as cli
from tests.cli.conftest import TRAIN


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("log", "missing", "said"),
    [
        (
            "tensorboard,csv",
            None,
            "--log 'csv' is no logger: choose from tensorboard, wandb, trackio; CSV is always written",
        ),
        ("trackio", "trackio", "--log trackio needs a package that is not installed: pip install 'teen-rl[trackio]'"),
    ],
)
def test_a_wrong_choice_is_one_line(log, missing, said, resume, tmp_path, monkeypatch, capsys):
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    run = tmp_path / "run"
    command = ["train", "--resume", str(run)] if resume else [*TRAIN, "--out", str(run)]
    assert cli.main([*command, "--log", log]) == 2
    assert capsys.readouterr().err == f"teen: {said}\n"
    assert not run.exists()


@pytest.mark.parametrize("more", [[], ["--resume", "run"]])
def test_the_help_names_the_loggers(more, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["train", *more, "--help"])
    assert end.value.code == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "--log NAME[,NAME...] log to tensorboard, wandb or trackio as well" in words
