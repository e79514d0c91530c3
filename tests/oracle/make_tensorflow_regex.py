# needs: tensorflow-cpu
"""What TensorFlow's regular expressions do with random patterns and texts: data/tf_regex.json.gz.

A case is [pattern, rewrite, whether all is replaced, texts, whether each matches as a whole, what
each becomes], or the error of the pattern in place of the last two. Bytes are Latin-1.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import tensorflow as tf

OUT = Path(__file__).resolve().parents[1] / "python" / "tf_ops" / "data" / "tf_regex.json.gz"
COUNT = 4000

LITERALS = [
    *(*"aaabbbc1_ -K", "é", "k", "\u017f", "ǅ", "日"),
    *("\\n", "\\.", "\\x41", "\\x{e9}", "\\141"),
]
CLASSES = [
    *(".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\pL", "\\PN", "\\p{Lu}", "\\p{^Greek}"),
    *("[ab]", "[^a]", "[a-c]", "[^\\n]", "[\\w-]", "[[:alpha:]]", "[[:^digit:]1]", "[^é]", "\\C"),
    *("[\\d\\s]", "[^\\pL]", "[\\PLa]", "[k-m]", "[]b]", "[^]a-]", "[à-ÿ]", "[\\x{100}-\\x{ffff}]"),
]
EDGES = ["^", "$", "\\b", "\\B", "\\A", "\\z", "(?m:^)", "(?m:$)"]
REPEATS = [*"*+?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}", "{,3}", "{0}", "{3,1}"]
FLAGS = ["(?i)", "(?s)", "(?m)", "(?U)", "(?i-s)", "(?-i)", "(?is)", "(?x)"]
FLAWS = [*"()[*\\", "\\q", "a**", "(?", "[b-a]", "\\pQ", "(?<n>a)", "{1001}", "a{1001}"]
REWRITES = ["", "-", "<\\0>", "\\1", "[\\1|\\2]", "\\\\", "\\9", "x\\", "y\\z", "é\\1\\1"]
PIECES = [*"aaabbbc1_ -K\n\r\t.Ak", "é", "\u017f", "\u212a", "日", "\u0391", "ǆ"]


def pattern(r: random.Random, depth: int) -> str:
    """A random pattern; now and then one that is wrong."""
    kind = r.random()
    if depth == 0 or kind < 0.3:
        return r.choice(LITERALS) if r.random() < 0.6 else r.choice(CLASSES)
    if kind < 0.36:
        return r.choice(EDGES)
    if kind < 0.55:
        return pattern(r, depth - 1) + pattern(r, depth - 1)
    if kind < 0.65:
        return pattern(r, depth - 1) + "|" + pattern(r, depth - 1)
    if kind < 0.80:
        inner = pattern(r, depth - 1)
        return r.choice(["({})", "({})", "(?:{})", "(?P<n>{})", "(?i:{})", "({}|)"]).format(inner)
    if kind < 0.96:
        inner = pattern(r, depth - 1)
        inner = inner if r.random() < 0.3 else f"({inner})"
        return inner + r.choice(REPEATS)
    if kind < 0.985:
        return r.choice(FLAGS) + pattern(r, depth - 1)
    return r.choice(FLAWS)


def text(r: random.Random) -> bytes:
    """A random text; now and then one that is no UTF-8."""
    made = "".join(r.choice(PIECES) for _ in range(r.randrange(12))).encode()
    if r.random() < 0.1:
        place = r.randrange(len(made) + 1)
        made = made[:place] + bytes([r.choice([0xFF, 0xC3, 0xE6, 0x80, 0])]) + made[place:]
    return made


def answer(whole: str, rewrite: str, everywhere: bool, texts: list[bytes]) -> list:
    """What TensorFlow says."""
    try:
        is_whole = tf.strings.regex_full_match(texts, whole).numpy().tolist()
        made = tf.strings.regex_replace(texts, whole, rewrite, everywhere).numpy().tolist()
    except tf.errors.InvalidArgumentError as error:
        message = error.message.split("Invalid pattern: ", 1)[1].rsplit(" [Op:", 1)[0]
        return [message.removeprefix(f"{whole}, error: ")]
    return [is_whole, [found.decode("latin-1") for found in made]]


def main() -> None:
    r = random.Random(17)
    cases = []
    while len(cases) < COUNT:
        whole = pattern(r, r.randrange(1, 6))
        rewrite, everywhere = r.choice(REWRITES), r.random() < 0.8
        texts = [text(r) for _ in range(4)]
        found = answer(whole, rewrite, everywhere, texts)
        kept = [given.decode("latin-1") for given in texts]
        cases.append([whole, rewrite, everywhere, kept, *found])
    OUT.parent.mkdir(exist_ok=True)
    with gzip.GzipFile(OUT, "wb", mtime=0) as file:
        file.write(json.dumps(cases, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
