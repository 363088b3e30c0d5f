"""Compare what training writes before and after a refactoring, byte for byte.

    python scripts/identical.py REVISION [SYSTEM ...]

Trains every system for 2,000 steps with the source of REVISION (from a temporary worktree) and with the working tree,
on the CPU, 2 lanes each, and compares eval.csv and train.csv. Exits with 1 if a byte differs, and says where. With
--keep FOLDER the runs of REVISION are kept there and used again by the next call.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("eval.csv", "train.csv")
SYSTEMS = {
    "td3": "--algo td3",
    "sac": "--algo sac",
    "teen": "--algo teen --n 4 --epsilon 0.05 --alpha 1 --period 300",
    "teen-sac": "--algo teen --base sac --n 3 --epsilon 0.05",
    "redq": "--algo redq --utd 2 --critics 4",
    "sunrise": "--algo sunrise --n 3",
    "rnd": "--algo rnd",
    "rnd-teen": "--algo rnd --base teen --n 3 --epsilon 0.05",
}
COMMON = (
    "--env Hopper-v5 --backend gymnasium --seeds 2 --steps 2000 --warmup 500 --width 64 --batch 64 --buffer 1500 "
    "--eval-every 500 --eval-episodes 2 --members-every 1000 --log-every 100 --checkpoint-every 0"
)


def train(source: Path, system: str, out: Path) -> None:
    """Run `teen train` with the package below `source`; output is shown only if it fails."""
    arguments = [*SYSTEMS[system].split(), *COMMON.split(), "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(source), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "teen", "train", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=out.parent)
    if done.returncode:
        sys.exit(f"{system} with {source} failed:\n{done.stdout}{done.stderr}")


def difference(before: Path, after: Path) -> str:
    """Return the first line in which two files differ; empty if they are the same."""
    if before.read_bytes() == after.read_bytes():
        return ""
    old, new = before.read_text().splitlines(), after.read_text().splitlines()
    for number, (one, other) in enumerate(zip(old, new, strict=False), 1):
        if one != other:
            return f"line {number}:\n    before: {one}\n    after:  {other}"
    return f"{len(old)} lines before, {len(new)} after"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision")
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--keep", type=Path, help="keep the runs of REVISION in this folder")
    flags = parser.parse_args()
    if unknown := set(flags.systems) - SYSTEMS.keys():
        parser.error(f"unknown systems: {', '.join(unknown)}")
    same = True
    with tempfile.TemporaryDirectory() as temporary:
        worktree, now = Path(temporary) / "worktree", Path(temporary) / "now"
        before = (flags.keep or Path(temporary) / "before").resolve()
        for folder in (before, now):
            folder.mkdir(parents=True, exist_ok=True)
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(worktree), flags.revision], check=True)
        try:
            for system in flags.systems or SYSTEMS:
                if not (before / system / "agent").is_dir():
                    shutil.rmtree(before / system, ignore_errors=True)
                    train(worktree / "src", system, before / system)
                train(ROOT / "src", system, now / system)
                for name in FILES:
                    found = difference(before / system / name, now / system / name)
                    print(f"{system} {name}: {found or 'identical'}", flush=True)
                    same &= not found
        finally:
            subprocess.run([*git, "remove", "--force", str(worktree)], check=True)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
