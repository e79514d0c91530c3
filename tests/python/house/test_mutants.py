"""tests/mutants.md speaks of faults that scripts/mutations.py can make in the source as it is."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import mutants  # noqa: E402
import mutations  # noqa: E402


def test_every_explained_fault_can_be_made():
    reasons = mutants.read_reasons()
    assert reasons
    for path, was, now in reasons:
        faults = {fault.key for fault in mutations.faults_of(path, (ROOT / path).read_text())}
        assert (path, was, now) in faults, f"{path} has no such line: {was}"


def test_every_kind_of_fault_has_many_places():
    faults = [
        fault
        for path in mutations.sources(ROOT)
        for fault in mutations.faults_of(path, (ROOT / path).read_text())
    ]
    for kind in mutations.KINDS:
        lines = {(fault.path, fault.line) for fault in faults if fault.kind == kind}
        assert len(lines) > 150, kind


def test_text_and_comments_are_left_alone():
    text = '    fail("a < b"); /* i + 1 */\n    return a < b;\n'
    changed = {fault.now for fault in mutations.faults_of("x.c", text)}
    assert "    return a <= b;" in changed
    assert all('"a < b"' in line for line in changed if "fail" in line)
