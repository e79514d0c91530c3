"""The table of TensorFlow's ops: numbers that stay, rows that have one."""

import hashlib
import re

from house import ROOT

ROW = re.compile(r"^MICA_TF_OP\((\w+)", re.MULTILINE)
NUMBER = re.compile(r"^    MICA_TF_(\w+) = (\d+),$", re.MULTILINE)

# The first so many names of mica/tf_ops.h, and a digest of them. New ops come after these; when
# there are many, this may be taken further.
STORED = 343
DIGEST = "87583ea1023c861d"


def numbers() -> dict[str, int]:
    text = (ROOT / "include/mica/tf_ops.h").read_text(encoding="utf-8")
    found = NUMBER.findall(text)
    assert len({name for name, _ in found}) == len(found)
    return {name: int(number) for name, number in found}


def digest(names: list[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def test_numbers_stay():
    by_name = numbers()
    count = by_name.pop("OP_COUNT")
    assert list(by_name.values()) == list(range(count)), "a number is missing or out of order"
    assert digest(list(by_name)[:STORED]) == DIGEST, "an op's number has changed"


def test_every_row_has_a_number_and_every_number_a_row():
    rows = []
    for path in (ROOT / "src/tf/ops").glob("*/rows.def"):
        rows += ROW.findall(path.read_text(encoding="utf-8"))
    assert len(rows) == len(set(rows))
    assert set(rows) == set(numbers()) - {"OP_COUNT"}
