"""Graphs, tensors, specs: internals that programs import by path."""
