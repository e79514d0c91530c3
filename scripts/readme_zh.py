"""Brings README.zh-CN.md up to date with README.md: programs, sessions and measurements.

python scripts/readme_zh.py [--check]

Blocks of code are those of README.md in the same order, and so are rows of tables whose first cell
is the name of a case. Prose is written by hand; --check also compares its numbers and links.
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
BLOCK = re.compile(r"^```.*?^```$|(?:^    \S[^\n]*\n)+", re.MULTILINE | re.DOTALL)
CASE = re.compile(r"^\| [a-z0-9_]+ \|.*$", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
LINK = re.compile(r"\]\(([^)]+)\)")


def copied(text: str, source: str, pattern: re.Pattern, what: str) -> str:
    """The text with what the pattern finds in the source, one after the other."""
    parts = pattern.findall(source)
    if pattern is CASE:  # one table: all its rows at once
        return re.sub(r"(?:^\| [a-z0-9_]+ \|.*\n?)+", "\n".join(parts) + "\n", text, count=1,
                      flags=re.MULTILINE)  # fmt: skip
    if len(pattern.findall(text)) != len(parts):
        raise SystemExit(f"readme_zh: {CHINESE.name} has not as many {what} as {ENGLISH.name}")
    left = iter(parts)
    return pattern.sub(lambda _: next(left), text)


def prose(text: str) -> str:
    """What is written by hand."""
    return CASE.sub("", BLOCK.sub("", text))


def differences(english: str, chinese: str) -> list[str]:
    """Numbers and links of one prose that the other does not have."""
    found = []
    for name, pattern in (("number", NUMBER), ("link", LINK)):
        both = [sorted(pattern.findall(prose(text))) for text in (english, chinese)]
        one = [x for x in both[0] if both[0].count(x) > both[1].count(x)]
        two = [x for x in both[1] if both[1].count(x) > both[0].count(x)]
        if name == "link":  # each language leads to the other
            one = [x for x in one if x != CHINESE.name]
            two = [x for x in two if x != ENGLISH.name]
        found += [f"the {name} {x} is in {ENGLISH.name} only" for x in dict.fromkeys(one)]
        found += [f"the {name} {x} is in {CHINESE.name} only" for x in dict.fromkeys(two)]
    return found


def main() -> None:
    """Copy, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail when something differs")
    arguments = parser.parse_args()
    english, old = (path.read_text(encoding="utf-8") for path in (ENGLISH, CHINESE))
    new = copied(old, english, BLOCK, "blocks of code")
    new = copied(new, english, CASE, "cases")
    if not arguments.check:
        CHINESE.write_text(new, encoding="utf-8")
    elif new != old:
        raise SystemExit(f"readme_zh: {CHINESE.name} is out of date: run scripts/readme_zh.py")
    found = differences(english, new)
    if found:
        raise SystemExit("readme_zh: " + "\n".join(found))


if __name__ == "__main__":
    main()
