"""The programs of README.md and of docs/: files and console sessions, read from the pages.

A block of code with a title is a file of that name. A block of the language `console` is a session
in the folder of these files: lines that begin with `$ ` are commands, the others are what they
print, with `...` for anything.
"""

import doctest
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

from house import ROOT, compiler, run

PROGRAMS = ("c", "python")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[\w./-]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    title: str | None
    text: str


class Command(NamedTuple):
    """A command of a session and what it prints."""

    line: str
    output: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that name their language, in their order."""
    return [Block(*m.group("language", "title", "text")) for m in FENCE.finditer(read(page))]


def read(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def program(page: Path, title: str) -> str:
    """The text of the file with this title."""
    (text,) = (block.text for block in blocks(page) if block.title == title)
    return text


def commands(session: str) -> list[Command]:
    """The commands of a console session."""
    parts = re.split(r"^\$ (.*)\n", session, flags=re.MULTILINE)
    assert not parts[0], f"a session begins with a command, not with {parts[0]!r}"
    return [Command(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]


def check_syntax(source: Path, headers: Path) -> None:
    """Let the compiler say all that it finds wrong with a file."""
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{headers}"]
    result = run(*compiler(), *flags, source)
    assert result.returncode == 0, result.stderr


def play(
    page: Path, folder: Path, environment: dict | None = None, headers: Path = ROOT / "include"
) -> None:
    """Write the files of a page and run its sessions, in their order, in an empty folder."""
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **(environment or {})}
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
            if block.language == "c":
                check_syntax(folder / block.title, headers)
        elif block.language == "console":
            for command in commands(block.text):
                check_command(page, command, folder, variables)


def check_command(page: Path, command: Command, folder: Path, variables: dict[str, str]) -> None:
    """Run a command of a page and compare what it prints."""
    result = run("bash", "-c", command.line, cwd=folder, env=variables)
    printed = result.stdout + result.stderr
    where = f"{page.name}: $ {command.line}"
    assert result.returncode == 0, f"{where}\n{printed}"
    same = doctest.OutputChecker().check_output(command.output, printed, doctest.ELLIPSIS)
    assert same, f"{where}\nprints\n{printed}where the page has\n{command.output}"
