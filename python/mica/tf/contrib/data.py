"""`tf.contrib.data`: transformations of datasets, for Dataset.apply."""

from __future__ import annotations

from .._missing import finder as _finder

__all__ = [
    "batch_and_drop_remainder",
    "map_and_batch",
    "shuffle_and_repeat",
]


def batch_and_drop_remainder(batch_size):
    """Batches of this size; what is left at the end is dropped, so that the size is known."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def map_and_batch(
    map_func,
    batch_size,
    num_parallel_batches=None,
    drop_remainder=False,
    num_parallel_calls=None,
):
    """A function of each element, in batches."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )
    if num_parallel_batches is not None:
        num_parallel_calls = num_parallel_batches * batch_size
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """Shuffled anew in each repetition."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


__getattr__ = _finder(__name__)
