"""Writers of files that are killed, and raced; test_tf_files.py starts it, a process for each test.

    file_writers.py <test> <kind of writer> <folder>

It never uses Mica itself: its children do.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time
from pathlib import Path

import killing
import mica
import mica.tf as tf
import numpy as np
from mica import _mica

SOAK = os.environ.get("MICA_TEST_SOAK")
SIZE = 50_000

# ---- what is written -----------------------------------------------------------------------------


class Numbers(tf.Module):
    """Variables that all have one value."""

    def __init__(self, value, size=SIZE):
        super().__init__()
        self.parts = [tf.Variable(tf.fill([size], float(value))) for _ in range(3)]

    def value(self):
        found = {float(x) for part in self.parts for x in np.unique(part.numpy())}
        assert len(found) == 1, found
        return found.pop()


class Model(Numbers):
    """A model whose program, variables and asset have one value."""

    def __init__(self, value, folder, size=SIZE):
        super().__init__(value, size)
        path = folder / f"version-{value}.txt"
        path.write_text(str(value), encoding="utf-8")
        self.vocabulary = tf.saved_model.Asset(str(path))
        self.number = value

    @tf.function(input_signature=[])
    def program(self):
        return tf.constant(float(self.number))


def checkpoint_writer(folder, value):
    numbers = Numbers(value)
    checkpoint = tf.train.Checkpoint(numbers=numbers)
    return lambda: checkpoint.write(str(folder / "model"))


def checkpoint_value(folder):
    numbers = Numbers(-1)
    status = tf.train.Checkpoint(numbers=numbers).read(str(folder / "model"))
    status.assert_consumed()
    return numbers.value()


def manager_writer(folder, value):
    checkpoint = tf.train.Checkpoint(numbers=Numbers(value))
    checkpoint.save_counter.assign(value - 1)
    manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=1)
    return manager.save


def manager_value(folder):
    numbers = Numbers(-1)
    path = tf.train.latest_checkpoint(str(folder))
    checkpoint = tf.train.Checkpoint(numbers=numbers)
    checkpoint.restore(path).assert_existing_objects_matched()
    return numbers.value()


def saver(folder, value):
    checkpoint = tf.train.Checkpoint(numbers=Numbers(value))
    checkpoint.save_counter.assign(value - 1)
    return lambda: checkpoint.save(str(folder / "model"))


def model_writer(folder, value):
    made = folder.parent / f"made-{value}"
    made.mkdir(exist_ok=True)
    model = Model(value, made)
    model.program.get_concrete_function()
    return lambda: tf.saved_model.save(model, str(folder / "model"))


def model_value(folder):
    model = tf.saved_model.load(str(folder / "model"))
    found = {float(x) for part in model.parts for x in np.unique(part.numpy())}
    found.add(float(model.program()))
    assert len(found) == 1, found
    return found.pop()


def model_and_asset_value(folder):
    value = model_value(folder)
    (asset,) = (folder / "model" / "assets").iterdir()
    assert asset.name == f"version-{value:.0f}.txt"
    assert float(asset.read_text(encoding="utf-8")) == value
    return value


def file_writer(folder, value):
    text = str(value).encode() * SIZE
    return lambda: _mica.tf_file_replace(str(folder / "model.txt"), text)


def file_value(folder):
    text = (folder / "model.txt").read_bytes()
    (found,) = {text[i : i + 1] for i in range(len(text))}
    assert len(text) == SIZE, len(text)
    return float(found)


def records_writer(folder, value):
    def write():
        with tf.io.TFRecordWriter(folder / "model.txt") as writer:
            for _ in range(3):
                writer.write(str(value).encode() * SIZE * 3)

    return write


def records_value(folder):
    (found,) = {e.numpy() for e in tf.data.TFRecordDataset(str(folder / "model.txt"))}
    assert len(found) == SIZE * 3, len(found)
    return float(found[:1])


def text_writer(folder, value):
    return lambda: tf.io.write_file(folder / "model.txt", str(value) * SIZE)


def arrays_writer(ending):
    def make(folder, value):
        arrays = {"a": mica.full((SIZE,), float(value)), "b": mica.full((SIZE,), float(value))}
        arrays = arrays["a"] if ending == ".npy" else arrays
        return lambda: mica.save(folder / f"model{ending}", arrays)

    return make


def arrays_value(ending):
    def read(folder):
        found = mica.load(folder / f"model{ending}").values()
        assert len(found) == (1 if ending == ".npy" else 2)
        (value,) = {float(x) for array in found for x in np.unique(array.numpy())}
        return value

    return read


def library():
    """The functions of the C API that load and save a model."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        (path,) = {line.split()[-1] for line in maps if "libmica.so" in line}
    c = ctypes.CDLL(path)
    for name in ("mica_device_open", "mica_saved_model_load", "mica_saved_model_save"):
        getattr(c, name).restype = ctypes.c_void_p  # a status; NULL is fine
    return c


def c_model_writer(folder, value):
    """A model that was loaded by the C API, saved by it."""
    source = folder.parent / f"source-{value}"
    source.mkdir(exist_ok=True)
    model_writer(source, value)()
    c, device, model = library(), ctypes.c_void_p(), ctypes.c_void_p()
    assert c.mica_device_open(b"cpu", ctypes.byref(device)) is None
    path = str(source / "model").encode()
    assert c.mica_saved_model_load(path, device, None, ctypes.byref(model)) is None

    def save():
        assert c.mica_saved_model_save(model, str(folder / "model").encode(), None) is None

    return save


def events_writer(folder, value):
    """A writer of events, of which each is flushed."""

    def write():
        writer = tf.summary.create_file_writer(str(folder))
        for step in range(1, value + 1):
            with writer.as_default(step):
                tf.summary.scalar("loss", 0.5)
            writer.flush()
        writer.close()

    return write


def events_value(folder):
    """The last step of a folder's events; what is cut off ends them."""
    steps = [0]
    for path in folder.glob("events.out.tfevents.*"):
        try:
            for record in tf.data.TFRecordDataset(str(path)):
                event = tf.compat.v1.Event.FromString(record.numpy())
                steps.append(event.step)
        except tf.errors.DataLossError:
            pass
    return steps[-1]


def cache_writer(folder, value):
    """Compiled code: whatever is left in its folder, programs compute what they should."""
    os.environ.update(MICA_CACHE=str(folder / "cache"), MICA_TIER="compiled")
    os.environ["TMPDIR"] = str(folder.parent / "compilers")
    (folder.parent / "compilers").mkdir(exist_ok=True)
    (folder / "cache").mkdir(mode=0o700, exist_ok=True)
    x = tf.range(100.0)
    program = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * value + tf.exp(-x)))
    return lambda: float(program(x))


def cache_value(folder):
    expected = np.sin(np.arange(100.0)).sum() * 2 + np.exp(-np.arange(100.0)).sum()
    assert abs(cache_writer(folder, 2)() - expected) < 1e-3
    return 2.0


WRITERS = {  # how one is made, how its files are read, the least number of its system calls
    "checkpoint": (checkpoint_writer, checkpoint_value, 20),
    "save": (saver, manager_value, 30),
    "manager": (manager_writer, manager_value, 30),
    "saved_model": (model_writer, model_and_asset_value, 60),
    "cache": (cache_writer, cache_value, 40),
    "file": (file_writer, file_value, 8),
    "records": (records_writer, records_value, 8),
    "text": (text_writer, file_value, 8),
    "safetensors": (arrays_writer(".safetensors"), arrays_value(".safetensors"), 8),
    "npz": (arrays_writer(".npz"), arrays_value(".npz"), 8),
    "npy": (arrays_writer(".npy"), arrays_value(".npy"), 8),
    "c_saved_model": (c_model_writer, model_and_asset_value, 60),
    "events": (events_writer, events_value, 8),
}


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def write(make, folder, value):
    killing.call(lambda: make(folder, value)() and None)


def is_there(folder):
    """Whether a reader would look for a model here."""
    whole = ("model.txt", "model.safetensors", "model.npz", "model.npy")
    if (folder / "model").is_dir() or any((folder / name).exists() for name in whole):
        return True
    is_listed = not list(folder.glob("model-*")) + list(folder.glob("ckpt-*"))
    return any(folder.glob("*.index")) and (is_listed or (folder / "checkpoint").exists())


def written_again(make, read, copies):
    """The values, and the files that are left, when one more is written over each."""
    found = []
    for copy in copies:
        make(copy, 2)()
        found.append((read(copy), names(copy)))
    return found


def replaced(make, read, calls_at_least, folder):
    """One is written over another and killed between any two system calls."""
    write(make, folder, 1)
    calls, copies = killing.states(make, folder, folder.parent / "copies", folder, 2)
    assert calls >= calls_at_least and len(copies) > 3, (calls, len(copies))
    values = killing.call(lambda: [read(copy) for copy in copies])
    assert values == sorted(values) and set(values) == {1.0, 2.0}, values
    print(f"{calls} system calls, {len(copies)} states", flush=True)
    # What each of them left does not stand in the way of the next writer, and goes with it.
    clean = len(names(folder))
    some = copies[:: 1 if SOAK else 5]
    for value, left in killing.call(written_again, make, read, some):
        assert value == 2.0 and len(left) == clean, left


def cached(make, read, calls_at_least, folder):
    """Compiled code is kept, and its writer killed between any two system calls."""
    calls, copies = killing.states(make, folder, folder.parent / "copies", folder, 2)
    assert calls >= calls_at_least and len(copies) > 3, (calls, len(copies))
    assert len(names(folder)) == 1, names(folder)
    for copy in copies:
        assert killing.call(read, copy) == 2.0
        write(make, copy, 3)  # the next that is kept removes what was left
        left = names(copy)
        assert len(left) == 2 and all(name.endswith(".so") for name in left), left
    print(f"{calls} system calls, {len(copies)} states", flush=True)


def grown(make, read, calls_at_least, folder):
    """A file that grows is killed between any two system calls: what was flushed stays in it."""
    calls, copies = killing.states(make, folder, folder.parent / "copies", folder, 3)
    assert calls >= calls_at_least and len(copies) > 4, (calls, len(copies))
    values = killing.call(lambda: [read(copy) for copy in copies])
    assert values == sorted(values) and set(values) == {0, 1, 2, 3}, values
    print(f"{calls} system calls, {len(copies)} states", flush=True)


def first(make, read, calls_at_least, folder):
    """The first one is written and killed between any two system calls."""
    _, copies = killing.states(make, folder, folder.parent / "copies", folder, 2)
    found = [copy for copy in copies if is_there(copy)]
    values = killing.call(lambda: [read(copy) for copy in found])
    assert values and set(values) == {2.0}, values


def kills(make, read, calls_at_least, folder):
    """One is written over another and killed at random moments."""
    count = int(os.environ.get("MICA_TEST_KILLS", 500 if SOAK else 13))
    chance = random.Random(int(os.environ.get("MICA_TEST_SEED", 16)))
    write(make, folder, 1)
    child = killing.Child(make, folder, 1)
    began = time.monotonic()
    child.result()
    span = 1.2 * (time.monotonic() - began)
    os.waitpid(child.pid, 0)
    before, value, at_work, changed = 1.0, 1, 0, 0
    reader = killing.Service(lambda: read(folder))
    for _ in range(count):
        value = value % 4 + 1
        child = killing.Child(make, folder, value)
        time.sleep(chance.uniform(0, span))
        at_work += child.kill()
        found = reader()
        assert found in (before, value), (before, value, found)
        changed += found != before
        span *= 1.1 if found == before else 0.8  # every third writer or so comes to its last step
        before = found
    print(f"{count} kills, {at_work} of them at work, {changed} new", flush=True)
    assert count < 100 or (at_work and changed), (at_work, changed)
    for value in (1, 2, 3, 4):
        write(make, folder, value)
        assert reader() == value
    reader.end()
    assert not [name for name in names(folder) if name.endswith(".part")]


def race(make, read, calls_at_least, folder):
    """Several write at once, while another reads."""
    # A manager removes what others have as their latest; an asset is opened when it is used.
    is_manager = make is manager_writer
    if make in (model_writer, c_model_writer):
        read = model_value

    def again(value):
        one = make(folder, value)

        def repeat():
            for _ in range(40 if SOAK else 8):
                one()

        return repeat

    def watch():
        values = {read(folder)}
        (folder.parent / "watched").touch()
        while not (folder.parent / "end").exists():
            values.add(read(folder))
        return values | {read(folder)}

    write(make, folder, 9)
    watcher = None if is_manager else killing.Child(lambda: watch)
    while watcher and not (folder.parent / "watched").exists():
        assert os.waitpid(watcher.pid, os.WNOHANG) == (0, 0), watcher.result()
        time.sleep(0.001)
    writers = [killing.Child(again, value) for value in (1, 2, 3)]
    for one in writers:
        one.result()
        os.waitpid(one.pid, 0)
    (folder.parent / "end").touch()
    if watcher:
        values = watcher.result()
        assert values <= {1.0, 2.0, 3.0, 9.0} and len(values) > 1, values
    value = killing.call(read, folder)
    assert value in (1.0, 2.0, 3.0), value
    left = names(folder)
    assert not [name for name in left if name.endswith(".part")], left
    assert make is not checkpoint_writer or len(left) == 2, left


if __name__ == "__main__":
    test, kind, path = sys.argv[1:]
    Path(path, "kept").mkdir()
    tests = (replaced, first, kills, race, cached, grown)
    (run,) = (each for each in tests if each.__name__ == test)
    run(*WRITERS[kind], Path(path, "kept"))
