"""One picture of several: tiles in a grid, each with a line of text above it."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Size = tuple[int, int]  # width, height
TILE: Size = (240, 240)
STRIP = 22  # the height of the text's line
GAP = 4
BACKGROUND, TEXT, FADED = (24, 24, 24), (240, 240, 240), (150, 150, 150)


def grid(count: int) -> tuple[int, int]:
    """Return columns and rows, about twice as many columns: 5 × 2 for ten."""
    rows = max(1, round(math.sqrt(count / 2)))
    return math.ceil(count / rows), rows


def place(index: int, count: int, size: Size) -> tuple[int, int]:
    """Return where the left upper corner of a tile's picture is, below its text: x, y."""
    columns, _ = grid(count)
    return (index % columns) * (size[0] + GAP), (index // columns) * (STRIP + size[1] + GAP) + STRIP


def tiled(pictures: Sequence[np.ndarray], lines: Sequence[tuple[str, bool]], size: Size) -> np.ndarray:
    """Return a grid of pictures of one size. Each has a line of text, and whether it is faded."""
    from PIL import Image, ImageDraw

    count = len(pictures)
    columns, rows = grid(count)
    whole = Image.new("RGB", (columns * (size[0] + GAP) - GAP, rows * (STRIP + size[1] + GAP) - GAP), BACKGROUND)
    for index, (picture, (line, faded)) in enumerate(zip(pictures, lines, strict=True)):
        x, y = place(index, count, size)
        strip = Image.new("RGB", (size[0], STRIP), BACKGROUND)  # of its own, which a long line does not leave
        ImageDraw.Draw(strip).text((4, 3), line, FADED if faded else TEXT, _font())
        whole.paste(strip, (x, y - STRIP))
        whole.paste(Image.fromarray(picture), (x, y))
    return np.asarray(whole)


@cache
def _font() -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(14)


def fitted(picture: np.ndarray, size: Size) -> np.ndarray:
    """Return the picture in this size, as large as fits, with its own proportions."""
    if picture.shape[1::-1] == size:
        return picture
    from PIL import Image, ImageOps

    return np.asarray(ImageOps.pad(Image.fromarray(picture), size, color=BACKGROUND))


def even(picture: np.ndarray) -> np.ndarray:
    """Return the picture with even sides, which a film needs: a line is repeated where one is missing."""
    height, width, _ = picture.shape
    return (
        np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge") if height % 2 or width % 2 else picture
    )
