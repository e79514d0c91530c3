"""tf.test.TestCase: its assertions hold and fail as they should."""

from __future__ import annotations

import unittest

import mica.tf as tf
import numpy as np


class Good(tf.test.TestCase):
    __test__ = False  # run below

    def setUp(self):
        super().setUp()
        self.x = tf.constant([1.0, 2.0])

    def test_values(self):
        self.assertAllEqual(self.x + 1, [2.0, 3.0])
        self.assertAllClose({"a": self.x}, {"a": [1.0, 2.0000001]})
        self.assertNotAllClose(self.x, [5, 6])
        self.assertNotAllEqual(self.x, [1.0, 3.0])
        self.assertAllCloseAccordingToType(tf.cast(self.x, tf.float16), [1.0, 2.001])
        self.assertAllInRange(self.x, 0, 3)
        self.assertAllGreater(self.x, 0)
        self.assertAllInSet(self.x, {1.0, 2.0})
        self.assertAllEqual(tf.constant(["a"]), [b"a"])

    def test_shapes_and_errors(self):
        self.assertShapeEqual(np.ones([2]), self.x)
        self.assertDTypeEqual(self.x, np.float32)
        self.assertEqual(self.evaluate(self.x).tolist(), [1.0, 2.0])
        self.assertLen(self.x, 2)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.reshape(self.x, [3])
        with self.assertRaisesOpError("requested shape"):
            tf.reshape(self.x, [3])


class Bad(tf.test.TestCase):
    __test__ = False

    def test_values(self):
        self.assertAllEqual([1, 2], tf.constant([1, 3]))

    def test_shapes(self):
        self.assertAllClose([1.0], [1.0, 1.0])

    def test_errors(self):
        with self.assertRaisesOpError("other words"):
            tf.reshape([1.0], [3])


def run(case) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_assertions_that_hold_pass():
    result = run(Good)
    assert result.testsRun == 2 and result.wasSuccessful(), result.failures + result.errors


def test_assertions_that_do_not_hold_fail():
    result = run(Bad)
    assert len(result.failures) == 3 and not result.errors, result.errors
