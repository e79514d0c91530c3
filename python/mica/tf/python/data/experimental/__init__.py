"""Datasets: internals that programs import by path."""
