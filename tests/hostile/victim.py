"""The run folder that is being made hostile, and its files as data: settings, agent, checkpoint."""

import hashlib
import json
import tomllib
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import safetensors.numpy

from .values import to_json, to_toml


class Victim(NamedTuple):
    """Where a hostile run is being made: `scene` holds `runs`, `outside` and what else lies around."""

    scene: Path
    root: Path  # the run folder, inside `scene / runs`
    run: Path  # the folder of one variant: the run folder, or inside it
    here: Path  # the folder where commands are given: the scene, `runs`, or the run folder
    base: str  # the valid run that it was

    @property
    def outside(self) -> Path:
        return self.scene / "outside"

    def file(self, name: str) -> Path:
        """Return the path of a file that lies in the variant's folder, or with what all variants share."""
        return (self.root if name.startswith(("checkpoint", "lock")) else self.run) / name

    def steps(self) -> list[Path]:
        return sorted((self.root / "checkpoint").glob("step-*"))

    def rows(self) -> list[Path]:
        return sorted((self.root / "checkpoint").glob("rows-*"))


def read_config(victim: Victim) -> dict[str, Any]:
    return tomllib.loads((victim.run / "config.toml").read_text())


def write_config(victim: Victim, values: dict[str, Any]) -> None:
    (victim.run / "config.toml").write_bytes(encoded(to_toml(values)))


def read_card(victim: Victim) -> Any:
    return json.loads((victim.run / "agent" / "agent.json").read_text())


def write_card(victim: Victim, card: Any) -> None:
    """Write the card. There is no diagnosis then, so that drawing the paper's figures measures the agent."""
    for name in ("diagnostics.csv", "members.csv", "confusion.csv"):
        (victim.run / name).unlink(missing_ok=True)
    (victim.run / "agent" / "agent.json").write_bytes(encoded(to_json(card, indent=2)))


def encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


class Manifest:
    """A checkpoint whose content is changed and then signed anew, as an attacker would."""

    def __init__(self, step: Path):
        self.step = step
        self.content = json.loads((step / "manifest.json").read_text())["content"]

    def sign(self) -> None:
        """Write the manifest with the checksum that a reader works out: of the content as Python reads it back."""
        text = to_json(self.content)
        try:
            text_read = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
        except (ValueError, RecursionError):
            text_read = ""  # no reader gets that far
        digest = hashlib.sha256(text_read.encode()).hexdigest()
        (self.step / "manifest.json").write_bytes(encoded(f'{{"sha256": "{digest}", "content": {text}}}'))

    def sign_state(self, data: bytes) -> None:
        (self.step / "state.safetensors").write_bytes(data)
        self.content["state"] = signature(data)
        self.sign()

    def sign_rows(self, number: int, data: bytes) -> None:
        entry = self.content["rows"][number]
        name = f"rows-{entry['first']:012}-{entry['last']:012}.safetensors"
        (self.step.parent / name).write_bytes(data)
        entry |= signature(data)
        self.sign()


def signature(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def arrays_of(path: Path) -> dict[str, Any]:
    return dict(safetensors.numpy.load_file(path))


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) in a tree of dictionaries and lists."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    return [pair for key in keys for pair in [(tree, key), *places(tree[key])]]


def newest_manifest(victim: Victim, rng: Random) -> Manifest:
    """Return the newest checkpoint; now and then the one before."""
    steps = victim.steps()
    return Manifest(steps[-1] if rng.random() < 0.8 else steps[0])
