"""Sparse linear algebra."""
