import threading
import time

import pytest

from teen.engine.background import Evaluator, _Thread
from teen.errors import EnvironmentFault


def test_an_evaluation_that_hangs_is_named_and_left_behind():
    class Hanging:
        name = "Stuck-v0"

        def __len__(self):
            return 6

        def busy(self):
            return 4, time.monotonic() - 100  # copy 4 of 6: lane 1 of 2

    release = threading.Event()
    evaluator = Evaluator(None, None, Hanging(), [5, 77], 3, timeout=60)
    evaluator._thread = _Thread(30, lambda: release.wait(60) and [])
    with pytest.raises(EnvironmentFault, match=r"Stuck-v0 failed in lane 1, seed 77, in an evaluation: did not return"):
        list(evaluator.finished())
    assert list(evaluator.finished(lambda: True)) == []
    release.set()
