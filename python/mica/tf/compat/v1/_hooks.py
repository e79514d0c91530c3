"""Hooks: what is told of each run of a monitored session."""

from __future__ import annotations

import os
import time
from collections import namedtuple

import numpy as np

from ... import errors
from ..._effects import get_logger
from ..._event_messages import Summary
from ..._session import get_default_graph
from ._meta_graph import write_graph_files
from ._scopes import GraphKeys
from ._steps import get_global_step
from .summary import FileWriterCache

SessionRunValues = namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunArgs(namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a run."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        """Fetch these, and feed those."""
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunContext:
    """What a hook knows of a run."""

    def __init__(self, original_args, session) -> None:
        self._original_args, self._session, self._stop = original_args, session, False

    @property
    def original_args(self):
        """What was given to run."""
        return self._original_args

    @property
    def session(self):
        """The session."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has asked to stop."""
        return self._stop

    def request_stop(self) -> None:
        """Let this run be the last."""
        self._stop = True


class SessionRunHook:
    """The base of hooks: methods that a monitored session calls."""

    def begin(self) -> None:
        """Before the session is made; the graph may change."""

    def after_create_session(self, session, coord) -> None:
        """After the session was made."""

    def before_run(self, run_context):
        """Before each run; may return SessionRunArgs."""

    def after_run(self, run_context, run_values) -> None:
        """After each run."""

    def end(self, session) -> None:
        """At the end, when nothing failed."""


class CheckpointSaverListener:
    """Is told of checkpoints."""

    def begin(self) -> None:
        """Before the session is made."""

    def before_save(self, session, global_step_value) -> None:
        """Before a checkpoint is written."""

    def after_save(self, session, global_step_value):
        """After a checkpoint was written; True stops the training."""

    def end(self, session, global_step_value) -> None:
        """At the end."""


class SecondOrStepTimer:
    """Whether it is time again: after so many seconds or steps."""

    def __init__(self, every_secs=None, every_steps=None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._seconds, self._steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._step, self._time = None, None

    def should_trigger_for_step(self, step) -> bool:
        """Whether it is time at this step."""
        if self._step is None:
            return True
        if self._step == step:
            return False
        if self._seconds is not None:
            return time.time() >= self._time + self._seconds
        return step >= self._step + self._steps

    def update_last_triggered_step(self, step) -> tuple:
        """Note a step; returns how many seconds and steps went by."""
        now = time.time()
        went = (None, None) if self._step is None else (now - self._time, step - self._step)
        self._time, self._step = now, step
        return went

    def last_triggered_step(self):
        """Return the step that was noted last."""
        return self._step


def _step_needed(hook):
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {type(hook).__name__}.")
    return step


class StopAtStepHook(SessionRunHook):
    """Stops after a number of steps, or at a step."""

    def __init__(self, num_steps=None, last_step=None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Find the step."""
        self._step = _step_needed(self)

    def after_create_session(self, session, coord) -> None:
        """Count from the step that the session begins with."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context):
        """Ask for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values) -> None:
        """Stop when it is there; the run itself may have counted it."""
        step = int(run_values.results) + 1
        if step >= self._last_step:
            step = int(run_context.session.run(self._step))
            if step >= self._last_step:
                run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs tensors every so many runs or seconds."""

    def __init__(
        self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(tensors, dict):
            tensors = {item if isinstance(item, str) else item.name: item for item in tensors}
        self._tensors, self._tags, self._formatter = tensors, list(tensors), formatter
        self._at_end = at_end
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        """Begin to count."""
        if self._timer:
            self._timer.reset()
        self._count = 0

    def before_run(self, run_context):
        """Ask for the tensors when it is time."""
        self._is_time = bool(self._timer) and self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(dict(self._tensors)) if self._is_time else None

    def _log(self, values) -> None:
        went = self._timer.update_last_triggered_step(self._count)[0] if self._timer else None
        if self._formatter:
            get_logger().info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
        get_logger().info(text if went is None else f"{text} ({went:.3f} sec)")

    def after_run(self, run_context, run_values) -> None:
        """Log them."""
        if self._is_time:
            self._log(run_values.results)
        self._count += 1

    def end(self, session) -> None:
        """Log them once more, if asked to."""
        if self._at_end:
            self._log(session.run(dict(self._tensors)))


class NanLossDuringTrainingError(RuntimeError):
    """A loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Fails, or stops, when a loss is not a number."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True) -> None:
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        """Ask for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values) -> None:
        """Look at it."""
        if not np.isnan(run_values.results).any():
            return
        if self._fails:
            get_logger().error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        get_logger().warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class CheckpointSaverHook(SessionRunHook):
    """Writes a checkpoint every so many seconds or steps, at the first run and at the end."""

    def __init__(
        self,
        checkpoint_dir,
        save_secs=None,
        save_steps=None,
        saver=None,
        checkpoint_basename="model.ckpt",
        scaffold=None,
        listeners=None,
        save_graph_def=True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold, self._folder = saver, scaffold, os.fspath(checkpoint_dir)
        self._path = os.path.join(self._folder, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners, self._writes_graph = list(listeners or ()), save_graph_def

    def begin(self) -> None:
        """Find the step."""
        self._step = _step_needed(self)
        self._writer = FileWriterCache.get(self._folder)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord) -> None:
        """Write the graph, and what the session begins with."""
        step = int(session.run(self._step))
        if self._writes_graph:
            write_graph_files(session.graph, self._folder, self._writer)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        """Ask for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values) -> None:
        """Write when it is time."""
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session) -> None:
        """Write what there is at the end."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step: int) -> bool:
        get_logger().info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, step, write_meta_graph=self._writes_graph)
        should_stop = False
        for listener in self._listeners:
            should_stop = bool(listener.after_save(session, step)) or should_stop
        return should_stop

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver

        savers = get_default_graph().get_collection(GraphKeys.SAVERS)
        if len(savers) != 1:
            raise RuntimeError(
                f"The graph has {len(savers)} Savers in its collection; please indicate which one "
                "to use by passing a SaverDef"
            )
        self._saver = savers[0]
        return self._saver


class StepCounterHook(SessionRunHook):
    """Logs and writes how many steps a second takes."""

    def __init__(
        self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._writer, self._folder = summary_writer, output_dir

    def begin(self) -> None:
        """Find the step."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._step = _step_needed(self)
        self._tag = self._step._shared_name + "/sec"

    def before_run(self, run_context):
        """Ask for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values) -> None:
        """Log when it is time."""
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds:
                    self._log(steps, seconds, step)

    def _log(self, steps: int, seconds: float, step: int) -> None:
        rate = steps / seconds
        if self._writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), step)
        get_logger().info("%s: %g", self._tag, rate)


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds."""

    def __init__(
        self,
        save_steps=None,
        save_secs=None,
        output_dir=None,
        summary_writer=None,
        scaffold=None,
        summary_op=None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._writer, self._folder = summary_writer, output_dir
        self._scaffold, self._op = scaffold, summary_op

    def begin(self) -> None:
        """Find the step."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._step, self._next = _step_needed(self), None
        self._timer.reset()

    def before_run(self, run_context):
        """Ask for the summaries when it is time."""
        self._is_time = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches = {"step": self._step}
        found = self._op if self._op is not None else self._scaffold.summary_op
        if self._is_time and found is not None:
            fetches["summaries"] = found if isinstance(found, (list, tuple)) else [found]
        return SessionRunArgs(fetches)

    def after_run(self, run_context, run_values) -> None:
        """Write them."""
        stale = int(run_values.results["step"])
        step = stale + 1
        if self._is_time:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summaries", ()):
                if self._writer is not None:
                    self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session) -> None:
        """Write what waits."""
        if self._writer is not None:
            self._writer.flush()


class GlobalStepWaiterHook(SessionRunHook):
    """Waits until a step that another session counts is there."""

    def __init__(self, wait_until_step) -> None:
        self._until = wait_until_step

    def begin(self) -> None:
        """Find the step."""
        self._step = _step_needed(self)

    def before_run(self, run_context):
        """Wait."""
        if self._until > 0 and int(run_context.session.run(self._step)) < self._until:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"GlobalStepWaiterHook: step {self._until} is awaited, and no other process "
                "counts the steps of a session of this one",
            )


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end and keeps their values."""

    def __init__(self, final_ops, final_ops_feed_dict=None) -> None:
        self._ops, self._feed, self._values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self):
        """The values."""
        return self._values

    def end(self, session) -> None:
        """Run them."""
        if self._ops is not None:
            self._values = session.run(self._ops, self._feed)


class FeedFnHook(SessionRunHook):
    """Feeds what a function returns."""

    def __init__(self, feed_fn) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        """Ask the function."""
        return SessionRunArgs(None, self.feed_fn())
