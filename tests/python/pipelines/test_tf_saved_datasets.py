"""Datasets in folders: only what was written to its end is read, and damage is an error."""

import mica.tf as tf
import numpy as np
import pytest

D = tf.data.Dataset


def listed(dataset):
    return [int(x) for x in dataset]


def test_a_save_that_fails_leaves_the_dataset_that_was_there(tmp_path):
    D.range(3).save(str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError):
        D.range(5).map(lambda x: 6 // (3 - x)).save(str(tmp_path))
    assert listed(D.load(str(tmp_path))) == [0, 1, 2]


def test_strings_are_read_as_tensorflow_writes_them():
    scalar = b'\x08\x07\x12\x00"\x03\x02hi'
    pair = b'\x08\x07\x12\x04\x12\x02\x08\x02"\x05\x01\x02abc'
    assert tf.io.parse_tensor(scalar, tf.string).numpy() == b"hi"
    assert tf.io.parse_tensor(pair, tf.string).numpy().tolist() == [b"a", b"bc"]
    for cut in (b'\x08\x07\x12\x00"\x02\x05h', b'\x08\x07\x12\x00"\x01\xff'):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.io.parse_tensor(cut, tf.string)


def test_damage_is_an_error_and_never_other_elements(tmp_path):
    D.range(20).save(str(tmp_path))
    (shard,) = tmp_path.glob("*/*.shard/*.snapshot")
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-5])
    with pytest.raises(tf.errors.DataLossError):
        listed(D.load(str(tmp_path)))
    record = len(whole) // 20
    shard.write_bytes(whole[: 7 * record])
    with pytest.raises(tf.errors.FailedPreconditionError, match="contain 20 elements"):
        listed(D.load(str(tmp_path)))
    shard.write_bytes(whole[:9] + b"x" + whole[10:])
    with pytest.raises(tf.errors.DataLossError):
        listed(D.load(str(tmp_path)))


@pytest.mark.parametrize("bytes_of", [b"", b"\xff" * 30, b"\x12\x02..\x20\x02\xc0\x3e\x01"])
def test_a_damaged_description_is_refused(tmp_path, bytes_of):
    D.range(3).save(str(tmp_path))
    (tmp_path / "snapshot.metadata").write_bytes(bytes_of)
    with pytest.raises((tf.errors.OpError, ValueError)):
        listed(D.load(str(tmp_path)))


def test_what_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(NotImplementedError, match="Snappy"):
        D.range(3).save(str(tmp_path / "a"), compression="AUTO")
    with pytest.raises(NotImplementedError, match="checkpoint_args"):
        D.range(3).save(str(tmp_path / "a"), checkpoint_args={})
    with pytest.raises(ValueError, match="compression"):
        D.range(3).save(str(tmp_path / "a"), compression="BROTLI")
    with pytest.raises(tf.errors.InvalidArgumentError, match="less than 0"):
        D.range(3).save(str(tmp_path / "b"), shard_func=lambda x: x - 9)
    with pytest.raises(TypeError, match="variant"):
        D.range(6).window(2).save(str(tmp_path / "c"))


def parts(path, factor=1):
    """Numbers, texts and arrays of different sizes, kept in a file."""
    made = D.range(12).map(
        lambda i: (i * factor, tf.strings.as_string(i), tf.fill([2, i], tf.cast(i, tf.float32)))
    )
    return made.cache(str(path))


def values(dataset):
    return [[np.asarray(part).tolist() for part in element] for element in dataset]


def test_a_cache_in_a_file_is_made_once_for_all_processes(tmp_path):
    expected = values(parts(""))
    made = parts(tmp_path / "cache")
    next(iter(made))  # left early: no file
    assert list(tmp_path.iterdir()) == []
    assert values(made) == expected
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["cache.data-00000-of-00001", "cache.index"]
    assert values(made) == expected and int(made.cardinality()) == 12
    assert values(parts(tmp_path / "cache", factor=-1)) == expected
    keys = sorted(key for key, _ in tf.train.list_variables(str(tmp_path / "cache")))
    assert keys[:3] == ["      0_0", "      0_1", "      0_2"] and len(keys) == 36


def test_an_iterator_over_a_cache_in_a_file_goes_on_where_it_was_saved(tmp_path):
    made = parts(tmp_path / "cache")
    writing = iter(made)
    next(writing)
    with pytest.raises(tf.errors.FailedPreconditionError, match="come to its end first"):
        tf.train.Checkpoint(iterator=writing).write(str(tmp_path / "state"))
    expected = values(made)
    reading = iter(made)
    next(reading)
    path = tf.train.Checkpoint(iterator=reading).write(str(tmp_path / "state"))
    other = iter(made)
    tf.train.Checkpoint(iterator=other).read(path)
    assert values(other) == expected[1:]


def test_a_cache_in_a_file_that_is_damaged_or_of_others_is_an_error(tmp_path):
    made = parts(tmp_path / "cache")
    values(made)
    data = tmp_path / "cache.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-3])
    with pytest.raises(tf.errors.DataLossError):
        values(made)
    values(D.range(3).map(lambda i: (i,)).cache(str(tmp_path / "narrow")))
    with pytest.raises(tf.errors.DataLossError, match="no component 1"):
        values(D.range(3).map(lambda i: (i, i)).cache(str(tmp_path / "narrow")))
    with pytest.raises(tf.errors.UnimplementedError, match="kept in memory"):
        list(D.range(3).window(2).cache(str(tmp_path / "nested")))
