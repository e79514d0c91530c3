"""Dtypes, shapes, specs and nested structures answer as TensorFlow does."""

import pickle
from types import SimpleNamespace

import pytest
from mica.tf import _dtypes, _shapes, _specs, nest
from tf_corner_cases import answer, expressions, golden

TF = SimpleNamespace(
    **{name: getattr(_dtypes, name) for name in _dtypes.PUBLIC_NAMES},
    as_dtype=_dtypes.as_dtype,
    dtypes=_dtypes,
    TensorShape=_shapes.TensorShape,
    broadcast_static_shape=_shapes.broadcast_static_shape,
    TensorSpec=_specs.TensorSpec,
    nest=nest,
)


def test_every_expression_answers_as_tensorflow_does():
    stored = golden()
    assert set(stored) == set(expressions()), "run scripts/oracle.sh tensorflow_corners"
    wrong = {}
    for expression, wanted in stored.items():
        found = answer(TF, expression)
        if found != wanted:
            wrong[expression] = (found, wanted)
    assert not wrong


@pytest.mark.parametrize(
    "value",
    [
        *_dtypes.ALL,
        _shapes.TensorShape([1, None]),
        _shapes.TensorShape(None),
        _specs.TensorSpec([2]),
    ],
    ids=repr,
)
def test_what_is_pickled_comes_back(value):
    assert pickle.loads(pickle.dumps(value)) == value


def test_dtypes_that_cannot_be_made_are_known_by_name():
    refused = [dtype.name for dtype in _dtypes.ALL if _dtypes.is_refused(dtype)]
    assert "float8_e4m3fnuz" in refused and "qint8" in refused
    assert not {"bfloat16", "string", "float8_e4m3fn", "float8_e5m2"} & set(refused)
    assert _dtypes.as_dtype("float8_e5m2").size == 1


def test_bounded_specs_keep_their_bounds():
    spec = _specs.BoundedTensorSpec([2], "float32", 0.0, 1.0)
    assert spec.minimum == 0.0 and spec.maximum == 1.0
    assert _specs.BoundedTensorSpec.from_spec(_specs.TensorSpec([2], "int8")).maximum == 127
    assert pickle.loads(pickle.dumps(spec)) == spec


class Own:
    """A class that says what its parts are."""

    def __init__(self, kind, parts):
        self.kind, self.parts = kind, parts

    def __tf_flatten__(self):
        return (self.kind,), tuple(self.parts)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(metadata[0], components)


def test_classes_may_say_what_their_parts_are():
    structure = {"a": Own("k", (1, [2])), "b": 3}
    assert nest.flatten(structure) == [1, 2, 3]
    doubled = nest.map_structure(lambda v: v * 2, structure)
    assert doubled["a"].kind == "k" and doubled["a"].parts == (2, [4]) and doubled["b"] == 6
