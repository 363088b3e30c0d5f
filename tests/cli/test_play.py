"""`teen play`: a film from the command line, and what it says where there can be none."""

import os
import re
import subprocess
import sys

import pytest

import teen
from teen.cli import main as cli
from teen.disk import saved
from teen.play import gl
from teen.spec import Spec
from tests.play.agents import drawn
from tests.play.films import probed
from tests.play.test_record import played


def refused(capsys, *arguments):
    """Return the one line with which a command is refused."""
    assert cli.main(["play", *map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err.removeprefix("teen: ").rstrip()


def table(text):
    """Return the rows of numbers in a table."""
    return [tuple(re.findall(r"[^│\s]+", line)) for line in text.splitlines() if line.startswith("│")]


def test_a_film_of_one_policy(balancing, drawing, tmp_path, capsys):
    film = tmp_path / "pole.mp4"
    assert (
        cli.main(["play", str(balancing), "--video", str(film), "--seed", "3", "--policy", "7", "--episodes", "2"]) == 0
    )
    said = capsys.readouterr()
    expected = [played(teen.load(balancing), start, seed=7)[:2] for start in (3, 4)]
    assert table(said.out) == [(str(k + 1), "mean", f"{r:.1f}", str(n)) for k, (r, n) in enumerate(expected)]
    assert "teen on InvertedPendulum-v5, seed 7 after 0 steps" in said.out
    assert f"film: {film} (0.0 MB)" in said.out
    assert probed(film)["nb_read_frames"] == str(sum(1 + n for _, n in expected))
    assert "episode 1 of 2" in said.err or not said.err  # a line where an episode is long enough


@pytest.mark.parametrize(
    ("asked", "members"), [(["--members"], (0, 1, 2)), (["--members", "2,0"], (2, 0)), (["--member", "1"], (1,))]
)
def test_members(asked, members, balancing, drawing, tmp_path, capsys):
    film = tmp_path / "members.gif"
    assert cli.main(["play", str(balancing), "--video", str(film), *asked, "--size", "96x64"]) == 0
    agent = teen.load(balancing)
    expected = [(k, *played(agent, 0, seed=4, member=k)[:2]) for k in members]
    assert table(capsys.readouterr().out) == [("1", str(k), f"{r:.1f}", str(n)) for k, r, n in expected]
    stream = probed(film)
    width = 96 * len(members) + 4 * (len(members) - 1)
    assert (stream["codec_name"], stream["width"], stream["height"]) == ("gif", width, 64 if len(members) == 1 else 86)


def test_what_does_not_go_together(balancing, tmp_path, capsys, monkeypatch):
    def line(*arguments):
        return refused(capsys, balancing, *arguments)

    film = "--video", tmp_path / "film.mp4"
    both = "say where to play: --video out.mp4 (or .gif) writes a film, --window opens a window"
    assert line() == line(*film, "--window") == both
    assert line("--video", tmp_path / "film.avi").endswith("film.avi is no name of a film: it must end in .mp4 or .gif")
    assert line(*film, "--episodes", "0") == "--episodes must be at least 1 and --seed at least 0"
    assert line("--window", "--members") == "--members shows several at once in a --video: leave out --window"
    assert (
        line(*film, "--members", "--member", "1") == "--members shows several at once in a --video: leave out --member"
    )
    assert "a size is such as 640x480, with sides of 32 to 4096, not '9x9'" in line(*film, "--size", "9x9")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert line("--window").startswith("there is no screen for a window: neither DISPLAY nor WAYLAND_DISPLAY is set")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert "pip install 'teen-rl[video]'" in line(*film)
    assert not list(tmp_path.iterdir())


def test_what_an_agent_lacks(balancing, lamp, drawing, tmp_path, capsys):
    film = "--video", tmp_path / "film.mp4"
    assert refused(capsys, balancing, *film, "--member", "3") == "there is no member 3: this agent has members 0 to 2"
    assert (
        refused(capsys, balancing, *film, "--members", "0,9") == "there is no member 9: this agent has members 0 to 2"
    )
    assert "--members takes numbers such as 0,3,7" in refused(capsys, balancing, *film, "--members", "0;1")
    assert refused(capsys, balancing, *film, "--policy", "5") == "this agent has seeds [4, 7], not 5"
    assert "holds no agent yet" in refused(capsys, balancing, *film, "--best")
    saved.export(tmp_path / "lamp", lamp)
    trusted = tmp_path / "lamp", "--trust", "tests.play.toys", *film
    assert refused(capsys, *trusted, "--members") == "this algorithm has no members: it is one policy"
    assert not (tmp_path / "film.mp4").exists()


def test_a_machine_that_cannot_draw(balancing, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(gl.VARIABLE, "")
    monkeypatch.setattr(gl, "works", lambda _: False)
    line = refused(capsys, balancing, "--video", tmp_path / "film.mp4")
    assert line.startswith("InvertedPendulum-v5 cannot be drawn: MuJoCo can draw neither with EGL nor with OSMesa")
    assert "apt-get install libegl1 libgl1-mesa-dri (EGL) or libosmesa6 (OSMesa)" in line
    assert not list(tmp_path.iterdir())


def test_nothing_is_imported_before_the_choice():
    """MuJoCo would read MUJOCO_GL too early."""
    code = (
        "import sys; from teen.play import gl; from teen.cli.main import main\n"
        "gl.choose = lambda: sys.exit(str({'mujoco', 'gymnasium', 'jax', 'dm_control'} & set(sys.modules)))\n"
        "main(['play', 'run', '--video', 'film.mp4'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stderr == "set()\n"


def test_a_mixture_is_no_policy_of_its_own(drawing, tmp_path, capsys):
    """A member is drawn for each of its episodes."""
    how = {"n": 2, "epsilon": 0.1, "evaluate": "mixture", "seeds": "4,"}
    saved.export(tmp_path / "run", drawn(Spec(4, 1), env="InvertedPendulum-v5", **how))
    said = refused(capsys, tmp_path / "run", "--video", tmp_path / "film.mp4")
    assert said.startswith("--evaluate mixture draws a member for each episode: choose one with --member, or show")
