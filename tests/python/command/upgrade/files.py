"""Files by the older names."""

import os
import tempfile

import tensorflow as tf

folder = os.path.join(tempfile.mkdtemp(), "inner")
tf.gfile.MakeDirs(folder)
with tf.gfile.Open(os.path.join(folder, "a.txt"), "w") as file:
    file.write("one,2\n")
print(tf.gfile.Exists(folder), tf.gfile.ListDirectory(dirname=folder), tf.gfile.IsDirectory(folder))
with tf.gfile.GFile(os.path.join(folder, "a.txt")) as file:
    line = file.read().strip()
with tf.Session() as sess:
    print(sess.run(tf.decode_csv([line], [["-"], [0]])))
    print(
        sess.run(tf.decode_raw(sess.run(tf.read_file(os.path.join(folder, "a.txt"))), tf.uint8))[:3]
    )
tf.gfile.DeleteRecursively(folder)
print(tf.gfile.Exists(folder))

# prints: True ['a.txt'] True
# prints: [array([b'one'], dtype=object), array([2], dtype=int32)]
# prints: [111 110 101]
# prints: False
