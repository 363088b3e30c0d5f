"""Where the replay goes, and what is compiled while the warm-up goes on."""

from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import jax
import numpy as np
import pytest

from teen import algos
from teen.engine.program import Program
from teen.engine.replay import Layout
from teen.engine.trainer import Trainer, place_replay
from teen.errors import UserError
from teen.settings import flat, replace, stacked
from teen.spec import Spec


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


@pytest.fixture
def compilations():
    """The functions that XLA has compiled since the test began."""
    seen = []

    def listen(event, seconds, **kwargs):
        if event == "/jax/core/compile/backend_compile_duration":
            seen.append(kwargs.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seen
    jax.monitoring.unregister_event_duration_listener(listen)


def on_a_gpu(algo):
    """Return a trainer that hands its work to a thread, as it does where a GPU learns."""
    config = replace(algo.Config(), {"width": 8, **({"n": 2} if "n" in flat(algo.Config()) else {})})
    layout = Layout(Spec(obs=3, action=1), algo.extras(config))
    trainer = Trainer(Program(algo, layout, 16, 1, "tf32", 1), layout, [0, 1], stacked([config] * 2), 100)
    trainer._thread = ThreadPoolExecutor(1, "learner")
    return trainer, np.random.default_rng(0).uniform(size=(10, 2, layout.packed)).astype(np.float32)


@pytest.mark.parametrize("name", ["teen", "td3", "sac"])
def test_what_is_compiled_ahead_is_what_learning_calls(name, compilations):
    trainer, rows = on_a_gpu(algos.find(name))
    trainer.compile_ahead(len(rows), metrics=True)
    trainer.store(rows)
    wait(trainer._ahead.values())
    assert compilations.count("jit(_learn)") == compilations.count("jit(_probe)") == 1
    trainer.learn(rows)
    trainer.probe(np.zeros(2, int)).result()
    assert trainer.train_state().gradient_step == 10
    assert compilations.count("jit(_learn)") == compilations.count("jit(_probe)") == 1
    trainer.close()


def test_what_cannot_be_compiled_is_an_error_of_learning():
    def update(cfg, state, batch, clock, noise):
        raise UserError("this cannot be traced")

    trainer, rows = on_a_gpu(algos.find("teen")._replace(update=update))
    trainer.compile_ahead(len(rows), metrics=False)
    assert set(trainer._ahead) == {"learn"}
    assert isinstance(trainer._ahead["learn"].exception(), UserError)
    trainer.learn(rows)
    wait([trainer._handed[-1]])
    with pytest.raises(UserError, match="cannot be traced"):
        trainer.learn(rows)
    trainer.close()
