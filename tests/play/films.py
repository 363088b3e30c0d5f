"""What others see of a film: Debian's ffmpeg, which is not the one that wrote it."""

import json
import shutil
import subprocess

import numpy as np


def output(program, *arguments):
    assert shutil.which(program), "films go untested: install ffmpeg"
    return subprocess.run([program, "-v", "error", *map(str, arguments)], capture_output=True, check=True).stdout


def probed(path):
    """Return what ffprobe says of a film's stream, which it reads to the end."""
    wanted = "codec_name,pix_fmt,width,height,r_frame_rate,nb_read_frames"
    answer = output("ffprobe", "-count_frames", "-show_entries", f"stream={wanted}", "-of", "json", f"file:{path}")
    (stream,) = json.loads(answer)["streams"]
    return stream


def frames(path):
    """Return all pictures, (picture, height, width, 3)."""
    stream = probed(path)
    pixels = output(
        "ffmpeg", "-i", f"file:{path}", "-fps_mode", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"
    )
    return np.frombuffer(pixels, np.uint8).reshape(-1, stream["height"], stream["width"], 3)
