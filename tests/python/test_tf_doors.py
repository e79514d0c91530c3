"""An op means the same by every door: eagerly, in a function, in a SavedModel that is loaded again,
and in a C program that runs the SavedModel. The same bits come out.

The cases of tests/tf are traced one by one; those whose graph has a row that no case before had are
kept, and saved together as the signatures of one model. Rows that no kept case has, and rows that
do not come through a door, are in tests/tf/doors.txt, each with its reason.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest
from house import BUILD, ROOT, compiler, run
from mica import _mica
from mica.tf._rows import row_of

sys.path.insert(0, str(ROOT / "tests" / "tf"))
import corpus
from row_cases import ROW_CASES

REASONS = ROOT / "tests/tf/doors.txt"

pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler was found")


@dataclass
class Kept:
    name: str
    function: object
    concrete: object
    inputs: list
    rows: set[str]  # that no case before has


def tensors_of(results: object) -> list:
    parts = tf.nest.flatten(results, expand_composites=True)
    return [tf.convert_to_tensor(each) for each in parts if each is not None]


def candidates():
    """Cases by name: a function of tensors, and the tensors."""
    for name, case in corpus.load().items():
        if case.kind == "case":
            yield name, lambda *xs, case=case: case.function(tf, *xs), case.arrays()
    for case in ROW_CASES:
        yield f"row {case.name} {case.what}", lambda *xs, case=case: case.call(tf, *xs), case.draw()


def keep(name: str, call, arrays: list, known: set[str], alone: set[str]) -> Kept | None:
    """The case, when its graph has rows that are not known, and none that has a reason."""
    inputs = [tf.constant(each) for each in arrays]

    def named(*xs):
        return {f"y{i:02}": each for i, each in enumerate(tensors_of(call(*xs)))}

    function = tf.function(named, autograph=False)
    specs = [tf.TensorSpec(x.shape, x.dtype, name=f"x{i}") for i, x in enumerate(inputs)]
    concrete = function.get_concrete_function(*specs)
    inside = {each.type for each in concrete.graph.get_operations()}
    if inside & alone or inside <= known:
        return None
    return Kept(name, function, concrete, inputs, inside - known)


def bits(tensor: object) -> tuple:
    array = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    return array.shape, array.tolist() if array.dtype == object else array.tobytes()


def write_inputs(kept: dict[str, Kept], path: Path) -> None:
    """An array for each input; texts are bytes and, by another name, their lengths."""
    arrays = {}
    for signature, each in kept.items():
        for i, x in enumerate(each.inputs):
            value, name = np.asarray(x.numpy()), f"{signature}:x{i}"
            if x.dtype == tf.string:
                texts = [bytes(text) for text in value.ravel().tolist()]
                lengths = np.array([len(text) for text in texts], np.int64)
                arrays[f"{name}#lengths"] = lengths.reshape(value.shape)
                value = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
            arrays[name] = value
    np.savez(path, **arrays)


def reasons() -> dict[str, str]:
    """Of rows, and of whole families by the name of their folder."""
    lines = REASONS.read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return {row: reason for rows, reason in pairs for row in rows.split()}


def without_a_form() -> set[str]:
    """Rows of which the table says that files have no form for them."""
    return {name for name in _mica.tf_ops if row_of(name).no_file}


def rows_by_family() -> dict[str, set[str]]:
    return {
        f"ops/{path.parent.name}": set(re.findall(r"^MICA_TF_OP\((\w+)", path.read_text(), re.M))
        for path in (ROOT / "src/tf/ops").glob("*/rows.def")
    }


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """What came out by each door: a list of faults."""
    folder = tmp_path_factory.mktemp("doors")
    known: set[str] = set()
    alone = set(reasons()) | without_a_form()
    kept = []
    for name, call, arrays in candidates():
        try:
            found = keep(name, call, arrays, known, alone)
        except AttributeError:
            continue  # a name that is missing: docs/tensorflow.md has it
        if found:
            known |= found.rows
            kept.append(found)
    cases = {f"s{i:03}": each for i, each in enumerate(kept)}
    faults = []
    expected = {}
    for signature, each in cases.items():
        inside = each.function(*each.inputs)
        eager = each.function.python_function(*each.inputs)
        expected[signature] = inside
        faults += [
            f"{each.name}: {key} differs between eager mode and a function"
            for key in inside
            if bits(inside[key]) != bits(eager[key])
        ]
    signatures = {signature: each.concrete for signature, each in cases.items()}
    tf.saved_model.save(tf.Module(), str(folder / "model"), signatures=signatures)
    faults += loaded_faults(folder / "model", cases, expected)
    faults += program_faults(folder, cases, expected)
    return known, faults


def loaded_faults(model: Path, cases: dict[str, Kept], expected: dict) -> list[str]:
    loaded = tf.saved_model.load(str(model))
    faults = []
    for signature, each in cases.items():
        given = {f"x{i}": x for i, x in enumerate(each.inputs)}
        found = loaded.signatures[signature](**given)
        for key, value in expected[signature].items():
            if bits(found[key]) != bits(value):
                faults.append(f"{each.name}: {key} differs once it is saved and loaded")
    return faults


def program_faults(folder: Path, cases: dict[str, Kept], expected: dict) -> list[str]:
    program, source = folder / "doors", ROOT / "tests/python/doors_program.c"
    flags = ["-O1", "-I", ROOT / "include", "-L", BUILD, "-lmica", f"-Wl,-rpath,{BUILD}"]
    made = run(*compiler(), source, "-o", program, *flags)
    assert made.returncode == 0, made.stderr
    write_inputs(cases, folder / "inputs.npz")
    ran = run(program, folder / "model", folder / "inputs.npz", folder / "outputs.npz")
    assert ran.returncode == 0, ran.stderr
    faults = [f"in C {line}" for line in ran.stdout.splitlines()]
    found = np.load(folder / "outputs.npz")
    for signature, each in cases.items():
        for key, value in expected[signature].items():
            name = f"{signature}:{key}"
            if value.dtype != tf.string and (name not in found or bits(found[name]) != bits(value)):
                faults.append(f"{each.name}: {key} differs in C")
    return faults


def test_every_op_means_the_same_by_every_door(walk):
    _, faults = walk
    assert not faults, "\n".join(faults)


def test_rows_that_are_not_walked_have_a_reason(walk):
    known, _ = walk
    families, listed = rows_by_family(), set(reasons())
    rows = set().union(*families.values())
    excused = without_a_form() | listed.union(*(families[each] for each in listed & set(families)))
    lacking = rows - known - excused
    assert not lacking, f"tests/tf/doors.txt has no reason for {sorted(lacking)}"
    strangers = listed - rows - set(families)
    assert not strangers, f"tests/tf/doors.txt lists what is no row: {sorted(strangers)}"
