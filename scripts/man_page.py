"""Writes the man page docs/mica.1 from what the command says about itself.

python scripts/man_page.py [--build DIR] > docs/mica.1
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = r""".\" Made by scripts/man_page.py; a test compares.
.TH MICA 1 "" "Mica {version}" "User Commands"
.SH NAME
mica \- what Mica finds on this machine, its primitives, graphs and models
.SH SYNOPSIS
.B mica
.I COMMAND
.RI [ ARGUMENTS ]
.SH DESCRIPTION
Mica is a machine-learning framework in C. This program lists devices and primitives, runs graphs
that were printed as text, shows and runs SavedModels, and checks what a device computes.
.SH COMMANDS
"""
TAIL = r""".SH EXIT STATUS
.TP
.B 0
It is done; also when whoever reads the output stopped early.
.TP
.B 1
It failed; the reason is on standard error.
.TP
.B 2
The arguments were wrong.
.SH ENVIRONMENT
.TP
.B MICA_THREADS
How many threads the processor computes with.
.TP
.B MICA_LOG
Lines about what the library does, on standard error: warning, pass, run, memory, device, transfer,
eager or all.
.TP
.B MICA_CHECK
With 1 every kernel is compared with the reference.
.TP
.B MICA_PYTHON
The Python that
.B mica bench
runs.
.PP
docs/environment.md has them all.
.SH EXAMPLES
.nf
mica devices
mica run graph.txt x.npy \-\-device cpu
mica predict model \-\-inputs x.npy
eval "$(mica completion bash)"
.fi
"""


def roff(text: str) -> str:
    """Text with what roff gives a meaning to taken out of it."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def section(text: str) -> str:
    """What --help says about a command, as a section."""
    usage, meaning, *rest = text.strip().split("\n\n")
    name, _, arguments = usage.removeprefix("usage: mica ").partition(" ")
    meaning = meaning.strip()
    lines = [f'.SS "{name} {roff(arguments)}"', roff(meaning[0].upper() + meaning[1:]) + "."]
    for paragraph in rest[:-1]:
        lines += [".PP", roff(paragraph)]
    for option in rest[-1].splitlines():
        words, explanation = re.split(r"  +", option.strip(), maxsplit=1)
        lines += [".TP", f".B {roff(words)}", roff(explanation)]
    return "\n".join(lines) + "\n"


def page(build: Path) -> str:
    """The whole page."""

    def ask(*arguments: str) -> str:
        command = [str(build / "bin" / "mica"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    names = re.findall(r"^  (\w+) ", ask("--help"), re.MULTILINE)
    version = ask("version").split()[1]
    return HEAD.format(version=version) + "".join(section(ask(n, "--help")) for n in names) + TAIL


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    sys.stdout.write(page(parser.parse_args().build))


if __name__ == "__main__":
    main()
