"""Examples."""

from ..._example_messages import Example, SequenceExample

__all__ = ["Example", "SequenceExample"]
