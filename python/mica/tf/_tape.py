"""Derivatives: GradientTape, ForwardAccumulator, custom_gradient."""

from __future__ import annotations

import enum

from .. import _mica
from . import nest
from ._context import building
from ._core import Tensor, convert_to_tensor, ops
from ._graph import FuncGraph, operand
from ._variable import Variable


class UnconnectedGradients(enum.Enum):
    """What gradients are where there is no connection."""

    NONE = "none"
    ZERO = "zero"


def _source(value):
    """Return what tapes know a source by: a variable's handle, else the tensor."""
    if isinstance(value, Variable):
        return value.handle
    handle = getattr(value, "handle", None)
    if handle is not None and isinstance(handle, Tensor):
        return handle
    return value if isinstance(value, Tensor) else convert_to_tensor(value)


class _StopRecording:
    def __init__(self, tape) -> None:
        self._tape = tape

    def __enter__(self) -> None:
        self._tape._pop()

    def __exit__(self, *unused) -> None:
        self._tape._push()


def _parts_with_gradients(target) -> list:
    """The tensors to differentiate: of values made of tensors those that have a derivative."""
    found = []
    for leaf in nest.flatten(target):
        parts = nest.flatten(leaf, expand_composites=True)
        if len(parts) > 1:
            parts = [p for p in parts if p.dtype.is_floating or p.dtype.is_complex]
        found += parts
    return found


def _packed_gradients(sources, results: list):
    """Gradients in the structure of the sources; values made of tensors say what theirs is."""
    rest, made = iter(results), []
    for leaf in nest.flatten(sources):
        parts = [next(rest) for _ in nest.flatten(leaf, expand_composites=True)]
        combine = getattr(leaf, "_from_gradients", None)
        if combine is not None:
            made.append(combine(parts))
        elif len(parts) == 1:
            made += parts
        else:
            made.append(nest.pack_sequence_as(leaf, parts, expand_composites=True))
    return nest.pack_sequence_as(sources, made)


class GradientTape:
    """Records ops, for derivatives of what they computed.

    Parameters
    ----------
    persistent
        Whether `gradient` may be called more than once.
    watch_accessed_variables
        Whether trainable variables are watched when they are read.
    """

    def __init__(self, persistent=False, watch_accessed_variables=True) -> None:
        self._watches = watch_accessed_variables
        self._tape = None
        self._watched: tuple = ()  # what was watched, once the tape is gone
        self._persistent = persistent
        self._recording = False

    def __enter__(self):
        self._push()
        return self

    def __exit__(self, *unused) -> None:
        if self._recording:
            self._pop()

    def _push(self) -> None:
        if self._recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an "
                "already-active tape."
            )
        if self._tape is None:
            self._tape = _mica.TFTape(self._watches)
        self._tape.push()
        self._recording = True

    def _pop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._tape.pop()
        self._recording = False

    def watch(self, tensor) -> None:
        """Follow a tensor, or a structure of tensors, from now on."""
        for item in nest.flatten(tensor, expand_composites=True):
            if not isinstance(item, Tensor | Variable) and not hasattr(item, "handle"):
                raise ValueError(
                    f"Passed in object {item} of type {type(item).__name__!r}, not "
                    "tf.Tensor or tf.Variable or ExtensionType."
                )
            if self._tape is None:
                raise RuntimeError("A tape watches only after it was entered.")
            self._tape.watch(_source(item))

    def stop_recording(self):
        """Do not record within this context."""
        if self._tape is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        return _StopRecording(self)

    def reset(self) -> None:
        """Forget everything recorded so far."""
        recording = self._recording
        if recording:
            self._pop()
        self._tape = None
        if recording:
            self._push()

    def watched_variables(self) -> tuple:
        """Return the variables that were read, in that order."""
        if self._tape is None:
            return self._watched
        found = [handle._variable for handle in self._tape.watched()]
        return tuple(v() for v in found if v is not None and v() is not None)

    def gradient(
        self,
        target,
        sources,
        output_gradients=None,
        unconnected_gradients=UnconnectedGradients.NONE,
    ):
        """Return the derivative of the sum of the target with respect to each source.

        Parameters
        ----------
        target
            A tensor or a structure of tensors.
        sources
            Tensors or variables, in any structure; the answer has the same.
        output_gradients
            What to weigh the targets' elements with; ones by default.
        unconnected_gradients
            "none" or "zero": what to answer where there is no connection.
        """
        if self._tape is None:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians)"
            )
        if self._recording and not self._persistent:
            self._pop()
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, "
                "Variables or CompositeTensors to be differentiated, but received None."
            )
        targets = [self._target(t) for t in _parts_with_gradients(target)]
        flat = nest.flatten(sources, expand_composites=True)
        if output_gradients is not None:
            output_gradients = [
                None if item is None else convert_to_tensor(item)
                for item in nest.flatten(output_gradients)
            ]
        keys = [_source(item) for item in flat]
        results = self._tape.gradient(targets, keys, output_gradients)
        zero = getattr(unconnected_gradients, "value", unconnected_gradients)
        if zero == "zero":
            results = [
                ops["ZerosLike"](convert_to_tensor(source)) if result is None else result
                for source, result in zip(flat, results, strict=True)
            ]
        elif zero != "none":
            raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
        if not self._persistent:
            self._watched = self.watched_variables()
            self._tape = None
        return _packed_gradients(sources, results)

    def _target(self, value):
        """Return what to differentiate; a variable is read now, on the tape."""
        if not isinstance(value, Variable):
            return value if isinstance(value, Tensor) else convert_to_tensor(value)
        if self._recording:
            return value.read_value()
        self._push()
        try:
            return value.read_value()
        finally:
            self._pop()

    def jacobian(
        self,
        target,
        sources,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ):
        """Return the derivative of each element of the target, stacked in front.

        The rows are computed all at once; `experimental_use_pfor=False` asks for one by one.
        """
        flat = nest.flatten(sources)
        target = convert_to_tensor(target)
        shape = ops["Shape"](target)
        count = _size(target)

        def seeds():
            return ops["Reshape"](_unit_vectors(count, target.dtype), _joined([-1], shape))

        rows = self._vectorized(
            target, flat, seeds, count, unconnected_gradients, experimental_use_pfor
        )
        results = [
            None if row is None else ops["Reshape"](row, _joined(shape, ops["Shape"](row)[1:]))
            for row in rows
        ]
        for result, source in zip(results, flat, strict=True):
            _tell_shape(result, target.shape, source.shape)
        return nest.pack_sequence_as(sources, results)

    def _vectorized(self, target, flat, seeds, count, unconnected_gradients, at_once) -> list:
        """Gradients of the target weighed with each of the seeds, stacked; None if unconnected."""
        keep, self._persistent = self._persistent, True
        if self._recording and not keep:
            self._pop()
        try:
            known = isinstance(count, int)
            # Eagerly, few rows are quicker by themselves than what computes them all.
            if at_once and not (known and count <= _FEW and _mica.tf_current_graph() is None):
                found = self._at_once(target, flat, seeds, unconnected_gradients)
                if found is not None:
                    return found
            if not known:
                raise ValueError("The jacobian of a target of unknown size is not possible")
            stacked = ops["Unpack"](seeds(), num=count) if count else []
            each = [self.gradient(target, flat, [s], unconnected_gradients) for s in stacked]
        finally:
            self._persistent = keep
            if not keep:
                self._tape = None
        columns = zip(*each, strict=True) if each else [[None] for _ in flat]
        return [
            None
            if any(row is None for row in rows)
            else ops["Pack"]([convert_to_tensor(row) for row in rows])
            for rows in columns
        ]

    def _at_once(self, target, flat, seeds, unconnected_gradients):
        """The same as one vectorised function; None when that is not possible."""
        body = FuncGraph("jacobian", _mica.tf_current_graph())
        with building(body):
            seed = body._parameter(target.dtype, target.shape, "seed")
            found = self.gradient(target, flat, [seed], unconnected_gradients)
            outputs = [operand(g) for g in found if g is not None]
        captured = [external for external, _ in body._captures()]
        closed = body.closed(captured, outputs)
        if not outputs:
            return [None] * len(flat)
        if not closed._lowers or any(t.dtype.name in ("resource", "variant") for t in captured):
            return None
        rows = iter(
            ops["Vmap"](
                [seeds(), *captured],
                Tout=[t.dtype for t in outputs],
                f=closed,
                mapped=[1] + [0] * len(captured),
            )
        )
        return [None if g is None else next(rows) for g in found]

    def batch_jacobian(
        self,
        target,
        source,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ):
        """Return the jacobian of each example along the first axis."""
        target, source = convert_to_tensor(target), convert_to_tensor(source)
        if target.shape.rank is None or source.shape.rank is None or target.shape.rank < 1:
            raise ValueError("The batch_jacobian needs a target and a source with a first axis")
        if not target.shape[:1].is_compatible_with(source.shape[:1]):
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source "
                f"shape ({source.shape}) to match."
            )
        shape = ops["Shape"](target)
        inner = target.shape[1:].num_elements()
        if inner is None:
            raise ValueError("The batch_jacobian of a target of unknown size is not possible")

        def seeds():
            units = ops["Reshape"](
                _unit_vectors(inner, target.dtype), _joined([inner, 1], shape[1:])
            )
            return ops["BroadcastTo"](units, _joined([inner], shape))

        (rows,) = self._vectorized(
            target, [source], seeds, inner, unconnected_gradients, experimental_use_pfor
        )
        if rows is None:
            return None
        rank = source.shape.rank + 1
        stacked = ops["Transpose"](rows, convert_to_tensor([1, 0, *range(2, rank)]))
        result = ops["Reshape"](stacked, _joined(shape, ops["Shape"](source)[1:]))
        _tell_shape(result, target.shape, source.shape[1:])
        return result


# Eager jacobians of more rows than this are vectorised.
_FEW = 64


def _size(tensor):
    """How many elements there are: a number where that is known."""
    known = tensor.shape.num_elements()
    return ops["Size"](tensor) if known is None else known


def _unit_vectors(count, dtype):
    numbers = ops["Range"](convert_to_tensor(0), convert_to_tensor(count), convert_to_tensor(1))
    one, zero = (ops["Cast"](convert_to_tensor(i), DstT=dtype) for i in (1, 0))
    return ops["OneHot"](numbers, convert_to_tensor(count), one, zero)


def _joined(*parts):
    """Shapes one after the other."""
    return ops["ConcatV2"]([convert_to_tensor(part) for part in parts], convert_to_tensor(0))


def _tell_shape(result, *shapes) -> None:
    if result is None or isinstance(result, _mica.TFEagerTensor):
        return
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = whole.concatenate(shape)
    result.set_shape(whole)


class ForwardAccumulator:
    """Computes derivatives in a direction, forward, along with what is computed.

    Parameters
    ----------
    primals
        Tensors or variables, in any structure.
    tangents
        The direction, in the same structure.
    """

    def __init__(self, primals, tangents) -> None:
        self._accumulator = _mica.TFAccumulator()
        self._recording = False
        nest.assert_same_structure(primals, tangents)
        for primal, tangent in zip(nest.flatten(primals), nest.flatten(tangents), strict=True):
            key = _source(primal)
            tangent = convert_to_tensor(tangent, dtype_hint=primal.dtype)
            if not primal.shape.is_compatible_with(tangent.shape):
                raise ValueError(f"Tangent shape {tangent.shape} does not fit {primal.shape}")
            self._accumulator.watch(key, tangent)

    def __enter__(self):
        self._accumulator.push()
        self._recording = True
        return self

    def __exit__(self, *unused) -> None:
        self._accumulator.pop()
        self._recording = False

    def jvp(self, primals, unconnected_gradients=UnconnectedGradients.NONE):
        """Return the tangents of values computed within the context."""
        zero = getattr(unconnected_gradients, "value", unconnected_gradients)

        def one(value):
            tangent = self._accumulator.jvp(_source(value))
            if tangent is None and zero == "zero":
                return ops["ZerosLike"](convert_to_tensor(value))
            return tangent

        return nest.map_structure(one, primals)


def stop_recording():
    """Let no tape record within this context."""
    return _StopAll()


class _StopAll:
    def __enter__(self) -> None:
        _mica.tf_stop_recording(1)

    def __exit__(self, *unused) -> None:
        _mica.tf_stop_recording(-1)
