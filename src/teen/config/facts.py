"""Facts about settings that readers of run folders need, collected from the settings. Needs no JAX."""

from functools import cache
from typing import Any

from ..settings import leaves
from .run import RunSettings

_LEAVES = list(leaves(RunSettings()))

BOOKKEEPING = frozenset(leaf.name for leaf in _LEAVES if leaf.facts.bookkeeping)
CHANGEABLE = tuple(leaf.name for leaf in _LEAVES if leaf.facts.changeable)
SAME_SPEED = frozenset(leaf.name for leaf in _LEAVES if leaf.facts.same_speed)
JUDGING = ("eval_every", "eval_episodes")  # they change no learning, but what scores are computed from


@cache
def values_before() -> dict[str, Any]:
    """Return the settings that older runs do not name, with the values that these runs had."""
    from .. import algos  # brings JAX: only where such runs are read

    known = [*_LEAVES, *(leaf for name in algos.NAMES for leaf in leaves(algos.default_config(name)))]
    facts = {leaf.name: leaf.facts.before for leaf in known}
    return {name: value for name, value in facts.items() if value is not None}
