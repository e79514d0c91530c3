"""tf.test.TestCase: unittest's, with assertions about tensors."""

from __future__ import annotations

import contextlib
import tempfile
import unittest

import numpy as np

from . import _nest as nest
from . import errors


def _array(value):
    if hasattr(value, "numpy"):
        value = value.numpy()
    elif isinstance(value, list | tuple) and any(hasattr(v, "numpy") for v in nest.flatten(value)):
        value = nest.map_structure(_array, value)
    return np.asarray(value)


class TestCase(unittest.TestCase):
    """A test case whose assertions know tensors, arrays and nested structures of them."""

    def evaluate(self, tensors):
        """The tensors as arrays."""
        return nest.map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, tensors)

    def get_temp_dir(self) -> str:
        """A folder for this test, which goes when it ends."""
        if not hasattr(self, "_folder"):
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            self._folder = folder.name
        return self._folder

    @contextlib.contextmanager
    def session(self, *unused, **options):
        """Nothing: ops run at once."""
        yield

    cached_session = session

    # ---- equal and close -----------------------------------------------------------------------

    def assertAllEqual(self, a, b, msg=None) -> None:
        """Equal shapes and elements; NaNs are equal."""
        a, b = _array(a), _array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: {a.shape} vs {b.shape}. {msg or ''}")
        same = a == b
        if a.dtype.kind in "fc" and b.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        if not np.all(same):
            self.fail(f"Arrays are not equal: {a} and {b}. {msg or ''}")

    def assertNotAllEqual(self, a, b, msg=None) -> None:
        """Some element differs."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"The two values are equal at all elements. {msg or ''}")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None) -> None:
        """Nearly equal elements, in structures too."""
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"at {key}. {msg or ''}")
            return
        if isinstance(a, list | tuple):
            try:
                first, second = _array(a), _array(b)
            except ValueError:
                self.assertEqual(len(a), len(b), msg)
                for x, y in zip(a, b, strict=True):
                    self.assertAllClose(x, y, rtol, atol, msg)
                return
        else:
            first, second = _array(a), _array(b)
        self.assertEqual(first.shape, second.shape, f"Shape mismatch. {msg or ''}")
        if not np.allclose(first, second, rtol=rtol, atol=atol, equal_nan=True):
            self.fail(f"Arrays are not close: {first} and {second}. {msg or ''}")

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None) -> None:
        """Some elements are not close."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self.fail(f"The two values are close at all elements. {msg or ''}")

    def assertAllCloseAccordingToType(
        self,
        a,
        b,
        rtol=1e-6,
        atol=1e-6,
        float_rtol=1e-6,
        float_atol=1e-6,
        half_rtol=1e-3,
        half_atol=1e-3,
        bfloat16_rtol=1e-2,
        bfloat16_atol=1e-2,
        msg=None,
    ) -> None:
        """Nearly equal elements, as near as their types allow."""
        names = {_array(a).dtype.name, _array(b).dtype.name}
        for few, r, t in [
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ]:
            if names & few:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNear(self, f1, f2, err, msg=None) -> None:
        """Numbers that differ by at most err."""
        self.assertLessEqual(abs(float(f1) - float(f2)), err, msg)

    def assertArrayNear(self, farray1, farray2, err, msg=None) -> None:
        """Numbers that differ by at most err each."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for x, y in zip(farray1, farray2, strict=True):
            self.assertNear(x, y, err, msg)

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None) -> None:
        """Arrays whose difference has at most this norm."""
        self.assertLess(np.linalg.norm(_array(ndarray1) - _array(ndarray2)), err, msg)

    # ---- ranges --------------------------------------------------------------------------------

    def _all(self, holds, what: str, value) -> None:
        if not np.all(holds):
            self.fail(f"{what} does not hold for all elements of {value}")

    def assertAllGreater(self, a, comparison_target) -> None:
        """All are above."""
        a = _array(a)
        self._all(a > comparison_target, f"> {comparison_target}", a)

    def assertAllLess(self, a, comparison_target) -> None:
        """All are below."""
        a = _array(a)
        self._all(a < comparison_target, f"< {comparison_target}", a)

    def assertAllGreaterEqual(self, a, comparison_target) -> None:
        """None is below."""
        a = _array(a)
        self._all(a >= comparison_target, f">= {comparison_target}", a)

    def assertAllLessEqual(self, a, comparison_target) -> None:
        """None is above."""
        a = _array(a)
        self._all(a <= comparison_target, f"<= {comparison_target}", a)

    def assertAllInRange(
        self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False
    ) -> None:
        """All are within bounds."""
        a = _array(target)
        low = a > lower_bound if open_lower_bound else a >= lower_bound
        high = a < upper_bound if open_upper_bound else a <= upper_bound
        self._all(np.logical_and(low, high), f"within {lower_bound} and {upper_bound}", a)

    def assertAllInSet(self, target, expected_set) -> None:
        """All are among these."""
        a = _array(target)
        self._all(np.isin(a, list(expected_set)), f"in {expected_set}", a)

    # ---- shapes, dtypes, containers, errors ----------------------------------------------------

    def assertShapeEqual(self, input_a, input_b, msg=None) -> None:
        """Equal shapes."""
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target, expected_dtype) -> None:
        """The dtype."""
        self.assertEqual(_array(target).dtype, np.dtype(expected_dtype))

    def assertEmpty(self, container, msg=None) -> None:
        """Nothing is in it."""
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container, msg=None) -> None:
        """Something is in it."""
        self.assertNotEqual(len(container), 0, msg)

    def assertLen(self, container, expected_len, msg=None) -> None:
        """So many are in it."""
        self.assertEqual(len(container), expected_len, msg)

    def assertStartsWith(self, actual, expected_start, msg=None) -> None:
        """A text begins with another."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}. {msg or ''}")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        """An error of a class, whose text has words in it or satisfies a function."""
        try:
            yield
        except exception_type as error:
            if callable(expected_err_re_or_predicate):
                self.assertTrue(expected_err_re_or_predicate(error))
            else:
                self.assertRegex(str(error), expected_err_re_or_predicate)
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        """An error of an op, whose text has words in it."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)
