"""Write a film, picture by picture: ffmpeg encodes them while the episode is played, so that none is kept."""

import itertools
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np

from ..errors import StorageFault, UserError, one_line
from .picture import even

# What ffmpeg is told about each kind. A GIF gets a palette for each picture: one for all would need all of them first.
KINDS = {
    ".mp4": ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", "-f", "mp4"],
    ".gif": [
        *("-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none"),
        *("-loop", "0", "-f", "gif"),
    ],
}
MOST_FPS = {".mp4": 60, ".gif": 30}  # browsers slow GIFs down that are faster than 50


def check(path: Path) -> None:
    """Raise a UserError where no film can be written, before anything is played."""
    if path.suffix.lower() not in KINDS:
        raise UserError(f"{path} is no name of a film: it must end in .mp4 or .gif")
    if path.is_dir() or not path.parent.is_dir():
        wrong = "it is a folder" if path.is_dir() else f"{path.parent} is no folder"
        raise UserError(f"{path} cannot be written: {wrong}")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written: {path.parent} is not writable")
    program()


def program() -> str:
    """Return the path of ffmpeg. A UserError names what is not installed."""
    try:
        import_module("PIL")
        return str(import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"films need imageio-ffmpeg and Pillow: pip install 'teen-rl[video]' ({one_line(error)})"
        ) from None


def pace(path: Path, fps: float) -> tuple[int, Fraction]:
    """Return how many steps a picture stands for, and the pictures in a second, so that time passes as in the task."""
    every = -(-int(np.ceil(fps)) // MOST_FPS[path.suffix.lower()])
    return every, Fraction(fps).limit_denominator(1000) / every


def write(path: Path, fps: Fraction, pictures: Iterator[np.ndarray]) -> None:
    """Write a film, which replaces a file of its name once it is whole. If an error comes, nothing remains of it."""
    part = Path(os.path.abspath(f"{path}.part"))
    part.unlink(missing_ok=True)  # a link left there is replaced, not followed
    try:
        if reason := _encoded(part, KINDS[path.suffix.lower()], fps, map(even, pictures)):
            raise StorageFault(f"{path} cannot be written: {reason}")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _encoded(part: Path, kind: list[str], fps: Fraction, pictures: Iterator[np.ndarray]) -> str:
    """Hand the pictures to ffmpeg, and return why it failed; empty where it did not."""
    first = next(pictures)
    height, width, _ = first.shape
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    command = [program(), "-y", "-v", "error", *source, "-an", *kind, f"file:{part}"]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    # It gets a session of its own, so that Ctrl-C does not reach it. A pipe of what it says would have to be read.
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdin=pipe, stdout=nowhere, stderr=said, start_new_session=True) as ffmpeg,
    ):
        assert ffmpeg.stdin
        try:
            for picture in itertools.chain([first], pictures):
                if picture.shape != first.shape:
                    raise UserError(f"the pictures of a film have one size, not {first.shape} and {picture.shape}")
                ffmpeg.stdin.write(np.ascontiguousarray(picture).data)
            ffmpeg.stdin.close()
        except BrokenPipeError:  # it has ended and says why
            pass
        except BaseException:
            ffmpeg.kill()
            raise
        finally:
            with suppress(BrokenPipeError):  # of what is still buffered
                ffmpeg.stdin.close()
        if not ffmpeg.wait():
            return ""
        said.seek(0)
        return " ".join(said.read(2000).decode(errors="replace").split()) or f"ffmpeg ended with {ffmpeg.returncode}"
