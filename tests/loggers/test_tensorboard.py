"""TensorBoard's files: after a resume, in places that are not what they seem."""

import errno
import shutil

import numpy as np
import pytest

from teen.loggers.base import Row, Run, Variant
from teen.loggers.tensorboard import TensorBoard
from tests.loggers.reading import from_tensorboard


def run_in(folder, step=0):
    return Run(folder, step, (Variant("", folder, "0123456789abcdef", {"seeds": [3], "lr": 0.1}),))


def begun(folder, step=0):
    logger = TensorBoard()
    logger.begin(run_in(folder, step))
    return logger


def rows(**steps):
    return [Row("", 3, int(step[1:]), {"x": value}) for step, value in steps.items()]


def test_what_was_logged_after_the_checkpoint_no_longer_counts(tmp_path):
    """A run was killed after step 40. It goes on from its checkpoint of step 20, of which all is logged."""
    begun(tmp_path).log(rows(s10=1.0, s20=2.0, s30=3.0, s40=4.0))
    begun(tmp_path, 20).log(rows(s30=5.0))
    begun(tmp_path, 30).log(rows(s40=6.0, s50=7.0))
    assert from_tensorboard(tmp_path) == {(3, "x"): [(10, 1.0), (20, 2.0), (30, 5.0), (40, 6.0), (50, 7.0)]}


def test_every_batch_is_in_the_file_at_once(tmp_path):
    logger = begun(tmp_path)
    for step in range(1, 40):
        logger.log([Row("", seed, step, {"x": 0.1 * step, "y": np.inf}) for seed in (3, None)])
        shown = from_tensorboard(tmp_path)
        assert len(shown[3, "x"]) == len(shown[None, "y"]) == step
    np.testing.assert_allclose([x for _, x in shown[None, "x"]], 0.1 * np.arange(1, 40), rtol=1e-6)


@pytest.mark.parametrize("name", ["tensorboard", "tensorboard/mean", "tensorboard/seed-3"])
def test_links_are_not_followed(name, tmp_path):
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (run / name).parent.mkdir(parents=True)
    (run / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match="is a link") as error:
        begun(run)
    assert error.value.errno == errno.ELOOP
    assert list(elsewhere.iterdir()) == []


def test_nothing_is_written_into_a_folder_that_took_the_place_of_this_one(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    logger = begun(run)
    shutil.move(run, tmp_path / "moved")
    (run / "tensorboard" / "seed-3").mkdir(parents=True)
    with pytest.raises(FileNotFoundError):
        logger.log(rows(s10=1.0))
    assert not [path for path in run.rglob("*") if path.is_file()]
