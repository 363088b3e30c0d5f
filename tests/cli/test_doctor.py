"""`teen doctor` as a user sees it: a table, a verdict, an exit code."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import teen
from teen.cli import doctor
from teen.cli import main as cli
from teen.doctor import machine, works
from teen.doctor.finding import Finding

SOURCE = str(Path(teen.__file__).parents[1])
HIDDEN = ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")  # a screen would be a way to draw
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")

# Without huggingface_hub, with a broken shtab, and without a way to draw. Python imports this at every start.
SITE = """
import importlib.metadata, sys
from_name = importlib.metadata.Distribution.from_name

def without(name):
    if name == "huggingface_hub":
        raise importlib.metadata.PackageNotFoundError(name)
    return from_name(name)

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("huggingface_hub", "mujoco.egl", "mujoco.osmesa"):
            raise ImportError(f"{name} is hidden from this test")

importlib.metadata.Distribution.from_name = without
sys.meta_path.insert(0, Missing())
"""
METADATA = """\
Metadata-Version: 2.4
Name: teen-rl
Version: 0
Requires-Dist: jax>=0.10
Requires-Dist: gymnasium[mujoco]>=1.1
Requires-Dist: shtab; extra == "completion"
Requires-Dist: huggingface_hub>=1; extra == "hub"
"""


def rows(output):
    """Return the state and the text of each row, by its name."""
    found = {}
    for line in output.splitlines():
        if match := re.match(r"(\S+(?: \S+)?) {2,}(ok|warning|failure|not installed) +(.*)", line):
            name, state, text = match.groups()
            found[name] = state, text.strip()
        elif line.startswith(" "):
            found[name] = found[name][0], f"{found[name][1]} {line.strip()}"
    return found


def test_a_machine_with_some_troubles_trains_all_the_same(tmp_path):
    """Everything is real: packages are imported, simulators step, and TEEN is trained."""
    beside, here = tmp_path / "beside", tmp_path / "here"
    (beside / "teen_rl-0.dist-info").mkdir(parents=True)
    (beside / "teen_rl-0.dist-info" / "METADATA").write_text(METADATA)
    (beside / "sitecustomize.py").write_text(SITE)
    (beside / "shtab.py").write_text("raise RuntimeError('half installed')")
    here.mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    environment |= {"PYTHONPATH": os.pathsep.join([str(beside), SOURCE]), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "teen", "doctor"], env=environment, cwd=here, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    *table, verdict = done.stdout.splitlines()
    assert verdict == "make train works here"
    assert max(map(len, table)) <= 100
    assert not ESCAPE.search(done.stdout)
    found = rows(done.stdout)
    troubles = {name: state for name, (state, _) in found.items() if state != "ok"}
    assert troubles == {"extra completion": "failure", "extra hub": "not installed", "rendering": "warning"}
    assert "RuntimeError: half installed" in found["extra completion"][1]
    assert found["extra hub"][1].endswith('-> pip install "teen-rl[hub]"')
    assert "libegl1" in found["rendering"][1]
    assert found["devices"] == ("ok", "JAX uses 1 × cpu, as JAX_PLATFORMS=cpu says")
    assert found["mujoco"][1] == "HalfCheetah-v4 steps with Gymnasium"
    assert found["envpool"][1] == "HalfCheetah-v4 steps with EnvPool"
    assert found["training"][1].startswith("TEEN trained on Pendulum-v1 for 100 steps")
    assert list(here.iterdir()) == []


def test_a_broken_package_that_all_need_is_named_and_the_exit_code_is_2(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('half installed')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), SOURCE])}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "teen", "doctor"], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, ""), done.stdout
    found = rows(done.stdout)
    assert found["numpy"][0] == "failure"
    assert "cannot be imported: ImportError: half installed -> pip install --force-reinstall" in found["numpy"][1]
    assert found["scipy"][1].endswith("-> mend numpy first")
    assert list(found).index("numpy") < list(found).index("jax")
    assert {found[name][0] for name in ("devices", "mujoco", "training")} == {"failure"}
    assert "rich" in found["packages"][1]
    assert found["folder"][0] == "ok"
    assert "Traceback" not in done.stdout
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["numpy.py"]


def test_where_nothing_can_be_written_the_exit_code_is_2(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "CHECKS", {"folder": machine.check_folder, works.TRAINING: works.training})
    monkeypatch.chdir("/proc")
    assert cli.main(["doctor"]) == 2
    output = capsys.readouterr()
    assert {name: state for name, (state, _) in rows(output.out).items()} == {
        "folder": "failure",
        "training": "failure",
    }
    assert output.out.endswith("make train does not work here: begin with the first failure\n")
    assert output.err == ""


def test_a_check_that_raises_is_no_traceback(monkeypatch, capsys):
    def bad():
        raise RuntimeError("\x1b[31mred\x1b[0m\nand more")

    monkeypatch.setattr(doctor, "CHECKS", {"packages": bad, works.TRAINING: bad})
    assert cli.main(["doctor"]) == 2
    output = capsys.readouterr()
    assert rows(output.out)["packages"] == ("failure", "this could not be checked: RuntimeError: red and more")
    assert "Traceback" not in output.out + output.err


LONG = Finding("extra tensorboard", "not installed", "many words " * 20, 'pip install "teen-rl[tensorboard]"')


def test_a_terminal_of_80_columns_shows_whole_words_and_colours(monkeypatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    monkeypatch.setattr(doctor, "CHECKS", {"all": lambda: [LONG, Finding(works.TRAINING, "ok", "it trains")]})
    monkeypatch.setattr("sys.stdout", Terminal())
    for name, value in {"COLUMNS": "80", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert cli.main(["doctor"]) == 0
    shown = sys.stdout.getvalue()
    assert ESCAPE.search(shown)
    plain = ESCAPE.sub("", shown)
    assert max(map(len, plain.splitlines())) <= 80
    assert " ".join(plain.split()).count("many words") == 20
    assert '-> pip install "teen-rl[tensorboard]"' in plain


def test_without_rich_the_lines_are_plain(monkeypatch, capsys):
    for name in ("rich.console", "rich.table"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(
        doctor, "CHECKS", {"all": lambda: [Finding("rich", "failure", "is missing", "pip install rich")]}
    )
    assert cli.main(["doctor"]) == 2
    assert capsys.readouterr().out.splitlines()[0] == "rich: failure: is missing -> pip install rich"


def test_help_says_what_the_exit_code_means(capsys):
    with pytest.raises(SystemExit):
        cli.main(["doctor", "--help"])
    assert "Exit code 0 if `make train` would work here" in " ".join(capsys.readouterr().out.split())


def test_the_doctor_needs_no_package_but_python():
    """Were JAX or NumPy broken, it could not say so if it needed them itself."""
    code = "import sys, teen.cli.doctor; print({'jax', 'numpy', 'gymnasium', 'mujoco', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
