"""Settings for all tests: strict shapes, and programs compiled with few of LLVM's optimisations, which takes two thirds
of the time and changes nothing that a test may rely on. JAX's cache of compiled programs is not used: on a CPU, jaxlib
0.10.2 crashed now and then while reading it back."""

import os
import signal
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=1"  # before the import

import jax
import pytest

import tests.play.toys
import tests.toys  # noqa: F401  so that runs in these environments can be loaded: a file may not name a module

jax.config.update("jax_numpy_rank_promotion", "raise")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell without job control starts a job with `&` so, and
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the runs that tests interrupt would inherit it


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_programs():
    """A file's programs are of no use to the next one, and hundreds of them take gigabytes."""
    yield
    jax.clear_caches()


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """Return a small run that nothing has cut; see `tests.training.survival`. It is copied, not changed."""
    from tests.training.survival import trained

    return trained(tmp_path_factory.mktemp("reference") / "run")


@pytest.fixture(scope="session")
def stopped(tmp_path_factory):
    """Return the same run, stopped in an evaluation."""
    from tests.training.survival import stopped_at_an_evaluation

    return stopped_at_an_evaluation(tmp_path_factory.mktemp("stopped") / "run")


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    """Let Weights & Biases and Trackio work without a network, and keep their files out of the user's folders."""
    place = tmp_path_factory.mktemp("tools")
    folders = {"TRACKIO_DIR": "trackio"} | {f"WANDB_{kind}_DIR": kind.lower() for kind in ("CACHE", "CONFIG", "DATA")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        patch.setenv("HF_HUB_OFFLINE", "1")
        for variable, folder in folders.items():
            patch.setenv(variable, str(place / folder))
        yield place
        if wandb := sys.modules.get("wandb"):
            wandb.teardown()


@pytest.fixture(scope="session")
def way():
    """Return what MUJOCO_GL is to be, which takes seconds to find. A machine that tests this can draw."""
    from teen.play import gl

    found = next(filter(gl.works, ("egl", "osmesa")), None)
    assert found, f"MuJoCo cannot draw here, and films would go untested: {gl.INSTALL}"
    return found


@pytest.fixture
def drawing(way, monkeypatch):
    """Draw in the way that has been found, without trying it again."""
    from teen.play import gl

    monkeypatch.setenv(gl.VARIABLE, way)
    monkeypatch.setattr(gl, "works", lambda _: True)


@pytest.fixture(scope="session")
def balancing(tmp_path_factory):
    """Return the folder of three members that let a pole fall, each in another way."""
    from teen.disk import saved
    from teen.spec import Spec
    from tests.play.agents import drawn

    folder = tmp_path_factory.mktemp("agents") / "pole"
    how = {"n": 3, "epsilon": 0.05, "seeds": "4,7", "normalise_obs": True}
    saved.export(folder, drawn(Spec(4, 1), env="InvertedPendulum-v5", **how))
    return folder


@pytest.fixture(scope="session")
def lamp():
    """Return an agent of one policy on an environment that draws without MuJoCo."""
    from teen.spec import Spec
    from tests.play.agents import drawn

    return drawn(Spec(1, 1), env="tests.play.toys:Lamp-v0", algo="td3", seeds="3,")
