"""The names of TensorFlow's inner modules that scripts import."""
