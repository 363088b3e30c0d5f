"""The launcher's own part of jobs on Ray, with answers of Ray's made up."""

import signal
from types import SimpleNamespace

import pytest
from ray import exceptions

from teen.jobs import on_ray
from teen.jobs.on_ray import Crew
from teen.jobs.place import place
from teen.jobs.planned import PlannedJob, Result
from teen.training.stopping import StopRequest


class Answers:
    """Takes tasks and ends them one at a time, in order, each as `ends` says: a result, or an error."""

    exceptions = exceptions

    def __init__(self, ends):
        self.ends, self.options, self.begun, self.cancelled, self.most = ends, {}, [], [], 0
        self.waiting = []

    def remote(self, **options):
        self.options = options
        return lambda task: SimpleNamespace(options=lambda name: SimpleNamespace(remote=self._begin))

    def _begin(self, order):
        self.begun.append(order["job"]["name"])
        self.waiting.append((len(self.begun), order["job"]["name"]))
        self.most = max(self.most, len(self.waiting))
        return self.waiting[-1]

    def wait(self, references, timeout):
        self.waiting.remove(references[0])
        return references[:1], references[1:]

    def get(self, reference):
        end = self.ends(*reference)
        if isinstance(end, Exception):
            raise end
        return end._asdict()

    def cancel(self, reference, force):
        assert not force
        self.cancelled.append(reference[1])


def planned(number):
    return [PlannedJob(f"job{i}", {"steps": 1}) for i in range(number)]


@pytest.fixture
def told():
    return []


def crew(ends, folder, retries=3):
    ray = Answers(ends)
    return ray, Crew(ray, place(folder), None, retries)


def test_only_so_many_tasks_wait_at_a_time(tmp_path, told, monkeypatch):
    monkeypatch.setattr(on_ray, "MOST_SUBMITTED", 4)
    ray, some = crew(lambda _, name: Result(name, "done", 1), tmp_path)
    some.carry_out(planned(10), told.append, StopRequest())
    assert [result.name for result in told] == [f"job{i}" for i in range(10)]
    assert ray.most == 4
    assert ray.options == {
        "num_cpus": 1.0, "num_gpus": 0.0, "memory": None, "max_retries": 3, "retry_exceptions": False, "max_calls": 1,
    }  # fmt: skip


def test_a_job_that_its_machine_stopped_is_submitted_again(tmp_path, told):
    def ends(number, name):
        gone = name == "job0" or (name == "job1" and number < 3)
        return Result(name, "stopped" if gone else "done", number, signal=signal.SIGTERM if gone else None)

    ray, some = crew(ends, tmp_path, retries=2)
    some.carry_out(planned(2), told.append, StopRequest())
    assert ray.begun == ["job0", "job1", "job0", "job1", "job0"]
    assert [(result.name, result.state) for result in told] == [("job1", "done"), ("job0", "failed")]
    assert told[1].error == "it was stopped from outside 3 times, after 5 steps the last time"


def test_a_process_that_is_lost_too_often_is_a_failure_of_its_job_alone(tmp_path, told):
    lost = {"job1": exceptions.WorkerCrashedError(), "job2": exceptions.OutOfMemoryError("memory was full\nand more")}
    _, some = crew(lambda _, name: lost.get(name, Result(name, "done", 1)), tmp_path)
    some.carry_out(planned(4), told.append, StopRequest())
    assert [result.state for result in told] == ["done", "failed", "failed", "done"]
    assert told[1].error.startswith("its process was lost 4 times: The worker died unexpectedly")
    assert told[2].error == "its process was lost 4 times: memory was full"
    assert "its process was lost" in (tmp_path / "job1" / "failed.json").read_text()


def test_a_request_to_stop_cancels_all_and_waits(tmp_path, told):
    stop = StopRequest()

    def ends(number, name):
        if name == "job0":
            stop.signal = signal.SIGINT
            return Result(name, "done", 1)
        if name == "job1":
            return Result(name, "stopped", 1, signal=signal.SIGINT)
        return exceptions.TaskCancelledError()

    ray, some = crew(ends, tmp_path)
    some.carry_out(planned(4), told.append, stop)
    assert ray.cancelled == ["job1", "job2", "job3"]
    assert ray.waiting == []
    assert [(result.name, result.state) for result in told] == [("job0", "done"), ("job1", "stopped")]
