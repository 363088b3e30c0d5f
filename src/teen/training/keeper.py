"""Keep checkpoints while training goes on: it waits for a copy in memory, and a thread writes that to disk."""

from collections.abc import Callable
from typing import Any

from ..config.toml import versions
from ..disk.checkpoint import CheckpointWriter
from ..engine.work import Work
from ..engine.worker import cores
from ..errors import notice
from ..snapshot import Blocks, Snapshot, copied, joined
from .recorder import Recorder

Kept = Callable[[int], None]  # is told the step of every checkpoint that is whole, in the thread that wrote it

MOST_COPIED = 100_000  # steps whose rows are copied; of more, the copy would take as much memory as the replay


class CheckpointKeeper:
    """Keeps checkpoints, one at a time. If one cannot be written, training continues: the one before is still there."""

    def __init__(
        self, writer: CheckpointWriter, recorder: Recorder, settings: dict[str, Any], kept: Kept | None = None
    ):
        """`kept` may copy the run folder elsewhere: until it returns no checkpoint is written or removed."""
        self.writer, self.recorder, self._kept = writer, recorder, kept
        self.run = Snapshot({}, {"settings": settings, "versions": versions(), "cores": cores()})
        self.failure = ""  # why the newest could not be written
        self._writing: Work[None] | None = None

    def __call__(self, step: int, snapshot: Snapshot, rows: Callable[[int, int], Blocks]) -> None:
        """Copy all that a checkpoint needs, once the one before is written, and write it in a thread."""
        self.written()  # only now is it known which rows are on disk
        whole = copied(joined({"engine": snapshot, "run": self.run, "recorder": self.recorder.snapshot()}))
        first = self.writer.first_missing(step)
        if step - first > MOST_COPIED:
            self._write(step, whole, rows)  # a block at a time, while training waits
            return
        blocks = [(start, block.copy()) for start, block in rows(first, step)]
        # No daemon: a process that ends would stop it anywhere, also inside code that does not survive this.
        self._writing = Work(
            f"checkpoint of step {step}", lambda: self._write(step, whole, lambda *_: blocks), daemon=False
        )

    def written(self) -> int | None:
        """Wait for the checkpoint under way, and return the step of the newest. An error that was no fault of the disk
        comes out here."""
        if self._writing:
            self._writing.join()  # a second Ctrl-C may interrupt this: then it is still under way
            done, self._writing = self._writing, None
            done.result()
        return self.writer.newest

    def close(self) -> None:
        self.written()

    def kept(self) -> str:
        """Say which checkpoint a run can go on from."""
        newest = self.writer.newest
        if newest is None:
            return "there is no checkpoint yet"
        command = f"teen train --resume {self.writer.folder.parent}"
        return f"the checkpoint of step {newest} is whole: {command} goes on from it"

    def _write(self, step: int, whole: Snapshot, rows: Callable[[int, int], Blocks]) -> None:
        try:
            self.recorder.sync()
            self.writer.save(step, whole, rows)
            self.failure = ""
        except OSError as error:
            self.failure = f"the checkpoint of step {step} could not be written: {error.strerror}; {self.kept()}"
            notice(self.failure)
        else:
            if self._kept:
                self._kept(step)
