import threading
import time

import pytest

from teen.engine.background import Background
from teen.engine.work import Work
from teen.errors import EnvironmentFault


@pytest.mark.parametrize("what", ["an evaluation", "a diagnosis"])
def test_what_hangs_is_named_and_left_behind(what):
    class Hanging:
        name = "Stuck-v0"

        def __len__(self):
            return 6

        def busy(self):
            return 4, time.monotonic() - 100  # copy 4 of 6: lane 1 of 2

    release = threading.Event()
    background = Background(what, Hanging(), [5, 77], 60, measure=None)
    background._thread = Work("hanging", lambda: release.wait(60), daemon=True)
    with pytest.raises(EnvironmentFault, match=f"Stuck-v0 failed in lane 1, seed 77, in {what}: did not return"):
        list(background.finished())
    assert list(background.finished(lambda: True)) == []
    release.set()
