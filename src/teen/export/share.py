"""An agent as a folder that others can load: weights, settings, what it reaches, and a page that says so."""

import json
import os
from pathlib import Path

import numpy as np

from ..config import toml
from ..config.modules import Trust
from ..disk import elsewhere, files, saved
from ..disk.agent import Agent
from ..disk.elsewhere import first_line
from ..disk.files import write_atomically
from ..disk.loading import load
from ..engine.evaluate import headline_mean
from ..errors import UserError
from ..report import runs
from ..report.curve import plot
from ..report.settings import read_settings
from ..settings import replace
from .card import CURVE, Score, card

SCORE = "score.json"
PARTS = {"README.md", toml.CONFIG, saved.LAST, SCORE, CURVE, ".git", ".gitattributes"}


def prepare(
    run: Path, folder: Path, agent: Agent, *, name: str, whole: bool, half: bool, episodes: int, trust: Trust = ()
) -> list[Score]:
    """Write an agent into a new folder, or over one that was written so before, and return what it reaches. `whole`
    keeps critics too, `name` is how others load it. The score is that of the files, read again."""
    check_place(run, folder)
    agent.settings = replace(agent.settings, {"from_": "", "from_seed": -1})  # a path of the sharer's own machine
    _, trained_with = read_settings(run)
    try:
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
        files.make_folder(folder)
        for page in ("README.md", SCORE, CURVE):  # of other weights
            (folder / page).unlink(missing_ok=True)
        write_atomically(folder / SCORE, b"[]\n")  # says that the folder is one of ours, also when this is cut short
        spec = agent.spec
        saved.save(folder / saved.LAST, agent, spec, slim=not whole, half=half, trained_with=trained_with)
        write_atomically(folder / toml.CONFIG, toml.dump(agent.settings, agent.config, trained_with).encode())
        shared = load(folder, trust)
        scores = scores_of(shared, episodes)
        write_atomically(folder / SCORE, (json.dumps([score._asdict() for score in scores], indent=2) + "\n").encode())
        curve = runs.is_run(run)
        if curve:
            plot(runs.evaluations(run), folder / CURVE, f"{agent.settings.algo} on {agent.settings.env}")
        write_atomically(folder / "README.md", card(shared, scores, name, curve, trained_with).encode())
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from None
    return scores


def check_place(run: Path, folder: Path) -> None:
    """Raise a UserError if the folder holds anything but a shared agent: a saved model, say, or the run itself."""
    if not os.path.lexists(folder):
        return
    try:
        there = {path.name for path in folder.iterdir()}
        others = sorted(there - PARTS) or sorted(there & {saved.LAST, toml.CONFIG} if SCORE not in there else ())
        if os.path.samefile(run, folder):
            raise UserError(f"{folder} is what is to be shared: choose another --out")
    except OSError as error:
        raise UserError(f"{folder} cannot be used: {error.strerror}") from None
    if others:
        raise UserError(f"{folder} holds {others[0]}, which is no part of a shared agent: choose another --out")


def scores_of(agent: Agent, episodes: int, seed: int = 0) -> list[Score]:
    """Play fresh episodes of each policy. `seed` chooses other starts."""
    played = agent.evaluate(episodes, seed)
    scores = []
    for training_seed, step in zip(agent.seeds, agent.steps, strict=True):
        own = [episode for episode in played if episode.seed == training_seed]
        if not own or not np.isfinite(headline_mean(own)):
            raise UserError(f"the policy of seed {training_seed} has no finite return: leave it out with --seeds")
        std = float(np.std([episode.score for episode in own], ddof=1)) if len(own) > 1 else None
        scores.append(Score(training_seed, step, len(own), headline_mean(own), std))
    return scores


def check_push(repository: str) -> None:
    """Raise a UserError if nothing can be uploaded to this repository."""
    if repository.count("/") != 1:
        raise UserError(f"--push {repository}: write USER/NAME")
    if not elsewhere.hub().get_token():
        raise UserError("there is no token for the Hugging Face Hub: run hf auth login, or set HF_TOKEN")


def push(folder: Path, repository: str, private: bool) -> str:
    """Upload a prepared folder to the Hub, with the token that its client finds, and return its address."""
    check_push(repository)
    api = elsewhere.hub().HfApi()
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        if private and not api.model_info(repository).private:  # it was there before
            raise UserError(f"{repository} is public: make it private first, or leave out --private")
        done = api.upload_folder(repo_id=repository, folder_path=folder, allow_patterns=list(elsewhere.WANTED))
    except UserError:
        raise
    except Exception as error:  # the client's own network library decides which
        raise UserError(f"{repository} cannot be uploaded: {first_line(error)}; {folder} is ready") from None
    return str(done.commit_url)
