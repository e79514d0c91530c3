"""tensorflow.python.compiler.mlcompute."""
