"""`tf.compat.v1.train`: optimizers, steps, checkpoints, hooks and sessions that call them."""

from __future__ import annotations

from ... import train as _train
from ..._event_messages import Event
from ..._missing import missing as _missing
from ..._records import tf_record_iterator
from . import _hooks, _monitored, _optimizers, _saver, _steps

_PARTS = {
    _hooks: [
        "CheckpointSaverHook",
        "CheckpointSaverListener",
        "FeedFnHook",
        "FinalOpsHook",
        "GlobalStepWaiterHook",
        "LoggingTensorHook",
        "NanLossDuringTrainingError",
        "NanTensorHook",
        "SecondOrStepTimer",
        "SessionRunArgs",
        "SessionRunContext",
        "SessionRunHook",
        "SessionRunValues",
        "StepCounterHook",
        "StopAtStepHook",
        "SummarySaverHook",
    ],
    _monitored: [
        "ChiefSessionCreator",
        "MonitoredSession",
        "MonitoredTrainingSession",
        "Scaffold",
        "SessionCreator",
        "SingularMonitoredSession",
        "WorkerSessionCreator",
    ],
    _optimizers: [
        "AdadeltaOptimizer",
        "AdagradOptimizer",
        "AdamOptimizer",
        "ExponentialMovingAverage",
        "FtrlOptimizer",
        "GradientDescentOptimizer",
        "MomentumOptimizer",
        "Optimizer",
        "RMSPropOptimizer",
    ],
    _saver: [
        "NewCheckpointReader",
        "Saver",
        "checkpoint_exists",
        "get_checkpoint_mtimes",
        "init_from_checkpoint",
        "remove_checkpoint",
    ],
    _steps: [
        "assert_global_step",
        "cosine_decay",
        "create_global_step",
        "exponential_decay",
        "get_global_step",
        "get_or_create_global_step",
        "global_step",
        "inverse_time_decay",
        "natural_exp_decay",
        "piecewise_constant",
        "piecewise_constant_decay",
        "polynomial_decay",
    ],
}
for _module, _names in _PARTS.items():
    for _name in _names:
        globals()[_name] = getattr(_module, _name)
del _module, _names, _name
__all__ = sorted(["summary_iterator", *(n for names in _PARTS.values() for n in names)])


def summary_iterator(path):
    """Yield the Event messages of an event file."""
    for record in tf_record_iterator(path):
        yield Event.FromString(record)


def __getattr__(name: str):
    try:
        return getattr(_train, name)
    except AttributeError:
        raise _missing(__name__, name) from None
