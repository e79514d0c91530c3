"""Strings and numbers in them."""

import tensorflow as tf

with tf.Session() as sess:
    print(sess.run(tf.string_to_number(["1.5", "2"])).tolist())
    print(sess.run(tf.string_join(["a", "b"], "-")), sess.run(tf.substr("hello", 1, 3)))
    print(sess.run(tf.regex_replace("a1b2", "[0-9]", "_")))
    print(sess.run(tf.reduce_join([["a", "b"], ["c", "d"]], 1)).tolist())
    print(sess.run(tf.string_to_hash_bucket_fast(["hello"], 100)).tolist())

# prints: [1.5, 2.0]
# prints: b'a-b' b'ell'
# prints: b'a_b_'
# prints: [b'ab', b'cd']
# prints: [96]
