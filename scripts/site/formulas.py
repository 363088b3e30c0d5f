r"""Formulas as pictures inside the page, drawn by matplotlib: a script that draws them in the browser would have to be
fetched from elsewhere, or be larger than the site.

The generator leaves `<span class="arithmatex">\(x\)</span>`, or a `div` with \[x\].
"""

import html
import re
from functools import cache
from pathlib import Path

import matplotlib
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import text_to_path

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
# What TeX and GitHub know, and matplotlib does otherwise: names, a prime above an index, the space before an operator.
OTHERWISE = {
    r"\\le\b": r"\\leq",
    r"\\ge\b": r"\\geq",
    r"\\[lr]vert\b": "|",
    r"'(_(?:\{[^}]*\}|\\\w+|\w))": r"\1^{\\prime}",
    r"(?<=[}\w)]) (?=\\(?:log|min|max|exp)\b)": r"\\,",
}
FONT = FontProperties(size=100, math_fontfamily="stix")
STEPS = {Outline.MOVETO: "M", Outline.LINETO: "L", Outline.CURVE3: "Q", Outline.CURVE4: "C", Outline.CLOSEPOLY: "Z"}


def draw_all(site: Path) -> None:
    """Draw the formulas of all pages of a built site."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        drawn = FORMULA.sub(lambda match: _tag(match[1], html.unescape(match[2])), text)
        if drawn != text:
            page.write_text(drawn)


def _tag(tag: str, formula: str) -> str:
    return f'<{tag} class="formula">{svg(" ".join(formula.split()))}</{tag}>'


@cache
def svg(formula: str) -> str:
    """Return a formula as a picture in the colour of the text around it. Lengths are in that text's em."""
    tex = formula
    for theirs, ours in OTHERWISE.items():
        tex = re.sub(theirs, ours, tex)
    with matplotlib.rc_context({"mathtext.fontset": "stix"}):
        width, height, depth = text_to_path.get_text_width_height_descent(f"${tex}$", FONT, ismath=True)
        points, codes = text_to_path.get_text_path(FONT, f"${tex}$", ismath=True)
    box = f"0 {depth - height:.0f} {width:.0f} {height:.0f}"
    size = f"width:{width / 100:.3f}em;height:{height / 100:.3f}em;vertical-align:{-depth / 100:.3f}em"
    label = html.escape(formula, quote=True)
    path = f'<path fill="currentColor" d="{_drawn(points, codes)}"/>'
    return f'<svg role="img" aria-label="{label}" viewBox="{box}" style="{size}">{path}</svg>'


def _drawn(points: object, codes: object) -> str:
    """Return an outline as SVG writes it, y downwards."""
    parts = []
    for corners, code in Outline(points, codes).iter_segments(curves=True, simplify=False):
        pairs = [] if code == Outline.CLOSEPOLY else [f"{x:.1f} {-y:.1f}" for x, y in corners.reshape(-1, 2)]
        parts.append(STEPS[code] + " ".join(pairs))
    return "".join(parts)
