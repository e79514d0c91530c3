"""tf.saved_model.save: objects, variables and functions as a folder."""

from __future__ import annotations

import inspect
import os

from ... import _mica
from .. import nest
from .._bundle import write_bundle
from .._core import Tensor, convert_to_tensor
from .._function import ConcreteFunction, Function
from .._graph_def import _PRODUCER, VersionDef
from .._paths import local
from .._specs import TensorSpec, TypeSpec, type_spec_from_value
from .._tracking import Trackable
from .._writing import writing
from ..lookup import _Table
from ._export_graph import Functions
from ._load import OBJECT_GRAPH_KEY, VARIABLE_VALUE, Asset, RestoredResource, SignatureMap
from ._main_graph import MainGraph
from ._messages import (
    AssetFileDef,
    BoolValue,
    CapturedTensor,
    FunctionSpec,
    MetaGraphDef,
    ObjectReference,
    RegisteredGradient,
    SavedAsset,
    SavedBareConcreteFunction,
    SavedConcreteFunction,
    SavedConstant,
    SavedFunction,
    SavedModel,
    SavedObject,
    SavedResource,
    SavedUserObject,
    SavedVariable,
    SerializedTensor,
    TensorInfo,
    TrackableObject,
    TrackableObjectGraph,
)
from ._objects import ObjectView, checkpoint_key, children_of, variable_of
from ._options import SaveOptions
from ._signatures import canonical_signatures, default_function
from ._structures import encode, shape_message
from ._tables import table_functions

# What of a folder belongs to the model; other files in it stay.
_FILES = ("saved_model.pb", "saved_model.pbtxt", "fingerprint.pb", "variables", "assets")


def save(obj, export_dir, signatures=None, options: SaveOptions | None = None) -> None:
    """Write an object, with the variables and functions in it, to a folder.

    Parameters
    ----------
    obj
        A tf.Module or another trackable object.
    export_dir
        The folder; it is made where it does not exist.
    signatures
        A function, or functions by name, that programs call without the objects.
    options
        How to save it.
    """
    if not _mica.tf_executing_eagerly():
        raise AssertionError(
            "tf.saved_model.save is not supported inside a traced @tf.function. Move the call to "
            "the outer eagerly-executed context."
        )
    if not isinstance(obj, Trackable):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the "
            f"`Trackable` class, for export. Got {obj} with type {type(obj)}."
        )
    export_dir = os.fspath(export_dir)
    if isinstance(export_dir, bytes):
        export_dir = os.fsdecode(export_dir)
    with writing(export_dir):
        _Saver(obj, signatures, options or SaveOptions()).write(export_dir)


class _Saver:
    """Makes the messages and tensors of one model."""

    def __init__(self, root, signatures, options: SaveOptions) -> None:
        self._options = options
        children = children_of(root, "savedmodel")
        held = children.get("signatures")
        if held is not None and not isinstance(held, SignatureMap):
            raise ValueError(
                f"Exporting an object {root} which has an attribute named 'signatures'. This is a "
                "reserved attribute used to store SavedModel signatures in objects which come "
                "from `tf.saved_model.load`. Delete this attribute (e.g. `del obj.signatures`) "
                "before saving if this shadowing is acceptable."
            )
        if signatures is None:
            signatures = default_function(children)
        self._signatures = canonical_signatures(signatures)
        self._view = ObjectView(root, "savedmodel", {**children, "signatures": self._signatures})
        self._meta = MetaGraphDef()
        self._saved = self._meta.object_graph_def
        self._functions = Functions()
        self._graph = MainGraph(self._meta.graph_def)
        self._traces: dict[int, str] = {}  # id of a trace -> name of its function
        self._nodes: dict[int, str] = {}  # number of an object -> node of the main graph
        self._assets: list[tuple] = []  # (file, name in the folder)
        self._handles: dict = {}  # id of a handle -> number of what it is of
        self._tensors: dict = {}  # key in the checkpoint -> tensor
        self._find_handles()
        self._write_objects()
        self._write_signatures()
        self._write_checkpoint()
        self._finish()

    # ---- what functions capture

    def _find_handles(self) -> None:
        for number, value in enumerate(self._view.objects):
            variable = variable_of(value)
            if variable is not None:
                self._handles[variable.handle._id] = number
            elif isinstance(value, _Table | RestoredResource):
                self._handles[value.resource_handle._id] = number

    def _bound(self, trace: ConcreteFunction, captured) -> int:
        """The number of what a trace captures."""
        number = self._handles.get(captured._id)
        if number is not None:
            return number
        variable = captured._variable
        if variable is not None or not isinstance(captured, _mica.TFEagerTensor):
            self._untracked(trace, captured, variable and variable())
        try:
            captured.numpy()
        except Exception:
            self._untracked(trace, captured, None)
        number = self._view.add(captured)
        self._handles[captured._id] = number
        return number

    @staticmethod
    def _untracked(trace: ConcreteFunction, captured, held) -> None:
        raise AssertionError(
            "Tried to export a function which references an 'untracked' resource. TensorFlow "
            "objects (e.g. tf.Variable) captured by functions must be 'tracked' by assigning them "
            "to an attribute of a tracked object or assigned to an attribute of the main object "
            f"directly. See the information below:\n\tFunction name = {trace.name}\n\tCaptured "
            f"Tensor = {captured!r}\n\tTrackable referencing this tensor = {held!r}"
        )

    # ---- objects

    def _write_objects(self) -> None:
        at = 0
        while at < len(self._view.objects):  # constants come to it on the way
            value = self._view.objects[at]
            proto = self._saved.nodes.add()
            self._write_object(at, value, proto)
            for name, child in self._view.children[at].items():
                proto.children.append(ObjectReference(node_id=child, local_name=name))
            at += 1

    def _write_object(self, number: int, value, proto: SavedObject) -> None:
        variable = variable_of(value)
        if isinstance(value, _Message):
            proto.CopyFrom(value.proto)
        elif variable is not None:
            self._write_variable(number, variable, proto)
        elif isinstance(value, Function):
            self._write_function(value, proto)
        elif isinstance(value, ConcreteFunction):
            self._write_trace_object(value, proto)
        elif isinstance(value, Asset):
            self._write_asset(number, value, proto)
        elif isinstance(value, _Table | RestoredResource):
            self._write_table(number, value, proto)
        elif isinstance(value, Tensor):
            name = self._graph.constant(value)
            self._nodes[number] = name
            proto.constant = SavedConstant(operation=name)
        else:
            proto.user_object = SavedUserObject(
                identifier=_identifier(value), version=VersionDef(producer=1, min_consumer=1)
            )

    def _write_variable(self, number: int, variable, proto: SavedObject) -> None:
        name = variable.name.removesuffix(":0")
        proto.variable = SavedVariable(
            dtype=variable.dtype.as_datatype_enum,
            shape=shape_message(variable.shape),
            trainable=bool(variable.trainable),
            synchronization=variable.synchronization.value,
            aggregation=variable.aggregation.value,
            name=name,
        )
        self._nodes[number] = self._graph.variable(name, variable)

    def _write_asset(self, number: int, asset: Asset, proto: SavedObject) -> None:
        name = os.path.basename(asset._path)
        taken = {n for path, n in self._assets if path != asset._path}
        n = 0
        while name in taken:
            n += 1
            name = f"{os.path.basename(asset._path)}_{n}"
        proto.asset = SavedAsset(asset_file_def_index=len(self._assets))
        self._assets.append((asset._path, name))
        constant = self._graph.constant(convert_to_tensor(name), "asset_path_initializer")
        self._nodes[number] = constant
        self._meta.asset_file_def.append(
            AssetFileDef(tensor_info=TensorInfo(name=f"{constant}:0"), filename=name)
        )

    def _write_table(self, number: int, table, proto: SavedObject) -> None:
        proto.resource = SavedResource()
        keys, values = table.export()
        shared = f"table_{number}"
        self._nodes[number] = self._graph.table(shared, table, keys, values)
        bound = [number, self._view.add(keys), self._view.add(values)]
        for name, definition, is_bound in table_functions(shared, table):
            function = self._functions.unique(f"__inference_{name.strip('_')}_{number}")
            definition.signature.name = function
            self._functions.definitions[function] = definition
            result = None if is_bound else TensorSpec([], "resource")
            self._saved.concrete_functions[function] = SavedConcreteFunction(
                bound_inputs=bound if is_bound else [],
                canonicalized_input_signature=encode(((), {})),
                output_signature=encode(result),
            )
            made = SavedObject(
                function=SavedFunction(
                    concrete_functions=[function],
                    function_spec=_function_spec(inspect.Signature(), None),
                )
            )
            self._view.children[number][name] = self._extra(made)

    def _extra(self, proto: SavedObject) -> int:
        """Add an object that is a message only."""
        return self._view.add(_Message(proto))

    # ---- functions

    def _write_function(self, function: Function, proto: SavedObject) -> None:
        traces = function._list_all_concrete_functions_for_serialization()
        names = [self._write_trace(trace) for trace in traces]
        parameters = function._parameters
        spec = _function_spec(
            None if parameters is None else parameters._signature, function.input_signature
        )
        proto.function = SavedFunction(concrete_functions=names, function_spec=spec)

    def _write_trace_object(self, trace: ConcreteFunction, proto: SavedObject) -> None:
        name = self._write_trace(trace)
        args, kwargs = trace.structured_input_signature
        keywords = [
            spec.name or f"args_{i}"
            for i, spec in enumerate(nest.flatten((args, kwargs), expand_composites=True))
            if isinstance(spec, TensorSpec)
        ]
        positional = len(keywords) if args or len(keywords) == 1 else 0
        proto.bare_concrete_function = SavedBareConcreteFunction(
            concrete_function_name=name,
            argument_keywords=keywords,
            allowed_positional_arguments=positional,
        )

    def _write_trace(self, trace: ConcreteFunction) -> str:
        """Write the graph of a trace and what it captures; its name."""
        if id(trace) in self._traces:
            return self._traces[id(trace)]
        bound = [self._bound(trace, captured) for captured in trace.captured_inputs]
        name = self._functions.add(trace.graph, trace.name, _flat_order(trace))
        self._traces[id(trace)] = name
        self._write_gradients()
        self._saved.concrete_functions[name] = SavedConcreteFunction(
            bound_inputs=bound,
            canonicalized_input_signature=encode(trace.structured_input_signature),
            output_signature=encode(_result_specs(trace.structured_outputs)),
        )
        for alias, function in self._options.function_aliases.items():
            if function is trace or trace in getattr(function, "_cache", {}).values():
                self._meta.meta_info_def.function_aliases[name] = alias
        return name

    def _write_gradients(self) -> None:
        """Write what custom gradients need as objects, and register them."""
        pending, self._functions.gradients = self._functions.gradients, []
        library = self._meta.graph_def.library
        for gradient in pending if self._options.experimental_custom_gradients else ():
            bound = []
            for node in gradient.captured:
                tensor = CapturedTensor(name=f"{node}:0", concrete_function=gradient.within)
                bound.append(self._extra(SavedObject(captured_tensor=tensor)))
            specs = [
                TensorSpec(t.shape, t.dtype, f"result_grads_{i}")
                for i, t in enumerate(gradient.results)
            ]
            self._saved.concrete_functions[gradient.function] = SavedConcreteFunction(
                bound_inputs=bound,
                canonicalized_input_signature=encode(((None, *specs), {})),
                output_signature=encode([None] * gradient.count + specs[gradient.count :]),
            )
            library.registered_gradients.append(
                RegisteredGradient(
                    gradient_func=gradient.function, registered_op_type=gradient.registered
                )
            )

    # ---- the rest of the file

    def _write_signatures(self) -> None:
        for key, trace in self._signatures.items():
            name = self._traces[id(trace)]
            captured = [self._nodes[i] for i in self._saved.concrete_functions[name].bound_inputs]
            self._meta.signature_def[key] = self._graph.signature(key, trace, name, captured)

    def _write_checkpoint(self) -> None:
        stored = TrackableObjectGraph()
        holds = [False] * len(self._view.objects)
        variables = []
        for number, value in enumerate(self._view.objects):
            node = TrackableObject()
            variable = variable_of(value)
            for name, child in self._view.children[number].items():
                node.children.append(ObjectReference(node_id=child, local_name=name))
            if variable is not None:
                name = variable.name.removesuffix(":0")
                key = checkpoint_key(self._view.paths[number], VARIABLE_VALUE)
                node.attributes.append(
                    SerializedTensor(name=VARIABLE_VALUE, full_name=name, checkpoint_key=key)
                )
                self._tensors[key] = convert_to_tensor(variable)
                variables.append((key, self._nodes[number], variable))
                holds[number] = True
            stored.nodes.append(node)
        for node, held in zip(stored.nodes, self._view.spread(holds), strict=True):
            node.has_checkpoint_values = BoolValue(value=held)
        self._tensors[OBJECT_GRAPH_KEY] = convert_to_tensor(stored.SerializeToString())
        self._meta.saver_def = self._graph.saver(variables)

    def _finish(self) -> None:
        info = self._meta.meta_info_def
        info.tags.append("serve")
        info.tags.extend(self._options.extra_tags or ())
        info.tensorflow_version = "2.21.0"
        info.tensorflow_git_version = "mica"
        info.stripped_default_attrs = True
        self._meta.signature_def["__saved_model_init_op"] = self._graph.initializer()
        for definition in self._functions.definitions.values():
            self._meta.graph_def.library.function.append(definition.SerializeToString())
        self._meta.graph_def.versions = VersionDef(producer=_PRODUCER)

    def write(self, folder: str) -> None:
        """Put the files in the place of those that are there, all at once.

        Where the folder cannot be exchanged with another, each file is replaced by itself,
        saved_model.pb last.
        """
        folder = local(folder)
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        begun = _mica.tf_folder_begin(os.path.realpath(folder), _FILES)
        if begun is None:
            self._write_files(folder)
            return
        writer, aside = begun
        try:
            self._write_files(aside)
            _mica.tf_folder_finish(writer)
        finally:
            _mica.tf_folder_end(writer)

    def _write_files(self, folder: str) -> None:
        os.makedirs(os.path.join(folder, "variables"), exist_ok=True)
        os.makedirs(os.path.join(folder, "assets"), exist_ok=True)
        for path, name in self._assets:
            with open(path, "rb") as file:
                _mica.tf_file_replace(os.path.join(folder, "assets", name), file.read())
        write_bundle(os.path.join(folder, "variables", "variables"), self._tensors)
        model = SavedModel(saved_model_schema_version=1, meta_graphs=[self._meta])
        path = os.path.join(folder, "saved_model.pb")
        _mica.tf_file_replace(path, model.SerializeToString())


class _Message(Trackable):
    """An object of the file that has no other on this side."""

    def __init__(self, proto: SavedObject) -> None:
        self.proto = proto


def _identifier(value) -> str:
    if isinstance(value, SignatureMap):
        return "signature_map"
    if isinstance(value, list):
        return "trackable_list_wrapper"
    if isinstance(value, dict):
        return "trackable_dict_wrapper"
    if isinstance(value, tuple):
        return "trackable_tuple_wrapper"
    return "_generic_user_object"


def _result_specs(outputs):
    """Results with specs for tensors."""

    def one(value):
        return None if value is None else type_spec_from_value(value)

    if isinstance(outputs, dict) and type(outputs) is dict:
        return {
            key: TensorSpec(v.shape, v.dtype, key) if isinstance(v, Tensor) else _result_specs(v)
            for key, v in outputs.items()
        }
    if outputs is None:
        return None
    return nest.map_structure(lambda v: v if isinstance(v, TensorSpec) else one(v), outputs)


def _flat_order(trace: ConcreteFunction) -> list[int]:
    """The parameters of a trace in the order of its flattened arguments: keywords by name."""
    args, kwargs = trace.structured_input_signature
    places: dict = {}
    at = 0
    for key, value in [*enumerate(args), *kwargs.items()]:
        flat = nest.flatten(value, expand_composites=True)
        count = sum(isinstance(spec, TypeSpec) for spec in flat)
        places[key] = range(at, at + count)
        at += count
    return [i for key in [*range(len(args)), *sorted(kwargs)] for i in places[key]]


def _function_spec(signature: inspect.Signature | None, input_signature) -> FunctionSpec:
    """What is kept of a function's Python signature."""
    args, defaults, only, only_defaults = [], [], [], {}
    rest = "args" if signature is None else None
    keywords = "kwargs" if signature is None else None
    for p in () if signature is None else signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            rest = p.name
        elif p.kind is p.VAR_KEYWORD:
            keywords = p.name
        elif p.kind is p.KEYWORD_ONLY:
            only.append(p.name)
            if p.default is not p.empty:
                only_defaults[p.name] = _plain(p.default)
        else:
            args.append(p.name)
            if p.default is not p.empty:
                defaults.append(_plain(p.default))
    full = inspect.FullArgSpec(
        args, rest, keywords, tuple(defaults) or None, only, only_defaults or None, {}
    )
    given = None if input_signature is None else tuple(input_signature)
    return FunctionSpec(fullargspec=encode(full), input_signature=encode(given))


def _plain(value):
    """A default as far as files can say it."""
    try:
        encode(value)
    except NotImplementedError:
        return None
    return value
