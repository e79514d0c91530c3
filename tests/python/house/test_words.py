"""The words of the project are those of its field; the list of what they replace is short."""

import re
import sys

import pytest
from house import ROOT, sources

sys.path.insert(0, str(ROOT / "scripts"))
import messages

THIS = "tests/python/house/test_words.py"
TEXTS = (
    *("src/**/*.[ch]", "include/**/*.h", "include/**/*.def", "python/**/*.[ch]", "python/**/*.py"),
    *("scripts/*", "bench/*.py", "bench/*.[ch]", "examples/*", "docs/*.md", "*.md"),
)
REPLACED = {
    r"\bexecute_and_look\b|\blook_(before|after)\b|\bn_looks\b|\bto_look_at\b": "bounds checks",
    r"\b[xy]_lies\b|\bas it lies\b": "contiguous, in place",
    r"\bNOT_NOTHING\b": "NON_EMPTY",
    r"\bclass (Further|Across)\b|\b_(further|across)\b": "a noun that says what it is",
    r"\b(near|turn)\.c\b": "a file that is named after what it does",
    r"\bnobody\b": "a noun: caller, waiter, owner, reader",
    r"\bway back\b": "backward pass",
    r"\bbrought nearer\b|\bBrings .* nearer\b": "prefetched",
    r"\bmade (small|large)\b": "in lower case, in upper case",
    r"\bWho asks is not known\b": "the request does not have valid credentials",
}
IN_TESTS = {r"\b(FIGURES?|[Ff]igures?)\b|(_figures?|figures?_)": "golden values"}
IN_MESSAGES = {
    **REPLACED,
    r"\b(who|whom)\b": "a noun",
    r"\b(turned|lies|looks at|nearer)\b": "the field's own verb",
    r"\ba (function|computation) of nothing\b": "without operands",
}


def found(text: str, words: dict[str, str]) -> list[str]:
    return [
        f"{match.group(0)!r} is written: {better}"
        for pattern, better in words.items()
        for match in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize(
    ("patterns", "words"), [(TEXTS, REPLACED), (("tests/**/*.[ch]", "tests/**/*.py"), IN_TESTS)]
)
def test_texts_use_the_words_of_the_field(patterns, words):
    wrong = []
    for path in sources(*patterns):
        name = str(path.relative_to(ROOT))
        if name == THIS or path.suffix == ".log" or not path.is_file():
            continue
        wrong += [f"{name}: {each}" for each in found(path.read_text(encoding="utf-8"), words)]
    assert not wrong


def test_messages_use_the_words_of_the_field():
    listed = list(messages.messages())
    assert len(listed) > 2000
    assert not [
        f"{path}:{line}: {each}"
        for path, line, message in listed
        for each in found(message, IN_MESSAGES)
    ]


def test_the_list_of_messages_joins_what_the_source_cuts(tmp_path):
    c, python = tmp_path / "a.c", tmp_path / "a.py"
    c.write_text(
        '/* MICA_INVALID("no") */\nreturn MICA_INVALID("[op] %d is " /* x */ "odd", f(")"));'
    )
    python.write_text('raise ValueError(\n    f"[op] {n} is " "odd"\n)')
    assert [text for _, text in messages.c_messages(c)] == ["[op] %d is odd)"]
    assert [text for _, text in messages.python_messages(python)] == ["[op] {} is odd"]
