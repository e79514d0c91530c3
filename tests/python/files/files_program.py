"""Datasets of files and tensors as strings, by the `tf` that it is given."""


def write_files(tf, folder: str) -> list:
    """Records, lines and pieces, of which some are compressed."""
    for number, compression in enumerate(("", "GZIP", "ZLIB")):
        with tf.io.TFRecordWriter(f"{folder}/records{number}", compression) as writer:
            for k in range(3 + number):
                writer.write(b"%d:%d" % (number, k))
    for k in range(3):
        with tf.io.TFRecordWriter(f"{folder}/part{k}") as writer:
            for i in range(k + 2):
                writer.write(b"%d/%d" % (k, i))
    tf.io.write_file(f"{folder}/lines/a", b"a\rb\r\nsecond\r\r\n\n\rthird\n last")
    tf.io.write_file(f"{folder}/lines/b", b"one\n")
    tf.io.write_file(f"{folder}/pieces", b"HHaabbccF")
    tf.io.write_file(f"{folder}/empty", b"")


def datasets(tf, folder: str) -> dict:
    data, parts = tf.data, [f"{folder}/part{k}" for k in range(3)]
    names = data.Dataset.from_tensor_slices(parts)
    lines = [f"{folder}/lines/a", f"{folder}/lines/b"]
    pieces = f"{folder}/pieces"
    return {
        "plain": data.TFRecordDataset(f"{folder}/records0"),
        "gzip": data.TFRecordDataset([f"{folder}/records1"], "GZIP", buffer_size=16),
        "zlib": data.TFRecordDataset([f"{folder}/records2"], compression_type="ZLIB"),
        "several": data.TFRecordDataset(parts),
        "of names": data.TFRecordDataset(names),
        "in turn": data.TFRecordDataset(parts, num_parallel_reads=2),
        "names in turn": data.TFRecordDataset(names, num_parallel_reads=3),
        "interleaved": names.interleave(data.TFRecordDataset, cycle_length=2, block_length=2),
        "empty": data.TFRecordDataset([f"{folder}/empty", parts[0]]),
        "none": data.TFRecordDataset(tf.zeros([0], tf.string)),
        "lines": data.TextLineDataset(lines),
        "skipped": data.TextLineDataset(lines[:1]).skip(1).map(tf.strings.length),
        "pieces": data.FixedLengthRecordDataset(pieces, 2, header_bytes=2, footer_bytes=1),
        "large pieces": data.FixedLengthRecordDataset([pieces, pieces], 3),
        "long footer": data.FixedLengthRecordDataset(pieces, 2, footer_bytes=5),
        "repeated": data.TFRecordDataset(parts[:1]).repeat(2).batch(3),
    }


def tensors(tf) -> list:
    return [
        tf.constant([[1.0, -2.5]]),
        tf.constant(7, tf.int64),
        tf.constant([True, False]),
        tf.constant([b"a\0", b"", b"xyz"]),
        tf.zeros([0, 3], tf.int32),
        tf.constant([1.5], tf.bfloat16),
        tf.constant([1 + 2j], tf.complex64),
    ]


def results(tf, folder: str, plain) -> dict:
    write_files(tf, folder)
    return {
        "datasets": {
            name: [
                plain(e.tolist() if hasattr(e, "tolist") else e) for e in made.as_numpy_iterator()
            ]
            for name, made in datasets(tf, folder).items()
        },
        "specs": [repr(d).split(" element")[0] for d in datasets(tf, folder).values()],
        "tensors": [plain(tf.io.serialize_tensor(t).numpy()) for t in tensors(tf)],
        "matched": [
            [name[len(folder) :] for name in tf.io.matching_files(p).numpy().astype(str).tolist()]
            for p in (f"{folder}/part*", f"{folder}/lines/?", [f"{folder}/p*s", f"{folder}/[n]*"])
        ],
    }
