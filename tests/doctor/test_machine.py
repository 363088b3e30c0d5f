"""What is said of devices, memory and folders."""

import os
from pathlib import Path

import pytest

from teen.doctor import child, machine
from teen.doctor.machine import GIB, Card, devices

CPU, H200 = ("cpu", "cpu"), ("gpu", "NVIDIA H200")
CARD = Card("NVIDIA H200", "580.65.06")


@pytest.mark.parametrize(
    ("seen", "cards", "plugins", "wanted", "state", "text"),
    [
        ([CPU], [], {}, "", "ok", "JAX uses 1 × cpu"),
        ([CPU], [], {}, "cpu", "ok", "JAX uses 1 × cpu, as JAX_PLATFORMS=cpu says"),
        ([H200, H200], [CARD, CARD], {"jax-cuda13-plugin": "0.10.2"}, "", "ok", "JAX uses 2 × NVIDIA H200"),
        ([CPU], [CARD], {}, "cpu", "ok", "JAX uses 1 × cpu, as JAX_PLATFORMS=cpu says"),
        ([CPU], [CARD], {}, "", "warning", "there is an NVIDIA card (NVIDIA H200): JAX lacks its CUDA plugin"),
        ([CPU], [CARD], {"jax-cuda13-plugin": "0.9"}, "", "warning", "jax-cuda13-plugin 0.9 does not find it"),
    ],
)
def test_devices_are_judged(seen, cards, plugins, wanted, state, text):
    finding = devices(seen, cards, plugins, wanted)
    assert finding.state == state
    assert finding.text.endswith(text)
    assert bool(finding.remedy) == (state != "ok")


@pytest.mark.parametrize(("driver", "cuda"), [("580.65.06", "cuda13"), ("535.1", "cuda12"), ("", "cuda13")])
def test_the_plugin_that_fits_the_driver_is_named(driver, cuda, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"jax": "0.10.2"}[name])
    assert devices([CPU], [Card("card", driver)], {}).remedy == f'pip install "jax[{cuda}]==0.10.2"'


def test_cards_are_those_that_the_driver_names(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 535.104.05'\necho 'Tesla T4, 535.104.05'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert machine.cards() == [Card("NVIDIA H100 80GB HBM3", "535.104.05"), Card("Tesla T4", "535.104.05")]
    tool.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    assert machine.cards() == [Card(path.name, "") for path in sorted(Path("/dev").glob("nvidia[0-9]*"))]


def test_a_device_that_cannot_be_used_is_a_failure(monkeypatch):
    monkeypatch.setattr(child, "probe", lambda name: child.Answer([], "UserError: JAX_PLATFORMS=abacus cannot be used"))
    (finding,) = machine.check()
    assert (finding.state, finding.text) == ("failure", "JAX_PLATFORMS=abacus cannot be used")


def test_little_memory_is_a_warning():
    assert machine.resources(2, 4 * GIB).text == "2 cores, 4.0 GiB of memory"
    assert machine.resources(2, 4 * GIB).state == "ok"
    assert machine.resources(1, GIB).text == "1 core, 1.0 GiB of memory"
    assert machine.resources(1, GIB).state == "warning"


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 3 * GIB}))
    (finding,) = machine.check_folder()
    assert (finding.name, finding.state, finding.text) == ("folder", "ok", "can be written; 3.0 GiB are free")
    (tmp_path / "runs").mkdir()
    assert [finding.name for finding in machine.check_folder()] == ["folder", "folder runs"]
    assert [path.name for path in tmp_path.rglob("*")] == ["runs"]


def test_little_room_is_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": GIB}))
    assert machine.folder(tmp_path).state == "warning"


def test_a_folder_that_cannot_be_written_is_a_failure(tmp_path, monkeypatch):
    """/proc cannot be written by root either."""
    monkeypatch.chdir("/proc")
    (finding,) = machine.check_folder()
    assert (finding.state, finding.text) == ("failure", "the current folder cannot be written: " + os.strerror(2))

    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.mkdir", refuse)
    (finding,) = machine.check_folder()
    assert (finding.state, finding.text) == ("failure", "the current folder cannot be written: Permission denied")
    assert "--out" in finding.remedy


def test_a_current_folder_that_was_deleted_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert [finding.state for finding in machine.check_folder()] == ["failure"]
