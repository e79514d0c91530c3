"""A tenth of the stored random calls answers as TensorFlow did, but for those that are reviewed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "agreement"))

import golden
import mica.tf as tf
import public
import report
import reviewed
import rules
import spelling
from recipes import RECIPES


def test_a_tenth_of_the_calls_agrees_with_tensorflow():
    calls, wanted, _ = golden.read()
    there = report.offered(calls)
    assert len(there) >= 40_000
    chosen = [i for i in there if reviewed.in_tenth(calls[i])]
    assert len(chosen) > len(there) / 15
    rows = report.compare([calls[i] for i in chosen], [wanted[i] for i in chosen])
    faults = reviewed.faults(rows)
    assert not faults, "\n".join(faults)


def test_every_reviewed_call_is_stored():
    calls, _, _ = golden.read()
    assert set(reviewed.read()) <= {reviewed.key(call) for call in calls}


def test_few_calls_are_reviewed_and_every_argument_is_asked():
    calls, _, _ = golden.read()
    there = [calls[i] for i in report.offered(calls)]
    assert len(reviewed.read()) <= 0.016 * len(there)
    assert reviewed.UNSEEN not in reviewed.read().values()
    assert "; not" not in report.argument_counts(there)


def test_every_public_function_has_a_recipe_or_a_reason():
    present = [names for names in public.read() if any(public.find(tf, name) for name in names)]
    without = {names[0] for names in present if not any(name in RECIPES for name in names)}
    assert without == public.unasked()


def test_the_rules_tell_answers_apart():
    call = {"f": "add", "a": [], "m": "known", "o": 1}
    right = {"r": [["float32", [2], [1.0, "n"]]], "s": [[2]], "g": [None]}

    def verdict(**changes):
        return rules.disagreement(call, right, {**right, **changes})

    assert verdict() is None
    assert verdict(r=[["float32", [2], [1.000001, "n"]]]) is None
    assert verdict(r=[["float32", [2], [1.001, "n"]]]) == "result: values"
    assert verdict(r=[["float32", [2], [1.0, 2.0]]]) == "result: values"
    assert verdict(r=[["float64", [2], [1.0, "n"]]]) == "result: dtype"
    assert verdict(r=[["float32", [1, 2], [1.0, "n"]]]) == "result: shape"
    assert verdict(g=[["float32", [2], [0, 0]]]) == "gradient: None"
    assert verdict(s=[[None]]) == "static shape"
    assert verdict(s=[None]) == "static shape"
    raised = {"e": "InvalidArgumentError"}
    assert rules.disagreement(call, right, raised) == "raises InvalidArgumentError"
    assert rules.disagreement(call, raised, right) == "does not raise InvalidArgumentError"
    assert rules.disagreement(call, raised, {"e": "ValueError"})
    assert rules.disagreement(call, raised, raised) is None
    assert rules.disagreement(call, right, {"x": "crashes: -11"}) == "crashes: -11"


def test_spelled_arrays_are_the_same_everywhere():
    assert spelling.values("int32", [4], "range 0 9", 5).tolist() == [5, 5, 7, 0]
    assert spelling.values("float64", [2], "uniform", 3).tolist() == [-0.598, 1.504]
