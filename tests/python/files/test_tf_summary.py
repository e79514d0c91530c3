"""Files of records and summaries: TensorFlow's are read, and what is written is the same."""

import importlib.util
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest
import summary_program
from mica.tf._event_messages import Event
from mica.tf._records import tf_record_iterator

DATA = Path(__file__).with_name("data") / "records"
RECORDS = [b"first", b"", b"x" * 300, bytes(range(256))]


def has_zlib() -> bool:
    try:
        list(tf_record_iterator(DATA / "records.gzip", "GZIP"))
    except tf.errors.UnimplementedError:
        return False
    return True


NEEDS_ZLIB = pytest.mark.skipif(not has_zlib(), reason="libz was not found")
COMPRESSIONS = ["", *(pytest.param(kind, marks=NEEDS_ZLIB) for kind in ("ZLIB", "GZIP"))]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_records_that_tensorflow_wrote_are_read(compression):
    path = DATA / f"records{'.' * bool(compression)}{compression.lower()}"
    assert list(tf_record_iterator(path, compression)) == RECORDS


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_records_are_written_as_tensorflow_writes_them(compression, tmp_path):
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        for record in RECORDS:
            writer.write(record)
    theirs = (DATA / f"records{'.' * bool(compression)}{compression.lower()}").read_bytes()
    if compression:
        assert list(tf_record_iterator(path, compression)) == RECORDS
        unpacked = [zlib.decompress(data, 47) for data in (path.read_bytes(), theirs)]
        assert unpacked[0] == unpacked[1]
    else:
        assert path.read_bytes() == theirs


def test_a_writer_flushes_and_refuses_when_it_is_closed(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"old")
    writer = tf.io.TFRecordWriter(path)
    writer.write(b"one")
    assert path.read_bytes() == b"old"
    writer.flush()
    assert list(tf_record_iterator(path)) == [b"one"]
    writer.write("two")
    writer.close()
    writer.close()
    assert list(tf_record_iterator(path)) == [b"one", b"two"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"three")
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        tf.io.TFRecordWriter(tmp_path / "nowhere" / "records")
    with pytest.raises(ValueError, match="LZ4"):
        tf.io.TFRecordWriter(path, "LZ4")
    with pytest.raises(tf.errors.InvalidArgumentError, match="level 10"):
        tf.io.TFRecordWriter(path, tf.io.TFRecordOptions("GZIP", compression_level=10))
    assert [p.name for p in tmp_path.iterdir()] == ["records"]


@pytest.mark.parametrize("place", [3, 10, 14, 17])
def test_a_damaged_record_is_a_data_loss_error_with_its_place(place, tmp_path):
    path = tmp_path / "records"
    data = bytearray((DATA / "records").read_bytes())
    data[place] ^= 16
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match=r"records: corrupted record.* at offset 0"):
        list(tf_record_iterator(path))


def test_a_file_that_is_cut_off_is_a_data_loss_error(tmp_path):
    path = tmp_path / "records"
    path.write_bytes((DATA / "records").read_bytes()[:-5])
    read = tf_record_iterator(path)
    assert [next(read) for _ in range(3)] == RECORDS[:3]
    with pytest.raises(tf.errors.DataLossError, match="truncated record at offset"):
        next(read)


# ---- events ------------------------------------------------------------------------------------


def pixels(png: bytes) -> np.ndarray:
    """The elements of a picture of 8 bits whose rows are filtered with 0 to 2 or 4."""
    at, data, header = 8, b"", b""
    while at < len(png):
        (size,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + size]
        assert png[at + 8 + size :][:4] == struct.pack(">I", zlib.crc32(kind + body))
        header, data = (body, data) if kind == b"IHDR" else (header, data + body)
        at += 12 + size
    width, height, bits, colours = struct.unpack(">IIBB", header[:10])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colours]
    assert bits == 8
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, -1)
    made = np.zeros((height + 1, (width + 1) * channels), int)
    for i, row in enumerate(rows):
        for k in range(channels, (width + 1) * channels):
            left, up, corner = (
                int(made[i + 1, k - channels]),
                int(made[i, k]),
                int(made[i, k - channels]),
            )
            near = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            guess = [0, left, up, (left + up) // 2, near][row[0]]
            made[i + 1, k] = (int(row[1 + k - channels]) + guess) % 256
    return made[1:, channels:].reshape(height, width, channels)


def events_of(path) -> list:
    return [Event.FromString(data) for data in tf_record_iterator(path)]


def comparable(event) -> list:
    """What has to be equal: not the time, nor how a picture is compressed."""
    found = [event.step, event.file_version]
    for value in event.summary.value:
        tensor, drawn = value.tensor, []
        if value.metadata.plugin_data.plugin_name == "images":
            drawn = [pixels(png).tolist() for png in tensor.string_val[2:]]
            tensor.string_val[2:] = []
        found.append((value.tag, str(tensor), str(value.metadata), drawn))
    return found


def write_summaries(folder) -> list:
    summary_program.write(tf, str(folder))
    (path,) = folder.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert path.name.endswith(".v2")
    return events_of(path)


def test_summaries_are_tensorflows(tmp_path):
    ours, theirs = write_summaries(tmp_path), events_of(DATA / "events")
    assert len(ours) == len(theirs) > 20
    for one, other in zip(ours, theirs, strict=True):
        assert comparable(one) == comparable(other)
    assert all(event.wall_time > 1.7e9 for event in ours)


def test_without_a_writer_nothing_is_written():
    assert not tf.summary.scalar("loss", 1.0)
    assert not tf.summary.should_record_summaries()
    assert not tf.summary.graph(tf.Graph())
    tf.summary.flush()
    with tf.summary.create_noop_writer().as_default():
        assert not tf.summary.scalar("loss", 1.0, step=1)


def test_a_summary_needs_a_step_and_a_fitting_tensor(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default():
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.scalar("loss", 1.0)
        tf.summary.experimental.set_step(4)
        assert tf.summary.experimental.get_step() == 4
        assert tf.summary.scalar("loss", 1.0)
        with pytest.raises(ValueError, match="rank 0"):
            tf.summary.scalar("loss", [1.0, 2.0])
        with pytest.raises(ValueError, match=r"rank 4, not of shape \(2, 2\)"):
            tf.summary.image("image", tf.zeros([2, 2]))
        with pytest.raises(Exception, match="5"):
            tf.summary.image("image", tf.zeros([1, 2, 2, 5]))
        with pytest.raises(TypeError, match="strings"):
            tf.summary.text("text", 1)
        with pytest.raises(ValueError, match="mp3"):
            tf.summary.audio("audio", tf.zeros([1, 4, 1]), 8000, encoding="mp3")
        tf.summary.experimental.set_step(None)
    writer.close()
    assert not tf.summary.scalar("loss", 1.0, step=1)
    with pytest.raises(RuntimeError, match="closed"):
        writer.as_default()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a writer"):
        tf.raw_ops.FlushSummaryWriter(writer=tf.Variable(1.0).handle)
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        tf.raw_ops.ImportEvent(writer=writer._resource, event=b"")
    with pytest.raises(NotImplementedError, match="experimental_trackable"):
        tf.summary.create_file_writer(tmp_path, experimental_trackable=True)


def test_writers_nest_and_steps_come_back(tmp_path):
    outer, inner = (tf.summary.create_file_writer(tmp_path / name) for name in ("a", "b"))
    with outer.as_default(step=1):
        tf.summary.scalar("x", 1.0)
        with inner.as_default(step=2):
            tf.summary.scalar("y", 2.0)
        tf.summary.scalar("z", 3.0)
    found = {
        folder: [
            (v.tag, event.step)
            for path in (tmp_path / folder).iterdir()
            for event in events_of(path)
            for v in event.summary.value
        ]
        for folder in "ab"
    }
    assert found == {"a": [("x", 1), ("z", 1)], "b": [("y", 2)]}


def test_traces_hold_the_graphs_of_functions_that_ran(tmp_path):
    from mica.tf._event_messages import RunMetadata

    doubled = tf.function(lambda x: x * 2)
    doubled(tf.constant(1.0))
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default():
        with pytest.raises(ValueError, match="trace_on"):
            tf.summary.trace_export("none", step=0)
        tf.summary.trace_on()
        doubled(tf.constant(1.0))
        doubled(tf.constant(2.0))
        tf.summary.trace_export("traced", step=0)
        doubled(tf.constant(3.0))
        tf.summary.graph(doubled.get_concrete_function(tf.constant(1.0)).graph)
    _, traced, drawn = events_of(next(tmp_path.iterdir()))
    value = traced.summary.value[0]
    assert value.metadata.plugin_data.plugin_name == "graph_run_metadata_graph"
    graphs = RunMetadata.FromString(value.tensor.string_val[0]).function_graphs
    assert [[n.op for n in g.pre_optimization_graph.node] for g in graphs] == [
        [n.op for n in tf.compat.v1.GraphDef.FromString(drawn.graph_def).node]
    ]


def test_a_known_value_is_not_that_of_a_variable():
    step = tf.Variable(0)

    @tf.function
    def told():
        step.assign_add(1)
        return tf.get_static_value(step + 1), tf.get_static_value(tf.random.uniform([]))

    seen = []

    @tf.function
    def noted():
        seen.append((tf.get_static_value(step + 1), tf.get_static_value(tf.constant(2) * 3)))
        return tf.cond(step > 0, lambda: 1, lambda: 0)

    assert noted() == 0
    step.assign(5)
    assert noted() == 1
    assert seen == [(None, 6)]
    assert told() == (None, None)


def test_messages_made_by_hand_are_written_and_read(tmp_path):
    v1 = tf.compat.v1
    summary = v1.Summary(value=[v1.Summary.Value(tag="loss", simple_value=0.5)])
    with v1.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(summary, 3)
        writer.add_summary(summary.SerializeToString(), global_step=4)
        writer.add_event(v1.Event(wall_time=1.0, step=5, summary=summary))
        writer.add_graph(tf.function(lambda: tf.constant(1)).get_concrete_function().graph)
    with pytest.raises(RuntimeError, match="closed"):
        writer.add_summary(summary)
    (path,) = tmp_path.iterdir()
    version, *events, graph = v1.train.summary_iterator(path)
    assert version.file_version == "brain.Event:2"
    assert [(e.step, e.summary.value[0].simple_value) for e in events] == [
        (3, 0.5),
        (4, 0.5),
        (5, 0.5),
    ]
    assert events[2].wall_time == 1.0
    assert [n.op for n in v1.GraphDef.FromString(graph.graph_def).node] == ["Const", "Identity"]
    with pytest.raises(NotImplementedError, match="session"):
        v1.summary.FileWriter(tmp_path, session=object())


CALLBACK = """
import sys
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
model.compile("sgd", "mse")
callback = keras.callbacks.TensorBoard(sys.argv[1], histogram_freq=1, write_images=True,
                                       update_freq=1)
x, y = tf.ones([16, 4]), tf.ones([16, 1])
model.fit(x, y, epochs=2, batch_size=8, validation_data=(x, y), callbacks=[callback], verbose=0)
"""


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="keras is not installed")
def test_keras_callback_writes_what_tensorboard_shows(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(CALLBACK)
    logs = tmp_path / "logs"
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(script), str(logs)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tags = {}
    for part in ("train", "validation"):
        (path,) = (logs / part).iterdir()
        tags[part] = {v.tag for event in events_of(path) for v in event.summary.value}
    assert {"keras", "epoch_loss", "batch_loss", "epoch_learning_rate"} <= tags["train"]
    assert any("kernel" in tag and tag.endswith("histogram") for tag in tags["train"])
    assert any("kernel" in tag and tag.endswith("image") for tag in tags["train"])
    assert {"epoch_loss"} <= tags["validation"]
