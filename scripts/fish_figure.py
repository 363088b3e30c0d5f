"""Draw docs/images/fish-swim.png: which settings leave posture behind, from results/fish-swim."""

from pathlib import Path

from matplotlib.figure import Figure

from teen.report import runs
from teen.report.figures import COLOURS, short_step

ROOT = Path(__file__).parents[1]
RUNS = {  # by folder: what it is
    "teen/base=sac,action_repeat=2": "TEEN on SAC, 5 members, action repeat 2",
    "sac/action_repeat=2": "SAC, action repeat 2",
    "sac/n_step=2,gamma=0.995": "SAC, discount 0.995, 2-step returns",
    "sac/gamma=0.995,again": "SAC, discount 0.995",
    "td3/action_repeat=2": "TD3, action repeat 2",
}
POSTURE = 125  # the most that a fish has that never comes near the target


def main() -> None:
    figure = Figure(figsize=(7, 3.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    for colour, (folder, words) in zip(COLOURS, RUNS.items(), strict=False):
        run = runs.read(ROOT / "results" / "fish-swim" / folder)
        steps = run.steps * run.settings["action_repeat"]  # of the simulator
        for number, returns in enumerate(run.returns):
            axes.plot(steps, returns, color=colour, linewidth=1.2, label=words if not number else None)
    axes.axhline(POSTURE, color="0.2", linestyle="--", linewidth=1)
    where = {"xycoords": ("axes fraction", "data"), "xytext": (3, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate("posture\nalone", (1, POSTURE), **where, fontsize=7, color="0.3")
    axes.set_xticks(marks := range(0, 500_001, 100_000), [short_step(mark) if mark else "0" for mark in marks])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("simulator steps", fontsize=8)
    axes.set_ylabel("return, a line for each seed", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=7, loc="upper left")
    figure.savefig(ROOT / "docs" / "images" / "fish-swim.png")


if __name__ == "__main__":
    main()
