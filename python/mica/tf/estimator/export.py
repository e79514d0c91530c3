"""`tf.estimator.export`: what a model that is served takes and gives, and how it is written."""

from __future__ import annotations

import os as _os
import shutil as _shutil
import time as _time

from .. import _dtypes
from .. import saved_model as _saved_model
from .._context import building as _building
from .._core import ops as _ops
from .._examples import parse_example as _parse_example
from .._function import function as _function
from .._missing import finder as _finder
from .._module import Module as _Module
from .._session import Session as _Session
from .._specs import TensorSpec as _TensorSpec
from .._variable import Variable as _Variable
from ..compat.v1._placeholders import placeholder as _placeholder
from ..compat.v1._saver import Saver as _Saver
from ..compat.v1._steps import create_global_step as _create_global_step
from ..feature_column._features import TABLES as _TABLES
from ._spec import ModeKeys as _ModeKeys

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "TensorServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]

_DEFAULT = "serving_default"


class ServingInputReceiver:
    """What a served model is fed, and the features that follow from it."""

    def __init__(self, features, receiver_tensors, receiver_tensors_alternatives=None) -> None:
        if features is None or receiver_tensors is None:
            raise ValueError("features and receiver_tensors must be defined.")
        if receiver_tensors_alternatives:
            raise NotImplementedError(
                "ServingInputReceiver: a model is fed its receiver_tensors; leave "
                "receiver_tensors_alternatives out"
            )
        self.features = features
        named = isinstance(receiver_tensors, dict)
        self.receiver_tensors = receiver_tensors if named else {"input": receiver_tensors}


TensorServingInputReceiver = ServingInputReceiver


def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """Return a function whose receiver is fed the features themselves."""

    def receiver():
        tensors = {}
        for name, tensor in features.items():
            shape = tensor.shape.as_list()
            shape[0] = default_batch_size
            tensors[name] = _placeholder(tensor.dtype, shape, name)
        return ServingInputReceiver(tensors, tensors)

    return receiver


def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """Return a function whose receiver is fed serialized tf.train.Example messages.

    Parameters
    ----------
    feature_spec
        What tf.io.parse_example takes; tf.feature_column.make_parse_example_spec makes it.
    """

    def receiver():
        given = _placeholder(_dtypes.string, [default_batch_size], "input_example_tensor")
        return ServingInputReceiver(_parse_example(given, feature_spec), {"examples": given})

    return receiver


class ExportOutput:
    """The base of what a signature gives."""

    outputs: dict


class PredictOutput(ExportOutput):
    """Any tensors, by name."""

    def __init__(self, outputs) -> None:
        self.outputs = outputs if isinstance(outputs, dict) else {"output": outputs}


class RegressionOutput(ExportOutput):
    """A number for each example."""

    def __init__(self, value) -> None:
        if not value.dtype.is_floating:
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.outputs = {"outputs": value}


class ClassificationOutput(ExportOutput):
    """Scores of classes, or classes, or both."""

    def __init__(self, scores=None, classes=None) -> None:
        if scores is None and classes is None:
            raise ValueError("Cannot create a ClassificationOutput with empty outputs")
        pairs = {"scores": scores, "classes": classes}
        self.outputs = {name: value for name, value in pairs.items() if value is not None}


def _signatures(spec) -> dict:
    """The outputs by signature; the only one, or the one of predictions, is the default."""
    given = spec.export_outputs
    if not given:
        return {_DEFAULT: PredictOutput(spec.predictions).outputs}
    found = {}
    for name, output in given.items():
        if not isinstance(output, ExportOutput):
            raise ValueError(
                f"Values in export_outputs must be ExportOutput objects. export_outputs: {given}"
            )
        found[name] = output.outputs
    if len(found) == 1:
        found.setdefault(_DEFAULT, next(iter(found.values())))
    if _DEFAULT not in found:
        raise ValueError(
            f"Multiple export_outputs were provided, but none of them is named {_DEFAULT!r}"
        )
    return found


class _Served(_Module):
    """The variables of a model, and a function for each signature."""

    def __init__(self) -> None:
        super().__init__("served")
        self.held = []


def _served(module, graph, session, receiver: dict, outputs: dict, copies: dict):
    """A function of what is fed, by name, that gives the outputs, by name."""
    names = sorted(receiver)
    fetched = list(outputs)
    function, nodes = graph._prune(
        [receiver[n] for n in names], [outputs[n] for n in fetched], [], graph._order.ranges()
    )
    external = {internal._node: outside for outside, internal in graph._captures()}
    captured = []
    for node in nodes:
        if node not in external:
            raise ValueError(
                f"{graph._tensor(node, 0).name} is a placeholder that is none of receiver_tensors"
            )
        outside = external[node]
        variable = outside._variable and outside._variable()
        if variable is not None:
            if variable._shared_name not in copies:
                with _building(None):
                    copies[variable._shared_name] = _Variable(
                        session._value(variable),
                        trainable=variable.trainable,
                        name=variable._shared_name,
                    )
                module.held.append(copies[variable._shared_name])
            captured.append(copies[variable._shared_name])
        else:
            captured.append(outside)
    dtypes = [outputs[n].dtype for n in fetched]

    def serve(**given):
        arguments = [given[n] for n in names]
        arguments += [c._handle if isinstance(c, _Variable) else c for c in captured]
        op = "StatefulPartitionedCall" if function._has_effects else "PartitionedCall"
        results = _ops[op](arguments, Tout=dtypes, f=function)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        return dict(zip(fetched, results, strict=True))

    with _building(None):
        made = _function(serve)
        specs = {n: _TensorSpec(receiver[n].shape, receiver[n].dtype, n) for n in names}
        return made.get_concrete_function(**specs)


def export_model(estimator, base, receiver_function, assets_extra, checkpoint_path) -> bytes:
    """Write an estimator's model for predictions; returns the folder, named after the time."""
    path = checkpoint_path or estimator._needed_checkpoint()
    base = _os.fspath(base)
    stamp = int(_time.time())
    while _os.path.exists(_os.path.join(base, str(stamp))):
        stamp += 1
    folder = _os.path.join(base, str(stamp))
    graph, module = estimator._graph(), _Served()
    with graph.as_default():
        _create_global_step()
        receiver = receiver_function()
        spec = estimator._call_model_fn(receiver.features, None, _ModeKeys.PREDICT)
        session = _Session(graph=graph)
        _Saver().restore(session, path)
        module.tables = list(graph.get_collection(_TABLES))
        copies: dict = {}
        signatures = {
            name: _served(module, graph, session, receiver.receiver_tensors, outputs, copies)
            for name, outputs in _signatures(spec).items()
        }
    with _building(None):
        _saved_model.save(module, folder, signatures)
    for name, source in (assets_extra or {}).items():
        target = _os.path.join(folder, "assets.extra", name)
        _os.makedirs(_os.path.dirname(target), exist_ok=True)
        _shutil.copy(source, target)
    return folder.encode()


__getattr__ = _finder(__name__)
