"""Rows that step an optimizer or change slices of a variable, beside TensorFlow's answers."""

import json
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest
from apply_cases import SCATTERS, SHAPE, cases, run, run_scatter

ANSWERS = json.loads((Path(__file__).parent / "data" / "tf_apply.json").read_text())


def check(found, answers):
    for tensor, answer in zip(found, answers, strict=True):
        np.testing.assert_allclose(tensor.numpy().ravel(), answer, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("i", range(len(cases())))
def test_a_step_is_that_of_tensorflow(i):
    case = cases()[i]
    variables = [tf.Variable(tf.zeros(SHAPE)) for _ in case[1]]
    check(run(tf, case, variables), ANSWERS["steps"][i])
    check(tf.function(lambda: run(tf, case, variables))(), ANSWERS["steps"][i])


@pytest.mark.parametrize("i", range(len(SCATTERS)))
def test_slices_are_those_of_tensorflow(i):
    variable = tf.Variable(tf.zeros([3, 4]))
    check([run_scatter(tf, SCATTERS[i], variable)], [ANSWERS["scattered"][i]])
    made = tf.function(lambda: run_scatter(tf, SCATTERS[i], variable))()
    check([made], [ANSWERS["scattered"][i]])


def test_what_does_not_fit_is_refused():
    raw, v, w = tf.raw_ops, tf.Variable([[1.0], [2.0]]), tf.Variable([1.0])
    wrong = tf.errors.InvalidArgumentError
    with pytest.raises(wrong, match=r"var and accum do not have the same"):
        raw.ResourceApplyMomentum(
            var=v.handle, accum=w.handle, lr=0.1, grad=[[1.0], [1.0]], momentum=0.9
        )
    with pytest.raises(wrong, match=r"var and delta do not have the same"):
        raw.ResourceApplyGradientDescent(var=v.handle, alpha=0.1, delta=[1.0])
    with pytest.raises(wrong, match=r"alpha is not a scalar: \[1\]"):
        raw.ResourceApplyGradientDescent(var=v.handle, alpha=[0.1], delta=[[1.0], [1.0]])
    for indices in ([2], [-1]):
        with pytest.raises(wrong, match=r"indices\[0\] = -?\d is not in \[0, 2\)"):
            raw.ResourceScatterMul(resource=v.handle, indices=indices, updates=[[1.0]])

        @tf.function
        def later(places):
            raw.ResourceScatterDiv(resource=v.handle, indices=places, updates=[[1.0]])

        with pytest.raises(wrong, match=r"indices\[0\] = -?\d is not in \[0, 2\)"):
            later(tf.constant(indices))
    with pytest.raises(wrong, match=r"Must have updates\.shape"):
        raw.ResourceScatterMul(resource=v.handle, indices=[0], updates=[1.0, 2.0])
    assert v.numpy().tolist() == [[1.0], [2.0]]
