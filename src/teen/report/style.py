"""The style of figures: Matplotlib's own, whatever a file in the current folder says."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib import style

ODD_NAMES = "Glyph|constrained_layout not applied"  # letters that the font lacks print as boxes, or leave no room


@contextmanager
def styled(changes: dict[str, Any] | None = None) -> Iterator[None]:
    """Plot with Matplotlib's defaults and these changes. By itself it would obey a `matplotlibrc` in the current
    folder, which may be a stranger's and can make it start LaTeX."""
    wanted: Any = {"text.parse_math": False, **(changes or {})}  # a dollar sign in a name is a dollar sign
    with style.context("default"), matplotlib.rc_context(wanted), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=ODD_NAMES)
        yield
