"""Films as others read them, and what remains of those that failed."""

import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from teen.errors import StorageFault, UserError
from teen.play import film

from .films import frames, probed

COLOURS = [(200, 30, 30), (30, 200, 30), (30, 30, 200), (220, 220, 30), (30, 220, 220)]
PICTURES = [np.full((33, 47, 3), colour, np.uint8) for colour in COLOURS]


@pytest.mark.parametrize("suffix", [".mp4", ".gif", ".MP4"])
def test_a_film_has_all_pictures(suffix, tmp_path):
    path = tmp_path / f"-odd: %d name{suffix}"
    path.write_text("an old one")
    film.write(path, Fraction(25, 2), iter(PICTURES))
    stream = probed(path)
    assert (stream["width"], stream["height"], stream["nb_read_frames"]) == (48, 34, "5")
    if suffix == ".gif":
        assert stream["codec_name"] == "gif"
    else:
        assert (stream["codec_name"], stream["pix_fmt"], stream["r_frame_rate"]) == ("h264", "yuv420p", "25/2")
    for picture, colour in zip(frames(path), COLOURS, strict=True):
        assert np.abs(picture.astype(int) - colour).max() <= 6
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, UserError("no")])
def test_nothing_remains_of_half_a_film(error, tmp_path):
    def pictures():
        yield from PICTURES
        for _ in range(2000):  # until it has been begun
            if (tmp_path / "film.mp4.part").exists():
                break
            time.sleep(0.01)
        raise error

    (tmp_path / "film.mp4").write_text("an old one")
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        film.write(tmp_path / "film.mp4", Fraction(10), pictures())
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]
    assert (tmp_path / "film.mp4").read_text() == "an old one"


def test_a_link_where_the_part_goes_is_not_followed(tmp_path):
    (tmp_path / "film.gif.part").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("mine")
    film.write(tmp_path / "film.gif", Fraction(10), iter(PICTURES))
    assert (tmp_path / "precious").read_text() == "mine"
    assert probed(tmp_path / "film.gif")["nb_read_frames"] == "5"


@pytest.mark.parametrize("count", [1, 400])
def test_what_ffmpeg_says_is_one_line(count, tmp_path, monkeypatch):
    """Whether it ends before it has all pictures or after."""
    monkeypatch.setitem(film.KINDS, ".mp4", ["-c:v", "no-such-codec", "-f", "mp4"])
    with pytest.raises(StorageFault, match=r"film\.mp4 cannot be written: .*[Uu]nknown encoder") as error:
        film.write(tmp_path / "film.mp4", Fraction(10), iter(PICTURES[:1] * count))
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_pictures_have_one_size(tmp_path):
    with pytest.raises(UserError, match="the pictures of a film have one size"):
        film.write(tmp_path / "film.gif", Fraction(10), iter([PICTURES[0], PICTURES[0][:20]]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "fps", "every", "shown"),
    [
        ("a.mp4", 20.0, 1, Fraction(20)),
        ("a.mp4", 60.0, 1, Fraction(60)),
        ("a.mp4", 125.0, 3, Fraction(125, 3)),
        ("a.gif", 125.0, 5, Fraction(25)),
        ("a.gif", 1 / 0.025, 2, Fraction(20)),
        ("a.mp4", 0.5, 1, Fraction(1, 2)),
    ],
)
def test_time_passes_as_in_the_task(name, fps, every, shown, tmp_path):
    assert film.pace(tmp_path / name, fps) == (every, shown)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("film.avi", r"film\.avi is no name of a film: it must end in \.mp4 or \.gif"),
        ("film", r"film is no name of a film: it must end in \.mp4 or \.gif"),
        ("nowhere/film.mp4", r"film\.mp4 cannot be written: .*nowhere is no folder"),
        ("folder.mp4", r"folder\.mp4 cannot be written: it is a folder"),
    ],
)
def test_names_that_cannot_be_written(name, reason, tmp_path):
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(UserError, match=reason):
        film.check(tmp_path / name)


@pytest.mark.parametrize("module", ["imageio_ffmpeg", "PIL"])
def test_what_is_not_installed_is_named(module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=r"films need imageio-ffmpeg and Pillow: pip install 'teen-rl\[video\]'"):
        film.check(tmp_path / "film.mp4")
