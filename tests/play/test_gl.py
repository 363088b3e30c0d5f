"""Which way MuJoCo draws."""

import os

import pytest

from teen.errors import UserError
from teen.play import gl


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Begin without a screen and without a choice."""
    for name in (gl.VARIABLE, "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "")  # so that what the test sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setattr("sys.platform", "linux")


def test_a_way_is_really_tried(way):
    assert gl.works(way)
    assert not gl.works("nonsense")


def test_a_way_that_hangs_does_not_work(monkeypatch):
    monkeypatch.setattr(gl, "PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(gl, "PATIENCE", 0.1)
    assert not gl.works("egl")


@pytest.mark.parametrize(
    ("working", "screen", "tried", "chosen"),
    [
        ({"egl", "osmesa"}, False, ["egl"], "egl"),
        ({"osmesa"}, False, ["egl", "osmesa"], "osmesa"),
        ({"glfw"}, True, ["egl", "osmesa", "glfw"], "glfw"),
        ({"glfw"}, False, ["egl", "osmesa"], gl.NONE),
    ],
)
def test_the_first_that_works_is_chosen(working, screen, tried, chosen, monkeypatch):
    asked = []
    monkeypatch.setattr(gl, "works", lambda way: asked.append(way) or way in working)
    if screen:
        monkeypatch.setenv("DISPLAY", ":0")
    assert gl.choose() == chosen == os.environ[gl.VARIABLE]
    assert asked == tried
    assert ("libegl1" in gl.missing() and "libosmesa6" in gl.missing()) == (chosen == gl.NONE)


def test_what_the_user_has_chosen_is_taken_or_named(monkeypatch):
    monkeypatch.setenv(gl.VARIABLE, "osmesa")
    monkeypatch.setattr(gl, "works", lambda way: way == "osmesa")
    assert gl.choose() == "osmesa"
    monkeypatch.setenv(gl.VARIABLE, "egl")
    with pytest.raises(UserError, match=r"MuJoCo cannot draw with MUJOCO_GL=egl: unset it, or on Debian .* libegl1"):
        gl.choose()
    assert os.environ[gl.VARIABLE] == "egl"


def test_a_window_needs_a_screen(monkeypatch):
    with pytest.raises(UserError, match="neither DISPLAY nor WAYLAND_DISPLAY is set; write a film with --video"):
        gl.check_screen()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    gl.check_screen()
    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.setattr("sys.platform", "darwin")
    gl.check_screen()
    assert gl.candidates() == ("glfw",)
