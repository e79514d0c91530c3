"""The table of TensorFlow's ops: numbers that stay, rows that have one, no second table."""

import ast
import hashlib
import re

from house import ROOT, sources

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


# ---- no second table -----------------------------------------------------------------------------

MOST_IN_A_LIST = 3
NEAR = 4  # lines between names of C that belong together
IN_C = re.compile(r'\bMICA_TF_(\w+)\b|"(\w+)"')


def lists_in_c(text: str, ops: set[str]) -> list[set[str]]:
    """Names of ops that stand within a few lines of each other."""
    found, last = [], -NEAR - 1
    for number, line in enumerate(text.splitlines()):
        for constant, string in IN_C.findall(line):
            if (constant or string) not in ops:
                continue
            if number - last > NEAR:
                found.append(set())
            found[-1].add(constant or string)
            last = number
    return found


def lists_in_python(text: str, ops: set[str]) -> list[set[str]]:
    """Names of ops that are the elements of one tuple, list, set or dict."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [*node.keys, *node.values]
        else:
            continue
        values = [each.value for each in parts if isinstance(each, ast.Constant)]
        found.append({each for each in values if isinstance(each, str) and each in ops})
    return found


def test_no_second_table_lists_ops():
    ops = set(numbers()) - {"OP_COUNT"}
    found = {}
    for path in sources("src/**/*.[ch]", "python/_mica/*.[ch]", "python/mica/**/*.py"):
        name = str(path.relative_to(ROOT))
        if name.startswith("src/tf/ops/"):
            continue
        lists = lists_in_python if path.suffix == ".py" else lists_in_c
        longest = max(lists(path.read_text(encoding="utf-8"), ops), key=len, default=set())
        if len(longest) > MOST_IN_A_LIST:
            found[name] = sorted(longest)
    text = (ROOT / "tests/python/tf_ops/lists_of_ops.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    excepted = {line.partition(" | ")[0] for line in lines}
    assert all(line.partition(" | ")[2] for line in lines), "an exception without a reason"
    assert len(lines) <= 10
    fresh = {name: ops for name, ops in found.items() if name not in excepted}
    assert not fresh, f"make it a column of the table: {fresh}"
    assert excepted <= set(found), f"exceptions that are not needed: {excepted - set(found)}"


def test_the_search_for_lists_sees_a_switch_and_a_tuple():
    ops = {"While", "If", "Case", "Add"}
    switch = 'case MICA_TF_While:\n case MICA_TF_If:\n case MICA_TF_Case: return f("Add");'
    assert lists_in_c(switch, ops) == [ops]
    assert ops in lists_in_python("x = ('While', 'If', 'Case', 'Add')", ops)
