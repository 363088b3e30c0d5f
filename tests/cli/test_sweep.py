"""`teen sweep`: the plan, and everything that is wrong before anything starts."""

import sys
from types import ModuleType

import pytest

from teen.cli import main as cli
from teen.jobs.planned import Resources

FILE = """
[settings]
env = "Pendulum-v1"
steps = 300
warmup = 50
seeds = 5
[grid]
width = [8, 16]
lr = [3e-4, 1e-3]
[[list]]
algo = "td3"
[[list]]
algo = "teen"
n = 2
"""


@pytest.fixture
def sweep(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command with a file's content, and what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(text, *flags):
        (tmp_path / "grid.toml").write_text(text)
        code = cli.main(["sweep", "grid.toml", *flags])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def launched(monkeypatch):
    """Return the calls of `jobs.launch`, which are noted and not carried out."""
    calls = []
    launch, place = ModuleType("teen.jobs.launch"), ModuleType("teen.jobs.place")
    launch.launch = lambda jobs, where, **how: calls.append((jobs, where, how)) or 7
    place.place = lambda text: ("place", text)
    monkeypatch.setitem(sys.modules, "teen.jobs.launch", launch)
    monkeypatch.setitem(sys.modules, "teen.jobs.place", place)
    return calls


def test_a_dry_run_prints_the_plan_and_makes_nothing(sweep, tmp_path):
    code, out, err = sweep(FILE, "--dry-run", "--gpus", "1")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[1:-1]]
    assert [row[:2] for row in rows] == [["10", "300"]] * 4
    assert [row[2].rpartition(",")[0] for row in rows] == [
        f"{algo}-Pendulum-v1,width={width},{n}lr=0.0003+0.001,seeds=0-4"
        for algo, n in (("td3", ""), ("teen", "n=2,"))
        for width in (8, 16)
    ]
    assert out.splitlines()[-1] == "4 jobs, 40 lanes, 12,000 environment steps, in runs/grid"
    assert [path.name for path in tmp_path.iterdir()] == ["grid.toml"]


def test_lanes_of_the_file_count(sweep):
    _, out, _ = sweep("lanes = 5\nseeds_per_job = 3\nout = 'here'\n" + FILE, "--dry-run")
    assert "12 jobs, 40 lanes" in out  # of each width and algorithm: 3 seeds of one variant, twice, and 2 seeds of both
    assert out.endswith("in here\n")
    assert "seeds=0-2" in out
    assert "seeds=3-4" in out


def test_the_jobs_are_launched(sweep, launched):
    assert sweep(FILE)[0] == 7
    (jobs, where, how), *_ = launched
    assert (len(jobs), where) == (4, ("place", "runs/grid"))
    assert how == {"on": "local", "address": None, "resources": None, "retries": 3, "trust": ""}
    flags = [
        "--on",
        "ray",
        "--address",
        "auto",
        "--cores",
        "1.5",
        "--retries",
        "0",
        "--trust",
        "a.b",
        "--out",
        "s3://x/y",
    ]
    assert sweep(FILE, *flags)[0] == 7
    jobs, where, how = launched[1]
    assert where == ("place", "s3://x/y")
    resources = how.pop("resources")
    assert how == {"on": "ray", "address": "auto", "retries": 0, "trust": "a.b"}
    assert resources[:2] == Resources(1.5, 0)[:2]
    assert 600_000_000 < resources.memory < 700_000_000


def test_a_share_of_a_gpu_by_its_memory(sweep, launched, monkeypatch):
    monkeypatch.setattr("teen.jobs.packing.gpu_memory", lambda: 80 * 2**30)
    assert sweep(FILE, "--gpus", "auto")[0] == 7
    assert launched[0][2]["resources"].gpus == 1 / 8


@pytest.mark.parametrize(
    ("text", "flags", "words"),
    [
        ("[grid]\nlrr = [1]\n[settings]\nenv = 'Pendulum-v1'", "", "sweep file grid.toml: there is no setting 'lrr'"),
        ("[grid]\nlr = []", "", "sweep file grid.toml: lr in [grid] is an empty list"),
        ("[grids]\nlr = [1]", "", "sweep file grid.toml: there is no key 'grids'"),
        ("[grid]\nlr = [1]", "", "sweep file grid.toml: --env is missing"),
        ("[grid]\nenv = ['Pendulum-v1', 'Pendulun-v1']", "", "Pendulun"),
        ("[grid]\nenv = ['no.such.module:X-v0']", "", "no.such.module"),
        ("[settings]\nenv = 'Pendulum-v1'\nfrom_ = 'hf:a/b'", "", "from_ is an agent on the Hub, hf:a/b"),
        ("[settings]\nenv = 'Pendulum-v1'\nsteps = 9", "", "--warmup 25000 is not below --steps 9"),
        (FILE, "--on mars", "invalid choice: 'mars'"),
        (FILE, "--address auto", "--address is that of a Ray cluster: say --on ray, too"),
        (FILE, "--cores 0", "--cores: must be a number from 0.0001 to 10,000, not '0'"),
        (FILE, "--cores nan", "--cores: must be a number from 0.0001"),
        (FILE, "--on ray --cores 0.00005", "--cores: must be a number from 0.0001"),
        (FILE, "--on ray --gpus 0.00001", "--gpus: must be auto, a share from 0.0001 to 1, or a whole number"),
        (FILE, "--gpus=-inf", "--gpus: must be auto"),
        (FILE, "--gpus 1.5", "--gpus: must be auto, a share from 0.0001 to 1, or a whole number, not '1.5'"),
        (FILE, "--gpus=-1", "--gpus: must be auto"),
        (FILE, "--retries 1.5", "--retries: must be a whole number from 0 to 1,000"),
        (FILE, "--dry", "there is no --dry: did you mean --dry-run?"),
        (FILE, "--gpus auto", "no GPU is found here"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_before_anything_starts(text, flags, words, sweep, launched, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = sweep(text, *flags.split())
    assert (code, out, launched) == (2, "", [])
    assert words in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["grid.toml"]


def test_a_file_that_is_not_there_is_one_line(capsys):
    assert cli.main(["sweep", "nowhere.toml"]) == 2
    assert capsys.readouterr().err == "teen: sweep file nowhere.toml cannot be read: No such file or directory\n"


def test_modules_of_a_file_are_imported_where_they_are_trusted(sweep, tmp_path):
    (tmp_path / "some_sweep_task.py").write_text("raise RuntimeError('it ran')")
    text = "[grid]\nenv = ['some_sweep_task:X-v0']"
    code, _, err = sweep(text, "--dry-run")
    assert (code, "--trust some_sweep_task" in err, "it ran" in err) == (2, True, False)
    code, _, err = sweep(text, "--dry-run", "--trust", "some_sweep_task")
    assert (code, "it ran" in err) == (2, True)
