"""Classes with tensors in their fields, and functions that stand in for the package's."""

import mica.tf as tf
import numpy as np
import pytest


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor
    tag: str = "m"

    def __validate__(self):
        self.values.shape.assert_is_compatible_with(self.mask.shape)

    def total(self):
        return tf.reduce_sum(tf.where(self.mask, self.values, 0.0))


class Scaled(tf.experimental.ExtensionType):
    inner: Masked
    scale: float

    def __init__(self, inner, scale=1):
        self.inner = inner
        self.scale = float(scale)


def example():
    return Masked([1.0, 2.0, 3.0], [True, False, True])


def test_fields_are_converted_and_checked():
    m = example()
    assert m.tag == "m" and float(m.total()) == 4.0
    assert repr(m.Spec) and "Masked(values=" in repr(m)
    with pytest.raises(ValueError):
        Masked([1.0], [True, False])
    with pytest.raises(TypeError, match="tag"):
        Masked([1.0], [True], 5)
    with pytest.raises(TypeError, match="required argument"):
        Masked([1.0])
    with pytest.raises(AttributeError, match="Cannot mutate"):
        m.tag = "other"


def test_values_are_compared_and_flattened():
    assert bool(example() == example()) and not bool(example() != example())
    assert (example() == 3) is False
    values, mask = sorted(
        tf.nest.flatten(example(), expand_composites=True), key=lambda t: t.dtype.name, reverse=True
    )
    assert values.dtype == tf.float32 and mask.dtype == tf.bool
    doubled = tf.nest.map_structure(
        lambda t: t if t.dtype == tf.bool else t * 2.0, example(), expand_composites=True
    )
    np.testing.assert_allclose(doubled.values, [2, 4, 6])


def test_they_pass_through_functions_branches_and_loops():
    @tf.function
    def f(m, n):
        for _ in tf.range(n):
            m = Masked(m.values * 2.0, m.mask, m.tag)
        if n > 2:
            m = Masked(-m.values, m.mask, m.tag)
        return Scaled(m, 2)

    result = f(example(), tf.constant(1))
    np.testing.assert_allclose(result.inner.values, [2, 4, 6])
    assert result.scale == 2.0 and result.inner.tag == "m"
    np.testing.assert_allclose(f(example(), tf.constant(3)).inner.values, [-8, -16, -24])
    assert f.experimental_get_tracing_count() == 1


def test_specs_tell_values_apart():
    spec = example()._type_spec
    assert spec == Masked.Spec(tf.TensorSpec([3]), tf.TensorSpec([3], tf.bool), "m")
    assert spec.is_compatible_with(example()) and not spec.is_compatible_with(tf.constant(1))
    assert spec._unbatch().values == tf.TensorSpec([])


def test_functions_stand_in_while_they_are_registered():
    before = tf.abs, tf.add, tf.shape

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Masked | tf.Tensor)
    def binary(api, x, y):
        return Masked(api(x.values, getattr(y, "values", y)), x.mask)

    @tf.experimental.dispatch_for_api(tf.shape, {"input": Masked})
    def shape(input, out_type=tf.int32, name=None):
        return tf.shape(input.values, out_type)

    try:
        np.testing.assert_allclose(tf.math.negative(example()).values, [-1, -2, -3])
        np.testing.assert_allclose(tf.add(example(), tf.constant(1.0)).values, [2, 3, 4])
        np.testing.assert_allclose(tf.shape(example()), [3])
        assert float(tf.abs(tf.constant(-1.0))) == 1.0
    finally:
        for function in (unary, binary, shape):
            tf.experimental.unregister_dispatch_for(function)
    assert (tf.abs, tf.add, tf.shape) == before
    with pytest.raises((TypeError, ValueError)):
        tf.abs(example())


class Pair(tf.experimental.BatchableExtensionType):
    v: tf.Tensor
    m: tf.Tensor
    n: str = "x"


class Nested(tf.experimental.BatchableExtensionType):
    pair: Pair
    t: tf.Tensor


def test_pipelines_take_batchable_types_apart_and_join_them():
    def listed(dataset):
        return [(type(e), e.v.numpy().tolist(), e.m.numpy().tolist(), e.n) for e in dataset]

    data = tf.data.Dataset.from_tensor_slices(Pair(tf.range(3), tf.reshape(tf.range(6), [3, 2])))
    ones = [(Pair, i, [2 * i, 2 * i + 1], "x") for i in range(3)]
    assert listed(data) == ones
    batches = data.batch(2)
    assert listed(batches) == [(Pair, [0, 1], [[0, 1], [2, 3]], "x"), (Pair, [2], [[4, 5]], "x")]
    assert batches.element_spec.m.shape.as_list() == [None, 2]
    assert listed(batches.unbatch()) == ones
    mapped = data.map(lambda e: Pair(e.v * 2, e.m[0], "y")).batch(3)
    assert listed(mapped) == [(Pair, [0, 2, 4], [0, 2, 4], "y")]
    nested = Nested(Pair(tf.range(2), tf.range(2)), tf.range(2))
    (joined,) = tf.data.Dataset.from_tensor_slices({"a": nested}).batch(2)
    assert joined["a"].pair.v.numpy().tolist() == joined["a"].t.numpy().tolist() == [0, 1]


def test_pipelines_carry_other_types_whole():
    class Single(tf.experimental.ExtensionType):
        v: tf.Tensor

    data = tf.data.Dataset.from_tensors(Single(tf.range(3))).map(lambda e: Single(e.v + 1))
    assert [e.v.numpy().tolist() for e in data] == [[1, 2, 3]]
    with pytest.raises(TypeError, match="not supported"):
        data.batch(2)
