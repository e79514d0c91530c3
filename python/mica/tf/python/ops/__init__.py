"""Ops: internals that programs import by path."""
