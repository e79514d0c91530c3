"""train_and_evaluate, and exporters that it calls."""

from __future__ import annotations

import os
import shutil

from .._effects import get_logger
from ..compat.v1._hooks import CheckpointSaverListener


class Exporter:
    """The base of exporters."""

    @property
    def name(self) -> str:
        """The name of the folder of its exports."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Export the model, where it should be; returns the folder."""
        raise NotImplementedError(f"{type(self).__name__}.export")


class FinalExporter(Exporter):
    """Exports the model once, at the end."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False) -> None:
        self._name, self._receiver = name, serving_input_receiver_fn
        self._assets, self._as_text = assets_extra, as_text

    @property
    def name(self) -> str:
        """The name of the folder of its exports."""
        return self._name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Export the model, at the end."""
        get_logger().debug("eval results: %s", eval_result)
        if not is_the_final_export:
            return None
        return estimator.export_saved_model(
            export_path, self._receiver, self._assets, self._as_text, checkpoint_path
        )


class LatestExporter(FinalExporter):
    """Exports the model after each evaluation and keeps the newest exports."""

    def __init__(
        self,
        name,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        exports_to_keep=5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}"
            )
        self._most = exports_to_keep

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Export the model."""
        made = super().export(estimator, export_path, checkpoint_path, eval_result, True)
        get_logger().debug("the last export: %s", is_the_final_export)
        while self._most is not None:
            kept = sorted(n for n in os.listdir(export_path) if n.isdigit())
            if len(kept) <= self._most:
                break
            shutil.rmtree(os.path.join(export_path, kept[0]))
        return made


class _AfterSaving(CheckpointSaverListener):
    """Evaluates after each checkpoint."""

    def __init__(self, evaluate) -> None:
        self._evaluate, self._last = evaluate, None

    def after_save(self, session, global_step_value):
        """Evaluate, but for what training begins with."""
        if self._last is not None:
            self._evaluate(False)
        self._last = global_step_value


def train_and_evaluate(estimator, train_spec, eval_spec) -> tuple:
    """Train, and evaluate after each checkpoint; returns the last metrics and exports.

    In one process there is nothing to wait for: an evaluation follows each checkpoint, whatever
    start_delay_secs and throttle_secs say.
    """

    def evaluate(is_last: bool) -> tuple:
        path = estimator.latest_checkpoint()
        metrics = estimator.evaluate(
            eval_spec.input_fn, eval_spec.steps, list(eval_spec.hooks), path, eval_spec.name
        )
        exports = [
            exporter.export(
                estimator,
                os.path.join(estimator.model_dir, "export", exporter.name),
                path,
                metrics,
                is_last,
            )
            for exporter in eval_spec.exporters
        ]
        return metrics, exports

    estimator.train(
        train_spec.input_fn,
        hooks=list(train_spec.hooks),
        max_steps=train_spec.max_steps,
        saving_listeners=[_AfterSaving(evaluate), *train_spec.saving_listeners],
    )
    return evaluate(True)
