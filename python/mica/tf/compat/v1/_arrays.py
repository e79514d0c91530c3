"""Functions of arrays and control flow whose arguments TensorFlow 1 orders or names otherwise."""

from __future__ import annotations

import builtins as _builtins

import numpy as _np

from .... import tf as _tf
from ... import _array, _control, _devices, _dtypes, _gradients, _reduce, _select
from ... import strings as _strings
from ..._context import executing_eagerly as _executing_eagerly
from ..._context import graph_of_variables as _graph_of_variables
from ..._core import Tensor as _Tensor
from ..._core import convert_to_tensor as _convert
from ..._effects import tuple as _tuple
from ..._names import name_scope as _name_scope
from ..._shapes import TensorShape as _TensorShape
from ...ragged import boolean_mask as _boolean_mask
from ._arguments import either as _either


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """Return a tensor of values; the last one fills what is left of a larger shape."""
    if shape is None or isinstance(value, _Tensor):
        return _array.constant(value, dtype, shape, name)
    found = _np.asarray(value)
    wanted = _TensorShape(shape).as_list()
    if verify_shape and list(found.shape) != wanted:
        raise TypeError(
            f"Expected Tensor's shape: {wanted}, but got {found.shape}. Leave verify_shape out, "
            "or give values of this shape"
        )
    size = int(_np.prod(wanted))
    if 0 < found.size < size and _graph_of_variables() is not None:
        if dtype is None:
            dtype = _array.constant(value).dtype
        flat = found.ravel()
        value = _np.concatenate([flat, _np.repeat(flat[-1:], size - found.size)]).tolist()
    return _array.constant(value, dtype, shape, name)


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """Return a value as a tensor."""
    hint = _either("dtype_hint", dtype_hint, "preferred_dtype", preferred_dtype)
    return _convert(value, dtype, hint, name)


def ones_like(tensor, dtype=None, name=None, optimize=True):
    """Return ones in a tensor's shape."""
    return _tf.ones_like(tensor, dtype, name)


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    """Return zeros in a tensor's shape."""
    return _tf.zeros_like(tensor, dtype, name)


def shape(input, name=None, out_type=None):
    """Return a tensor's shape, or a ragged or sparse one's, as a tensor."""
    return _tf.shape(input, out_type, name)


def size(input, name=None, out_type=None):
    """Return how many elements a tensor has."""
    return _tf.size(input, out_type, name)


def expand_dims(input, axis=None, name=None, dim=None):
    """Return a tensor with one more axis of length 1."""
    axis = _either("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return _tf.expand_dims(input, axis, name)


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    """Return a tensor without axes of length 1."""
    axis = _either("axis", axis, "squeeze_dims", squeeze_dims)
    axis = [axis] if isinstance(axis, int) else axis
    return _tf.squeeze(input, axis, name)


def transpose(a, perm=None, name="transpose", conjugate=False):
    """Return a tensor with its axes in another order."""
    return _tf.transpose(a, perm, conjugate, name)


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """Return slices of a tensor along an axis."""
    return _tf.gather(params, indices, validate_indices, axis, batch_dims, name)


def gather_nd(params, indices, name=None, batch_dims=0, bad_indices_policy=""):
    """Return elements or slices of a tensor at places."""
    return _tf.gather_nd(params, indices, batch_dims, name, bad_indices_policy)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """Return the slices of a tensor where a mask is true."""
    return _tf.boolean_mask(tensor, mask, axis, name)


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Return a tensor with more elements at the ends of its axes."""
    return _select.pad(tensor, paddings, mode, constant_values, name)


def reverse_sequence(
    input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None
):
    """Return a tensor with the first elements of each sequence in reverse."""
    seq_axis = _either("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = _either("batch_axis", batch_axis, "batch_dim", batch_dim)
    return _select.reverse_sequence(input, seq_lengths, seq_axis, batch_axis, name)


def _blocks(block_shape, block_size):
    shape = _either("block_shape", block_shape, "block_size", block_size)
    return [shape, shape] if isinstance(shape, int) else shape


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """Return pictures whose squares of pixels have become pictures of the batch."""
    return _select.space_to_batch(input, _blocks(block_shape, block_size), paddings, name)


def batch_to_space(input, crops, block_size, name=None, block_shape=None):
    """Return pictures of a batch whose pixels have become squares."""
    return _select.batch_to_space(input, _blocks(block_shape, block_size), crops, name)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """Return a norm of vectors or matrices."""
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduce.norm(tensor, ord, axis, keep, name)


# ---- control flow, gradients, scopes -------------------------------------------------------------


def _unpacked(value):
    single = type(value) in (list, _builtins.tuple) and len(value) == 1
    return value[0] if single else value


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """Return true_fn() or false_fn(); eagerly a list of one element as that, unless `strict`."""
    true_fn = _either("true_fn", true_fn, "fn1", fn1)
    false_fn = _either("false_fn", false_fn, "fn2", fn2)
    found = _control.cond(pred, true_fn, false_fn, name)
    return _unpacked(found) if not strict and _executing_eagerly() else found


def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
    maximum_iterations=None,
    return_same_structure=False,
):
    """Repeat body while cond; of one loop variable its value, unless the same structure is asked.

    How many iterations run side by side and where memory lies change no result.
    """
    found = _control.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants=shape_invariants,
        back_prop=back_prop,
        maximum_iterations=maximum_iterations,
        name=name,
    )
    return found if return_same_structure else _unpacked(found)


def gradients(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=_gradients.UnconnectedGradients.NONE,
):
    """Return the derivatives of the sum of `ys` with respect to each of `xs`."""
    return _gradients.gradients(
        ys,
        xs,
        grad_ys,
        name,
        stop_gradients=stop_gradients,
        unconnected_gradients=unconnected_gradients,
    )


def hessians(
    ys,
    xs,
    name="hessians",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
):
    """Return the second derivatives of the sum of `ys` with respect to each of `xs`."""
    return _gradients.hessians(ys, xs, name=name)


class device(_devices.device):
    """Within it, ops are asked to go to the named device."""

    def __init__(self, device_name_or_function) -> None:
        in_graph = _graph_of_variables() is not None
        if callable(device_name_or_function) and in_graph:
            raise NotImplementedError(
                "tf.compat.v1.device takes the name of a device, not a function of operations: "
                "give a name such as '/CPU:0', or tf.distribute's strategies the choice"
            )
        super().__init__(device_name_or_function)


class name_scope(_name_scope):
    """Within it, names begin with `name`, or with `default_name` where that is None.

    `values`, the operands, say nothing more: they are of the graph that is being built.
    """

    def __init__(self, name, default_name=None, values=None) -> None:
        if name is None and default_name is None and values is not None:
            raise ValueError(
                "At least one of name (None) and default_name (None) must be provided."
            )
        if not isinstance(name, str | None):
            raise TypeError(f"`name` must be a string, given: {name!r}")
        if not isinstance(default_name, str | None):
            raise TypeError(f"`default_name` must be a string, given: {default_name!r}")
        chosen = default_name if name is None else name
        super().__init__("" if chosen is None else chosen)


def op_scope(values, name, default_name=None):
    """As name_scope."""
    return name_scope(name, default_name=default_name, values=values)


def tuple(tensors, name=None, control_inputs=None):
    """Return tensors that are all there before any of them is used."""
    return _tuple(tensors, control_inputs, name)


# ---- strings, random numbers ---------------------------------------------------------------------


def string_split(
    source, sep=None, skip_empty=True, delimiter=None, result_type="SparseTensor", name=None
):
    """Return the parts of each string between any of the bytes of `sep`, a space if not said."""
    sep = _either("sep", sep, "delimiter", delimiter)
    sep = " " if sep is None else sep
    kind = result_type.lower()
    if kind not in ("sparsetensor", "raggedtensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    text = _convert(source, _dtypes.string)
    if len(sep) > 1:
        letters = "".join(f"\\x{byte:02x}" for byte in sep.encode())
        text = _strings.regex_replace(text, f"[{letters}]", sep[0])
    found = _strings.split(text, sep[0], name=name) if sep else _strings.bytes_split(text)
    if skip_empty:
        found = _boolean_mask(found, found.with_values(_strings.length(found.values) > 0))
    return found.to_sparse() if kind == "sparsetensor" else found
