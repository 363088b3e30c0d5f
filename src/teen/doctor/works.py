"""Whether the parts work: simulators step, pictures are drawn, and a short training ends well."""

import tempfile
import time
from pathlib import Path

from ..play import gl
from . import child
from .finding import Finding
from .packages import package

TRAINING = "training"
SHORT = (
    "--algo teen --env Pendulum-v1 --steps 100 --n 2 --width 16 --batch 16 --warmup 50 --eval-every 50 "
    "--eval-episodes 1 --log-every 50"
)
PATIENCE = 900  # seconds; a quarter of a minute on quiet cores
LEFT = ("agent/agent.json", "eval.csv", "curve.png")  # what a training leaves, among others


def mujoco() -> list[Finding]:
    answer = child.probe("steps", "gymnasium")
    if answer.why:
        return [Finding("mujoco", "failure", answer.why, 'pip install "gymnasium[mujoco]"')]
    return [Finding("mujoco", "ok", f"{' '.join(answer.lines)} with Gymnasium")]


def envpool() -> list[Finding]:
    """Step a copy, where EnvPool is installed; the list of extras says where it is not."""
    if package("envpool").version is None:
        return []
    answer = child.probe("steps", "envpool")
    if answer.why:
        text = answer.why.removeprefix("UserError: ")
        return [Finding("envpool", "failure", text, "until then, train with --backend gymnasium")]
    return [Finding("envpool", "ok", f"{' '.join(answer.lines)} with EnvPool")]


def rendering() -> list[Finding]:
    """Draw a picture in one of the ways that MuJoCo has."""
    ways = gl.candidates()
    way = next(filter(gl.works, ways), None)
    if way is None:
        text = f"MuJoCo can draw no pictures here; tried: {', '.join(ways) or 'nothing'}"
        return [Finding("rendering", "warning", text, f"for teen play: {gl.INSTALL}")]
    return [Finding("rendering", "ok", f"MuJoCo draws with {way}")]


def training() -> list[Finding]:
    """Train TEEN for a hundred steps in the current folder, as `make train` would for ten thousand."""
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix=".teen-doctor-", dir=Path(), ignore_cleanup_errors=True) as inside:
            run = Path(inside) / "run"
            answer = child.python(["-m", "teen", "train", *SHORT.split(), "--out", str(run)], PATIENCE)
            missing = [name for name in LEFT if not (run / name).is_file()]
    except OSError as error:
        text = f"there can be no run folder here: {error.strerror}"
        return [Finding(TRAINING, "failure", text, "go to another folder")]
    why = answer.why.removeprefix("teen: ") or (f"the run lacks {', '.join(missing)}" if missing else "")
    if why:
        return [Finding(TRAINING, "failure", f"a training of 100 steps fails: {why}", "mend the failures above first")]
    seconds = time.monotonic() - began
    return [Finding(TRAINING, "ok", f"TEEN trained on Pendulum-v1 for 100 steps, in {seconds:.0f} s with the imports")]
