"""Examples written and parsed."""

import os
import tempfile

import tensorflow as tf

path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
with tf.python_io.TFRecordWriter(path) as writer:
    for n in range(3):
        feature = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))}
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        writer.write(example.SerializeToString())


def parse(record):
    return tf.parse_single_example(record, {"n": tf.FixedLenFeature([], tf.int64)})["n"]


dataset = tf.data.TFRecordDataset(path).map(parse).batch(2)
batch = dataset.make_one_shot_iterator().get_next()
with tf.Session() as sess:
    print(sess.run(batch).tolist(), sess.run(batch).tolist())
    try:
        sess.run(batch)
    except tf.errors.OutOfRangeError:
        print("the end")

# prints: [0, 1] [2]
# prints: the end
