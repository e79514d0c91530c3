"""Writes docs/ops.md from the table of primitives and the op harness.

    python scripts/ops_page.py [--build DIR] > docs/ops.md

The table says what a row means and which rules it has; the harness's cases give examples of its
shapes, and asking every device for its kernel gives the support.
"""

import argparse
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLASSES = {
    "MAP": "Element by element",
    "ELEMENTWISE": "Element by element, between dtypes",
    "SHAPE": "Shapes and indices",
    "CONTRACTION": "Contractions",
    "REDUCTION": "Reductions",
    "SEVERAL": "Several results",
    "RANDOM": "Random numbers",
    "CONTROL": "Control flow",
    "COLLECTIVE": "Collectives",
    "HOST": "The host",
}
KINDS = {
    "int": "an integer",
    "ints": "integers",
    "string": "a word",
    "dtype": "a dtype",
    "data": "a value",
    "types": "types",
}
INTRODUCTION = """# Primitives

You want to know what a primitive computes, which dtypes it takes and on which devices it runs.

Made by `scripts/ops_page.py` from `include/mica/ops.def` and the op harness; a test compares.
`mica ops --json` has the table for programs. In C a primitive is `mica_<name>(graph, operands,
attributes)`, in Python `mica.<name>(operands, attribute=...)`.

- **shapes**: `same` means operands of one shape and a result of that shape; builders and Python
  broadcast sizes 1 and scalars to it first. Other rules check operands and attributes as the
  meaning says; examples show operand and result types.
- **derivative**: the rules of forward mode (jvp) and of transposition. `zero`: the tangents are
  zero. `linear`: the op applied to the tangent. Where transpose is none, no tangent passes through
  this op itself; the reason is in `src/transform/none.md`.
- **devices**: the dtypes that each device computes. `cpu`; `fake`, a CPU behind an asynchronous
  interface; `ref`, the reference interpreter; `cuda`: what the GPU has kernels for, the CPU
  computes the rest for it. A row that runs others (control flow, collectives, callbacks) has its
  dtypes from them.
"""


def compact(dtypes: list[str], everything: list[str]) -> str:
    """A list of dtypes, short where it is long."""
    groups = {
        "all": everything,
        "bool, integers, floats": [d for d in everything if not d.startswith("c")],
        "integers, floats, complex": [d for d in everything if d != "bool"],
        "integers, floats": [d for d in everything if d != "bool" and not d.startswith("c")],
        "floats, complex": [d for d in everything if d[0] in "fc" or d == "bf16"],
        "bool, integers": [d for d in everything if d == "bool" or d[0] in "iu"],
        "integers": [d for d in everything if d[0] in "iu"],
        "floats": [d for d in everything if d[0] == "f" or d == "bf16"],
    }
    for name, members in groups.items():
        if dtypes == members:
            return name
    return ", ".join(dtypes) or "none"


def example(text: str, name: str) -> str | None:
    """`dot(f64[2,3], f64[3,4]) {...} : f64[2,4]` of a printed graph with this one op."""
    types = dict(re.findall(r"(%\d+): (\w+\[[\d,]*\])", text))
    lines = [line.strip() for line in text.splitlines() if f"= {name}(" in line]
    if len(lines) != 1:
        return None
    line = lines[0].split(" = ", 1)[1]
    head, tail = line.split(")", 1)
    return re.sub(r"%\d+", lambda match: types.get(match[0], match[0]), head) + ")" + tail


def rule(text: str) -> str:
    """A rule's name as it is shown."""
    return "none" if text == "none" else f"`{text}`"


def section(row: dict, facts: dict, everything: list[str]) -> str:
    """The text about one row."""
    arity = row["arity"]
    operands = "any number of" if arity in (None, -1) else ("no" if arity == 0 else str(arity))
    lines = [f"### {row['name']}", "", row["meaning"], ""]
    noun = "operand" if arity == 1 else "operands"
    lines.append(f"- {operands} {noun}, {compact(facts['takes'], everything)}")
    if row["attributes"]:
        listed = [
            f"`{a['name']}` ({KINDS.get(a['kind'].lower(), a['kind'])})" for a in row["attributes"]
        ]
        lines.append(f"- attributes: {', '.join(listed)}")
    lines.append(f"- shapes: {rule(row['shape'])}")
    shown = [example(text, row["name"]) for text in facts["examples"]]
    lines += [f"  - `{text}`" for text in dict.fromkeys(shown) if text]
    lines.append(
        f"- derivative: jvp {rule(row['jvp'])}, transpose {rule(row['transpose'])}; "
        f"vmap {rule(row['vmap'])}"
    )
    devices = {
        device: compact(facts[device], everything) for device in ("cpu", "fake", "ref", "cuda")
    }
    if row["class"] in ("CONTROL", "COLLECTIVE", "HOST"):
        devices = {d: "yes" if t != "none" else "no" for d, t in devices.items()}
    by_text: dict[str, list[str]] = {}
    for device, text in devices.items():
        by_text.setdefault(text, []).append(device)
    shown = "; ".join(f"{' '.join(names)}: {text}" for text, names in by_text.items())
    lines.append(f"- devices: {shown}")
    return "\n".join(lines) + "\n"


def wrapped(line: str) -> str:
    """A line of prose in lines of 100 columns; an example, which is one span of code, stays."""
    if re.fullmatch(r" *- `[^`]*`", line) or line.startswith("#"):
        return line
    indent = re.match(r" *(- )?", line).group()
    return textwrap.fill(
        line, 100, subsequent_indent=" " * len(indent), break_on_hyphens=False,
        break_long_words=False, replace_whitespace=False,
    )  # fmt: skip


def page(build: Path) -> str:
    """The whole page."""

    def ask(*command: object) -> list[dict]:
        done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    rows = ask(build / "bin" / "mica", "ops", "--json")
    facts = {row["name"]: row for row in ask(build / "harness", "--page")}
    everything = max((row["takes"] for row in facts.values()), key=len)
    parts = [INTRODUCTION]
    for key in dict.fromkeys([*CLASSES, *(row["class"] for row in rows)]):
        members = [row for row in rows if row["class"] == key]
        if not members:
            continue
        links = " ".join(f"[{row['name']}](#{row['name']})" for row in members)
        parts.append(f"## {CLASSES.get(key, key)}\n\n{links}\n")
        parts += [section(row, facts[row["name"]], everything) for row in members]
    return "\n".join(wrapped(line) for line in "\n".join(parts).split("\n"))


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    sys.stdout.write(page(parser.parse_args().build))


if __name__ == "__main__":
    main()
