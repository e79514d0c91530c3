"""`tf.compat.v1.sparse`: functions whose arguments TensorFlow 1 orders or names otherwise.

The rest is `tf.sparse`; at the top of `tf.compat.v1` these are `sparse_add` and so on.
"""

from __future__ import annotations

from ... import sparse as _sparse
from ..._missing import missing as _missing_name
from ._arguments import either as _either
from ._placeholders import sparse_placeholder as placeholder

matmul = _sparse.sparse_dense_matmul

__all__ = [
    "add",
    "concat",
    "matmul",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "split",
]


def add(a, b, threshold=None, thresh=None):
    """Return the sum of two tensors, of which at least one is sparse."""
    threshold = _either("threshold", threshold, "thresh", thresh)
    return _sparse.add(a, b, 0 if threshold is None else threshold)


def concat(
    axis,
    sp_inputs,
    name=None,
    expand_nonconcat_dim=False,
    concat_dim=None,
    expand_nonconcat_dims=None,
):
    """Return sparse tensors one after the other along an axis."""
    axis = _either("axis", axis, "concat_dim", concat_dim)
    if expand_nonconcat_dims is not None and expand_nonconcat_dim:
        raise ValueError("Cannot specify both 'expand_nonconcat_dim' and its newer name.")
    expands = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    return _sparse.concat(axis, sp_inputs, expands, name)


def _reduced(function, sp_input, axis, keepdims, reduction_axes, keep_dims, is_sparse: bool):
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    axis = _either("axis", axis, "reduction_axes", reduction_axes)
    return function(sp_input, axis, keep, is_sparse)


def reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Return the largest element over axes, as a dense tensor."""
    given = axis, keepdims, reduction_axes, keep_dims
    return _reduced(_sparse.reduce_max, sp_input, *given, False)


def reduce_max_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Return the largest element over axes, as a sparse tensor."""
    given = axis, keepdims, reduction_axes, keep_dims
    return _reduced(_sparse.reduce_max, sp_input, *given, True)


def reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Return the sum over axes, as a dense tensor."""
    given = axis, keepdims, reduction_axes, keep_dims
    return _reduced(_sparse.reduce_sum, sp_input, *given, False)


def reduce_sum_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Return the sum over axes, as a sparse tensor."""
    given = axis, keepdims, reduction_axes, keep_dims
    return _reduced(_sparse.reduce_sum, sp_input, *given, True)


def segment_sum(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False):
    """Return the sums of chosen rows, by segment."""
    return _sparse.segment_sum(data, indices, segment_ids, num_segments, name, sparse_gradient)


def segment_mean(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False):
    """Return the means of chosen rows, by segment."""
    return _sparse.segment_mean(data, indices, segment_ids, num_segments, name, sparse_gradient)


def segment_sqrt_n(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False):
    """Return the sums of chosen rows by the root of their number, by segment."""
    return _sparse.segment_sqrt_n(data, indices, segment_ids, num_segments, name, sparse_gradient)


_KEYWORDS = object()


def split(
    keyword_required=_KEYWORDS,
    sp_input=None,
    num_split=None,
    axis=None,
    name=None,
    split_dim=None,
):
    """Return a sparse tensor in parts along an axis; every argument is given by its name."""
    if keyword_required is not _KEYWORDS:
        raise ValueError("Keyword arguments are required for this function.")
    for value, text in ((sp_input, "sp_input"), (num_split, "num_split")):
        if value is None:
            raise ValueError(f"{text} is required")
    axis = _either("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    return _sparse.split(sp_input, num_split, axis, name)


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_sparse, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_sparse) if not n.startswith("_"))})
