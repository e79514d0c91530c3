"""Classes of specs by the names under which they are written down."""

from ..._spec_registry import get_name, lookup, register

__all__ = ["get_name", "lookup", "register"]
