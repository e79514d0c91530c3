"""An op means the same by every door, and the same bits come out: eagerly, in a function, through
`tf.raw_ops`, through the bytes of a GraphDef, in a SavedModel that is loaded again, and in a C
program that runs the SavedModel.

The cases of tests/tf and of tests/tf/door_cases.py are traced one by one; those whose graph has a
row that no case before had are kept, and saved together as the signatures of one model. Rows that
do not come through a door are in tests/tf/doors.txt, each with its reason.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest
from house import BUILD, ROOT, compiler, run
from mica import _mica
from mica.tf._rows import row_of
from mica.tf.saved_model._import_graph import attribute_value

sys.path.insert(0, str(ROOT / "tests" / "tf"))
import corpus
from door_cases import DOOR_CASES, PLAIN, Place
from row_cases import ROW_CASES

REASONS = ROOT / "tests/tf/doors.txt"
DOORS = ("eager", "function", "raw_ops", "graph_def", "saved_model", "c")
MOST_EXCEPTIONS = 0.03  # of the rows that are not private

pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler was found")


@dataclass
class Kept:
    name: str
    function: object
    concrete: object
    inputs: list
    doors: list[str]

    def operations(self) -> list:
        """The nodes of its graph."""
        return [o for o in self.concrete.graph.get_operations() if o.type != "Placeholder"]


@dataclass
class Reasons:
    doors: dict[str, set[str]]  # rows that do not come through each door
    private: set[str]  # rows that TensorFlow does not have


def tensors_of(results: object) -> list:
    parts = tf.nest.flatten(results, expand_composites=True)
    kinds = tf.Tensor | np.ndarray
    return [tf.convert_to_tensor(each) for each in parts if isinstance(each, kinds)]


def candidates(folder: Path, places: list) -> Iterator[tuple]:
    """Cases by name: a function of tensors, and the tensors."""
    cases = corpus.load()
    for name, case in cases.items():
        if case.kind == "case":
            yield name, lambda *xs, case=case: case.function(tf, *xs), case.arrays()
    for case in ROW_CASES:
        yield f"row {case.name} {case.what}", lambda *xs, case=case: case.call(tf, *xs), case.draw()
    for case in DOOR_CASES:
        place = Place(str(folder), tf.Module())
        places.append(place.kept)

        def call(*xs, case=case, place=place):
            return case.call(tf, place, *xs)

        yield f"door {case.name}", call, case.operands
    for name in PLAIN:
        yield name, lambda case=cases[name]: case.function(tf), ()


def trace(call, arrays: list) -> tuple:
    """The case as a function with named results, its trace, and its operands."""
    inputs = [tf.constant(each) for each in arrays]

    def named(*xs):
        return {f"y{i:02}": each for i, each in enumerate(tensors_of(call(*xs)))}

    function = tf.function(named, autograph=False)
    specs = [tf.TensorSpec(x.shape, x.dtype, name=f"x{i}") for i, x in enumerate(inputs)]
    return function, function.get_concrete_function(*specs), inputs


def bits(tensor: object) -> tuple:
    array = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    return array.shape, array.tolist() if array.dtype.kind in "OS" else array.tobytes()


def reasons() -> Reasons:
    found = Reasons({door: set() for door in DOORS}, set())
    for line in REASONS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        rows, doors, reason = line.split(" | ")
        assert reason, f"{rows}: no reason"
        for door in DOORS if doors == "all" else doors.split():
            if door == "private":
                found.private |= set(rows.split())
            else:
                found.doors[door] |= set(rows.split())
    return found


def all_rows() -> set[str]:
    return {
        row
        for path in (ROOT / "src/tf/ops").glob("*/rows.def")
        for row in re.findall(r"^MICA_TF_OP\((\w+)", path.read_text(), re.M)
    }


# ---- a door each: what the case gives by it ------------------------------------------------------


def through_eager(case: Kept) -> list:
    return list(case.function.python_function(*case.inputs).values())


def through_function(case: Kept) -> list:
    return list(case.function(*case.inputs).values())


def through_raw_ops(case: Kept) -> list:
    """The graph once more, node by node: each row is called as tf.raw_ops has it."""
    graph, values = case.concrete.graph, {}
    given = [*case.inputs, *case.concrete.captured_inputs]
    for i, value in enumerate(given):
        values[graph._parameter_at(i).name] = value
    for operation in case.operations():
        inputs = [values[tensor.name] for tensor in operation.inputs]
        result = call_raw(operation, inputs)
        flat = list(result) if isinstance(result, list | tuple) else [result]
        flat = [x for part in flat for x in (part if isinstance(part, list | tuple) else [part])]
        names = [tensor.name for tensor in operation.outputs]
        values.update(zip(names, flat if names else [], strict=True))
    return [values[tensor.name] for tensor in graph._outputs()]


def call_raw(operation: object, inputs: list) -> object:
    """An op of tf.raw_ops, all arguments by name."""
    row, message, arguments, at = row_of(operation.type), operation.node_def, {}, 0
    for argument in row.inputs:
        n = argument.size(message.attr)
        arguments[argument.name] = inputs[at] if argument.is_plain else inputs[at : at + n]
        at += n
    for name, kind in row.kinds.items():
        if name in row.inferred:
            continue
        if kind in ("func", "list(func)"):
            entries = _mica.tf_functions(operation.graph, operation._number)[name]
            graphs = [graph for _, graph in entries]
            arguments[name] = graphs if kind == "list(func)" else graphs[0]
        else:
            arguments[name] = attribute_value(kind, message.attr[name])
    return getattr(tf.raw_ops, operation.type)(**arguments)


def through_graph_def(case: Kept) -> list:
    """Written as bytes, read again, and run by a session."""
    graph = case.concrete.graph
    data = graph.as_graph_def().SerializeToString()
    given = [*case.inputs, *case.concrete.captured_inputs]
    names = [graph._parameter_at(i).name for i in range(len(given))]
    outputs = [tensor.name for tensor in graph._outputs()]
    with tf.Graph().as_default() as again:
        message = tf.compat.v1.GraphDef.FromString(data)
        found = tf.graph_util.import_graph_def(message, return_elements=outputs, name="")
        with tf.compat.v1.Session(graph=again) as session:
            return session.run(found, dict(zip(names, given, strict=True)))


HERE = {
    "eager": through_eager,
    "function": through_function,
    "raw_ops": through_raw_ops,
    "graph_def": through_graph_def,
}


# ---- a model of all cases ------------------------------------------------------------------------


def write_inputs(kept: dict[str, Kept], path: Path) -> None:
    """An array for each input; texts are bytes and, by another name, their lengths."""
    arrays = {"": np.zeros(1, np.uint8)}
    for signature, each in kept.items():
        for i, x in enumerate(each.inputs):
            value, name = np.asarray(x.numpy()), f"{signature}:x{i}"
            if x.dtype == tf.string:
                texts = [bytes(text) for text in value.ravel().tolist()]
                lengths = np.array([len(text) for text in texts], np.int64)
                arrays[f"{name}#lengths"] = lengths.reshape(value.shape)
                value = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
            arrays[name] = value
    del arrays[""]
    np.savez(path, **arrays)


def strings_of(found: object, name: str) -> np.ndarray | None:
    """The texts that a C program wrote."""
    if f"{name}#lengths" not in found:
        return None
    lengths, data, at = found[f"{name}#lengths"], found[name].tobytes(), 0
    texts = np.empty(lengths.size, object)
    for i, n in enumerate(lengths.ravel().tolist()):
        texts[i], at = data[at : at + n], at + n
    return texts.reshape(lengths.shape)


def loaded_faults(model: Path, cases: dict[str, Kept], expected: dict) -> list[str]:
    loaded = tf.saved_model.load(str(model))
    faults = []
    for signature, each in cases.items():
        given = {f"x{i}": x for i, x in enumerate(each.inputs)}
        tf.random.set_seed(1)
        found = loaded.signatures[signature](**given)
        for i, value in enumerate(expected[signature]):
            if bits(found[f"y{i:02}"]) != value:
                faults.append(f"{each.name}: result {i} differs once it is saved and loaded")
    return faults


def program_faults(folder: Path, cases: dict[str, Kept], expected: dict) -> list[str]:
    program, source = folder / "doors", ROOT / "tests/python/tf_ops/doors_program.c"
    flags = ["-O1", "-I", ROOT / "include", "-L", BUILD, "-lmica", f"-Wl,-rpath,{BUILD}"]
    made = run(*compiler(), source, "-o", program, *flags)
    assert made.returncode == 0, made.stderr
    write_inputs(cases, folder / "inputs.npz")
    ran = run(program, folder / "model", folder / "inputs.npz", folder / "outputs.npz")
    assert ran.returncode == 0, ran.stderr
    names = {signature: each.name for signature, each in cases.items()}
    lines = [line.partition("\t") for line in ran.stdout.splitlines()]
    faults = [f"in C {names[signature]}: {message}" for signature, _, message in lines]
    with np.load(folder / "outputs.npz") as file:
        found = dict(file)
    for signature, each in cases.items():
        for i, value in enumerate(expected[signature]):
            name = f"{signature}:y{i:02}"
            texts = strings_of(found, name)
            if name not in found or bits(found[name] if texts is None else texts) != value:
                faults.append(f"{each.name}: result {i} differs in C")
    return faults


@dataclass
class Walk:
    walked: dict[str, set[str]]  # rows by door
    faults: list[str]


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Walk:
    """What came out by each door: a list of faults."""
    folder = tmp_path_factory.mktemp("doors")
    walked: dict[str, set[str]] = {door: set() for door in DOORS}
    barred, kept, places = reasons().doors, [], []
    for name, call, arrays in candidates(folder, places):
        tf.random.set_seed(1)
        try:
            function, concrete, inputs = trace(call, arrays)
        except AttributeError:
            continue  # a name that is missing: docs/tensorflow.md has it
        inside = {o.type for o in concrete.graph.get_operations()} - {"Placeholder"}
        doors = [door for door in DOORS if not inside & barred[door]]
        if any(inside - walked[door] for door in doors):
            kept.append(Kept(name, function, concrete, inputs, doors))
            for door in doors:
                walked[door] |= inside
    faults, expected = [], {}
    for number, each in enumerate(kept):
        tf.random.set_seed(1)
        wanted = expected[f"s{number:03}"] = [bits(x) for x in through_function(each)]
        for door, through in HERE.items():
            if door not in each.doors or door == "function":
                continue
            tf.random.set_seed(1)
            try:
                found = [bits(x) for x in through(each)]
            except Exception as error:
                faults.append(f"{each.name}: {door}: {type(error).__name__}: {error}")
                continue
            if found != wanted:
                faults.append(f"{each.name}: other bits by {door} than in a function")
    saved = {f"s{i:03}": each for i, each in enumerate(kept) if "saved_model" in each.doors}
    module = tf.Module()
    module.places = places
    signatures = {signature: each.concrete for signature, each in saved.items()}
    tf.saved_model.save(module, str(folder / "model"), signatures=signatures)
    faults += loaded_faults(folder / "model", saved, expected)
    in_c = {signature: each for signature, each in saved.items() if "c" in each.doors}
    faults += program_faults(folder, in_c, expected)
    return Walk(walked, faults)


def test_every_op_means_the_same_by_every_door(walk):
    assert not walk.faults, "\n".join(walk.faults)


def test_rows_that_are_not_walked_have_a_reason(walk):
    rows, listed = all_rows(), reasons()
    for door in DOORS:
        lacking = rows - walk.walked[door] - listed.doors[door]
        assert not lacking, f"tests/tf/doors.txt has no reason for {sorted(lacking)} at {door}"
    named = set().union(listed.private, *listed.doors.values())
    assert named <= rows, f"tests/tf/doors.txt lists what is no row: {sorted(named - rows)}"


def test_few_rows_lack_a_door(walk):
    rows, listed = all_rows(), reasons()
    public = rows - listed.private
    exceptions = public & set().union(*listed.doors.values())
    whole = public & set.intersection(*walk.walked.values())
    print(
        f"{len(rows)} rows, {len(listed.private)} of them private; {len(whole)} of the other "
        f"{len(public)} are walked through all of {len(DOORS)} doors, {len(exceptions)} are not"
    )
    assert len(exceptions) <= MOST_EXCEPTIONS * len(public), sorted(exceptions)
    assert whole | exceptions == public
