"""A page of the site for each room of the house: what it is for, what it may include, its files.

mkdocs calls `on_config` and `on_files` (mkdocs.yml names this file as a hook); `python
scripts/room_pages.py` prints the pages. Everything on them is read from the tree: the list of rooms
in docs/architecture.md, the first sentence of each file, the order of includes in
tests/python/house/test_includes.py.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
# The sections of docs/architecture.md that tell the decisions of a room.
SECTIONS = {
    "include/mica": ["One table"],
    "src/ir": ["One table", "Graphs", "One mathematics, one order"],
    "src/transform": ["Derivatives"],
    "src/codegen": ["Generated code"],
    "src/compile": ["From a graph to commands"],
    "src/runtime": ["Runtime"],
    "src/device": ["Contractions", "Linear algebra", "Fourier transforms", "CUDA"],
    "src/nn": ["Layers"],
    "src/mlc": ["ML Compute"],
    "src/tf": ["TensorFlow's graphs", "The walk of one tf.function step"],
    "src/data": ["Pipelines of data"],
    "src/io": ["Files"],
    "python/_mica": ["Python"],
    "python/mica": ["Python"],
    "python/mica/tf": ["AutoGraph", "Clusters", "Lite files"],
    "python/_mlcompute": ["ML Compute"],
    "python/mlcompute": ["ML Compute"],
}
PYTHON_ROOMS = {
    "python/mica": "Python's `mica`: tensors, functions of functions, modules, pipelines",
    "python/mica/tf": "TensorFlow's names: arguments, trees and classes over the table of ops",
    "python/mlcompute": "ML Compute's classes in Python",
}


def purposes() -> dict[str, str]:
    """The rooms, in the order of docs/architecture.md, and what it says each is for."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    block = text.split("\n## Rooms\n", 1)[1].split("\nIncludes go down only", 1)[0]
    found: dict[str, str] = {}
    name = ""
    for line in block.splitlines():
        match = re.match(r"    ((?:include|src|python)/[\w/]+)/ +(.*)", line)
        if match:
            name = match[1]
            found[name] = match[2]
        elif name and line.startswith("            "):
            found[name] += " " + line.strip()
        else:
            name = ""
    return {**found, **PYTHON_ROOMS}


def levels() -> dict[str, int]:
    """How deep each room of src lies: it may include those below it."""
    path = ROOT / "tests" / "python" / "house" / "test_includes.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LEVELS":
            return ast.literal_eval(node.value)
    raise SystemExit("room_pages: tests/python/house/test_includes.py has no LEVELS")


def tracked(folder: str) -> list[str]:
    """The files of a room, those of rooms inside it left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    inner = [f"{room}/" for room in purposes() if room.startswith(f"{folder}/")]
    names = [name for name in done.stdout.split() if not name.startswith(tuple(inner))]
    names = [name for name in names if (ROOT / name).is_file()]
    return sorted(names, key=lambda name: (str(Path(name).parent), name))


def first_sentence(text: str) -> str:
    """What stands before the first full stop, on one line."""
    words = " ".join(re.sub(r"^ *\* ?", "", line) for line in text.strip().splitlines())
    words = " ".join(words.split())
    words = re.sub(r"^[\w/.]+\.(h|c|def): ", "", words)
    end = re.search(r"(?<!e\.g)(?<!i\.e)\.(?= |$)", words)
    return words[: end.start()] if end else words.rstrip(".:")


def about(name: str) -> str:
    """What a file says it is; of a C file without a word, what its first header says."""
    path = ROOT / name
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return first_sentence(ast.get_docstring(ast.parse(text)) or "")
    match = COMMENT.match(text)
    if match:
        return first_sentence(match[1])
    included = re.search(r'^#include "(.+)"', text, re.MULTILINE)
    for root in (ROOT / "src", ROOT / "include", path.parent) if included else ():
        if (root / included[1]).exists():
            return about(str((root / included[1]).relative_to(ROOT)))
    return ""


def escaped(text: str) -> str:
    return re.sub(r"([\\*_{}\[\]<>#|])", r"\\\1", text)


def rule_of(room: str) -> str:
    """What files of the room may include."""
    depth = levels()
    name = room.removeprefix("src/")
    if room == "include/mica":
        return "Headers here include each other alone."
    if name in depth:
        below = [f"`{other}`" for other, level in depth.items() if level < depth[name]]
        seen = f"; of those below it, {', '.join(below)}" if below else ""
        return f"Its files may include those of `include/` and of the room itself{seen}."
    if room.startswith("python/m"):
        return "It is Python over the extension."
    return "Its files may include those of `include/` and of the room itself."


def anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def page(room: str) -> str:
    purpose = purposes()[room]
    lines = [f"# {room}", "", f"You want to change something in `{room}`: {escaped(purpose)}.", ""]
    lines += [rule_of(room), ""]
    headings = ARCHITECTURE.read_text(encoding="utf-8")
    sections = [s for s in SECTIONS.get(room, []) if f"\n## {s}\n" in headings]
    if sections:
        links = ", ".join(f"[{s}](architecture.md#{anchor(s)})" for s in sections)
        lines += [f"Its decisions: {links}.", ""]
    tests = room.replace("src/", "tests/", 1)
    if room.startswith("src/") and (ROOT / tests).is_dir():
        names = [f"`{Path(n).stem}`" for n in tracked(tests) if re.search(r"/test_\w+\.c$", n)]
        lines += [f"Its tests in C, in `{tests}`: {', '.join(names)}.", ""] if names else []
    folder = None
    for name in tracked(room):
        said = about(name) if name.endswith((".c", ".h", ".py", ".def")) else ""
        if not said:
            continue
        inner = str(Path(name).parent)
        if inner != folder:
            folder = inner
            lines += ["", f"## {folder}", "", "| file | what it is |", "|---|---|"]
        lines.append(f"| `{Path(name).name}` | {escaped(said)} |")
    return "\n".join(lines) + "\n"


def file_of(room: str) -> str:
    return f"room_{room.replace('/', '_')}.md"


def on_config(config):
    """Hook of mkdocs: the rooms stand in the list of pages, below the inside."""
    rooms = [{room: file_of(room)} for room in purposes()]
    for entry in config["nav"]:
        if "The inside" in entry:
            entry["The inside"].append({"The rooms": rooms})
    return config


def on_files(files, config):
    """Hook of mkdocs: adds the pages."""
    from mkdocs.structure.files import File  # only mkdocs needs it

    for room in purposes():
        files.append(File.generated(config, file_of(room), content=page(room)))
    return files


if __name__ == "__main__":
    for each in purposes():
        sys.stdout.write(page(each))
