"""mica.tf gives what the real TensorFlow gave: the corpus of tests/tf."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from house import ROOT

sys.path.insert(0, str(ROOT / "tests" / "tf"))
import corpus
import results

HINT = "python scripts/tensorflow_page.py --record"


def page_script():
    spec = importlib.util.spec_from_file_location("page", ROOT / "scripts/tensorflow_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("mica.tf")
    return results.run()


def test_every_case_has_a_golden_value_for_each_of_its_modes():
    _, golden = corpus.read_golden()
    cases = corpus.load()
    assert set(golden) == set(cases), "make oracle"
    for name, case in cases.items():
        lacking = {corpus.GOLDEN_OF[mode] for mode in case.modes} - set(golden[name])
        assert not lacking, f"{name}: {lacking}; make oracle"


def test_the_golden_values_are_small():
    assert corpus.GOLDEN.stat().st_size < 3_000_000


def test_what_has_passed_passes(found):
    lost = page_script().lost(found)
    assert not lost, "\n".join(lost[:40])


def test_a_mode_is_left_out_for_a_reason_that_still_holds():
    worker = results.Worker()
    try:
        stale = [
            f"{name} {mode}: {case.left_out[mode]}"
            for name, case in corpus.load().items()
            for mode in case.possible_modes
            if mode in case.left_out and worker.ask(name, mode) is None
        ]
    finally:
        worker.stop()
    assert not stale, stale


def test_a_mode_is_not_left_out_without_a_reason():
    for wrong in (False, "", True):
        with pytest.raises(AssertionError, match="say why vmap is left out"):
            corpus.case("tf.abs", "never", lambda tf, x: tf.abs(x), corpus.f(2), vmap=wrong)


def test_what_passes_is_recorded(found):
    if not corpus.PASSING.exists():
        pytest.skip("no pass is recorded so far")
    known = corpus.read_passing()
    fresh = [
        f"{name} {mode}"
        for name, modes in found.items()
        for mode, wrong in modes.items()
        if not wrong and mode not in known.get(name, ())
    ]
    assert not fresh, f"{len(fresh)} pass that are not recorded, {fresh[:5]}: {HINT}"


def test_the_page_of_names_is_up_to_date(found):
    page = ROOT / "docs/tensorflow.md"
    if not page.exists():
        pytest.skip("docs/tensorflow.md tells what works; so far nothing does")
    assert page_script().page(found) == page.read_text(encoding="utf-8"), HINT


# Rows that no case asks for by itself; those of datasets and files have tests of their own.
OF_THEIR_OWN = {"data", "records"}
MADE_WITHIN = {
    "StackEmpty": "the derivative of a loop on the host keeps values on a stack",
    "StackPush": "the same",
    "StackPop": "the same",
    "StackPopLike": "the same",
    "StackHas": "the same",
    "CrossReplicaSum": "TensorFlow has it for TPUs alone; tests of TPUEstimator add up with it",
}


# Rows whose cases beside TensorFlow stand in a test of their own, which is named.
TESTED_BY = {
    "test_tf_apply.py": r"ResourceApply\w+|ResourceScatter(Mul|Div)",
    "test_tf_regex.py": r"(Static)?Regex\w+",
    "test_tf_scale.py": r"ScaleAndTranslate\w*",
}


def is_tested_elsewhere(row: str) -> bool:
    return any(
        re.fullmatch(pattern, row) and Path(__file__).with_name(name).exists()
        for name, pattern in TESTED_BY.items()
    )


def test_every_row_of_the_table_has_a_case(found):
    rows = set()
    for path in (ROOT / "src/tf/ops").glob("*/rows.def"):
        if path.parent.name not in OF_THEIR_OWN:
            rows |= set(re.findall(r"^MICA_TF_OP\((\w+)", path.read_text(), re.MULTILINE))
    asked = results.used | set(MADE_WITHIN)
    lacking = {row for row in rows - asked if not is_tested_elsewhere(row)}
    assert not lacking, f"no case of tests/tf uses {sorted(lacking)}"
    assert set(MADE_WITHIN) <= rows - results.used, "a reason that is not needed"


def test_the_runner_notices_a_wrong_value_dtype_shape_and_structure():
    one = ["float32", [2], [1.0, 2.0]]
    assert corpus.difference(one, one, None, None) is None
    assert corpus.difference(["float32", [2], [1.0, 2.0001]], one, None, None)
    assert corpus.difference(["float64", [2], [1.0, 2.0]], one, None, None)
    assert corpus.difference(["float32", [1, 2], [1.0, 2.0]], one, None, None)
    assert corpus.difference({"python": None}, one, None, None)
    assert corpus.difference(["float32", [2], [1.0, float("nan")]], one, None, None)
