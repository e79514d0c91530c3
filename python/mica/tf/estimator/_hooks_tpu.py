"""Counts steps and examples a second."""

from __future__ import annotations

from .._effects import get_logger
from .._event_messages import Summary
from ..compat.v1._hooks import StepCounterHook


class ExamplesPerSecondHook(StepCounterHook):
    """Logs and writes steps and examples a second."""

    def __init__(self, batch_size: int, every_n_steps: int, output_dir) -> None:
        super().__init__(every_n_steps, output_dir=output_dir)
        self._batch_size = batch_size

    def _log(self, steps: int, seconds: float, step: int) -> None:
        super()._log(steps, seconds, step)
        rate = steps / seconds * self._batch_size
        if self._writer is not None:
            value = Summary.Value(tag="examples/sec", simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), step)
        get_logger().info("examples/sec: %g", rate)
