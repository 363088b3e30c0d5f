"""What is printed of names from files and paths: no control codes, no markup, no character that the terminal lacks."""

import io
import sys

import pytest
from rich.table import Table

from teen.cli import tables
from teen.cli.compare import command as compare_command
from teen.cli.report import command as report_command
from teen.engine.evaluate import Episode
from teen.report.terminal import say, show

from .synthetic import write_run

ESCAPES = "\x1b[31mred\x1b]0;title\x07\r\x08\x9b1m\u202e\u2028"
MARKUP = "[/b] [red]x [link=file:///etc/passwd]here[/] \\["
NAMES = [ESCAPES, MARKUP, f"{MARKUP}{ESCAPES}\nteen: all is well"]


def harmless(text):
    return all(c == "\n" or c.isprintable() for c in text)


@pytest.mark.parametrize("name", NAMES, ids=range(3))
def test_tables_are_safe_by_themselves(name, capsys):
    table = Table(title=name, caption=name)
    table.add_column(name)
    table.add_row(name)
    show(name, table)
    tables.show(table)
    tables.show_episodes(name, [Episode(0, 10, "mean", 0, 1.5, 7), Episode(0, 10, name, 0, 1e308, 7)])
    say(name)
    say(name, sys.stderr)
    out, err = capsys.readouterr()
    assert harmless(out)
    assert harmless(err)
    assert not any(line.startswith("teen:") for line in out.splitlines())
    if name != ESCAPES:
        assert err.startswith("[/b] [red]x")  # what looks like markup is shown as it is


def test_an_ascii_terminal_shows_what_it_can(monkeypatch):
    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, encoding="ascii"))
    tables.show_episodes("α ± β", [Episode(k, 10, "mean", 0, float(k), 7) for k in range(2)])
    say("☃")
    text = content.getvalue().decode("ascii")
    assert "? ? ?" in text
    assert "over 2 seeds: 0.5 ? 0.7" in text
    assert text.endswith("?\n")


def test_numbers_may_be_as_large_as_they_like(capsys):
    """Warnings are errors here: none may reach the terminal."""
    tables.show_episodes("a", [Episode(k, 10, "mean", 0, score, 7) for k, score in enumerate((1e308, 1e308, -1e308))])
    tables.show_episodes("a", [Episode(k, 10, "mean", 0, float(score), 7) for k, score in enumerate(("inf", "nan"))])
    assert "inf" in capsys.readouterr().out


def test_the_commands_print_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = NAMES[-1]
    place = name.replace("/", "∕")
    write_run(tmp_path / place / "run", name, name, evaluations=2, **{name: name})
    write_run(tmp_path / place / "new", evaluations=0)
    assert compare_command([place]) == 0
    assert report_command([place, "--out", "a[/b]c\x1b[2J"]) == 0
    out, err = capsys.readouterr()
    assert harmless(out)
    assert harmless(err)
    assert out.splitlines()[-1] == "a[/b]c [2J/index.html"
    assert err.endswith("new has no evaluation yet: it is left out\n")
    assert err.count("\n") == 1
