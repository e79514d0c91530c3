"""tf.saved_model.load: a folder as objects, variables and functions."""

from __future__ import annotations

import collections
import os

from ... import _mica
from .. import _dtypes, errors
from .._bundle import Bundle
from .._context import init_scope
from .._core import convert_to_tensor, ops
from .._graph import FuncGraph
from .._reading import check_references, reading
from .._tracking import (
    AutoTrackable,
    ListWrapper,
    Trackable,
    TrackableResource,
    _DictWrapper,
)
from .._variable import Variable, VariableAggregation, VariableSynchronization
from ._import_graph import Definitions
from ._messages import SavedModel, TrackableObjectGraph
from ._options import LoadOptions
from ._restored import RestoredConcreteFunction, RestoredFunction
from ._structures import decode, shape_of
from ._tensors import Repeats, tensor_of

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"
_TABLES = ("HashTableV2", "MutableHashTableV2", "AnonymousHashTable", "AnonymousMutableHashTable")


class SignatureMap(collections.abc.Mapping, Trackable):
    """The signatures of a saved model, by name."""

    def __init__(self) -> None:
        self._signatures: dict = {}

    def __getitem__(self, key: str):
        return self._signatures[key]

    def __iter__(self):
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures})"

    __hash__ = object.__hash__

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        return dict(self._signatures) if save_type == "savedmodel" else {}


class Asset(Trackable):
    """A file that belongs to a saved model."""

    def __init__(self, path) -> None:
        self._path = os.fspath(path)

    @property
    def asset_path(self):
        """The path, as a tensor."""
        return convert_to_tensor(self._path)

    def __repr__(self) -> str:
        return f"<tf.saved_model.Asset '{self._path}'>"


class RestoredResource(TrackableResource):
    """A table that functions of the file make and fill."""

    def __init__(self, op: str, key_dtype, value_dtype) -> None:
        self._functions: dict = {}
        self._handle = None
        self._op = op
        self.key_dtype, self.value_dtype = key_dtype, value_dtype

    @property
    def resource_handle(self):
        """The handle that ops refer to it by."""
        if self._handle is None:
            with init_scope():
                self._handle = ops["AnonymousMutableHashTable"](
                    key_dtype=self.key_dtype, value_dtype=self.value_dtype
                )
        return self._handle

    def export(self) -> tuple:
        """All keys and values."""
        return tuple(
            ops["LookupTableExportV2"](
                self.resource_handle, Tkeys=self.key_dtype, Tvalues=self.value_dtype
            )
        )

    def _initialize(self) -> None:
        if "_initialize" in self._functions:
            with init_scope():
                self._functions["_initialize"]()

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        return dict(self._functions) if save_type == "savedmodel" else {}


class _Elsewhere:
    """A tensor that is computed inside of a function of the file."""

    def __init__(self, name: str, function: str) -> None:
        self.name, self.function = name, function


def read_saved_model(export_dir: str) -> tuple[SavedModel, bytes]:
    """Return the message of a folder, and its bytes."""
    path = os.path.join(export_dir, "saved_model.pb")
    if not os.path.isfile(path):
        if os.path.isfile(path + "txt"):
            raise NotImplementedError(f"{path}txt: a saved model as text cannot be read")
        raise OSError(
            f"SavedModel file does not exist at: {export_dir}{os.path.sep}"
            "{saved_model.pbtxt|saved_model.pb}"
        )
    with open(path, "rb") as file:
        data = file.read()
    try:
        return SavedModel.FromString(data), data
    except ValueError as error:
        raise OSError(f"Cannot parse file {path}: {error}") from None


def load(export_dir, tags=None, options: LoadOptions | None = None):
    """Load a saved model.

    Parameters
    ----------
    export_dir
        The folder.
    tags
        Names that the model must have been saved with; None: any.
    options
        How to load it.
    """
    export_dir = os.fspath(export_dir)
    if isinstance(export_dir, bytes):
        export_dir = os.fsdecode(export_dir)
    options = options or LoadOptions()
    # A writer replaces the whole folder: what was read while it did is read again.
    for _ in range(_MOST_TRIES):
        before = _identity(export_dir)
        try:
            loaded = _load_once(export_dir, tags, options)
        except Exception:
            if before == _identity(export_dir):
                raise
        else:
            if before == _identity(export_dir):
                return loaded
    raise errors.UnavailableError(
        None, None, f"{export_dir} was replaced {_MOST_TRIES} times while it was read"
    )


_MOST_TRIES = 20


def _identity(folder: str):
    try:
        about = os.stat(folder)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _load_once(export_dir: str, tags, options: LoadOptions):
    model, data = read_saved_model(export_dir)
    if isinstance(tags, str):
        tags = [tags]
    if not model.meta_graphs:
        raise OSError(f"The saved model at {export_dir} is empty")
    meta = model.meta_graphs[0]
    if tags is not None and set(tags) != set(meta.meta_info_def.tags):
        raise ValueError(
            f"Got an incompatible argument to `tags`: {tags}. The SavedModel at {export_dir} has "
            f"one MetaGraph with tags {list(meta.meta_info_def.tags)}. You may omit the argument, "
            f"pass 'None', or pass tags={list(meta.meta_info_def.tags)}."
        )
    if not meta.object_graph_def.nodes:
        raise NotImplementedError(
            f"The saved model at {export_dir} has no objects: it was saved by TensorFlow 1, or "
            "as a graph. Such models cannot be loaded."
        )
    with reading(export_dir), init_scope():
        return Loader(meta, data, export_dir, options).root


class Loader:
    """Makes the objects of one saved model."""

    def __init__(self, meta, data: bytes, export_dir: str, options: LoadOptions) -> None:
        self._meta = meta
        self._folder = export_dir
        self._objects = meta.object_graph_def.nodes
        check_references(self._objects, export_dir)
        self._definitions = Definitions(meta.graph_def.library.function)
        self._library = _mica.tf_library(data, export_dir)
        self._graph_nodes = {node.name: node for node in meta.graph_def.node}
        self._concrete: dict[str, RestoredConcreteFunction] = {}
        self._variables_path = os.path.join(export_dir, "variables", "variables")
        self._bundle = None
        self._repeats = Repeats()
        self._keys: dict[int, str] = {}  # of variables, in the bundle
        self._table_keys: dict[int, list[str]] = {}
        if not options.experimental_skip_checkpoint and os.path.isfile(
            self._variables_path + ".index"
        ):
            self._find_keys()
        self._nodes: dict = {}
        for i in range(len(self._objects)):
            self._node(i)
        for i, proto in enumerate(self._objects):
            self._add_children(i, proto)
        for i, node in self._nodes.items():
            if isinstance(node, RestoredResource):
                node._initialize()
                self._fill(node, self._table_keys.get(i))
        self.root = self._nodes[0]
        if options.experimental_load_function_aliases:
            object.__setattr__(self.root, "function_aliases", self._aliases())
        for name in ("tensorflow_version", "tensorflow_git_version"):
            object.__setattr__(self.root, name, getattr(meta.meta_info_def, name))

    def _aliases(self) -> dict:
        """The functions whose traces the file has names for, by those names."""
        names = self._meta.meta_info_def.function_aliases
        found = {}
        for i, node in self._nodes.items():
            if isinstance(node, RestoredFunction):
                for trace in self._objects[i].function.concrete_functions:
                    if trace in names:
                        found[names[trace]] = node
        return found

    # ---- values

    def _find_keys(self) -> None:
        """Match the objects of the file with those of its checkpoint, from the root, by names."""
        self._bundle = Bundle(self._variables_path)
        if OBJECT_GRAPH_KEY not in self._bundle:
            raise OSError(f"{self._variables_path} has no {OBJECT_GRAPH_KEY}")
        stored = TrackableObjectGraph.FromString(self._bundle.text(OBJECT_GRAPH_KEY)).nodes
        check_references(stored, self._variables_path)
        pending, seen = [(0, 0)], {0}
        while pending:
            here, there = pending.pop()
            for attribute in stored[there].attributes:
                if attribute.name == VARIABLE_VALUE:
                    self._keys[here] = attribute.checkpoint_key
                else:
                    self._table_keys.setdefault(here, []).append(attribute.checkpoint_key)
            names = {c.local_name: c.node_id for c in stored[there].children}
            for child in self._objects[here].children:
                if child.node_id not in seen and child.local_name in names:
                    seen.add(child.node_id)
                    pending.append((child.node_id, names[child.local_name]))

    def _fill(self, table: RestoredResource, stored: list[str] | None) -> None:
        """Put what is stored of a table into it."""
        for key in stored or ():
            if f"{key}-keys" in self._bundle:
                parts = [self._bundle[f"{key}-{part}"] for part in ("keys", "values")]
                ops["LookupTableInsertV2"](table.resource_handle, *parts)

    # ---- objects

    def _node(self, i: int):
        if i not in self._nodes:
            proto = self._objects[i]
            kind = proto.WhichOneof()
            make = getattr(self, f"_make_{kind}", None)
            if make is None:
                raise NotImplementedError(f"The saved model has an object of the kind {kind}")
            self._nodes[i] = make(i, proto)
        return self._nodes[i]

    def _make_user_object(self, i: int, proto):
        identifier = proto.user_object.identifier
        if identifier == "trackable_list_wrapper":
            return ListWrapper()
        if identifier == "trackable_dict_wrapper":
            return _DictWrapper()
        if identifier == "trackable_tuple_wrapper":
            children = sorted(proto.children, key=lambda c: c.local_name.zfill(9))
            return tuple(self._node(c.node_id) for c in children if c.local_name.isdigit())
        if identifier == "signature_map":
            return SignatureMap()
        # Every object has a class of its own: what can be called is decided for each.
        return type("_UserObject", (AutoTrackable,), {})()

    def _make_variable(self, i: int, proto):
        saved = proto.variable
        dtype = _dtypes.as_dtype(saved.dtype)
        shape = shape_of(saved.shape)
        if i not in self._keys:
            raise errors.NotFoundError(
                None,
                None,
                f"The checkpoint {self._variables_path} has no value for the variable "
                f"{saved.name!r}: it was saved with another model.",
            )
        value = self._bundle[self._keys[i]]
        return Variable(
            value,
            trainable=saved.trainable,
            name=saved.name or None,
            dtype=dtype,
            shape=shape,
            synchronization=VariableSynchronization(saved.synchronization),
            aggregation=VariableAggregation(saved.aggregation),
        )

    def _make_constant(self, i: int, proto):
        name = proto.constant.operation
        if name not in self._graph_nodes:
            raise ValueError(f"The saved model has no node {name!r} for a constant")
        return tensor_of(self._graph_nodes[name].attr["value"].tensor, self._repeats)

    def _make_captured_tensor(self, i: int, proto):
        """A tensor inside another function: known where it is a constant there."""
        saved = proto.captured_tensor
        name = saved.name.partition(":")[0]
        if saved.concrete_function in self._definitions:
            for node in self._definitions.definition(saved.concrete_function).node_def:
                if node.name == name and node.op == "Const":
                    return tensor_of(node.attr["value"].tensor, self._repeats)
        return _Elsewhere(saved.name, saved.concrete_function)

    def _make_asset(self, i: int, proto) -> Asset:
        number, files = proto.asset.asset_file_def_index, self._meta.asset_file_def
        if not 0 <= number < len(files):
            raise ValueError(f"there is no asset {number} among {len(files)}")
        file = files[number].filename
        return Asset(os.path.join(self._folder, "assets", file))

    def _make_resource(self, i: int, proto) -> RestoredResource:
        """A table: what the function that creates it makes, made here and kept."""
        children = {c.local_name: c.node_id for c in proto.children}
        if "_create_resource" not in children:
            raise NotImplementedError(
                "The saved model has a resource without a function that creates it"
            )
        function = self._objects[children["_create_resource"]].function
        definition = self._definitions.definition(function.concrete_functions[0])
        for node in definition.node_def:
            if node.op in _TABLES:
                return RestoredResource(
                    node.op,
                    _dtypes.as_dtype(node.attr["key_dtype"].type),
                    _dtypes.as_dtype(node.attr["value_dtype"].type),
                )
        found = [node.op for node in definition.node_def]
        raise NotImplementedError(f"The saved model has a resource that is no table: {found}")

    def _make_function(self, i: int, proto) -> RestoredFunction:
        spec = proto.function.function_spec
        concrete = [self._trace(name) for name in proto.function.concrete_functions]
        names = proto.function.concrete_functions
        name = _plain_name(names[0]) if names else "restored_function"
        return RestoredFunction(
            name, decode(spec.fullargspec), decode(spec.input_signature), concrete
        )

    def _make_bare_concrete_function(self, i: int, proto) -> RestoredConcreteFunction:
        return self._trace(proto.bare_concrete_function.concrete_function_name)

    def _trace(self, name: str) -> RestoredConcreteFunction:
        """The trace of this name, with what it captures."""
        if name in self._concrete:
            return self._concrete[name]
        if name not in self._meta.object_graph_def.concrete_functions:
            raise ValueError(f"The saved model has no concrete function {name!r}")
        saved = self._meta.object_graph_def.concrete_functions[name]
        captured = [self._capture(i) for i in saved.bound_inputs]

        def make():
            for tensor in captured:
                if isinstance(tensor, _Elsewhere):
                    raise NotImplementedError(
                        f"The function {name!r} uses the tensor {tensor.name!r} inside of "
                        f"{tensor.function!r}: it can only be called there"
                    )
            with reading(self._folder):
                definition = self._definitions.definition(name)
                count = len(definition.signature.input_arg) - len(captured)
                facts = [None] * count + [_fact_of(c) for c in captured]
                return self._graph(name, facts)

        arguments = decode(saved.canonicalized_input_signature)
        if arguments is None:
            arguments = ((), {})
        made = RestoredConcreteFunction(
            name, arguments, decode(saved.output_signature), captured, make
        )
        self._concrete[name] = made
        return made

    def _graph(self, name: str, variables: list) -> FuncGraph:
        """A function, given what it gets for arguments that are handles of variables."""
        try:
            graph = _mica.tf_library_graph(self._library, name, variables, FuncGraph)
        except errors.UnimplementedError as error:
            raise NotImplementedError(error.message) from None
        graph.__init__()
        return graph

    def _capture(self, i: int):
        if not 0 <= i < len(self._objects):
            raise ValueError(f"a function captures object {i} of {len(self._objects)}")
        node = self._node(i)
        if isinstance(node, Variable):
            return node.handle
        if isinstance(node, Asset):
            return node.asset_path
        if isinstance(node, RestoredResource):
            self._fill_resource(i, node)
            return node.resource_handle
        if isinstance(node, _mica.TFTensor | _Elsewhere):
            return node
        raise NotImplementedError(
            f"A function of the saved model captures an object of the type {type(node).__name__}"
        )

    def _fill_resource(self, i: int, node: RestoredResource) -> None:
        if not node._functions:
            for child in self._objects[i].children:
                node._functions[child.local_name] = self._node(child.node_id)

    # ---- children

    def _add_children(self, i: int, proto) -> None:
        node = self._nodes[i]
        if isinstance(node, RestoredResource):
            self._fill_resource(i, node)
            return
        if isinstance(node, ListWrapper):
            ordered = sorted(proto.children, key=lambda c: c.local_name.zfill(9))
            list.extend(node, [self._nodes[c.node_id] for c in ordered if c.local_name.isdigit()])
            return
        for child in proto.children:
            value, name = self._nodes[child.node_id], child.local_name
            if isinstance(node, _DictWrapper):
                dict.__setitem__(node, name, value)
            elif isinstance(node, SignatureMap):
                node._signatures[name] = value
            elif isinstance(node, AutoTrackable):
                _set(node, name, value)


def _set(node: AutoTrackable, name: str, value) -> None:
    if name == "__call__":
        type(node).__call__ = lambda self, *args, **kwargs: value(*args, **kwargs)
        node.__dict__["__call__"] = value
        node._mica_children[name] = value
        return
    setattr(node, name, value)


def _fact_of(tensor):
    """The dtype and shape of the variable whose handle it is, or None."""
    variable = tensor._variable
    variable = variable() if variable is not None else None
    return None if variable is None else (variable.dtype, variable.shape)


def _plain_name(name: str) -> str:
    """A trace's name without what was put around the function's."""
    inner = name.removeprefix("__inference_")
    head, _, number = inner.rpartition("_")
    return head if head and number.isdigit() else inner
