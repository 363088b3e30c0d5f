"""Values that a stranger may write into a file: odd numbers, odd texts, wrong types."""

import json
from random import Random
from typing import Any

import tomli_w

SCRIPTS = (  # none of these may stand in a page as it is
    "<script>owned(1)</script>",
    "</script><script>owned(2)</script>",
    '"><img src=x onerror="owned(3)">',
    "</title><svg onload=owned(4)>",
)
ESCAPES = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;another title\x07",
    "\x1b]8;;http://example.com\x07here\x1b]8;;\x07",
    "\x1b[2J\x1b[H",
    "\x9b31mred",
    "first\rteen: all is well",
    "first\nteen: all is well\nnotice: all is well",
    "null\x00byte",
    "right\u202eto left",
    "line\u2028separator",
    "delete\x7f\x08\x08",
)
MARKUP = ("[/b]", "[/]", "[bold", "[link=file:///etc/passwd]here[/link]", "[red]a[/blue]", "\\[", "[@click=app.bell]x")
TEXTS = (
    *SCRIPTS,
    *ESCAPES,
    *MARKUP,
    *("", " ", ".", "..", "/", "../../outside/secret.txt", "/etc/passwd", "file:///etc/passwd", "{{script}}"),
    *(
        "%s%n{0}",
        "$(touch owned)",
        "__import__('os').system('touch owned')",
        "x" * 100_000,
        "\U0001f9e8",
        "e\u0301" * 99,
    ),
    *("nan", "1e400", "1_0", "٣", "td3", "teen", "sac", "paper", "auto", "Pendulum-v1", "CartPole-v1", "Pendulum-v99"),
    *("dm_control/cheetah-run", "dm_control/../../x", "ALE/Pong-v5", ":", "os:", ":Pendulum-v1", "0-99999999999", "7,"),
)
SURROGATE = "lone \ud800 half"  # JSON can say it, TOML cannot


class Raw(str):
    """A literal, written into the file as it is."""


NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 10**8, -(10**8), 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30),
    *(Raw("1" * 400), Raw("9" * 5000), Raw("1" * 400 + ".5"), Raw("1e400"), Raw("-1e400"), Raw("1e-400"), Raw("-0")),
    *(Raw("-0.0"), Raw("5e-324"), 0.5, 1e8, 1e308, -1e39, Raw("NaN"), Raw("Infinity"), Raw("-Infinity")),
)
SPELT_IN_TOML = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = {"x": [value]}
    return value


TYPES: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], [0], [1, 1], [-1], ["x"], [None], [True], {"x": 1}, nested(20), nested(150)),
    *(list(range(3000)), [0.1, 0.1000000001], [0.5] * 50, Raw("[" * 500 + "]" * 500), Raw("[" * 5000 + "]" * 5000)),
)


def value(rng: Random) -> Any:
    """Return any hostile value; it may hold raw literals."""
    return rng.choice(rng.choice((NUMBERS, TEXTS, TYPES)))


def text(rng: Random) -> str:
    return rng.choice(TEXTS)


def to_json(tree: Any, **options: Any) -> str:
    """Return JSON with raw literals in it."""
    marked, literals = _marked(tree)
    return _unmarked(json.dumps(marked, **options), literals)


def to_toml(tree: dict[str, Any]) -> str:
    """Return TOML with raw literals in it. What TOML has no word for becomes text."""
    marked, literals = _marked(tree)
    return _unmarked(tomli_w.dumps(_without_none(marked)), [SPELT_IN_TOML.get(raw, raw) for raw in literals])


def _marked(tree: Any) -> tuple[Any, list[str]]:
    literals: list[str] = []

    def marked(node: Any) -> Any:
        if isinstance(node, Raw):
            literals.append(str(node))
            return f"raw literal {len(literals) - 1};"
        if isinstance(node, dict):
            return {key: marked(inner) for key, inner in node.items()}
        return [marked(inner) for inner in node] if isinstance(node, list) else node

    return marked(tree), literals


def _unmarked(written: str, literals: list[str]) -> str:
    for number, literal in enumerate(literals):
        written = written.replace(f'"raw literal {number};"', literal)
    return written


def _without_none(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_none(inner) for key, inner in tree.items()}
    if isinstance(tree, list):
        return [_without_none(inner) for inner in tree]
    return "none" if tree is None else tree
