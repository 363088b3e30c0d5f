import gzip
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from teen.config import job
from teen.config.job import resolve
from teen.disk import logs
from teen.disk.folder import RunFolder
from teen.engine import evaluate
from teen.engine.evaluate import Episode
from teen.errors import UserError
from teen.report import evaluations as tables
from teen.report import labels as naming
from teen.report import metrics, runs

CONFIG = 'algo = "teen"\nenv = "Pendulum-v1"\nseeds = [0, 1]\nalpha = 0.2\n\n[versions]\npython = "3.11"\n'
HEADER = "seed,step,policy,episode,return,length\n"
EVAL = HEADER + (
    "0,5000,mean,0,1.0,200\n0,5000,mean,1,2.0,200\n1,5000,mean,0,-4.0,200\n1,5000,mean,1,-6.0,200\n"
    "0,10000,mean,0,3.0,200\n0,10000,mean,1,5.0,200\n0,10000,0,0,7.0,200\n0,10000,2,0,8.0,200\n"
)


def write(folder: Path, evaluations: str | bytes = EVAL, settings: str = CONFIG, train: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(settings)
    (folder / "eval.csv").write_bytes(evaluations if isinstance(evaluations, bytes) else evaluations.encode())
    if train is not None:
        (folder / "train.csv").write_text(train)
    return folder


def named(env: str = "Ant-v5", algo: str = "teen", **settings) -> runs.Run:
    """A run of which only the settings matter."""
    nothing = np.zeros((0, 0))
    settings = {"algo": algo, "env": env, **settings}
    return runs.Run(Path("r"), settings, {}, [], np.zeros(0, int), nothing, nothing, {}, {})


def test_a_run_as_arrays(tmp_path):
    run = runs.read(write(tmp_path, train="seed,step,q\n0,1000,2.5\n1,1000,nan\n"))
    assert (run.algo, run.env, run.settings["alpha"], run.versions) == ("teen", "Pendulum-v1", 0.2, {"python": "3.11"})
    assert "versions" not in run.settings
    assert run.seeds == [0, 1]
    np.testing.assert_array_equal(run.steps, [5000, 10000])
    np.testing.assert_array_equal(run.returns, [[1.5, 4], [-5, np.nan]])  # seed 1 was not evaluated again
    np.testing.assert_array_equal(run.episodes, [[2, 2], [2, 0]])
    assert list(run.members) == [10000]
    np.testing.assert_array_equal(run.members[10000], [[7, np.nan, 8], [np.nan] * 3])
    assert list(run.training) == ["seed", "step", "q"]
    np.testing.assert_array_equal(run.training["q"], [2.5, np.nan])


def test_an_empty_cell_is_no_number(tmp_path):
    """No training episode ended there; older runs do not have these columns at all."""
    train = "seed,step,episode_return,q\n0,1000,,2.5\n1,1000,-3.5,1.5\n0,2000,,0.5\n"
    run, older = (
        runs.read(write(tmp_path / "a", train=train)),
        runs.read(write(tmp_path / "b", train="seed,step,q\n0,1000,2\n")),
    )
    np.testing.assert_array_equal(run.training["episode_return"], [np.nan, -3.5, np.nan])
    np.testing.assert_array_equal(run.training["q"], [2.5, 1.5, 0.5])
    curves = metrics.training([run, older])
    np.testing.assert_array_equal(curves["episode_return"].steps, [1000, 2000])
    np.testing.assert_array_equal(curves["episode_return"].mean, [-3.5, np.nan])
    np.testing.assert_array_equal(curves["q"].mean, [2, 0.5])


@pytest.mark.parametrize("row", [",1000,2.5", "0,,2.5"])
def test_a_row_without_a_seed_or_step_is_damaged(row, tmp_path):
    with pytest.raises(UserError, match=r"train.csv is damaged: a (seed|step) is out of range"):
        runs.read(write(tmp_path, train=f"seed,step,q\n{row}\n"))


def test_what_a_run_writes_is_read(tmp_path):
    wanted = resolve({"env": "Pendulum-v1", "seeds": "3,5", "alpha": 0.5})
    folder = RunFolder(tmp_path, wanted.settings, wanted.variants[0].config)
    folder.begin()
    assert runs.read(tmp_path).returns.shape == (0, 0)
    folder.log_evaluation([Episode(seed, 5000, "mean", k, seed + k, 200) for seed in (3, 5) for k in range(2)])
    folder.log_evaluation([Episode(5, 5000, "1", 0, 9.0, 200)])
    folder.log_training(1000, [(3, {"q": 0.1}), (5, {"q": 0.2})])
    run = runs.read(tmp_path)
    assert (run.seeds, run.settings["seeds"], run.settings["alpha"]) == ([3, 5], [3, 5], 0.5)
    np.testing.assert_array_equal(run.returns, [[3.5], [5.5]])
    np.testing.assert_array_equal(run.members[5000], [[np.nan, np.nan], [np.nan, 9]])
    np.testing.assert_array_equal(run.training["q"], [0.1, 0.2])


def test_a_run_that_goes_on_with_other_metrics_keeps_the_columns_of_its_log(tmp_path):
    """In their order, too. A metric that came later is left out, one that is gone has empty cells."""
    wanted = resolve({"env": "Pendulum-v1", "seeds": "3,"})
    folder = RunFolder(tmp_path, wanted.settings, wanted.variants[0].config)
    folder.begin()
    folder.log_training(1000, [(3, {"q": 0.1, "target": 0.2, "critic_loss": 0.3})])
    folder.log_training(2000, [(3, {"critic_loss": 0.6, "actor_loss": 9.0, "q": 0.4})])
    assert (
        tmp_path / "train.csv"
    ).read_text() == "seed,step,q,target,critic_loss\n3,1000,0.1,0.2,0.3\n3,2000,0.4,,0.6\n"
    training = runs.read(tmp_path).training
    np.testing.assert_array_equal(training["critic_loss"], [0.3, 0.6])
    np.testing.assert_array_equal(training["target"], [0.2, np.nan])


def test_evaluations_from_memory_are_those_from_disk(tmp_path):
    rows = [line.split(",") for line in EVAL.splitlines()[1:]]
    evaluations = runs.evaluations_of((int(row[0]), int(row[1]), row[2], float(row[4])) for row in rows)
    for one, other in zip(evaluations, runs.evaluations(write(tmp_path)), strict=True):
        np.testing.assert_equal(one, other)
    infinite = runs.evaluations_of([(0, 5, "mean", 1.0), (0, 5, "mean", np.inf)])
    assert infinite.episodes.tolist() == [[2]]
    np.testing.assert_array_equal(infinite.returns, [[np.nan]])
    assert runs.evaluations_of([]).returns.shape == (0, 0)
    with pytest.raises(ValueError, match="invalid literal"):
        runs.evaluations_of([(0, 5, "first", 1.0)])


@pytest.mark.parametrize("half", ["1", "1,10000,mean,0,-9", "1,10000,mean,0,-9.5,200", "\0\0\0", "1,10000,mean,0,\xff"])
def test_a_line_that_is_half_written_does_not_count(tmp_path, half):
    run = runs.read(write(tmp_path, EVAL.encode() + half.encode("latin1")))
    np.testing.assert_array_equal(run.returns, [[1.5, 4], [-5, np.nan]])


@pytest.mark.parametrize("text", ["", "seed,ste", "seed,step,poli", HEADER, HEADER + "0,5000,me"])
def test_a_run_that_has_just_begun(tmp_path, text):
    run = runs.read(write(tmp_path, text))
    assert (run.seeds, run.steps.shape, run.returns.shape, run.members) == ([], (0,), (0, 0), {})


def test_members_alone_are_no_seeds(tmp_path):
    run = runs.read(write(tmp_path, HEADER + "0,5000,1,0,7.0,200\n"))
    assert (run.seeds, run.returns.shape, run.members[5000].shape) == ([], (0, 0), (0, 2))


def test_compressed_logs(tmp_path):
    plain, packed = runs.read(write(tmp_path / "a", train="seed,step\n0,1\n")), write(tmp_path / "b")
    (packed / "eval.csv").unlink()
    (packed / "eval.csv.gz").write_bytes(gzip.compress(EVAL.encode()))
    (packed / "train.csv.gz").write_bytes(gzip.compress(b"seed,step\n0,1\n"))
    assert runs.find([tmp_path]) == [tmp_path / "a", tmp_path / "b"]
    run = runs.read(packed)
    np.testing.assert_array_equal(run.returns, plain.returns)
    np.testing.assert_array_equal(run.training["step"], plain.training["step"])


@pytest.mark.parametrize("how", ["cut", "bent", "checksum", "no gzip"])
def test_a_damaged_archive_is_named(tmp_path, how):
    whole = bytearray(gzip.compress(EVAL.encode() * 9))
    if how == "bent":
        whole[12:20] = b"\xff" * 8
    elif how == "checksum":
        whole[-8] ^= 1
    data = {"cut": whole[:-20], "no gzip": EVAL.encode()}.get(how, whole)
    (write(tmp_path) / "eval.csv").unlink()
    (tmp_path / "eval.csv.gz").write_bytes(data)
    with pytest.raises(UserError, match=r"eval\.csv\.gz cannot be read"):
        runs.read(tmp_path)


@pytest.mark.parametrize(
    ("evaluations", "message"),
    [
        (EVAL.replace("seed", "sead"), r"eval\.csv is damaged: it has no column 'seed'"),
        (EVAL.replace("return", "score"), r"eval\.csv is damaged: it has no column 'return'"),
        (EVAL.replace("-4.0", "minus 4"), r"eval\.csv is damaged: could not convert"),
        (EVAL.replace("-4.0", ""), r"eval\.csv is damaged: could not convert"),
        (EVAL.replace("0,10000", "0,1e4"), r"eval\.csv is damaged: invalid literal"),
        (EVAL.replace("10000,0,", "10000,zero,"), r"eval\.csv is damaged: invalid literal"),
        (EVAL.replace("10000,0,", "10000,-1,"), r"eval\.csv is damaged: -1 is out of range"),
        (EVAL.replace("10000,0,", "10000,999999999,"), r"eval\.csv is damaged: 999999999 is out of range"),
        (EVAL.replace("10000", "9" * 30), r"eval\.csv is damaged: 9* is out of range"),
        (EVAL.replace("1,5000,mean", "-1,5000,mean"), r"eval\.csv is damaged: -1 is out of range"),
        (EVAL.replace("0,5000,mean,1,2.0,200\n", "0,5000,mean,1\n"), r"eval\.csv is damaged: line 3 has too few col"),
        (EVAL.replace("1.0,200\n", "1.0,2"), r"eval\.csv is damaged: line 2 has too many columns"),
        (EVAL.replace("-4.0", "4" * 200_000), r"eval\.csv is damaged: field larger"),
        (bytes(range(256)) + b"\xff\0\n" * 40, r"eval\.csv is damaged"),
        (b"\xff\0garbage" * 40, r"eval\.csv is damaged: it does not begin with seed,step,"),
        ("0,5000,mean", r"eval\.csv is damaged: it does not begin with seed,step,"),
    ],
    ids=range(16),
)
def test_a_damaged_log_is_named(tmp_path, evaluations, message):
    with pytest.raises(UserError, match=message):
        runs.read(write(tmp_path, evaluations))


def test_a_damaged_training_log_is_named(tmp_path):
    with pytest.raises(UserError, match=r"train\.csv is damaged: could not convert"):
        runs.read(write(tmp_path, train="seed,step,q\n0,1000,?\n"))
    with pytest.raises(UserError, match=r"train\.csv is damaged: line 3 has too few columns"):
        runs.read(write(tmp_path, train="seed,step,q\n0,1000,1\n1,1000\n"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("algo = ", "cannot be read"),
        ("a = " + "[" * 5000, "cannot be read"),
        ('env = "Ant-v5"', "names no algo and env"),
        ('algo = 3\nenv = "Ant-v5"', "names no algo and env"),
        (CONFIG.replace('[versions]\npython = "3.11"', "").replace("alpha = 0.2", 'versions = "new"'), "no table"),
        ('algo = ["teen"]\nenv = "Ant-v5"', "names no algo and env"),
        ('algo = "teen"\n[env]\nname = "Ant-v5"', "names no algo and env"),
        (f'algo = "teen"\nenv = "{"x" * 201}"', "its algo or env has more than 200 characters"),
        (f"steps = {'9' * 400}\n{CONFIG}", "cannot be read: a number has more than 64 bits"),
        (f"steps = -{'9' * 20}\n{CONFIG}", "cannot be read: a number has more than 64 bits"),
        (f"steps = 0x{'f' * 5000}\n{CONFIG}", "cannot be read: a number has more than 64 bits"),
        (f"steps = [{{a = 0x{'f' * 5000}}}]\n{CONFIG}", "cannot be read: a number has more than 64 bits"),
        (f"steps = {'9' * 5000}\n{CONFIG}", "cannot be read: .*digits"),
        (f"{'.'.join('a' * 100)} = 1\n{CONFIG}", "lie too deep inside each other"),
        (f"a = {'[' * 50}{']' * 50}\n{CONFIG}", "lie too deep inside each other"),
        (f"{'.'.join('a' * 200_000)} = 1\n{CONFIG}", "cannot be read: a line has more than 500 points"),
        ("".join(f"a{k} = 1\n" for k in range(1001)) + CONFIG, "it has more than 1,000 settings"),
        ("# " + "x" * 2**20 + "\n" + CONFIG, "cannot be read: it has more than 1,048,576 bytes"),
    ],
    ids=range(18),
)
def test_a_damaged_config_is_named(tmp_path, settings, message):
    with pytest.raises(UserError, match=rf"config\.toml .*{message}") as raised:
        runs.read(write(tmp_path, settings=settings))
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("what", "message"),
    [("fifo", "it is not a regular file"), ("folder", "it is not a regular file"), ("link", "it is a link")],
)
def test_a_config_is_a_regular_file(tmp_path, what, message):
    (write(tmp_path / "run") / "config.toml").rename(tmp_path / "elsewhere.toml")
    config = tmp_path / "run" / "config.toml"
    {"fifo": os.mkfifo, "folder": os.mkdir, "link": lambda path: path.symlink_to("../elsewhere.toml")}[what](config)
    assert runs.find([tmp_path]) == [tmp_path / "run"]  # so that it is named, not passed over
    with pytest.raises(UserError, match=rf"config\.toml cannot be read: {message}"):
        runs.read(tmp_path / "run")


def test_a_byte_order_mark_is_passed_over(tmp_path):
    mark = "\ufeff"
    assert runs.read(write(tmp_path, mark + EVAL, mark + CONFIG)).returns.shape == (2, 2)


def test_large_whole_numbers_are_settings(tmp_path):
    settings = runs.read(write(tmp_path, settings=f"most = {2**63 - 1}\nleast = {-(2**63)}\n{CONFIG}")).settings
    assert (settings["most"], settings["least"]) == (2**63 - 1, -(2**63))


def test_absurd_returns_count_as_missing(tmp_path):
    lines = ["0,10,mean,0,1e308", "0,10,mean,1,1e308", "1,10,mean,0,-1e101", "2,10,mean,0,1e100", "2,10,1,0,1e308"]
    run = runs.read(write(tmp_path, HEADER + "".join(f"{line},7\n" for line in lines)))
    np.testing.assert_array_equal(run.returns, [[np.nan], [np.nan], [1e100]])
    assert run.episodes.tolist() == [[2], [1], [1]]
    np.testing.assert_array_equal(run.members[10], np.full((3, 2), np.nan))


def test_of_a_members_episodes_the_last_counts_wherever_it_stands(tmp_path):
    lines = ["0,20,mean,0,1", "0,20,1,0,5", "0,10,1,0,3", "7,20,2,0,9", "0,10,mean,0,2", "0,20,1,0,6"]
    run = runs.read(write(tmp_path, HEADER + "".join(f"{line},7\n" for line in lines)))
    assert run.seeds == [0]  # seed 7 has a member's episode alone
    np.testing.assert_array_equal(run.members[10], [[np.nan, 3]])
    np.testing.assert_array_equal(run.members[20], [[np.nan, 6, np.nan]])


def test_evaluations_of_any_number_of_episodes_are_their_means(tmp_path):
    rng = np.random.default_rng(0)
    episodes = [(int(rng.integers(3)), 10 * int(rng.integers(5)), rng.normal()) for _ in range(400)]
    run = runs.read(write(tmp_path, HEADER + "".join(f"{s},{t},mean,0,{r!r},7\n" for s, t, r in episodes)))
    for i, seed in enumerate(run.seeds):
        for j, step in enumerate(run.steps):
            scores = [r for s, t, r in episodes if (s, t) == (seed, step)]
            assert run.returns[i, j] == np.mean(scores)  # to the last bit
            assert run.episodes[i, j] == len(scores)


@pytest.mark.parametrize(
    ("module", "bound", "most", "message"),
    [
        (tables, "MOST_SEEDS", 1, r"eval\.csv is too large: it has 2 seeds, and at most 1 are read"),
        (tables, "MOST_EVALUATIONS", 1, r"eval\.csv is too large: it has 2 evaluations"),
        (tables, "MOST_CELLS", 3, r"eval\.csv is too large: it has 4 seeds times evaluations"),
        (tables, "MOST_CELLS", 5, r"eval\.csv is too large: it has 6 returns of members"),
        (runs, "MOST_NUMBERS", 5, r"train\.csv is too large: it has more than 5 numbers"),
    ],
    ids=range(5),
)
def test_a_run_that_is_too_large_is_refused_by_name(tmp_path, monkeypatch, module, bound, most, message):
    write(tmp_path, train="seed,step,q\n0,1,1.0\n0,2,1.0\n")
    assert runs.read(tmp_path).numbers == 4 + 4 + 6 + 6
    monkeypatch.setattr(module, bound, most)
    with pytest.raises(UserError, match=message):
        runs.read(tmp_path)


def test_runs_that_are_too_large_together_are_refused(tmp_path, monkeypatch):
    paths = [write(tmp_path / name) for name in ("a", "b", "c")]
    assert len(runs.read_all(paths)) == 3
    monkeypatch.setattr(runs, "MOST_TOGETHER", 2 * runs.read(paths[0]).numbers)
    assert len(runs.read_all(paths[:2])) == 2
    with pytest.raises(UserError, match=r"too large to be read together, from .*c on: name fewer"):
        runs.read_all(paths)


def test_as_many_seeds_are_read_as_may_be_trained():
    """It is written twice, because what reads logs does not import JAX."""
    assert tables.MOST_SEEDS == job.MOST_SEEDS


def test_a_log_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "LARGEST_LOG", 100)
    with pytest.raises(UserError, match=r"eval\.csv is too large: it has more than 100 bytes"):
        runs.read(write(tmp_path))


def test_runs_are_found_at_any_depth_in_order_and_once(tmp_path, monkeypatch):
    for name in ("b/alpha=0.2", "b/alpha=0", "a", "b/alpha=0/agent/old", "a-2"):
        write(tmp_path / name)
    (tmp_path / "b" / "config.toml").write_text(CONFIG)  # no eval.csv beside it
    names = ["a", "a-2", "b/alpha=0", "b/alpha=0/agent/old", "b/alpha=0.2"]
    assert runs.find([tmp_path]) == [tmp_path / name for name in names]
    monkeypatch.chdir(tmp_path)
    by_hand = runs.find(["b/alpha=0.2", "a", "../" + tmp_path.name + "/a", tmp_path / "a", "b"])
    assert list(map(str, by_hand)) == ["b/alpha=0.2", "a", "b/alpha=0", "b/alpha=0/agent/old"]


def test_checkpoints_hold_no_runs(tmp_path):
    for name in ("a", "a/checkpoint/000010", "checkpoint/b"):
        write(tmp_path / name)
    assert runs.find([tmp_path]) == [tmp_path / "a"]
    assert runs.find([tmp_path / "checkpoint"]) == [tmp_path / "checkpoint/b"]  # asked for by name


def test_folders_may_vanish_while_runs_are_looked_for(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        write(tmp_path / name)
    scandir = os.scandir

    def vanishing(path):
        if Path(path) == tmp_path / "b":
            Path(path).rename(tmp_path.parent / "elsewhere")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert runs.find([tmp_path]) == [tmp_path / "a", tmp_path / "c"]


def test_a_folder_may_hold_links_to_runs(tmp_path):
    for name in ("far/a", "far/sweep/alpha=0", "near/b", "far/sweep/deeper/c"):
        write(tmp_path / name)
    near = tmp_path / "near"
    (near / "a").symlink_to(tmp_path / "far" / "a")
    (near / "a-again").symlink_to(tmp_path / "far" / "a")
    (near / "sweep").symlink_to(tmp_path / "far" / "sweep")
    (near / "lost").symlink_to(tmp_path / "nowhere")
    (near / "b" / "inside").symlink_to(tmp_path / "far")
    names = ["a", "b", "sweep/alpha=0", "sweep/deeper/c"]
    assert runs.find([near]) == [near / name for name in names]
    assert runs.find([near], links=False) == [near / "b"]
    assert runs.find([near / "b"]) == [near / "b"]  # a run's own links are not runs beside it


def test_folders_may_lie_deep_inside_each_other(tmp_path):
    """Deeper than Python can recurse, and until paths become too long."""
    write(tmp_path / "a")
    handles = [os.open(tmp_path, os.O_RDONLY)]
    try:
        for _ in range(1200):
            os.mkdir("d", dir_fd=handles[-1])
            handles.append(os.open("d", os.O_RDONLY, dir_fd=handles[-1]))
            if len(handles) > 2:
                os.close(handles.pop(-2))
        assert runs.find([tmp_path]) == [tmp_path / "a"]
    finally:
        for handle in handles:
            os.close(handle)
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)  # Python itself could not


def test_a_name_that_is_too_long_is_no_folder(tmp_path):
    with pytest.raises(UserError, match="xxx is not a folder"):
        runs.find([tmp_path / ("x" * 300)])


def test_where_there_is_no_run(tmp_path):
    write(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "config.toml").write_text(CONFIG)
    with pytest.raises(UserError, match="b holds no run"):
        runs.find([tmp_path / "a", tmp_path / "b"])
    for missing in ("c", "a/eval.csv"):
        with pytest.raises(UserError, match=f"{missing} is not a folder"):
            runs.find([tmp_path / missing])


def test_labels_say_what_differs():
    same = {"n": 10, "alpha": 0.2, "base": "td3"}
    assert naming.labels([named(**same), named(algo="td3", n=3)]) == ["teen", "td3"]
    variants = [named(**{**same, "alpha": alpha}) for alpha in (0.0, 0.02, 1)]
    assert naming.labels(variants) == ["teen alpha=0", "teen alpha=0.02", "teen alpha=1"]
    both = [named(**same), named(**{**same, "n": 5, "alpha": 0.0})]
    assert naming.labels(both) == ["teen n=10 alpha=0.2", "teen n=5 alpha=0"]


def test_long_labels_are_cut_and_stay_different():
    one, other = naming.labels([named(note="x" * 100_000 + end) for end in ("a", "b")])
    assert one[:300] == other[:300] == ("teen note=" + "x" * 300)[:300]
    assert one != other
    assert len(one) == len(other) == 310


def test_labels_of_odd_values():
    lists = [named(base=["td3"]), named(base={"name": "sac"}), named(base=7)]
    assert naming.labels(lists) == ["teen base=['td3']", "teen base={'name': 'sac'}", "teen base=7"]
    assert naming.labels([named(x=float("nan")), named(x=float("inf"))]) == ["teen x=nan", "teen x=inf"]


def test_labels_keep_apart_what_differs_late():
    close = [named(gamma=gamma, lr=0.0003) for gamma in (0.9999991, 0.9999992, 0.99)]
    assert naming.labels(close) == ["teen gamma=0.9999991", "teen gamma=0.9999992", "teen gamma=0.99"]
    assert naming.labels([named(lr=lr) for lr in (3e-4, 1e-7)]) == ["teen lr=0.0003", "teen lr=1e-07"]


def test_a_setting_that_older_runs_do_not_name_has_its_old_value():
    old, same, other = named(algo="sac"), *(named(algo="sac", target_entropy=entropy) for entropy in (-1.0, -0.5))
    assert naming.labels([old, same]) == ["sac", "sac"]
    assert naming.labels([old, other]) == ["sac", "sac target_entropy=-0.5"]
    assert naming.labels([old, named(algo="sac", n_step=1)]) == ["sac", "sac"]
    assert naming.labels([old, named(algo="sac", n_step=3)]) == ["sac", "sac n_step=3"]


def test_labels_are_silent_on_what_does_not_change_learning():
    ran = [
        {"seeds": [0], "steps": 10, "backend": "gym", "replay": "host", "checkpoint_every": 0},
        {"seeds": [1], "steps": 20, "backend": "envpool", "replay": "device", "log_every": 7, "on_nan": "stop"},
    ]
    assert naming.labels([named(**settings) for settings in ran]) == ["teen", "teen"]


def test_labels_name_the_base_learner():
    on_td3, on_sac = {"base": "td3", "delay": 2, "noise": 0.1}, {"base": "sac", "delay": 1, "temperature": "auto"}
    assert naming.labels([named(**on_td3)]) == ["teen"]
    assert naming.labels([named(**on_sac)]) == ["teen base=sac"]
    assert naming.labels([named(**on_td3), named(**on_sac)]) == ["teen base=td3", "teen base=sac"]
    three = [named(**on_td3), named(**on_sac), named(**{**on_sac, "delay": 3})]
    assert naming.labels(three) == ["teen base=td3 delay=2", "teen base=sac delay=1", "teen base=sac delay=3"]


def test_labels_mean_the_same_in_every_task():
    across = [named("Ant-v5", alpha=0.2), named("dm_control/ant", alpha=0.02)]
    assert naming.labels(across) == ["teen", "teen"]  # each task's own best value: one method
    swept = [named("Ant-v5", alpha=0.0), named("Ant-v5", alpha=0.2), named("Hopper-v5", alpha=0.2)]
    assert naming.labels(swept) == ["teen alpha=0", "teen alpha=0.2", "teen alpha=0.2"]


def test_a_setting_that_an_older_run_lacks_is_no_difference():
    old, new, other = named(n=10), named(n=10, critic_norm="none"), named(n=10, critic_norm="layer")
    assert naming.labels([old, new]) == ["teen", "teen"]
    assert naming.labels([old, new, other]) == ["teen", "teen critic_norm=none", "teen critic_norm=layer"]


def test_the_headline_policy_has_one_name():
    """It is written twice, because what reads logs does not import JAX."""
    assert tables.HEADLINE == evaluate.HEADLINE


def test_what_was_set_aside_is_no_run_of_a_folder(tmp_path):
    """A job that begins anew leaves its old run there, with the same settings and seeds."""
    kept = write(tmp_path / "job")
    old = write(tmp_path / "set-aside" / "job-1")
    assert runs.find([tmp_path]) == [kept]
    assert runs.find([tmp_path / "set-aside"]) == [old]
