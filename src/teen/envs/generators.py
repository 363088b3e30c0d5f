"""Save and restore the random states of NumPy's generators."""

from copy import deepcopy
from typing import Any

import numpy as np

from .encoding import Arrays, decode, encode

MT19937_WORDS, PHILOX_WORDS = 624, 4  # NumPy reads the word at a generator's position without a check

RandomGenerator = np.random.Generator | np.random.RandomState


def encode_random_state(generator: RandomGenerator, where: str, arrays: Arrays) -> Any:
    return {"generator": encode(_random_state(generator), where, arrays, set())}


def decode_random_state(generator: RandomGenerator, fact: Any, where: str, arrays: Arrays) -> Any:
    """Return the saved random state. A ValueError says that this generator cannot take it."""
    tagged = type(fact) is dict and fact.keys() == {"generator"}
    state: Any = decode(fact["generator"], where, arrays) if tagged else None
    try:
        fits = _structure(state) == _structure(_random_state(generator))
        fits = fits and 0 <= state["state"].get("pos", 0) <= MT19937_WORDS
        fits = fits and 0 <= state.get("buffer_pos", 0) <= PHILOX_WORDS
        if fits:
            set_random_state(deepcopy(generator), state)
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise ValueError(f"{where} is not a state of this random generator")
    return state


def set_random_state(generator: RandomGenerator, state: Any) -> None:
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def _random_state(generator: RandomGenerator) -> Any:
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _structure(state: Any) -> Any:
    """Return a random state with every number replaced by its type, and every array by its shape and dtype."""
    if isinstance(state, dict):
        return {key: _structure(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return state.shape, state.dtype
    return state if isinstance(state, str) else type(state)
