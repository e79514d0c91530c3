"""Print lines and branches that ran, by room of src/, from gcovr's JSON: coverage.py FILE [--all].

A line or branch that several objects hold (one for each instruction set) ran when it ran in one.
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass


@dataclass
class Count:
    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def add(self, other: "Count") -> None:
        self.lines += other.lines
        self.lines_run += other.lines_run
        self.branches += other.branches
        self.branches_run += other.branches_run

    def row(self, name: str) -> str:
        return (
            f"{name:<28}{self.lines_run:>8}{self.lines:>8}{percent(self.lines_run, self.lines):>8}"
            f"{self.branches_run:>10}{self.branches:>8}"
            f"{percent(self.branches_run, self.branches):>8}"
        )


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def count(file: dict) -> Count:
    """Lines and branches of one file; a line that is given twice counts once."""
    lines: dict[int, bool] = defaultdict(bool)
    branches: dict[tuple, bool] = defaultdict(bool)
    for line in file["lines"]:
        if line.get("gcovr/excluded") or line.get("gcovr/noncode"):
            continue
        number = line["line_number"]
        lines[number] |= line["count"] > 0
        for i, branch in enumerate(line["branches"]):
            branches[(number, i)] |= branch["count"] > 0
    return Count(len(lines), sum(lines.values()), len(branches), sum(branches.values()))


def room(path: str) -> str:
    folders = path.removeprefix("src/").split("/")[:-1]
    return "/".join(folders[:2])


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as stream:
        files = {file["file"]: count(file) for file in json.load(stream)["files"]}
    rooms: dict[str, Count] = defaultdict(Count)
    total = Count()
    for path, each in files.items():
        rooms[room(path)].add(each)
        total.add(each)
    print(f"{'room':<28}{'run':>8}{'lines':>8}{'':>8}{'run':>10}{'branch':>8}")
    for name in sorted(rooms):
        print(rooms[name].row(name))
    print(total.row("src"))
    print("\nfiles with the most lines that never ran:")
    worst = sorted(files, key=lambda path: files[path].lines_run - files[path].lines)
    for path in worst if "--all" in sys.argv else worst[:25]:
        print(files[path].row(path.removeprefix("src/")))


if __name__ == "__main__":
    main()
