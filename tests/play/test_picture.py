"""Tiles and their lines."""

import numpy as np
import pytest

from teen.play.picture import BACKGROUND, GAP, STRIP, even, fitted, grid, place, tiled


@pytest.mark.parametrize(
    ("count", "columns", "rows"), [(1, 1, 1), (2, 2, 1), (3, 3, 1), (5, 3, 2), (8, 4, 2), (10, 5, 2), (20, 7, 3)]
)
def test_the_grid(count, columns, rows):
    assert grid(count) == (columns, rows)


def test_pictures_and_lines_are_where_they_belong():
    size, rng = (120, 30), np.random.default_rng(0)
    pictures = [rng.integers(0, 255, (30, 120, 3), np.uint8) for _ in range(5)]
    lines = [(f"member {k}: return {k}.5", False) for k in range(5)]
    whole = tiled(pictures, lines, size)
    assert whole.shape == (2 * (STRIP + 30) + GAP, 3 * 120 + 2 * GAP, 3)
    for k, picture in enumerate(pictures):
        x, y = place(k, 5, size)
        assert (x, y) == ((k % 3) * (120 + GAP), STRIP + (k // 3) * (STRIP + 30 + GAP))
        np.testing.assert_array_equal(whole[y : y + 30, x : x + 120], picture)
        assert (whole[y - STRIP : y, x : x + 120] > 200).sum() > 100  # white text
    assert (whole[place(4, 5, size)[1] :, 2 * (120 + GAP) :] == BACKGROUND).all()  # no sixth
    faded = tiled(pictures, [(lines[0][0], True), *lines[1:]], size)
    assert faded[:STRIP, :120].max() < 200 < whole[:STRIP, :120].max()
    np.testing.assert_array_equal(faded[:, 120:], whole[:, 120:])


def test_a_picture_in_another_size_keeps_its_proportions():
    white = np.full((40, 80, 3), 255, np.uint8)
    assert fitted(white, (80, 40)) is white
    square = fitted(white, (60, 60))
    assert square.shape == (60, 60, 3)
    assert (square[15:45] == 255).all()
    assert (square[:15] == BACKGROUND).all()
    assert (square[45:] == BACKGROUND).all()


def test_sides_become_even():
    odd = np.arange(45, dtype=np.uint8).reshape(3, 5, 3)
    whole = even(odd)
    assert whole.shape == (4, 6, 3)
    np.testing.assert_array_equal(whole[:3, :5], odd)
    np.testing.assert_array_equal(whole[3, :5], odd[2])
    assert even(whole) is whole
