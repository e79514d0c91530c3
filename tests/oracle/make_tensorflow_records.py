"""Writes files of records as TensorFlow does: tests/python/files/data/records.

python tests/oracle/make_tensorflow_records.py
"""

# needs: tensorflow-cpu==2.21.0
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS / "python" / "files" / "data" / "records"
sys.path.insert(0, str(TESTS / "python" / "files"))
import example_program  # noqa: E402
import files_program  # noqa: E402
import sequence_program  # noqa: E402
import summary_program  # noqa: E402

RECORDS = [b"first", b"", b"x" * 300, bytes(range(256))]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        summary_program.write(tf, folder)
        (events,) = Path(folder).iterdir()
        shutil.copyfile(events, FOLDER / "events")
    for compression in ("", "ZLIB", "GZIP"):
        name = f"records{'.' * bool(compression)}{compression.lower()}"
        with tf.io.TFRecordWriter(str(FOLDER / name), compression) as writer:
            for record in RECORDS:
                writer.write(record)
    with tempfile.TemporaryDirectory() as folder:
        found = files_program.results(tf, folder, example_program.plain)
    (FOLDER / "files.json").write_text(json.dumps(found, indent=1) + "\n")
    examples = [e.SerializeToString(deterministic=True) for e in example_program.examples(tf)]
    found = example_program.results(tf)
    found["messages"] = [example_program.plain(e) for e in examples]
    (FOLDER / "examples.json").write_text(json.dumps(found, indent=1) + "\n")
    found = sequence_program.results(tf)
    (FOLDER / "sequences.json").write_text(json.dumps(found, indent=1) + "\n")
    for which, features in example_program.refused(tf):
        try:
            example_program.parse(tf, examples, which, features)
        except tf.errors.InvalidArgumentError:
            continue
        raise AssertionError(f"TensorFlow parses {which} with {features}")


if __name__ == "__main__":
    main()
