"""`tf.experimental.dtensor`: tensors over a mesh of devices. Nothing of it is there yet."""
