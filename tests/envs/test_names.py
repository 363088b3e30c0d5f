"""Which names of environments are accepted, and that no name makes anything be imported."""

import sys

import gymnasium
import pytest

from teen import envs
from teen.envs.gym import make_one
from teen.errors import UserError
from tests.registry import restored_registry

NAMES = (
    *("", ":", "::", "tests.toys:", ":PointMass-v0", "tests.toys:PointMass-v0:", "tests.toys:canary:PointMass-v0"),
    *("canary:", "canary:Pendulum-v1", "canary::Pendulum-v1", ":canary:Pendulum-v1", "canary:tests.toys:PointMass-v0"),
    *("canary/x:Pendulum-v1", "x/canary:Pendulum-v1", "./canary:Pendulum-v1", " canary:Pendulum-v1", "canary.x:A-v0"),
    *("dm_control/canary:x", "dm_control/:canary", "canary:dm_control/cheetah-run", "dm_control/canary:Pendulum-v1"),
    *(
        "Pendulum-v1\0",
        "canary\0:Pendulum-v1",
        "a\nb",
        "\x1b[2J",
        "\udcff",
        "x" * 10_000,
        "x:" * 5_000,
        "A-v" + "9" * 5_000,
    ),
    *("tests.toys/PointMass-v0", "ns/Pendulum-v1", "Pendulum-v", "Pendulum-v999", "/", "//", "-v0", "..:..", "é-v0"),
)


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A module that says when it is executed."""
    (tmp_path / "canary.py").write_text("import pathlib\npathlib.Path(__file__).with_name('executed').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "executed"
    sys.modules.pop("canary", None)


@pytest.mark.parametrize("make", [lambda name: envs.make(name, 1), make_one, lambda name: envs.make_crews(name, 5)])
def test_a_name_imports_nothing_and_an_odd_one_is_refused_in_one_line(make, canary):
    for name in (*NAMES, "antigravity:X-v0", 5, None, ["Pendulum-v1"], b"Pendulum-v1", {"canary": 1}):
        with pytest.raises(UserError) as refused:
            make(name)
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < 600
    assert not canary.exists()
    assert "antigravity" not in sys.modules


def test_a_module_is_not_imported_by_a_name_but_used_once_it_is(canary):
    with pytest.raises(UserError, match="in the module canary, which has not been imported: import canary first"):
        envs.make("canary:Pendulum-v1", 1)
    assert not canary.exists()
    import canary as module  # the user's own import

    assert canary.exists()
    assert module.__name__ == "canary"
    assert envs.make("canary:Pendulum-v1", 1).spec == (3, 1)


def test_a_blocked_module_is_not_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "canary", None)
    with pytest.raises(UserError, match="has not been imported"):
        envs.make("canary:Pendulum-v1", 1)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_a_registered_module_that_cannot_be_imported_is_one_line(code, reason, tmp_path, monkeypatch):
    """Code that somebody ran has registered it: Gymnasium imports it when the environment is made."""
    (tmp_path / "lazy_canary.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with restored_registry():
        gymnasium.register("Lazy-v0", "lazy_canary:Lazy")
        with pytest.raises(UserError, match=rf"environment 'Lazy-v0' cannot be made: {reason}") as refused:
            envs.make("Lazy-v0", 1)
    assert str(refused.value).isprintable()
