"""Facts that readers of run folders need stand beside the settings. These are their names, written out once more."""

import subprocess
import sys

from teen import algos
from teen.config import facts
from teen.config.run import RunSettings
from teen.settings import leaves


def test_what_does_not_change_what_is_learnt():
    names = "seeds", "backend", "steps", "log_every", "members_every", "diagnose_every", "diagnose_episodes"
    assert {*names, "checkpoint_every", "env_timeout", "on_nan", "replay", "collector"} == facts.BOOKKEEPING


def test_what_may_change_when_a_run_is_resumed():
    assert len(facts.CHANGEABLE) == 4
    assert set(facts.CHANGEABLE) == {"steps", "checkpoint_every", "env_timeout", "on_nan"}


def test_what_changes_results_but_not_speed():
    assert {"reward_scale", "from_", "from_seed"} == facts.SAME_SPEED


def test_what_older_runs_had():
    since = {"n_step": 1, "target_entropy": -1.0, "from_": "", "from_seed": -1, "alpha_scale": "absolute"}
    assert facts.values_before() == since


def test_they_are_known_without_jax():
    """A report reads hundreds of runs, and JAX takes a second to import."""
    command = "import sys; from teen.config import facts; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command]).returncode == 0


def test_the_help_of_algo_names_all_algorithms():
    (help_text,) = [leaf.help for leaf in leaves(RunSettings()) if leaf.name == "algo"]
    assert help_text.startswith(", ".join(algos.NAMES))
