"""What is a tensor."""

from ... import get_static_value as constant_value
from ... import is_tensor as is_tf_type

is_tensor = is_tf_type

__all__ = ["constant_value", "is_tensor", "is_tf_type"]
