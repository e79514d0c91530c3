"""Messages by the paths of their modules in TensorFlow."""
