"""Summaries of all kinds, written by the `tf` that it is given: TensorFlow's and mica.tf's."""


def write(tf, folder: str) -> None:
    writer = tf.summary.create_file_writer(folder, max_queue=3, flush_millis=1000)
    with writer.as_default(step=3):
        tf.summary.scalar("loss", 0.5)
        tf.summary.scalar("described", 7, description="*seven*")
        tf.summary.histogram("spread", tf.constant([1.0, 2.0, 3.0, 4.0]))
        tf.summary.histogram("single", tf.constant([2, 2]), buckets=4)
        tf.summary.histogram("empty", tf.zeros([0]), buckets=2)
        tf.summary.text("text", ["hello", "world"])
        tf.summary.image("image", tf.reshape(tf.range(36.0) / 36, [3, 2, 2, 3]), max_outputs=2)
        tf.summary.audio("audio", tf.constant([[[0.5], [-1.0], [1.0], [0.25]]]), 8000)
        tf.summary.write("raw", tf.constant([1, 2]))
        tf.summary.experimental.write_raw_pb(b"\n\x07\n\x05plain")
        with tf.name_scope("outer"):
            tf.summary.scalar("in scope", 7, step=tf.constant(9, tf.int64))
        in_functions(tf)
        with tf.summary.record_if(False):
            tf.summary.scalar("not written", 1)
    writer.close()


def in_functions(tf) -> None:
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def logged(x):
        step.assign_add(1)
        with tf.summary.record_if(lambda: tf.equal(step % 2, 0)):
            tf.summary.scalar("every second", x, step=step)
        tf.summary.histogram("in function", x * tf.range(3.0), step=step)
        tf.summary.image("drawn", tf.zeros([1, 2, 2, 1]) + x / 4, step=step)
        return x

    for i in range(4):
        logged(tf.constant(float(i)))
