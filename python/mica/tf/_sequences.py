"""Labels along time: connectionist temporal classification."""

from __future__ import annotations

from . import _dtypes
from ._array import boolean_mask, concat, expand_dims, gather, range, shape, stack, where
from ._core import convert_to_tensor, ops
from ._math import cast, reduce_sum
from ._select import one_hot

_NEVER = -1e30  # the logarithm of what does not happen


def _log_sum(parts):
    """Return log(sum(e^x)) of tensors, which may all be next to impossible."""
    x = stack(parts)
    top = ops["StopGradient"](ops["Max"](x, 0))
    return ops["Log"](ops["Sum"](ops["Exp"](x - top), 0)) + top


def _shifted(x, by: int):
    """Return x moved along the last axis, what enters is impossible."""
    filler = ops["ZerosLike"](x[:, :by]) + _NEVER
    return concat([filler, x[:, :-by]], 1)


def ctc_loss(
    labels,
    logits,
    label_length,
    logit_length,
    logits_time_major=True,
    unique=None,
    blank_index=None,
    name=None,
):
    """Return -log of the probability of each sequence of labels, over all alignments."""
    from ._functional import scan
    from .nn import log_softmax
    from .sparse import SparseTensor, to_dense

    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError(
                "Argument `blank_index` must be provided when labels is a SparseTensor."
            )
        ends = labels.indices[:, 0]
        rows = cast(labels.dense_shape[0], _dtypes.int32)
        label_length = ops["UnsortedSegmentSum"](ops["OnesLike"](ends), ends, rows)
        labels = to_dense(labels)
    labels = cast(convert_to_tensor(labels), _dtypes.int32)
    x = convert_to_tensor(logits)
    if not logits_time_major:
        x = ops["Transpose"](x, [1, 0, 2])
    classes = shape(x)[2]
    blank = 0 if blank_index is None else blank_index
    blank = classes + blank if isinstance(blank, int) and blank < 0 else blank
    lengths = cast(convert_to_tensor(label_length), _dtypes.int32)
    times = cast(convert_to_tensor(logit_length), _dtypes.int32)
    between = ops["ZerosLike"](labels) + blank
    places = stack([between, labels], 2)
    sizes = shape(labels)
    extended = ops["Reshape"](places, stack([sizes[0], 2 * sizes[1]]))
    extended = concat([extended, between[:, :1]], 1)
    chances = gather(log_softmax(x), ops["Tile"](extended[None], [shape(x)[0], 1, 1]), batch_dims=2)
    before = concat([ops["ZerosLike"](extended[:, :2]) + blank, extended[:, :-2]], 1)
    may_skip = ops["LogicalAnd"](extended != blank, extended != before)
    at = expand_dims(range(2 * sizes[1] + 1), 0)
    first = where(at < 2, chances[0], ops["ZerosLike"](chances[0]) + _NEVER)

    def step(alpha, given):
        time, chance = given
        skipped = where(may_skip, _shifted(alpha, 2), ops["ZerosLike"](alpha) + _NEVER)
        moved = _log_sum([alpha, _shifted(alpha, 1), skipped]) + chance
        return where(expand_dims(time < times, 1), moved, alpha)

    moments = range(1, shape(x)[0])
    alphas = scan(step, (moments, chances[1:]), initializer=first)
    last = concat([first[None], alphas], 0)[-1]
    end = 2 * expand_dims(lengths, 1)
    width = 2 * sizes[1] + 1
    final = one_hot(end[:, 0], width, True, False, dtype=_dtypes.bool)
    prior = one_hot(end[:, 0] - 1, width, True, False, dtype=_dtypes.bool)
    open_end = where(ops["LogicalOr"](final, prior), last, ops["ZerosLike"](last) + _NEVER)
    top = ops["StopGradient"](ops["Max"](open_end, 1, keep_dims=True))
    total = ops["Log"](ops["Sum"](ops["Exp"](open_end - top), 1)) + top[:, 0]
    return -total


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """Return the likeliest class at each time, without blanks and repetitions."""
    from .sparse import SparseTensor

    x = convert_to_tensor(inputs)
    lengths = cast(convert_to_tensor(sequence_length), _dtypes.int32)
    classes = shape(x)[2]
    blank = classes - 1 if blank_index is None else blank_index
    if isinstance(blank, int) and blank < 0:
        blank = classes + blank
    best = ops["Transpose"](ops["ArgMax"](x, 2), [1, 0])
    inside = expand_dims(range(shape(best)[1]), 0) < expand_dims(lengths, 1)
    kept = ops["LogicalAnd"](inside, best != cast(blank, _dtypes.int64))
    if merge_repeated:
        before = concat([ops["ZerosLike"](best[:, :1]) - 1, best[:, :-1]], 1)
        kept = ops["LogicalAnd"](kept, best != before)
    numbers = ops["Cumsum"](cast(kept, _dtypes.int64), 1) - 1
    where_kept = ops["Where"](kept)
    rows, values = where_kept[:, 0], boolean_mask(best, kept)
    indices = stack([rows, boolean_mask(numbers, kept)], 1)
    counts = reduce_sum(cast(kept, _dtypes.int64), 1)
    dense = stack([cast(shape(best)[0], _dtypes.int64), ops["Max"](counts, 0)])
    tops = ops["Transpose"](ops["Max"](x, 2), [1, 0])
    scores = -reduce_sum(where(inside, tops, ops["ZerosLike"](tops)), 1, True)
    return [SparseTensor(indices, values, dense)], scores


def collapse_repeated(labels, seq_length, name=None):
    """Return labels without repetitions, moved to the front, and how many are left."""
    x = convert_to_tensor(labels)
    lengths = convert_to_tensor(seq_length)
    fresh = concat([ops["OnesLike"](x[:, :1]) > 0, x[:, 1:] != x[:, :-1]], 1)
    inside = expand_dims(range(shape(x)[1]), 0) < expand_dims(cast(lengths, _dtypes.int32), 1)
    kept = ops["LogicalAnd"](fresh, inside)
    counts = reduce_sum(cast(kept, lengths.dtype), 1)
    numbers = ops["Cumsum"](cast(kept, _dtypes.int64), 1) - 1
    rows = ops["Where"](kept)[:, 0]
    places = stack([rows, boolean_mask(numbers, kept)], 1)
    longest = cast(ops["Max"](counts, 0), _dtypes.int64)
    dims = stack([cast(shape(x)[0], _dtypes.int64), longest])
    return ops["ScatterNd"](places, boolean_mask(x, kept), dims), counts
