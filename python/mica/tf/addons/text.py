"""`tfa.text`: conditional random fields over sequences of tags."""

from __future__ import annotations

import numpy as _np

from .. import math as _math
from .._array import concat as _concat
from .._array import constant as _constant
from .._array import expand_dims as _expand_dims
from .._array import gather as _gather
from .._array import ones_like as _ones_like
from .._array import range as _range
from .._array import reshape as _reshape
from .._array import shape as _shape
from .._array import transpose as _transpose
from .._array import where as _where
from .._core import convert_to_tensor as _convert
from .._dtypes import int32 as _int32
from .._functional import scan as _scan
from .._install import keras as _keras
from .._math import cast as _cast
from .._reduce import argmax as _argmax
from .._reduce import reduce_logsumexp as _reduce_logsumexp
from .._reduce import reduce_max as _reduce_max
from .._reduce import reduce_sum as _reduce_sum
from .._select import one_hot as _one_hot
from .._select import reverse as _reverse
from .._select import sequence_mask as _sequence_mask
from . import _missing

__all__ = [
    "crf_binary_score",
    "crf_constrained_decode",
    "crf_decode",
    "crf_filtered_inputs",
    "crf_forward",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_multitag_sequence_score",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]


def _lengths(sequence_lengths):
    return _math.maximum(_cast(sequence_lengths, _int32), 0)


def crf_filtered_inputs(inputs, tag_bitmap):
    """Return the scores of tags, those that are not allowed as minus infinity."""
    inputs = _convert(inputs)
    never = _cast(_constant(-_np.inf), inputs.dtype)
    return _where(tag_bitmap, inputs, never * _ones_like(inputs))


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    """Return the sum of the scores of a sequence's tags."""
    inputs = _convert(inputs)
    chosen = _one_hot(tag_indices, _shape(inputs)[2], dtype=inputs.dtype)
    mask = _sequence_mask(_lengths(sequence_lengths), _shape(inputs)[1], inputs.dtype)
    return _reduce_sum(_reduce_sum(inputs * chosen, 2) * mask, 1)


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """Return the sum of the scores of going from each tag to the next."""
    table = _convert(transition_params)
    tags = _cast(tag_indices, _int32)
    count = _shape(tags)[1] - 1
    places = tags[:, :-1] * _shape(table)[0] + tags[:, 1:]
    scores = _gather(_reshape(table, [-1]), places)
    mask = _sequence_mask(_lengths(_cast(sequence_lengths, _int32) - 1), count, table.dtype)
    return _reduce_sum(scores * mask, 1)


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    """Return the score of a sequence of tags."""
    whole = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return whole + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(inputs, tag_bitmap, sequence_lengths, transition_params):
    """Return the logarithm of the sum of the scores of every sequence of allowed tags."""
    allowed = crf_filtered_inputs(inputs, tag_bitmap)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_forward(inputs, state, transition_params, sequence_lengths):
    """Return the logarithms of the sums over all sequences that end in each tag."""
    table = _expand_dims(_convert(transition_params), 0)
    inputs, state = _convert(inputs), _convert(state)
    lengths = _lengths(_cast(sequence_lengths, _int32))
    whole = _scan(
        lambda kept, scores: scores + _reduce_logsumexp(_expand_dims(kept, 2) + table, 1),
        _in_time(inputs),
        initializer=state,
    )
    whole = _in_time(whole)
    places = _math.maximum(lengths - 1, 0)
    return _gather(whole, places, axis=1, batch_dims=1)


def _in_time(x):
    return _transpose(x, [1, 0, 2])


def crf_log_norm(inputs, sequence_lengths, transition_params):
    """Return the logarithm of the sum of the scores of every sequence of tags."""
    inputs = _convert(inputs)
    lengths = _cast(sequence_lengths, _int32)
    if inputs.shape[1] == 1:
        found = _reduce_logsumexp(inputs[:, 0], 1)
    else:
        later = crf_forward(inputs[:, 1:], inputs[:, 0], transition_params, lengths - 1)
        # A sequence of one has no later states: its first one counts.
        last = _where(_expand_dims(lengths <= 1, 1), inputs[:, 0], later)
        found = _reduce_logsumexp(last, 1)
    return _where(lengths <= 0, 0 * found, found)


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    """Return (the logarithm of the probability of a sequence of tags, the transitions' scores)."""
    inputs = _convert(inputs)
    if transition_params is None:
        count = inputs.shape[2]
        transition_params = _keras().initializers.GlorotUniform()((count, count), inputs.dtype)
    transition_params = _cast(transition_params, inputs.dtype)
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def viterbi_decode(score, transition_params):
    """Return (the best sequence of tags of one matrix of scores, its score), in numpy."""
    score, table = _np.asarray(score), _np.asarray(transition_params)
    best = score[:1].copy()
    came = []
    for scores in score[1:]:
        candidates = best.T + table
        came.append(candidates.argmax(0))
        best = (scores + candidates.max(0))[None]
    tags = [int(best[0].argmax())]
    for places in reversed(came):
        tags.append(int(places[tags[-1]]))
    return tags[::-1], best[0].max()


def crf_decode(potentials, transition_params, sequence_length):
    """Return (the best sequences of tags, filled up with 0, their scores)."""
    x = _convert(potentials)
    table = _expand_dims(_cast(transition_params, x.dtype), 0)
    lengths = _cast(sequence_length, _int32)
    first = x[:, 0]
    if x.shape[1] == 1:
        tags = _cast(_argmax(first, 1), _int32)
        return _expand_dims(tags, 1), _reduce_max(first, 1)
    count = _shape(x)[1] - 1
    times = _range(1, count + 1)
    stays = _range(0, _shape(x)[2])

    def step(kept, given):
        state, _ = kept
        time, scores = given
        candidates = _expand_dims(state, 2) + table
        is_in = _expand_dims(time < lengths, 1)
        came = _cast(_argmax(candidates, 1), _int32)
        came = _where(is_in, came, 0 * came + stays)
        return _where(is_in, scores + _reduce_max(candidates, 1), state), came

    nowhere = 0 * _cast(first, _int32)
    states, came = _scan(step, (times, _in_time(x[:, 1:])), initializer=(first, nowhere))
    last = states[-1]
    end = _cast(_argmax(last, 1), _int32)
    path = _scan(
        lambda tag, places: _gather(places, tag, axis=1, batch_dims=1),
        _reverse(came, [0]),
        initializer=end,
    )
    path = _reverse(path, [0])
    tags = _transpose(_concat([path, end[None]], 0), [1, 0])
    mask = _sequence_mask(lengths, _shape(x)[1], _int32)
    return tags * mask, _reduce_max(last, 1)


def crf_constrained_decode(potentials, tag_bitmap, transition_params, sequence_length):
    """As crf_decode, of sequences of allowed tags alone."""
    allowed = crf_filtered_inputs(potentials, tag_bitmap)
    return crf_decode(allowed, transition_params, sequence_length)


def __getattr__(name: str):
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return __all__
