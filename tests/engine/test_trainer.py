"""Where the replay goes."""

from typing import NamedTuple

import pytest

from teen.engine.trainer import place_replay
from teen.errors import UserError


class Device(NamedTuple):
    device_kind: str
    free: int

    def memory_stats(self):
        return {"bytes_limit": self.free + 10**9, "bytes_in_use": 10**9} if self.free else None


SMALL, CPU = Device("a small GPU", 10**9), Device("cpu", 0)


def test_it_lives_with_the_learner_where_it_fits():
    assert place_replay("auto", 700_000_000, SMALL) == ("device", "replay: 0.70 GB in memory of a small GPU")
    assert place_replay("auto", 1000, CPU)[0] == "device"


def test_it_falls_back_to_host_memory():
    assert place_replay("auto", 900_000_000, SMALL) == ("host", "replay: 0.90 GB in host memory")
    assert place_replay("host", 1000, SMALL)[0] == "host"


def test_what_cannot_be_held_anywhere_is_said_beforehand():
    with pytest.raises(UserError, match=r"0.9 GB do not fit .* 1.0 GB free on a small GPU; take --replay host"):
        place_replay("device", 900_000_000, SMALL)
    for device in (SMALL, CPU):
        with pytest.raises(UserError, match=r"1000000.0 GB .* are free; take fewer --seeds or a smaller --buffer"):
            place_replay("auto", 10**15, device)
