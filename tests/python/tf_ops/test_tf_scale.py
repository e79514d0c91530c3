"""Pictures that are scaled and moved, beside TensorFlow's answers."""

import gzip
import json
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest
from scale_cases import cases, run

DATA = Path(__file__).parent / "data" / "tf_scale.json.gz"


def test_pictures_and_their_gradients_are_those_of_tensorflow():
    answers = json.loads(gzip.decompress(DATA.read_bytes()))
    for case, answer in zip(cases(), answers, strict=True):
        for found, wanted in zip(run(tf, case), answer, strict=True):
            np.testing.assert_allclose(
                found.numpy().ravel(), wanted, rtol=2e-5, atol=2e-6, err_msg=str(case)
            )


def test_a_scale_is_known_at_run_time_only():
    images = tf.reshape(tf.range(12.0), [1, 3, 4, 1])

    @tf.function
    def moved(scale):
        return tf.raw_ops.ScaleAndTranslate(
            images=images, size=[3, 4], scale=scale, translation=[0.0, 0.0], kernel_type="triangle"
        )

    np.testing.assert_allclose(moved(tf.constant([1.0, 1.0])), images, rtol=1e-6)
    assert np.isnan(moved(tf.constant([0.0, 1.0])).numpy()).all()


def test_what_does_not_fit_is_refused():
    given = {"images": tf.ones([1, 2, 2, 1]), "size": [2, 2], "translation": [0.0, 0.0]}
    scaled = tf.raw_ops.ScaleAndTranslate
    with pytest.raises(tf.errors.InvalidArgumentError, match="scale must have two elements"):
        scaled(**given, scale=[1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unrecognized kernel type: sinc"):
        scaled(**given, scale=[1.0, 1.0], kernel_type="sinc")
