"""Every command and every piece of code in README and docs is run as it stands, but what is marked as long."""

import tomllib
from itertools import chain

import pytest

from .blocks import ROOT, Block, blocks, commands, pages
from .desk import desk, do, train_runs
from .dry import check

PAGES = {str(page.relative_to(ROOT)): page for page in pages(ROOT)}
BLOCKS = {name: blocks(name, page.read_text()) for name, page in PAGES.items()}


warnings_of_libraries = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    train_runs(folder)
    return folder


def read_through(page, trained, folder, also_long=False):
    """Do what a page says, block by block."""
    with desk(folder, trained, BLOCKS[page]) as names:
        for block in BLOCKS[page]:
            try:
                do(block, names, also_long)
            except BaseException as error:
                error.add_note(f"in the block at {block.place}")
                raise


@warnings_of_libraries
@pytest.mark.parametrize("page", [name for name, found in BLOCKS.items() if found])
def test_the_blocks_of_a_page_run(page, trained, tmp_path):
    read_through(page, trained, tmp_path)


@warnings_of_libraries
@pytest.mark.full
@pytest.mark.parametrize("page", [name for name, found in BLOCKS.items() if any(block.tested for block in found)])
def test_the_long_blocks_of_a_page_run(page, trained, tmp_path):
    read_through(page, trained, tmp_path, also_long=True)


def test_toml_is_toml():
    for block in chain(*BLOCKS.values()):
        if block.kind == "toml":
            tomllib.loads(block.code)


TEXT = """\
# A page

<!-- long: an hour | tested with 10_000 → 300 | n=5 → n=2 -->

```python
learn(10_000, n=5)
```

`my_package/x.py`:

```python
pass
```

    teen train --algo td3 \\
        --env Pendulum-v1   # a comment

- an item

    that goes on

```console
$ teen envs
output
```
"""


def test_blocks_are_found_with_what_is_said_of_them():
    long, file, shell, console = blocks("page.md", TEXT)
    assert (long.line, long.kind, long.long, long.tested, long.smaller) == (
        6,
        "python",
        "an hour",
        True,
        "learn(300, n=2)",
    )
    assert (file.file, file.long, file.swaps) == ("my_package/x.py", "", ())
    assert (shell.line, commands(shell.code)) == (15, [["teen", "train", "--algo", "td3", "--env", "Pendulum-v1"]])
    assert (console.kind, console.code) == ("shell", "teen envs")


@pytest.mark.parametrize("text", ["    Some output\n", "```\nteen: an error\n```\n", "```yaml\na: 1\n```\n"])
def test_a_block_that_is_of_no_kind_is_an_error(text):
    with pytest.raises(ValueError, match=r"page\.md:"):
        blocks("page.md", text)


def test_a_replacement_that_does_not_fit_is_an_error():
    with pytest.raises(AssertionError, match="there is no '20_000'"):
        print(Block("page.md", 1, "python", "learn(10_000)", swaps=(("20_000", "300"),)).smaller)


def test_commands_are_found_in_scripts():
    script = 'X=1 teen envs & \nif [ -d runs ]; then teen train --resume runs; else pip install ".[fast]"; fi  # so'
    found = [
        ["teen", "envs"],
        ["[", "-d", "runs", "]"],
        ["teen", "train", "--resume", "runs"],
        ["pip", "install", ".[fast]"],
    ]
    assert commands(script) == found


@pytest.mark.parametrize(
    "wrong",
    [
        "teen train --algo td3 --env Pendulum-v1 --learning-rate 1",
        "teen train --algo td3 --env Pendulum-v1 --steps 100",
        "teen train … --diagnose 5",
        "teen train --resume runs/x --lr 1",
        "teen eval runs/x --episode 5",
        "teen nothing",
        "python -m teen paper --sed 1",
        "python -m benchmarks.nothing",
        "make nothing",
        'pip install .[nothing]',
        "scripts/nothing.sh",
    ],
)  # fmt: skip
def test_a_command_that_would_fail_is_found_without_running_it(wrong):
    with pytest.raises(AssertionError):
        check(wrong.split())
