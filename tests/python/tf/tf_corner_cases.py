"""Expressions over the plain-Python corners of TensorFlow: dtypes, shapes, specs, structures.

Each is evaluated with the names `tf`, `np`, `P` and `Q` (two named tuples) and `OrderedDict`. What
the real TensorFlow answered, or the class and message of what it raised, is kept in
data/tf_corners.json.gz (tests/oracle/make_tensorflow_corners.py writes it).
"""

from __future__ import annotations

import collections
import gzip
import json
import re
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parent / "data" / "tf_corners.json.gz"

P = collections.namedtuple("P", "x y")
Q = collections.namedtuple("Q", "x y")

_DTYPES = (
    "bfloat16 bool complex128 complex64 double float16 float32 float64 half int16 int32 int64 int8 "
    "qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 variant"
).split()
_FACTS = (
    "name is_numpy_compatible is_bool is_integer is_floating is_complex is_quantized is_unsigned "
    "is_numeric size real_dtype base_dtype as_datatype_enum"
).split()
_LIKE_DTYPES = [
    "'float'", "'int'", "'double'", "'half'", "int", "float", "bool", "complex", "str", "object",
    "np.int32", "np.dtype('int64')", "3", "np.str_", "np.dtype('S3')", "None", "'str'", "list",
    "np.array([1])", "np.float32(1)", "'string'", "'<f4'", "np.dtype(object)", "'resource_ref'",
    "np.complex64", "np.bool_", "'variant'", "99", "np.float64", "'float8_e5m2'", "'int4'",
]  # fmt: skip
_SHAPES = [
    "None", "[]", "[2]", "[None]", "[2, 3]", "[None, 3]", "[2, None]", "[2, None, 4]", "(1, 3)",
    "5", "np.array([2, 3])",
]  # fmt: skip
_SHAPE_FACTS = [
    "rank", "ndims", "dims", "as_list()", "num_elements()", "is_fully_defined()", "with_rank(2)",
    "with_rank_at_least(2)", "with_rank_at_most(1)", "assert_has_rank(2)", "__len__()",
    "assert_is_fully_defined()", "__bool__()", "__getitem__(0)", "__getitem__(-1)",
    "__getitem__(slice(1, None))", "__getitem__(slice(None, 2))", "__getitem__(slice(None, -1))",
    "concatenate([7])", "__radd__((3,))", "__eq__('a')",
]  # fmt: skip
_SHAPE_PAIRS = (
    "__eq__ __ne__ is_compatible_with is_subtype_of merge_with concatenate "
    "most_specific_compatible_shape assert_same_rank assert_is_compatible_with"
).split()
_SINGLE = """
tf.TensorShape([-1])
tf.TensorShape([1.5])
tf.TensorShape(1.5)
tf.TensorShape(["a"])
tf.TensorShape([2, 3]) == (2, 3)
tf.TensorShape([2]) in [(2,)]
tf.TensorShape([2, 3]).dims[0] + 1
tf.TensorShape([2, 3]).dims[0] / 2
tf.TensorShape([2, None]).dims[1] * 3
tf.TensorShape([2, None]).dims[1] == 3
tf.TensorShape([2, 3]).dims[0] < 3
tf.TensorShape([2, 3]).dims[0].merge_with(5)
tf.TensorShape(None) == None
tf.float32.is_compatible_with("float32")
tf.float32.is_compatible_with(tf.int32)
tf.float32 in [tf.int32]
{tf.float32: 1}
tf.dtypes.DType(1)
tf.TensorSpec([2, None])
tf.TensorSpec(None, tf.int32, name="a")
tf.TensorSpec((), "float64")
tf.TensorSpec([2]) == tf.TensorSpec([2])
tf.TensorSpec([2], name="x") == tf.TensorSpec([2])
tf.TensorSpec([3]) == 3
hash(tf.TensorSpec([2])) == hash(tf.TensorSpec((2,)))
tf.TensorSpec.from_spec(tf.TensorSpec([2], tf.int32, "q"))
tf.TensorSpec.from_spec(tf.TensorSpec([2], tf.int32, "q"), name="r")
tf.TensorSpec([None]).is_compatible_with([1.0, 2.0])
tf.TensorSpec([None]).is_compatible_with(np.ones(3, np.float32))
tf.TensorSpec([None]).is_compatible_with(tf.TensorSpec([3]))
tf.TensorSpec([3]).is_compatible_with(tf.TensorSpec([None]))
tf.TensorSpec([3]).most_specific_compatible_type(tf.TensorSpec([4]))
tf.TensorSpec([3]).most_specific_compatible_type(tf.TensorSpec([4], tf.int32))
tf.TensorSpec([3]).is_subtype_of(tf.TensorSpec([None]))
tf.TensorSpec([None]).is_subtype_of(tf.TensorSpec([3]))
tf.TensorSpec([3]).most_specific_common_supertype([tf.TensorSpec([4])])
tf.TensorSpec([3], name="a").most_specific_common_supertype([tf.TensorSpec([3], name="b")])
tf.TensorSpec([3]).most_specific_common_supertype([tf.TensorSpec([4], tf.int32)])
tf.TensorSpec([3])._serialize()
tf.TensorSpec([3], name="a").is_subtype_of(tf.TensorSpec([3]))
tf.TensorSpec([3]).is_subtype_of(tf.TensorSpec([3], name="a"))
tf.TensorSpec([1], "nope")
tf.nest.flatten([1, [2, (3,)], {"b": 4, "a": 5}])
tf.nest.flatten(1)
tf.nest.flatten(None)
tf.nest.flatten("ab")
tf.nest.flatten({1: 2, "a": 3})
tf.nest.flatten(OrderedDict([("b", 1), ("a", 2)]))
tf.nest.flatten(P(1, [2]))
tf.nest.flatten(np.ones(2))
tf.nest.flatten({"b": 1, "a": 3}.values())
tf.nest.flatten({"b": 1, "a": 3}.items())
tf.nest.flatten(range(3))
[tf.nest.is_nested(x) for x in ([], "a", {1}, np.ones(1), P(1, 2), range(3), {}.keys(), None)]
tf.nest.pack_sequence_as([1, [2, (3,)], {"b": 4, "a": 5}], [10, 20, 30, 40, 50])
tf.nest.pack_sequence_as(OrderedDict([("b", 1), ("a", 2)]), [1, 2])
tf.nest.pack_sequence_as(P(1, [2]), [5, 6])
tf.nest.pack_sequence_as([1, 2], [1])
tf.nest.pack_sequence_as(1, [1, 2])
tf.nest.pack_sequence_as([1], 3)
tf.nest.pack_sequence_as(1, [7])
tf.nest.map_structure(lambda x: x + 1, [1, (2, 3)])
tf.nest.map_structure(lambda x, y: x + y, [1, (2, 3)], [1, (2, 3)])
tf.nest.map_structure(lambda x, y: x + y, [1, (2, 3)], [1, [2, 3]])
tf.nest.map_structure(lambda x, y: x + y, [1, (2, 3)], [1, [2, 3]], check_types=False)
tf.nest.map_structure(lambda x, y: x + y, [1, 2], [1])
tf.nest.map_structure(3, [1])
tf.nest.map_structure(lambda x: x)
tf.nest.map_structure(lambda x: x, [1], foo=1)
tf.nest.map_structure(lambda x: x, {"b": 1, "a": 2})
tf.nest.assert_same_structure([1], [1, 2])
tf.nest.assert_same_structure([1], (1,))
tf.nest.assert_same_structure([1], 1)
tf.nest.assert_same_structure(1, [1])
tf.nest.assert_same_structure({"a": 1}, {"b": 1})
tf.nest.assert_same_structure(P(1, 2), Q(1, 2))
tf.nest.assert_same_structure(P(1, 2), (1, 2))
tf.nest.assert_same_structure([1], (1,), check_types=False)
tf.nest.assert_same_structure({"a": 1}, OrderedDict(a=1))
tf.nest.assert_same_structure([[1], 2], [[1, 2], 2])
tf.nest.assert_same_structure([1, [2]], [1, 2])
tf.nest.assert_same_structure({"a": 1}, [1])
tf.nest.assert_same_structure([None], [1])
tf.nest.assert_same_structure([1, {"a": [1]}], [1, {"a": (1,)}])
""".strip().splitlines()


def expressions() -> list[str]:
    """Every expression, once."""
    found = []
    for name in _DTYPES:
        facts = list(_FACTS)
        if name not in ("resource", "variant"):
            facts += ["as_numpy_dtype", "limits"]
        if name != "bfloat16":
            facts += ["min", "max"]
        else:
            # It is a type of another package there.
            facts.remove("as_numpy_dtype")
        found += [f"tf.{name}"] + [f"tf.{name}.{fact}" for fact in facts]
    for value in _LIKE_DTYPES:
        found += [f"tf.as_dtype({value})", f"tf.float32 == {value}", f"tf.int64 != {value}"]
    for shape in _SHAPES:
        found += [f"tf.TensorShape({shape})"]
        found += [f"tf.TensorShape({shape}).{fact}" for fact in _SHAPE_FACTS]
        for other in _SHAPES:
            pair = f"tf.TensorShape({shape}).%s(tf.TensorShape({other}))"
            found += [pair % name for name in _SHAPE_PAIRS]
            found.append(
                f"tf.broadcast_static_shape(tf.TensorShape({shape}), tf.TensorShape({other}))"
            )
    return found + _SINGLE


def answer(tf: object, expression: str) -> str:
    """What an expression gives, as text."""
    names = {"tf": tf, "np": np, "P": P, "Q": Q, "OrderedDict": collections.OrderedDict}
    try:
        value = eval(expression, names)
    except Exception as error:
        return f"{type(error).__name__}: {re.sub(r' at 0x[0-9a-f]+', '', str(error))}"
    # Versions of numpy write their scalars and one class differently.
    text = re.sub(r"np\.\w+\(([^()]*)\)", r"\1", f"{value!r} | {value}")
    return text.replace("numpy.bool_", "numpy.bool")


def golden() -> dict[str, str]:
    """What the real TensorFlow answered."""
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as file:
        return json.load(file)
