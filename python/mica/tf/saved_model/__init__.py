"""tf.saved_model: models in folders, as TensorFlow writes and reads them."""

from __future__ import annotations

import importlib as _importlib
import os as _os

from .._missing import missing as _missing_name
from ._load import Asset, load
from ._options import LoadOptions, SaveOptions
from ._save import save

ASSETS_DIRECTORY = "assets"
ASSETS_KEY = "saved_model_assets"
CLASSIFY_INPUTS = "inputs"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
CLASSIFY_OUTPUT_CLASSES = "classes"
CLASSIFY_OUTPUT_SCORES = "scores"
DEBUG_DIRECTORY = "debug"
DEBUG_INFO_FILENAME_PB = "saved_model_debug_info.pb"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
GPU = "gpu"
PREDICT_INPUTS = "inputs"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_OUTPUTS = "outputs"
REGRESS_INPUTS = "inputs"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_OUTPUTS = "outputs"
SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
SERVING = "serve"
TPU = "tpu"
TRAINING = "train"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"


def contains_saved_model(export_dir) -> bool:
    """Whether a folder holds a saved model."""
    folder = _os.fspath(export_dir)
    return any(
        _os.path.isfile(_os.path.join(folder, name))
        for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)
    )


def __getattr__(name: str):
    if name == "experimental":
        return _importlib.import_module(".experimental", __name__)
    raise _missing_name(__name__, name)


__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "PREDICT_METHOD_NAME",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "Asset",
    "LoadOptions",
    "SaveOptions",
    "contains_saved_model",
    "load",
    "save",
]
