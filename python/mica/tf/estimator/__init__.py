"""`tf.estimator`: models that are trained, evaluated and exported through a model function."""

from __future__ import annotations

import importlib as _importlib

from .._missing import missing as _missing_name

_LAZY = {
    "BaselineClassifier": "._canned",
    "BaselineEstimator": "._canned",
    "BaselineRegressor": "._canned",
    "BinaryClassHead": "._heads",
    "CheckpointSaverHook": "..compat.v1._hooks",
    "CheckpointSaverListener": "..compat.v1._hooks",
    "DNNClassifier": "._canned",
    "DNNEstimator": "._canned",
    "DNNLinearCombinedClassifier": "._canned",
    "DNNLinearCombinedEstimator": "._canned",
    "DNNLinearCombinedRegressor": "._canned",
    "DNNRegressor": "._canned",
    "Estimator": "._estimator",
    "EstimatorSpec": "._spec",
    "EvalSpec": "._config",
    "FeedFnHook": "..compat.v1._hooks",
    "FinalExporter": "._evaluate",
    "FinalOpsHook": "..compat.v1._hooks",
    "GlobalStepWaiterHook": "..compat.v1._hooks",
    "Head": "._heads",
    "LatestExporter": "._evaluate",
    "LinearClassifier": "._canned",
    "LinearEstimator": "._canned",
    "LinearRegressor": "._canned",
    "LoggingTensorHook": "..compat.v1._hooks",
    "ModeKeys": "._spec",
    "MultiClassHead": "._heads",
    "NanLossDuringTrainingError": "..compat.v1._hooks",
    "NanTensorHook": "..compat.v1._hooks",
    "RegressionHead": "._heads",
    "RunConfig": "._config",
    "SecondOrStepTimer": "..compat.v1._hooks",
    "SessionRunArgs": "..compat.v1._hooks",
    "SessionRunContext": "..compat.v1._hooks",
    "SessionRunHook": "..compat.v1._hooks",
    "SessionRunValues": "..compat.v1._hooks",
    "StepCounterHook": "..compat.v1._hooks",
    "StopAtStepHook": "..compat.v1._hooks",
    "SummarySaverHook": "..compat.v1._hooks",
    "TrainSpec": "._config",
    "WarmStartSettings": "._config",
    "train_and_evaluate": "._evaluate",
}


def __getattr__(name: str):
    if name in ("tpu", "export"):
        return _importlib.import_module(f".{name}", __name__)
    if name not in _LAZY:
        raise _missing_name(__name__, name)
    value = getattr(_importlib.import_module(_LAZY[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_LAZY, "tpu"])
