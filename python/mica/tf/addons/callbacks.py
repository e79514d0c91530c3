"""`tfa.callbacks`: training that ends in time, and files of averaged weights."""

from __future__ import annotations

import datetime as _datetime
import time as _time

from .._install import keras as _keras
from . import _missing
from .optimizers import AveragedOptimizerWrapper as _Averaged

__all__ = ["AverageModelCheckpoint", "TimeStopping"]


class TimeStopping(_keras().callbacks.Callback):
    """Stops training after so many seconds, at the end of an epoch."""

    def __init__(self, seconds: int = 86400, verbose: int = 0) -> None:
        super().__init__()
        self.seconds, self.verbose = seconds, verbose
        self.stopped_epoch = None

    def on_train_begin(self, logs=None) -> None:
        """Note when it began."""
        self.stopping_time = _time.time() + self.seconds

    def on_epoch_end(self, epoch, logs=None) -> None:
        """Stop where the time is over."""
        if _time.time() >= self.stopping_time:
            self.model.stop_training = True
            self.stopped_epoch = epoch

    def on_train_end(self, logs=None) -> None:
        """Say so."""
        if self.stopped_epoch is not None and self.verbose > 0:
            spent = _datetime.timedelta(seconds=self.seconds)
            print(f"Timed stopping at epoch {self.stopped_epoch + 1} after training for {spent}")

    def get_config(self) -> dict:
        """What it was made with."""
        return {"seconds": self.seconds, "verbose": self.verbose}


class AverageModelCheckpoint(_keras().callbacks.ModelCheckpoint):
    """Writes the averages that the model's optimizer keeps, in place of the weights."""

    def __init__(self, update_weights: bool, filepath: str, **options) -> None:
        self.update_weights = update_weights
        super().__init__(filepath, **options)

    def set_model(self, model) -> None:
        """Take the model, whose optimizer keeps averages."""
        if not isinstance(model.optimizer, _Averaged):
            raise TypeError(
                "AverageModelCheckpoint is only used when training with MovingAverage or SWA"
            )
        super().set_model(model)

    def _save_model(self, *args, **kwargs) -> None:
        variables = self.model.trainable_variables
        kept = [variable.numpy() for variable in variables]
        self.model.optimizer.assign_average_vars(variables)
        super()._save_model(*args, **kwargs)
        if not self.update_weights:
            for variable, value in zip(variables, kept, strict=True):
                variable.assign(value)


def __getattr__(name: str):
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return __all__
