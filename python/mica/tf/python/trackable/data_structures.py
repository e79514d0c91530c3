"""Collections that know what they hold."""

from ..._tracking import ListWrapper, NoDependency, _DictWrapper, wrap_or_unwrap

__all__ = ["ListWrapper", "NoDependency", "_DictWrapper", "wrap_or_unwrap"]
