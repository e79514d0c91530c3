"""Wraps the prose of Markdown files at 100 columns: wrap_prose.py FILE...

Headings, tables, code (fenced, or indented by four) and what a script has made stay as they are.
"""

import re
import sys
import textwrap
from pathlib import Path

WIDTH = 100
MADE = "<!-- Made by"  # from here on, by a script
ITEM = re.compile(r"\s*([-*]|\d+\.) ")


class Wrapper:
    """Collects the lines of a paragraph or list item, then writes them anew."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.paragraph: list[str] = []
        self.first = self.rest = ""
        self.fenced = False

    def flush(self) -> None:
        text = " ".join(line.strip() for line in self.paragraph)
        self.out += textwrap.wrap(
            text, WIDTH, initial_indent=self.first, subsequent_indent=self.rest,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        self.paragraph = []

    def keep(self, line: str) -> None:
        self.flush()
        self.out.append(line)

    def begin(self, first: str, rest: str, line: str) -> None:
        self.flush()
        self.first, self.rest, self.paragraph = first, rest, [line]

    def add(self, line: str) -> None:
        item = ITEM.match(line)
        if line.lstrip().startswith("```"):
            self.fenced = not self.fenced
            self.keep(line)
        elif self.fenced or not line.strip() or line.startswith(("#", "|", "<!--")):
            self.keep(line)
        elif item:
            indent = " " * item.end()
            self.begin(item.group(), indent, line[item.end() :])
        elif self.paragraph:
            self.paragraph.append(line)
        elif line.startswith(self.rest) and self.rest:  # a further paragraph of an item
            self.begin(self.rest, self.rest, line)
        elif line.startswith("    "):
            self.keep(line)
        else:
            self.begin("", "", line)


def wrapped(text: str) -> str:
    """The text with its prose wrapped."""
    prose, mark, made = text.partition(MADE)
    wrapper = Wrapper()
    for line in prose.split("\n"):
        wrapper.add(line)
    wrapper.flush()
    return "\n".join(wrapper.out) + mark + made


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(wrapped(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
