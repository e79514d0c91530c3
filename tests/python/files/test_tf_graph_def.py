"""Graphs as messages, messages as bytes and text, and how signatures are printed."""

import struct

import mica.tf as tf
import numpy as np
import pytest
from mica.tf._graph_def import AttrValue, GraphDef, TensorProto, tensor_proto
from mica.tf._proto import message


@tf.function
def scaled(x, y):
    """A function with a constant, an attribute and a capture."""
    return tf.reduce_sum(tf.matmul(x, y, transpose_b=True) * 2.0)


def graph():
    """Its graph."""
    return scaled.get_concrete_function(tf.TensorSpec([None, 3]), tf.TensorSpec([4, 3])).graph


def test_a_graph_def_has_a_node_for_every_operation():
    made, operations = graph().as_graph_def(), graph().get_operations()
    assert [n.name for n in made.node] == [o.name for o in operations]
    assert [n.op for n in made.node] == [o.type for o in operations]
    product = next(n for n in made.node if n.op == "MatMul")
    assert list(product.input) == ["x", "y"]
    assert product.attr["transpose_b"].b is True
    assert product.attr["transpose_b"].WhichOneof("value") == "b"
    assert "type: DT_FLOAT" in str(product.attr["T"])
    assert [d.size for d in made.node[0].attr["shape"].shape.dim] == [-1, 3]


def test_a_graph_def_survives_the_wire():
    made = graph().as_graph_def()
    again = GraphDef.FromString(made.SerializeToString())
    assert again == made
    assert str(again) == str(made)


def test_attributes_of_an_operation_are_read_by_name():
    product = next(o for o in graph().get_operations() if o.type == "MatMul")
    assert product.get_attr("transpose_b") is True
    assert product.get_attr("T") == tf.float32
    with pytest.raises(ValueError, match="no attr named 'nonsense'"):
        product.get_attr("nonsense")


def test_a_graph_def_has_the_functions_that_its_nodes_call_and_the_order_of_effects():
    v = tf.Variable(1.0)

    @tf.function
    def effects(x):
        v.assign(tf.cond(x > 0.0, lambda: x, lambda: -x))
        first = v.read_value()
        v.assign_add(2.0)
        return first, v.read_value()

    concrete = effects.get_concrete_function(tf.TensorSpec([]))
    made = GraphDef.FromString(concrete.graph.as_graph_def().SerializeToString())
    branches = {f.name for n in made.node for f in (n.attr["then_branch"].func,) if f.name}
    assert branches and branches <= {f.signature.name for f in made.library.function}
    by_op = {n.op: n for n in made.node}
    reads = [n for n in made.node if n.op == "ReadVariableOp"]
    assert [f"^{by_op['AssignVariableOp'].name}"] == list(reads[0].input)[1:]
    assert f"^{reads[0].name}" in by_op["AssignAddVariableOp"].input
    outputs = [tensor.name for tensor in concrete.graph._outputs()]
    with tf.Graph().as_default() as again:
        found = tf.graph_util.import_graph_def(made, return_elements=outputs)
        handle = next(o for o in again.get_operations() if o.outputs[0].dtype == tf.resource)
        feeds = {handle.outputs[0]: v.handle, "import/x:0": -3.0}
        with tf.compat.v1.Session(graph=again) as session:
            assert session.run(found, feeds) == [3.0, 5.0]


def test_what_a_graph_def_lacks_is_named():
    made = GraphDef()
    made.node.add(name="a", op="NoSuchOp")
    with tf.Graph().as_default():
        with pytest.raises(NotImplementedError, match=r"'NoSuchOp': the node 'a'"):
            tf.graph_util.import_graph_def(made)
    held = GraphDef()
    held.node.add(name="p", op="Placeholder").attr["dtype"].type = 1
    held.node.add(name="y", op="Identity", input=["p"]).attr["T"].type = 1

    @tf.function
    def without_a_value():
        return tf.graph_util.import_graph_def(held, return_elements=["y:0"])

    with pytest.raises(ValueError, match="'p' has no value in a function: give one in input_map"):
        without_a_value()
    with pytest.raises(ValueError, match=r"call it in tf\.Graph"):
        tf.graph_util.import_graph_def(made)
    loop = GraphDef()
    loop.node.add(name="a", op="Identity", input=["b"]).attr["T"].type = 1
    loop.node.add(name="b", op="Identity", input=["a"]).attr["T"].type = 1
    with tf.Graph().as_default(), pytest.raises(ValueError, match="needs its own result"):
        tf.graph_util.import_graph_def(loop)


@pytest.mark.parametrize("value", [1.5, [1, 2, 3], [[True], [False]], [1 + 2j], ["a", "b"]])
def test_tensors_become_messages_with_their_contents(value):
    tensor = tf.constant(value)
    proto = TensorProto.FromString(tensor_proto(tensor).SerializeToString())
    assert proto.dtype == tensor.dtype.as_datatype_enum
    assert [d.size for d in proto.tensor_shape.dim] == tensor.shape.as_list()
    if tensor.dtype == tf.string:
        assert proto.string_val == [b"a", b"b"]
    elif proto.tensor_content:
        flat = np.frombuffer(proto.tensor_content, tensor.dtype.as_numpy_dtype)
        assert (flat.reshape(tensor.shape) == tensor.numpy()).all()
    else:
        assert proto.float_val == [1.5]


def test_bytes_are_those_of_the_wire_format():
    part = message("Part", size=(1, "int"), weight=(2, "double"), names=(3, "string*"))
    whole = message("Whole", part=(1, [part]), numbers=(2, "int*"), on=(4, "bool"))
    made = whole(part=[part(size=-1, names=["a", ""])], numbers=[1, 300], on=True)
    minus_one = b"\x08" + b"\xff" * 9 + b"\x01"
    inner = minus_one + b"\x1a\x01a\x1a\x00"
    expected = b"\x0a" + bytes([len(inner)]) + inner + b"\x12\x03\x01\xac\x02" + b"\x20\x01"
    assert made.SerializeToString() == expected
    assert whole.FromString(expected) == made
    heavy = part(weight=0.25)
    assert heavy.SerializeToString() == b"\x11" + struct.pack("<d", 0.25)
    assert str(heavy) == "weight: 0.25\n"


def test_what_is_no_message_is_refused():
    for data in (b"\x0a\x05ab", b"\x08", b"\x0b", b"\xff" * 12):
        with pytest.raises(ValueError, match="message"):
            GraphDef.FromString(data)
    with pytest.raises(ValueError, match='GraphDef has no "nodes" field'):
        GraphDef(nodes=[])


def test_one_of_the_values_of_an_attribute_is_set():
    value = AttrValue(i=3)
    value.b = False
    assert value.WhichOneof("value") == "b"
    assert not value.HasField("i")


def test_parameters_have_the_names_of_the_python_function():
    @tf.function
    def f(x, y, *rest, z=1, **more):
        return x

    c = tf.constant([1.0, 2.0])
    trace = f.get_concrete_function(c, [c, {"a": c, "b": 2}], c, z=c, q=c)
    assert [t.name for t in trace.inputs] == ["x:0", "y:0", "y_1:0", "rest_0:0", "z:0", "q:0"]
    args, kwargs = trace.structured_input_signature
    assert args[1][1]["a"].name == "y_1_a"
    assert kwargs["q"].name == "q"
    spec = "TensorSpec(shape=(2,), dtype=tf.float32, name=None)"
    text = trace.pretty_printed_signature()
    assert f"y (POSITIONAL_ONLY): List[{spec}, Dict[['a', {spec}], ['b', Literal[2]]]]" in text
    assert f"z (KEYWORD_ONLY): {spec}" in text
    assert text.endswith("Captures:\n  None")


def test_the_gradient_of_a_variable_with_respect_to_itself_is_one():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        chosen = v
    gradients = tape.gradient(chosen, [v, w])
    assert gradients[0].numpy() == 1.0
    assert gradients[1] is None
    assert [x is v for x in tape.watched_variables()] == [True]
