"""Labels along time: connectionist temporal classification."""

from __future__ import annotations

from .. import _mica
from . import _dtypes, errors
from ._array import (
    boolean_mask,
    concat,
    expand_dims,
    fill,
    gather,
    identity,
    range,
    shape,
    stack,
    where,
)
from ._core import convert_to_tensor, ops
from ._effects import control_dependencies
from ._functional import map_fn, scan
from ._math import cast, reduce_sum
from ._reduce import reduce_logsumexp
from ._refusals import check_true, refusal
from ._select import unique
from ._static import of_rank
from .debugging import assert_positive
from .sparse import SparseTensor, to_dense

_NEVER = -1e30  # the logarithm of what does not happen
_LEAST = -706.893609  # log(1e-307) in float32: TensorFlow's weight of ends that do not count


def _log_sum(parts):
    """Return log(sum(e^x)) of tensors, which may all be next to impossible."""
    x = stack(parts)
    top = ops["StopGradient"](ops["Max"](x, 0))
    return ops["Log"](ops["Sum"](ops["Exp"](x - top), 0)) + top


def _shifted(x, by: int):
    """Return x moved along the last axis, what enters is impossible."""
    filler = ops["ZerosLike"](x[:, :by]) + _NEVER
    return concat([filler, x[:, :-by]], 1)


def _dense_labels(labels, label_length, blank_index):
    """Labels of a batch as a matrix, and how many each row has."""
    if not isinstance(labels, SparseTensor):
        labels = convert_to_tensor(labels)
        if labels.dtype not in (_dtypes.uint8, _dtypes.int8, _dtypes.int32, _dtypes.int64):
            raise refusal(f"labels must be uint8, int8, int32 or int64, not {labels.dtype.name}")
        labels = cast(labels, _dtypes.int32)
        return labels, cast(convert_to_tensor(label_length), _dtypes.int32)
    if blank_index is None:
        raise ValueError(
            "Argument `blank_index` must be provided when `labels` is a `SparseTensor`."
        )
    values = cast(labels.values, _dtypes.int32)
    if isinstance(blank_index, int) and blank_index == 0:
        check = assert_positive(values, "All labels must be nonnegative integers without the blank")
        with control_dependencies([] if check is None else [check]):
            values = identity(values)
    ends = labels.indices[:, 0]
    rows = cast(labels.dense_shape[0], _dtypes.int32)
    lengths = ops["UnsortedSegmentSum"](ops["OnesLike"](ends), ends, rows)
    dense = to_dense(SparseTensor(labels.indices, values, labels.dense_shape))
    return dense, cast(lengths, _dtypes.int32)


def _blank_first(x, labels, blank_index):
    """Classes in the order blank, those before it, those after it; labels name them so.

    A label that names the blank itself names the class before it, unless the blank is class 0
    already: then it is one more state that shows the blank.
    """
    blank = 0 if blank_index is None else blank_index
    if isinstance(blank, int) and blank == 0:
        return x, labels
    if isinstance(blank, int) and blank < 0:
        blank = shape(x)[2] + blank
    x = concat([x[:, :, blank : blank + 1], x[:, :, :blank], x[:, :, blank + 1 :]], 2)
    return x, where(labels < blank, labels + 1, labels)


def _state_chances(x, labels):
    """The log probability of what each state shows, at each time: start, blank, label, blank, ...

    As in TensorFlow a label outside the classes has probability 1, and neither such a label nor
    one that names the blank draws the logits to it: its gradient is that of the sum alone.
    """
    classes = shape(x)[2]
    inside = ops["LogicalAnd"](labels >= 0, labels < classes)
    places = where(inside, labels, ops["ZerosLike"](labels))
    shown = gather(x, ops["Tile"](places[None], [shape(x)[0], 1, 1]), batch_dims=2)
    sums = expand_dims(reduce_logsumexp(x, 2), 2)
    still = ops["StopGradient"](where(inside[None], shown, ops["ZerosLike"](shown) + sums))
    drawn = ops["LogicalAnd"](inside, labels != 0)[None]
    shown = where(drawn, shown, still) - sums
    blanks = ops["ZerosLike"](shown) + (x[:, :, :1] - sums)
    states = stack([shown, blanks], 3)
    sizes = shape(shown)
    states = ops["Reshape"](states, stack([sizes[0], sizes[1], 2 * sizes[2]]))
    first = x[:, :, :1] - sums
    return concat([ops["ZerosLike"](first) + _NEVER, first, states], 2)


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
    """Return -log of the probability of each sequence of labels, over all alignments.

    `unique` changes no result: it lets TPUs compute the same with less memory.
    """
    labels, lengths = _dense_labels(labels, label_length, blank_index)
    labels, logits = of_rank(labels, 2), of_rank(convert_to_tensor(logits), 3)
    narrow = logits.dtype in (_dtypes.float16, _dtypes.bfloat16)
    x = cast(logits, _dtypes.float32) if narrow else logits
    if not logits_time_major:
        x = ops["Transpose"](x, [1, 0, 2])
    x, labels = _blank_first(x, labels, blank_index)
    times = cast(of_rank(convert_to_tensor(logit_length), 1), _dtypes.int32)
    lengths = of_rank(lengths, 1)
    chances = _state_chances(x, labels)
    # A label may follow the one before it without a blank between them where they differ.
    fresh = concat([ops["OnesLike"](labels[:, :1]) > 0, labels[:, 1:] != labels[:, :-1]], 1)
    states = stack([fresh, ops["ZerosLike"](labels) > 0], 2)
    sizes = shape(labels)
    may_skip = ops["Reshape"](states, stack([sizes[0], 2 * sizes[1]]))
    may_skip = concat([fill(stack([sizes[0], 2]), False), may_skip], 1)
    width = 2 * sizes[1] + 2
    at = expand_dims(range(width), 0)
    floor = convert_to_tensor(_LEAST, x.dtype)
    zero = convert_to_tensor(0, x.dtype)
    first = fill(stack([sizes[0], width]), convert_to_tensor(_NEVER, x.dtype))
    first = where(at == 0, zero, first)

    def step(alpha, given):
        time, chance = given
        skipped = where(may_skip, _shifted(alpha, 2), ops["ZerosLike"](alpha) + _NEVER)
        moved = _log_sum([alpha, _shifted(alpha, 1), skipped]) + chance
        return where(expand_dims(time < times, 1), moved, alpha)

    alphas = scan(step, (range(shape(x)[0]), chances), initializer=first)
    last = concat([first[None], alphas], 0)[-1]
    end = 2 * expand_dims(lengths, 1)
    counts = ops["LogicalOr"](at == end, at == end + 1)
    loss = -reduce_logsumexp(last + where(counts, zero, floor), 1)
    return cast(loss, logits.dtype) if narrow else loss


def ctc_unique_labels(labels, name=None):
    """Return the labels of each row without repetitions, filled up with 0, and where each went."""
    def of_row(row):
        found, places = unique(row)
        missing = shape(row)[0] - shape(found)[0]
        found = ops["Pad"](found, stack([stack([0, missing])]))
        return cast(found, _dtypes.int64), places

    kinds = (_dtypes.int64, _dtypes.int32)
    return list(map_fn(of_row, convert_to_tensor(labels), fn_output_signature=kinds))


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """Return the likeliest class at each time, without blanks and repetitions."""
    x = ops["StopGradient"](of_rank(convert_to_tensor(inputs), 3))
    lengths = cast(of_rank(convert_to_tensor(sequence_length), 1), _dtypes.int32)
    if x.shape.rank != 3 or lengths.shape.rank != 1:
        message = f"inputs must have rank 3, sequence_length rank 1: {x.shape}, {lengths.shape}"
        if isinstance(x, _mica.TFEagerTensor):
            raise errors.InvalidArgumentError(None, None, message)
        raise ValueError(message)
    if not x.shape[1:2].is_compatible_with(lengths.shape):
        raise errors.FailedPreconditionError(
            None,
            None,
            f"len(sequence_length) != batch_size. inputs: {x.shape}, sequence_length: "
            f"{lengths.shape}",
        )
    if not (x.shape[1:2].is_fully_defined() and lengths.shape.is_fully_defined()):
        check_true(shape(lengths)[0] == shape(x)[1], "len(sequence_length) != batch_size")
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


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1):
    """Return the likeliest label sequences, and the logarithms of their probabilities."""
    return beam_search(inputs, sequence_length, beam_width, top_paths, False)


def beam_search(inputs, sequence_length, beam_width, top_paths, merge_repeated: bool):
    """As ctc_beam_search_decoder; equal labels in a row of a sequence may become one."""
    *parts, scores = ops["CTCBeamSearchDecoder"](  # the lists one after the other
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    lists = (parts[i * top_paths : (i + 1) * top_paths] for i in (0, 1, 2))
    return [SparseTensor(*each) for each in zip(*lists, strict=True)], scores


def collapse_repeated(labels, seq_length, name=None):
    """Return labels without repetitions, moved to the front, and how many are left."""
    x, lengths = of_rank(convert_to_tensor(labels), 2), of_rank(convert_to_tensor(seq_length), 1)
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
