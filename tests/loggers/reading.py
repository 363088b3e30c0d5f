"""What tools show of a run, read by their own libraries, and what its CSV files say that they should."""

import csv
import json
import math
import struct
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Curves = dict[tuple[int | None, str], list[tuple[int, float]]]  # (seed, name) -> (step, value); None: over seeds

BLOCK, HEADER, BEGINNING = 32_768, 7, 7  # of LevelDB's log format, in which the .wandb files are written


def from_csv(folder: Path) -> Curves:
    """Return every curve that a logger should show of a run folder, but speed."""
    seeds: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in _rows(folder / "eval.csv"):
        step, seed = int(row["step"]), int(row["seed"])
        if row["policy"] == "mean":
            seeds["eval/return", step][seed].append(float(row["return"]))
            seeds["eval/length", step][seed].append(float(row["length"]))
        else:
            seeds["eval/members_return", step][seed].append(float(row["return"]))
    for row in _rows(folder / "train.csv"):
        for name, cell in row.items():
            if name not in ("seed", "step") and cell != "":
                seeds[f"train/{name}", int(row["step"])][int(row["seed"])].append(float(cell))
    curves: Curves = defaultdict(list)
    for (name, step), of_seeds in sorted(seeds.items()):
        means = {seed: np.mean(values) for seed, values in of_seeds.items()}
        for seed, mean in means.items():
            curves[seed, name].append((step, mean))
        curves[None, name].append((step, np.mean(list(means.values()))))
        if len(means) > 1:
            curves[None, f"{name}_std"].append((step, np.std(list(means.values()), ddof=1)))
    return dict(curves)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def from_tensorboard(folder: Path) -> Curves:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curves: Curves = {}
    for place in (folder / "tensorboard").iterdir():
        events = EventAccumulator(str(place)).Reload()
        seed = None if place.name == "mean" else int(place.name.removeprefix("seed-"))
        for tag in events.Tags()["scalars"]:
            curves[seed, tag] = [(event.step, event.value) for event in events.Scalars(tag)]
    return curves


def hparams(folder: Path) -> dict[str, Any]:
    """Return the settings that TensorBoard shows."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata

    events = EventAccumulator(str(folder / "tensorboard" / "mean")).Reload()
    (content,) = events.PluginTagToContent("hparams").values()
    values = metadata.parse_session_start_info_plugin_data(content).hparams
    return {name: getattr(value, value.WhichOneof("kind")) for name, value in values.items()}


def from_rows(rows: Iterable[dict[str, Any]], step: str) -> Curves:
    """Return the curves in rows of a tool that has one table for all seeds."""
    curves: Curves = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float | int) and "/" in name:
                _, seed, rest = name.split("/", 2) if name.startswith("seed/") else ("", None, name)
                curves[None if seed is None else int(seed), rest].append((row[step], value))
    return dict(curves)


def wandb_records(folder: Path) -> list[Any]:
    """Return what the files of Weights & Biases hold, one start of the run after the other."""
    from wandb.proto.wandb_internal_pb2 import Record

    paths = sorted((folder / "wandb").glob("*run-*/run-*.wandb"))
    return [Record.FromString(data) for path in paths for data in _log_records(path.read_bytes())]


def _log_records(data: bytes) -> Iterable[bytes]:
    """Yield the records of a file: each is whole, or in pieces that end with a block."""
    assert data.startswith(b":W&B")
    at, record = BEGINNING, b""
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:
            at += BLOCK - at % BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (1, 4):  # whole, or the last piece
            yield record
            record = b""


def from_wandb(folder: Path) -> Curves:
    rows = [
        {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for record in wandb_records(folder)
        if record.HasField("history")
    ]
    return from_rows(rows, "env_step")


def from_trackio(name: str) -> tuple[Curves, dict[str, Any]]:
    """Return the curves and the settings of the run whose name ends so."""
    import trackio
    from trackio.sqlite_storage import SQLiteStorage

    (run,) = [run for run in trackio.Api().runs("teen") if run.name.endswith(name)]
    return from_rows(SQLiteStorage.get_logs("teen", run.name, run_id=run.id), "step"), run.config


def assert_same_curves(shown: Curves, expected: Curves, rtol: float = 1e-6) -> None:
    """Every curve, with the same steps in the same order, none twice; and beside them the speed."""
    shown = dict(shown)
    speed = shown.pop((None, "time/steps_per_second"))
    assert [step for step, _ in speed] == [step for step, _ in expected[None, "train/critic_loss"]]
    assert all(rate > 0 and math.isfinite(rate) for _, rate in speed)
    assert shown.keys() == expected.keys()
    for key, points in expected.items():
        assert [step for step, _ in shown[key]] == [step for step, _ in points], key
        values = [value for _, value in shown[key]]
        np.testing.assert_allclose(values, [value for _, value in points], rtol, 1e-9, err_msg=str(key))
