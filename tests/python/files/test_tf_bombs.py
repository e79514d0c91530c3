"""Small files that ask for much: refused before memory or time is spent on them."""

import mica.tf as tf
import numpy as np
import pytest
from mica.tf._graph_def import TensorProto
from mica.tf._proto import Message
from mica.tf.saved_model._import_graph import Library
from mica.tf.saved_model._messages import FunctionDef, GraphDef, SavedModel, StructuredValue
from mica.tf.saved_model._tensors import Repeats, tensor_of


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def all_messages():
    pending, found = [SavedModel], []
    while pending:
        kind = pending.pop()
        if kind not in found:
            found.append(kind)
            pending += [field.message for field in kind._fields.values() if field.message]
    return found


@pytest.mark.parametrize("kind", all_messages(), ids=lambda kind: kind.__name__)
def test_every_field_is_read_with_its_own_wire_type_alone(kind: type[Message]):
    contents = {0: varint(2_400_000_000), 1: bytes(8), 2: b"\x00", 5: bytes(4)}
    for field in kind._fields.values():
        for wire, content in contents.items():
            data = varint(field.number << 3 | wire) + content
            is_packed = wire == 2 and field.is_repeated
            if wire == field.wire or is_packed:
                kind.FromString(data)
            else:
                with pytest.raises(ValueError, match=f"field {field.name} of .* wire type {wire}"):
                    kind.FromString(data)


def test_a_map_reads_keys_and_values_with_their_own_wire_types():
    for pair in (b"\x08\x05", b"\x10\x80\xc0\xb2\x8d\x09"):
        data = b"\x2a" + varint(len(pair)) + pair  # attr of a NodeDef
        node = b"\x0a" + varint(len(data)) + data
        graph = b"\x12" + varint(len(node)) + node
        meta = b"\x12" + varint(len(graph)) + graph
        with pytest.raises(ValueError, match="wire type 0"):
            SavedModel.FromString(meta)


def test_twelve_bytes_that_would_become_gigabytes_are_no_model(tmp_path):
    inner = b"\x2a" + varint(2_400_000_000)  # tensorflow_version as a number
    info = b"\x0a" + varint(len(inner) - 1 + 1) + b"\x28" + inner[1:]
    (tmp_path / "saved_model.pb").write_bytes(b"\x12" + varint(len(info)) + info)
    with pytest.raises(OSError, match=r"saved_model\.pb: .*tensorflow_version"):
        tf.saved_model.load(str(tmp_path))


def test_messages_inside_messages_end():
    data = b""
    for _ in range(200):
        inner = b"\x0a" + varint(len(data)) + data  # a list of one
        data = b"\x9a\x03" + varint(len(inner)) + inner
    with pytest.raises(ValueError, match="nested more than 100 levels"):
        StructuredValue.FromString(data)


def splat(shape, **values):
    proto = TensorProto(dtype=tf.float32.as_datatype_enum, **values)
    for n in shape:
        proto.tensor_shape.dim.add(size=n)
    return proto


@pytest.mark.parametrize("shape", [[2**31], [2**20, 2**20], [2**62, 2**62]])
def test_one_element_is_not_made_into_more_than_memory(shape):
    with pytest.raises(tf.errors.ResourceExhaustedError, match="has 1 in the file"):
        tensor_of(splat(shape, float_val=[1.0]), Repeats())


def test_elements_that_are_not_in_a_file_are_bounded_in_sum():
    repeats = Repeats()
    proto = splat([2**20], float_val=[1.0])
    with pytest.raises(tf.errors.ResourceExhaustedError):
        for _ in range(200):
            tensor_of(proto, repeats)


def test_the_last_element_goes_on():
    found = tensor_of(splat([3, 2], float_val=[1.0, 2.0])).numpy()
    np.testing.assert_array_equal(found, [[1, 2], [2, 2], [2, 2]])
    with pytest.raises(ValueError, match="2 elements has values for 3"):
        tensor_of(splat([2], float_val=[1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="no known shape"):
        tensor_of(splat([-1, -1], float_val=[1.0]))


def test_a_large_constant_of_one_element_takes_no_memory_when_it_is_loaded():
    definition = FunctionDef()
    definition.signature.name = "f"
    definition.signature.output_arg.add(name="y", type=tf.int64.as_datatype_enum)
    constant = definition.node_def.add(name="c", op="Const")
    constant.attr["dtype"].type = tf.float32.as_datatype_enum
    constant.attr["value"].tensor = splat([2**40], float_val=[2.0])
    shape = definition.node_def.add(name="s", op="Shape", input=["c:output:0"])
    shape.attr["T"].type = tf.float32.as_datatype_enum
    shape.attr["out_type"].type = tf.int64.as_datatype_enum
    definition.ret["y"] = "s:output:0"
    file = GraphDef()
    file.library.function.append(definition.SerializeToString())
    assert len(file.SerializeToString()) < 200
    assert Library(file).graph("f")._run([])[0].numpy().tolist() == [2**40]


def test_functions_that_call_each_other_too_often_are_refused():
    function = tf.function(lambda x: x + 1.0)

    def twice(inner):
        return tf.function(lambda x: inner(inner(x)))

    for _ in range(30):
        function = twice(function)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="call each other too often"):
        function(tf.constant(1.0))
