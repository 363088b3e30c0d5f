"""The code blocks of a page, and what is to be done with each.

A block is Python, shell, TOML or text. Fences say which (`python`, `sh`, `toml`, `text`); a block that is indented is
shell. A comment just above a block says that it is not run as it is:

    <!-- long: why -->                                  not run: Python is compiled, flags are parsed and resolved
    <!-- long: why | tested -->                         the same; run in the full suite
    <!-- long: why | tested with 10_000 → 300 | a → b --> the same; run in the full suite with these replacements
    <!-- run -->                                        run as it is; parts what would else be one block

A block after a line that ends in `path`: is the content of that file.
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FENCES = {"python": "python", "sh": "shell", "bash": "shell", "console": "shell", "toml": "toml", "text": "text"}
# What an indented block may begin with. Anything else is likely output, and belongs into a fence of text.
PROGRAMS = {
    "teen",
    "make",
    "pip",
    "python",
    "export",
    "mkdir",
    "if",
    "nvidia-cuda-mps-control",
    "ssh",
    "scp",
    "git",
    "docker",
    "ray",
    "source",
}
MARK = re.compile(r"<!-- long: ([^|]+?)( \| tested(?: with (.+ → .+))?)? -->")
FILE = re.compile(r"`([\w/.-]+\.\w+)`:$")
ENDS = {";", "&&", "||", "&", "|", "then", "else", "elif", "fi", "if", "do", "done", "{", "}", "!"}


class Block(NamedTuple):
    page: str
    line: int  # of its first line of code
    kind: str  # python, shell, toml, text
    code: str
    long: str = ""  # why it is not run as it is
    tested: bool = False  # in the full suite, though it is long
    swaps: tuple[tuple[str, str], ...] = ()  # to be replaced before it is run
    file: str = ""  # that it is the content of

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def smaller(self) -> str:
        """The code with its replacements, each of which must be there."""
        code = self.code
        for old, new in self.swaps:
            assert old in code, f"{self.place}: there is no {old!r} to replace"
            code = code.replace(old, new)
        return code


def blocks(page: str, text: str) -> list[Block]:
    """Return the code blocks of a page in order. One that is of no known kind raises a ValueError."""
    lines, found, number, said = text.splitlines(), [], 0, ""
    while number < len(lines):
        line = lines[number]
        if line.startswith("```"):
            first = number + 1
            number = lines.index("```", first) + 1
            code = "\n".join(lines[first : number - 1])
            found.append(_block(page, first + 1, line[3:].strip(), code, said))
            said = ""
        elif line.startswith("    ") and (number == 0 or not lines[number - 1].strip()) and not _in_list(lines, number):
            first = number
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                number += 1
            code = "\n".join(line[4:] for line in lines[first:number]).rstrip()
            found.append(_block(page, first + 1, None, code, said))
            said = ""
        else:
            said = line.strip() or said
            number += 1
    return found


def _in_list(lines: list[str], number: int) -> bool:
    """Whether indented text continues an item of a list: no item is followed by code here before a line at the edge."""
    before = next((line for line in reversed(lines[:number]) if line.strip() and not line.startswith(" ")), "")
    return bool(re.match(r"([-*+]|\d+\.) ", before))


def _block(page: str, line: int, fence: str | None, code: str, said: str) -> Block:
    """`said` is the last line before it."""
    kind = FENCES.get(fence) if fence else "shell" if _is_program(code) else None
    if kind is None:
        raise ValueError(f"{page}:{line}: is this to be run? Fence it as python, sh, toml, or text if it is not")
    if fence == "console":
        code = "\n".join(line[2:] for line in code.splitlines() if line.startswith("$ "))
    marked, named = MARK.fullmatch(said), FILE.search(said)
    if said.startswith("<!--") and not marked and said != "<!-- run -->":
        raise ValueError(f"{page}:{line}: the comment above is not of the form <!-- long: why | tested with a → b -->")
    block = Block(page, line, kind, code, file=named[1] if named else "")
    if not marked:
        return block
    pairs = [swap.split(" → ") for swap in marked[3].split(" | ")] if marked[3] else []
    return block._replace(long=marked[1], tested=bool(marked[2]), swaps=tuple((old, new) for old, new in pairs))


def _is_program(code: str) -> bool:
    """Whether a script begins with the name of a program, after what is set for it."""
    word = re.match(r"(?:\w+=\S* )*(\S*)", code)[1]
    return word in PROGRAMS or re.fullmatch(r"[\w.-]+/[\w./-]*[\w-]", word) is not None


def commands(code: str) -> list[list[str]]:
    """Return the simple commands of a shell script as words, without what is set before them."""
    found: list[list[str]] = []
    for line in code.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in ENDS:
                words.append(word)
                continue
            while words and re.fullmatch(r"\w+=.*", words[0]):
                del words[0]
            found += [words] if words else []
            words = []
    return found


def pages(root: Path) -> list[Path]:
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
