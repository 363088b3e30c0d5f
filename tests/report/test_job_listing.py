"""The jobs on the first page of `teen serve`."""

import re
import threading
import time
import urllib.request
from html import unescape

from teen.disk.jobs import JobState
from teen.disk.place import Folder
from teen.jobs.markers import add_to_ledger, write, write_done, write_failed
from teen.jobs.planned import PlannedJob
from teen.report import job_listing, listing
from teen.report.library import Library
from teen.report.serve import Server

from .synthetic import HOSTILE, write_run


def rows(html):
    found = re.findall(r"<tr>(.*?)</tr>", html.partition('id="jobs"')[2].partition("</section>")[0])
    return [
        [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in found[1:]
    ]


def test_the_page_lists_the_jobs_of_this_folder_and_of_those_inside(tmp_path):
    inner = Folder(tmp_path / "sweep")
    here, done, failed = (PlannedJob(name, {"steps": 2000}) for name in ("here", "done", "failed"))
    add_to_ledger(Folder(tmp_path), [here])
    add_to_ledger(inner, [done, failed])
    write_run(tmp_path / "sweep" / "done")
    write_done(inner, done, 2000, 1.0)
    write_failed(inner, "failed", f"first\n{HOSTILE}")
    write(Folder(tmp_path), "here/running.json", {"step": 500, "left": 75.0, "updated": time.time()})
    with Server(tmp_path, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        with urllib.request.urlopen(server.url) as answer:
            html = answer.read().decode()
        server.shutdown()
        thread.join()
    assert "<summary>3 jobs: 1 running, 1 failed, 1 done</summary>" in html
    running, wrong, finished = rows(html)
    assert running == ["here", "running", "500 of 2,000", "0:01:15"]
    assert wrong[0] == "sweep/failed"
    assert wrong[1].startswith("failedfirst</script>")
    assert finished == ["sweep/done", "done", "2,000", ""]
    assert HOSTILE not in html
    assert html.index('id="jobs"') < html.index('id="runs"')


def test_without_jobs_the_page_is_as_before(tmp_path):
    write_run(tmp_path / "run")
    library = Library(tmp_path)
    assert library.jobs() == []
    assert '<section id="jobs"></section>' in listing.render(library.summaries(), "x", jobs=library.jobs())


def test_a_damaged_ledger_lists_nothing(tmp_path):
    (tmp_path / "jobs.json").write_text('{"jobs": [1, {"name": "../../etc", "settings": {}}')
    assert Library(tmp_path).jobs() == []
    (tmp_path / "jobs.json").write_text('{"jobs": [1, {"name": "../../etc", "settings": {}}]}')
    assert Library(tmp_path).jobs() == []


def test_a_time_that_nobody_can_wait_for_is_not_shown(tmp_path):
    add_to_ledger(Folder(tmp_path), [PlannedJob("a", {"steps": 9})])
    write(Folder(tmp_path), "a/running.json", {"step": 5, "left": 9e14, "updated": time.time()})
    library = Library(tmp_path)
    html = listing.render(library.summaries(), "x", jobs=library.jobs())
    assert rows(html) == [["a", "running", "5 of 9", ""]]
    shown = [job_listing.left(JobState("a", "running", left=left)) for left in (None, -1.0, 0.0, 86_400.5, 1e9, 1e14)]
    assert shown == ["", "", "0:00:00", "1 day, 0:00:00", "", ""]


def test_of_very_many_jobs_done_ones_are_left_out_first():
    jobs = [JobState(f"done-{n}", "done", 5) for n in range(2_100)] + [JobState("slow", "running", 3, None)]
    html = job_listing.render(jobs)
    assert html.startswith("<details><summary>2,101 jobs: 1 running, 2,100 done</summary>")
    assert html.count("<tr>") == 1 + job_listing.MOST
    assert '<td class="text">slow</td>' in html
    assert "and 101 more" in html
