"""Each lane's best weights so far: those with the highest mean return in an evaluation of the headline policy."""

from typing import Any, NamedTuple

import jax
import numpy as np

from ..snapshot import Snapshot, filled, on_host
from ..spec import PyTree
from .evaluate import Episode, headline_mean

Arrays = dict[str, np.ndarray]  # one lane's weights, by path


class Kept(NamedTuple):
    step: int
    score: float
    weights: Arrays


class Best:
    def __init__(self) -> None:
        self.lanes: dict[int, Kept] = {}

    def better(self, step: int, weights: PyTree, episodes: list[list[Episode]]) -> dict[int, Kept]:
        """Copy the weights of lanes that were never better. `weights` has leaves (lane, ...), on the host. Called by
        the thread that evaluates, so that training need not wait for the copy; changes nothing."""
        arrays, found = on_host(weights), {}
        for lane, rows in enumerate(episodes):
            if rows and self._is_best(lane, score := headline_mean(rows)):
                found[lane] = Kept(step, score, {name: leaf[lane].copy() for name, leaf in arrays.items()})
        return found

    def take(self, found: dict[int, Kept]) -> None:
        """Keep what is better than what has been taken meanwhile. Evaluations are taken in the order of their steps."""
        for lane, kept in found.items():
            if self._is_best(lane, kept.score):
                self.lanes[lane] = kept

    def _is_best(self, lane: int, score: float) -> bool:
        return lane not in self.lanes or score > self.lanes[lane].score

    def snapshot(self) -> Snapshot:
        arrays = {f"{lane}/{name}": leaf for lane, kept in self.lanes.items() for name, leaf in kept.weights.items()}
        return Snapshot(
            arrays, {str(lane): {"step": kept.step, "score": kept.score} for lane, kept in self.lanes.items()}
        )

    def restore(self, snapshot: Snapshot, weights: PyTree, lanes: int) -> None:
        """`weights` has the form of one lane's."""
        self.lanes = read(snapshot, weights, lanes)


def of_one_lane(weights: PyTree) -> PyTree:
    """Return the form of one lane's weights, of leaves (lane, ...)."""
    return jax.eval_shape(lambda lanes: jax.tree.map(lambda leaf: leaf[0], lanes), weights)


def read(snapshot: Snapshot, weights: PyTree, lanes: int) -> dict[int, Kept]:
    """Return what a snapshot holds; a ValueError says what does not fit. `weights` has the form of one lane's."""
    found = {}
    for name, facts in snapshot.facts.items():
        lane, step, score = int(name), facts["step"], facts["score"]
        if not 0 <= lane < lanes or type(step) is not int or step < 0 or not np.isfinite(float(score)):
            raise ValueError(f"there cannot be a best evaluation of lane {name} at step {step}: {score}")
        arrays = snapshot.part(name).arrays
        filled(weights, arrays)
        found[lane] = Kept(step, float(score), arrays)
    return found


def joined(kept: dict[int, Kept], lanes: range, last: PyTree) -> PyTree:
    """Return the best weights of these lanes as one tree, leaves (lane, ...); a lane that was never evaluated has those
    of `last`, whose leaves are (lane, ...) of the same lanes."""
    named = on_host(last)
    rows: dict[str, Any] = {
        name: np.stack([kept[lane].weights[name] if lane in kept else leaf[i] for i, lane in enumerate(lanes)])
        for name, leaf in named.items()
    }
    return filled(last, rows)
