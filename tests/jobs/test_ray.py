"""Jobs on Ray: on a cluster of two nodes in one machine, and on one that the command starts and stops."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from teen.cli import main as cli
from teen.disk.checkpoint import latest
from teen.errors import UserError
from teen.jobs import cluster as clusters
from teen.jobs.carry_out import carry_out
from teen.jobs.place import Folder, place
from teen.jobs.planned import PlannedJob
from teen.jobs.snapshots import newest, step_of
from tests.jobs.sweeping import ROOT, finished, jobs, logs, start
from tests.jobs.torn import offered

LONG = 500  # seconds until a test gives up
NOBODY = "127.0.0.1:1"  # an address at which no cluster answers
NODES = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
second = cluster.add_node(num_cpus=2)
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(second, allow_graceful=False)
    print("removed", flush=True)
cluster.shutdown()
"""
SWEEP = """
[settings]
env = "Pendulum-v1"
steps = 300
warmup = 50
[grid]
width = [8, 16]
"""
STUDY = """
[tune]
trials = 2
[settings]
env = "Pendulum-v1"
steps = 300
warmup = 50
[search]
lr = { low = 1e-4, high = 1e-2, log = true }
"""
INSTALL = 'teen: jobs on a cluster need a package: pip install "teen-rl[cluster]"\n'


@pytest.fixture(autouse=True)
def same_variables():
    """Forget the variables that are set for Ray in this process."""
    before = set(os.environ)
    yield
    for name in set(os.environ) - before:
        del os.environ[name]


class Nodes:
    """Two nodes, in a process of their own, that ask for a token."""

    def __init__(self, folder: Path, path: str = ""):
        self.token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64}
        (folder / "ray").mkdir()
        variables = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(folder), **self.token}
        paths = os.pathsep.join([*filter(None, [path]), str(ROOT / "src"), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, "-c", NODES],
            env={**os.environ, **variables, "PYTHONPATH": paths},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address

    def remove_one(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "removed\n"

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@contextmanager
def two_nodes(path: str = "") -> Iterator[Nodes]:
    """Start nodes, in a folder whose name leaves room for those of sockets."""
    with TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
        made = Nodes(Path(folder), path)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def nodes():
    with two_nodes() as made:
        yield made


def until(process: subprocess.Popen[str], true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert process.poll() is None, f"no {what}: {process.communicate()}"
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.05)


def markers(folder: Path, name: str) -> list[dict]:
    found = []
    for path in folder.glob(f"td3*/{name}.json"):
        try:
            found.append(json.loads(path.read_text()) | {"job": path.parent.name})
        except (OSError, ValueError):  # it ends, or is being written
            continue
    return found


def under_way(folder: Path) -> list[dict]:
    """Return the markers of jobs in the middle: they have a checkpoint, here or uploaded, and are not at their end. The
    marker of a process that was killed stays until its job is tried again."""

    def reached(job: Path) -> int:
        return max([latest(job / "checkpoint") or 0, *(step_of(path.name) for path in job.glob("state-*"))])

    return [
        running
        for running in markers(folder, "running")
        if reached(folder / running["job"]) > 0 and lives(running["pid"])
    ]


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def undisturbed(folder: Path, planned: list[PlannedJob]) -> dict[str, bytes]:
    for job in planned:
        assert carry_out(job, place(folder)).state == "done"
    return logs(folder)


def fetched(where: str, planned: list[PlannedJob], to: Path) -> dict[str, bytes]:
    """Bring the runs of jobs from a folder or a URL into a folder, and return their logs."""
    at = place(where)
    for job in planned:
        if isinstance(at, Folder):
            shutil.copytree(at.root / job.name, to / job.name)
        else:
            newest(at, job.name, to / job.name)
    return logs(to)


@pytest.mark.parametrize("protocol", ["", pytest.param("file://", marks=pytest.mark.full)])
def test_a_local_cluster_trains_and_tells_a_failure_once(protocol, tmp_path):
    """It comes and goes with the command, and nobody else can reach it."""
    where = f"{protocol}{tmp_path / 's'}"
    process = start(where, 2, "--faulty", "--steps", "200")
    until(process, lambda: markers(tmp_path / "s", "running"), "a job")
    children = psutil.Process(process.pid).children(recursive=True)
    listening = [c.laddr.ip for p in children for c in p.net_connections() if c.status == "LISTEN"]
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
    code, out, err = finished(process, LONG)
    assert code == 1
    ours = [line for line in out.splitlines() if not line.startswith("[")]
    assert ours == ["2 jobs", "2 jobs: 1 done, 1 failed"]
    failure, hint = err.splitlines()
    assert "delay=1,seeds=0 failed: environment tests.toys:Faulty-raises-v0 failed in lane 0, seed 1" in failure
    assert f"teen status {where} --failed" in hint
    assert [failed["job"] for failed in markers(tmp_path / "s", "failed")] == ["td3,delay=1,seeds=0"]
    good = jobs(2, steps=200)[1:]
    assert fetched(where, good, tmp_path / "back") == undisturbed(tmp_path / "u", good)
    _, alive = psutil.wait_procs(children, 20)
    assert alive == []


@pytest.mark.full
def test_a_lost_worker_and_a_lost_node_change_nothing(nodes, tmp_path):
    process = start(tmp_path / "s", 12, "--address", nodes.address, **nodes.token)
    until(process, lambda: under_way(tmp_path / "s"), "a job in the middle")
    os.kill(under_way(tmp_path / "s")[0]["pid"], signal.SIGKILL)
    until(process, lambda: len(markers(tmp_path / "s", "done")) >= 3, "jobs that are done")
    until(process, lambda: len(under_way(tmp_path / "s")) >= 3, "jobs on both nodes")
    nodes.remove_one()
    code, out, err = finished(process, LONG)
    assert (code, err) == (0, "")
    first, *each, last = out.splitlines()
    assert (first, last) == ("12 jobs", "12 jobs: 12 done")
    assert all(line.endswith(": done after 2,000 steps") for line in each)  # and nothing of Ray's own
    starts = [(tmp_path / "s" / job.name / "machine.json").read_text().count('"started"') for job in jobs(12)]
    assert sum(starts) >= 14  # what was lost went on
    assert logs(tmp_path / "s") == undisturbed(tmp_path / "u", jobs(12))
    code, out, err = finished(start(tmp_path / "s", 12, "--address", nodes.address, **nodes.token), LONG)
    assert (code, out, err) == (0, "12 jobs: 12 done before\n", "")


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["file", "torn"])
def test_the_same_with_storage_on_a_url(protocol, tmp_path):
    path, folder = str(offered(tmp_path / "package")), tmp_path / "s"
    with two_nodes(path) as nodes:
        process = start(f"{protocol}://{folder}", 4, "--address", nodes.address, PYTHONPATH=path, **nodes.token)
        until(process, lambda: under_way(folder), "a job with an uploaded checkpoint")
        os.kill(under_way(folder)[0]["pid"], signal.SIGKILL)
        until(process, lambda: len(under_way(folder)) >= 2, "jobs on both nodes")
        nodes.remove_one()
        code, out, err = finished(process, LONG)
    assert (code, err) == (0, "")
    assert (out.splitlines()[-1], len(out.splitlines())) == ("4 jobs: 4 done", 6)
    assert fetched(f"file://{folder}", jobs(4), tmp_path / "back") == undisturbed(tmp_path / "u", jobs(4))
    code, out, err = finished(start(f"{protocol}://{folder}", 4, "--address", NOBODY, PYTHONPATH=path), LONG)
    assert (code, out, err) == (0, "4 jobs: 4 done before\n", "")


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["", "file://"])
def test_ctrl_c_stops_jobs_cleanly_and_the_same_command_goes_on(protocol, tmp_path):
    where = f"{protocol}{tmp_path / 's'}"
    process = start(where, 3)
    until(process, lambda: under_way(tmp_path / "s"), "a job in the middle")
    process.send_signal(signal.SIGINT)
    code, out, err = finished(process, LONG)
    assert code == 128 + signal.SIGINT
    assert "the same command goes on from here" in err
    assert "notice: stopping after this chunk" in err
    assert markers(tmp_path / "s", "running") == markers(tmp_path / "s", "failed") == []
    assert "stopped after" in out
    code, out, err = finished(start(where, 3), LONG)
    assert (code, err) == (0, "")
    assert fetched(where, jobs(3), tmp_path / "back") == undisturbed(tmp_path / "u", jobs(3))
    starts = [path.read_text().count('"started"') for path in (tmp_path / "back").glob("*/machine.json")]
    assert max(starts) == 2  # it went on, and did not begin anew
    code, out, err = finished(start(where, 3, "--address", NOBODY), LONG)
    assert (code, out, err) == (0, "3 jobs: 3 done before\n", "")


@pytest.mark.full
def test_what_cannot_be_joined_is_one_line(nodes, tmp_path):
    wrong = {**nodes.token, "RAY_AUTH_TOKEN": "6" * 64}
    for variables in (wrong, {"RAY_AUTH_MODE": "disabled"}):
        code, _, err = finished(start(tmp_path, 1, "--address", nodes.address, **variables), LONG)
        assert (code, len(err.splitlines())) == (2, 1), err
        assert "asks for a token" in err


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("ray://127.0.0.1:10001", "give HOST:PORT of the cluster"),
        ("head", "is not HOST:PORT, nor auto"),
        (NOBODY, f"no cluster answers at --address {NOBODY}"),
        ("127.0.0.1:99999999", "no cluster answers"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_line(address, line):
    with pytest.raises(UserError, match=line), clusters.connected(address):
        pass


def test_a_job_that_can_never_fit_is_one_line():
    nodes = [
        {"Alive": True, "Resources": {"CPU": 4.0, "memory": 8.0 * 2**30}},
        {"Alive": True, "Resources": {"CPU": 2.0, "GPU": 1.0, "memory": 4.0 * 2**30}},
        {"Alive": False, "Resources": {"CPU": 99.0, "GPU": 9.0}},
    ]
    clusters.check_fits(nodes, {"CPU": 4, "GPU": 0, "memory": 0})
    clusters.check_fits(nodes, {"CPU": 2, "GPU": 0.5, "memory": 4 * 2**30})
    for wanted, words in [
        ({"CPU": 5, "GPU": 0, "memory": 0}, "asks for 5 cores, 0 GPUs, and no machine here has that: the most is 4"),
        ({"CPU": 3, "GPU": 1, "memory": 0}, "asks for 3 cores, 1 GPUs"),  # each is there, but not together
        ({"CPU": 1, "GPU": 0, "memory": 9 * 2**30}, r"9.0 GiB of memory, and no .* the most is .*8.0 GiB"),
    ]:
        with pytest.raises(UserError, match=words):
            clusters.check_fits(nodes, wanted)


def test_a_worker_has_its_variables_before_jax_is_imported():
    code = "import sys, teen.jobs.on_ray, teen.jobs.carry_out; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True)


def test_what_never_fits_is_one_line_of_the_command_before_anything_is_written(tmp_path):
    (tmp_path / "grid.toml").write_text(SWEEP)
    command = [sys.executable, "-m", "teen", "sweep", "grid.toml", "--on", "ray", "--cores", "9999"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(command, env=variables, cwd=tmp_path, text=True, capture_output=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended
    assert ended.stderr.startswith("teen: a job asks for 9999 cores, 0 GPUs")
    assert [path.name for path in tmp_path.iterdir()] == ["grid.toml"]


@pytest.mark.parametrize(("command", "text"), [("sweep", SWEEP), ("tune", STUDY)], ids=["sweep", "tune"])
def test_without_ray_a_command_says_what_to_install_and_writes_nothing(command, text, tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(text)
    assert cli.main([command, "file.toml", "--on", "ray"]) == 2
    assert capfd.readouterr() == ("", INSTALL)
    assert [path.name for path in tmp_path.iterdir()] == ["file.toml"]


def test_an_address_at_which_nobody_answers_leaves_nothing_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(SWEEP)
    assert cli.main(["sweep", "grid.toml", "--on", "ray", "--address", NOBODY]) == 2
    said = capfd.readouterr()
    assert (said.out, said.err.count("\n"), "no cluster answers" in said.err) == ("", 1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["grid.toml"]
