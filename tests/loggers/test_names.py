"""The loggers that a user chooses."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from teen.errors import UserError
from teen.loggers.background import Background, close
from teen.loggers.base import Row, Run
from teen.loggers.names import CLASSES, listed
from teen.loggers.tensorboard import TensorBoard
from teen.loggers.trackio import Trackio
from teen.loggers.wandb import WandB
from tests.loggers.own import Good


def test_loggers_have_names_or_are_objects():
    assert listed(None) == listed([]) == {}
    one, other = Good(), Good()
    assert listed(one) == {"Good": one}
    chosen = listed(["tensorboard, wandb", one, "wandb", other, "trackio"])
    assert list(chosen) == ["tensorboard", "wandb", "Good", "Good-2", "trackio"]
    assert [type(logger) for logger in chosen.values()] == [TensorBoard, WandB, Good, Good, Trackio]


@pytest.mark.parametrize("log", ["tensorbord", "", "wandb,", ["csv"]])
def test_a_name_that_there_is_not_is_met_with_those_that_there_are(log):
    with pytest.raises(UserError, match="is no logger: choose from tensorboard, wandb, trackio; CSV is always written"):
        listed(log)


@pytest.mark.parametrize("log", [3, [object()], print])
def test_what_is_no_logger_is_said(log):
    with pytest.raises(UserError, match=r"a logger is a name, or has begin\(run\), log\(rows\) and close\(\)"):
        listed(log)


@pytest.mark.parametrize("name", CLASSES)
def test_a_missing_package_is_named_with_its_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError) as error:
        listed(name)
    assert str(error.value) == f"--log {name} needs a package that is not installed: pip install 'teen-rl[{name}]'"


def test_a_folder_of_that_name_is_no_package(monkeypatch, tmp_path):
    """Weights & Biases leaves folders of its name wherever it is used."""
    (tmp_path / "wandb").mkdir()
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(UserError, match="not installed"):
        listed("wandb")


def test_the_logger_of_the_page_works(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "loggers.md").read_text()
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(import json\n.*?)```", page, re.DOTALL)[0], names)
    ((name, logger),) = listed(names["Lines"]()).items()
    thread = Background(name, logger, Run(tmp_path, 0, ()))
    thread.put([Row("", 3, 10, {"x": 1.5}), Row("", None, 10, {"x": 1.5})])
    close([thread])
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == [
        {"variant": "", "seed": 3, "step": 10, "values": {"x": 1.5}},
        {"variant": "", "seed": None, "step": 10, "values": {"x": 1.5}},
    ]
