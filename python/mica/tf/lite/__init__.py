"""tf.lite: models as .tflite files, and an interpreter of such files.

A converter evaluates a concrete function as far as it is known, writes the ops that are left as
operators of the table (`_rows.py`), merges them and may keep weights in fewer bits. The interpreter
reads a file, its own or TensorFlow's, and makes a function of its operators with the same table.

Examples
--------
>>> import mica.tf as tf
>>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
>>> converter = tf.lite.TFLiteConverter.from_concrete_functions([double.get_concrete_function()])
>>> interpreter = tf.lite.Interpreter(model_content=converter.convert())
>>> interpreter.get_signature_runner()(x=tf.constant([1.0, 2.0]).numpy())
{'output_0': array([2., 4.], dtype=float32)}
"""

from __future__ import annotations

from .._missing import finder as _finder
from .._missing import namespace as _namespace
from ._convert import (
    ConverterError,
    OpsSet,
    Optimize,
    RepresentativeDataset,
    TargetSpec,
    TFLiteConverter,
)
from ._interpreter import Interpreter, OpResolverType

__all__ = [
    "ConverterError",
    "Interpreter",
    "OpsSet",
    "Optimize",
    "RepresentativeDataset",
    "TFLiteConverter",
    "TargetSpec",
    "experimental",
]


@_namespace
class experimental:
    """tf.lite.experimental."""

    OpResolverType = OpResolverType


__getattr__ = _finder(__name__)
