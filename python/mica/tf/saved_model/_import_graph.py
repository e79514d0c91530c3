"""Nodes of a GraphDef, and its functions as graphs: node by node, each a row of the op table.

A function is built for what is known of its arguments: the variable behind a handle, so that what
is read from it has a shape; the elements of a list, which becomes a tensor. So a function may be
built more than once.
"""

from __future__ import annotations

from .. import _dtypes
from .._context import building
from .._core import ops
from .._function import _flows
from .._graph import FuncGraph
from .._graph_def import AttrValue, NodeDef
from .._proto import first_part
from .._rows import category_of, row_of
from .._shapes import TensorShape
from ._messages import FunctionDef, GraphDef
from ._structures import shape_of
from ._tensors import Repeats, tensor_of


class UnknownOp(NotImplementedError):
    """An op that Mica does not have."""


def _name_of(raw: bytes) -> str:
    """The name of a function, without reading the rest of it."""
    signature = first_part(raw, 1)
    name = None if signature is None else first_part(signature, 1)
    if name is None:
        raise ValueError("A function of the file has no name")
    return name.decode()


class Definitions:
    """The functions of a file as messages, by name; each is read when it is asked for."""

    def __init__(self, functions: list) -> None:
        self._raw = {_name_of(raw): raw for raw in functions}
        self._read: dict[str, FunctionDef] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def definition(self, name: str) -> FunctionDef:
        """Return the message of a function."""
        if name not in self._read:
            if name not in self._raw:
                raise ValueError(f"The file has no function named {name!r}")
            self._read[name] = FunctionDef.FromString(self._raw[name])
        return self._read[name]


class Library(Definitions):
    """The functions of a GraphDef."""

    def __init__(self, graph_def: GraphDef, op_list=()) -> None:
        super().__init__(graph_def.library.function)
        self._built: dict = {}
        self._reads: dict[tuple[str, int], bool] = {}
        self.repeats = Repeats()
        self.defaults = {op.name: {a.name: a.default_value for a in op.attr} for op in op_list}

    def only_reads(self, name: str, position: int) -> bool:
        """Whether a function does nothing with a variable that it gets but read it."""
        key = name, position
        if key not in self._reads:
            self._reads[key] = True  # of a function that calls itself
            self._reads[key] = self._only_reads(name, position)
        return self._reads[key]

    def _only_reads(self, name: str, position: int) -> bool:
        definition = self.definition(name)
        handles = {definition.signature.input_arg[position].name}
        for node in _in_order(definition.node_def):
            for i, text in enumerate(node.input):
                if text.partition(":")[0] not in handles or text.startswith("^"):
                    continue
                if node.op == "Identity":
                    handles.add(node.name)
                elif node.op not in _READS:
                    inner = [v.func.name for v in node.attr.values() if v.WhichOneof() == "func"]
                    inner += [f.name for v in node.attr.values() for f in v.list.func]
                    category = category_of(node.op)
                    if category not in ("branch", "loop", "call"):
                        return False
                    at = i - 1 if category == "branch" else i
                    if not all(self.only_reads(f, at) for f in inner):
                        return False
        return True

    def graph(self, name: str, known: tuple = ()) -> FuncGraph:
        """Return a function as a graph; `known` says what its arguments are, as far as known."""
        key = name, known
        if key not in self._built:
            if (name, "begun") in self._built:
                raise NotImplementedError(f"The function {name!r} calls itself")
            self._built[name, "begun"] = None
            try:
                self._built[key] = FunctionBuilder(self, self.definition(name), known).graph
            finally:
                del self._built[name, "begun"]
        return self._built[key]


# What only reads the variable that it is given.
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")


class Fact:
    """What is known of a tensor beside its own type: a dtype and a shape."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype, shape: TensorShape) -> None:
        self.dtype, self.shape = dtype, shape

    def _key(self) -> tuple:
        sizes = None if self.shape.rank is None else tuple(self.shape.as_list())
        return type(self), self.dtype, sizes

    def __eq__(self, other) -> bool:
        return isinstance(other, Fact) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class HandleOf(Fact):
    """It is the handle of such a variable."""


class ValueOf(Fact):
    """It is the value of a variable, where the file has the handle."""


class ListOf(Fact):
    """It is a list of such elements, where the file has a list's handle."""


class FunctionBuilder:
    """Builds one function: a graph of its own, or (with `inline`) nodes of the current one."""

    def __init__(self, library: Library, definition: FunctionDef, known: tuple, graph=None) -> None:
        self.library = library
        self.name = definition.signature.name
        self.graph = graph or FuncGraph(self.name, None)
        self._values: dict[str, list] = {}  # argument, or node:output -> tensors
        self.known: dict = {}  # id of a tensor -> what is known of it
        if graph is not None:
            return
        with building(self.graph):
            self._add_arguments(definition, known)
            for node in _in_order(definition.node_def):
                self._add_node(node)
            outputs = [self._value(definition.ret[a.name]) for a in definition.signature.output_arg]
        self.output_facts = tuple(self.known.get(o._id) for o in outputs)
        for output in outputs:
            self.graph._output(output)
        self.graph._facts = self.output_facts

    def _add_arguments(self, definition: FunctionDef, known: tuple) -> None:
        for i, argument in enumerate(definition.signature.input_arg):
            dtype = _dtypes.as_dtype(argument.type)
            attributes = definition.arg_attr[i].attr if i in definition.arg_attr else {}
            shape = TensorShape(None)
            if "_output_shapes" in attributes and attributes["_output_shapes"].list.shape:
                shape = shape_of(attributes["_output_shapes"].list.shape[0])
            if dtype in (_dtypes.resource, _dtypes.variant):
                shape = TensorShape([])
            fact = known[i] if i < len(known) else None
            if isinstance(fact, ListOf):
                dtype, shape = fact.dtype, TensorShape([None]).concatenate(fact.shape)
            elif isinstance(fact, ValueOf):
                dtype, shape = fact.dtype, fact.shape
            tensor = self.graph._parameter(dtype, shape, argument.name)
            self._values[argument.name] = [tensor]
            if fact is not None:
                self.known[tensor._id] = fact

    def inline(self, name: str, inputs: list, wanted):
        """Return a tensor of a function's body, made in this graph: `wanted` says which.

        It is given the function's message and returns an input text; what that needs is built.
        """
        definition = self.library.definition(name)
        inner = FunctionBuilder(self.library, definition, (), self.graph)
        inner.known = self.known
        for argument, tensor in zip(definition.signature.input_arg, inputs, strict=True):
            inner._values[argument.name] = [tensor]
        text = wanted(definition)
        by_name = {node.name: node for node in definition.node_def}
        needed, pending = set(), [text]
        while pending:
            found = pending.pop().partition(":")[0]
            if found in by_name and found not in needed:
                needed.add(found)
                pending += [i for i in by_name[found].input if not i.startswith("^")]
        for node in _in_order([n for n in definition.node_def if n.name in needed]):
            inner._add_node(node)
        return inner._value(text)

    # ---- nodes

    def _value(self, text: str):
        """The tensor that an input says: `argument`, or `node:output:index`."""
        name, _, index = text.rpartition(":")
        if name and index.isdigit():
            return self._values[name][int(index)]
        return self._values[text][0]

    def _add_node(self, node: NodeDef) -> None:
        inputs = [self._value(text) for text in node.input if not text.startswith("^")]
        try:
            outputs = self._outputs(node, inputs)
        except UnknownOp:
            raise
        except Exception as error:
            error.args = (
                f"{error.args[0] if error.args else error} (while loading the node "
                f"{node.name!r} of op {node.op} in the function {self.name!r})",
                *error.args[1:],
            )
            raise
        for name, tensors in outputs.items():
            self._values[f"{node.name}:{name}"] = tensors

    def _outputs(self, node: NodeDef, inputs: list) -> dict:
        from ._import_ops import TRANSLATIONS

        attributes = _Attributes(node, self.library.defaults.get(node.op, {}))
        if category_of(node.op) in ("branch", "loop"):
            inputs = self._with_values(node, inputs)
        own = lost_gradient(node, inputs)
        if own is not None:
            return {"output": own}
        translation = TRANSLATIONS.get(node.op)
        if translation is not None:
            made = translation(self, inputs, attributes)
            if made is not None:
                return {k: v if isinstance(v, list) else [v] for k, v in made.items()}
        row = row_of(node.op)
        if row is None:
            raise UnknownOp(
                f"Op type not registered '{node.op}': the node {node.name!r} in the function "
                f"{self.name!r} needs it, and Mica does not have it."
            )
        return self._by_row(row, node, inputs, attributes)

    def _by_row(self, row, node: NodeDef, inputs: list, attributes) -> dict:
        arguments, at = [], 0
        for argument in row.inputs:
            n = argument.size(attributes)
            arguments.append(inputs[at] if argument.is_plain else inputs[at : at + n])
            at += n
        if at != len(inputs):
            raise ValueError(f"{len(inputs)} inputs where the op has {at}")
        given = {
            name: self._attribute(kind, attributes[name], node.op, inputs)
            for name, kind in row.kinds.items()
            if name not in row.inferred and name in attributes
        }
        self._refuse_others(row, node, attributes)
        result = ops[node.op](*arguments, **given, name=node.name.replace("/", "_"))
        flat = list(result) if isinstance(result, list | tuple) else [result]
        if result is None:
            flat = []
        outputs, at = {}, 0
        for argument in row.outputs:
            n = argument.size(attributes)
            outputs[argument.name] = flat[at : at + n]
            at += n
        self._learn(row, node, inputs, flat, given)
        return outputs

    def _refuse_others(self, row, node: NodeDef, attributes) -> None:
        """An attribute that Mica's op does not have may only be what it is by default."""
        for name, value in node.attr.items():
            if name in row.kinds or name.startswith("_"):
                continue
            default = attributes.defaults.get(name)
            if default is not None and default.WhichOneof() and default != value:
                kind = value.WhichOneof()
                if kind in ("b", "i", "f", "s", "list") and name not in _HARMLESS:
                    raise NotImplementedError(f"the attribute {name} is {value}".strip())

    def _learn(self, row, node: NodeDef, inputs: list, results: list, given: dict) -> None:
        """What is known of the results from what is known of the inputs."""
        if node.op == "Identity" and inputs[0]._id in self.known:
            self.known[results[0]._id] = self.known[inputs[0]._id]
        elif row.category == "call":
            function = next(v for v in given.values() if isinstance(v, FuncGraph))
            for result, fact in zip(results, function._facts, strict=False):
                if fact is not None:
                    self.known[result._id] = fact
        shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
        for result, shape in zip(results, shapes, strict=False):
            plain = result.dtype not in (_dtypes.resource, _dtypes.variant)
            if plain and not isinstance(self.known.get(result._id), ListOf):
                result.set_shape(shape_of(shape))

    def _attribute(self, kind: str, value: AttrValue, op: str, inputs: list):
        if kind == "func":
            return self.function(value.func.name, op, inputs)
        if kind == "list(func)":
            return [self.function(f.name, op, inputs) for f in value.list.func]
        if kind == "tensor":
            return tensor_of(value.tensor, self.library.repeats)
        return attribute_value(kind, value)

    def read(self, handle, dtype):
        """Return the value of a variable."""
        fact = self.known.get(handle._id)
        if isinstance(fact, ValueOf):
            return ops["Identity"](handle)
        value = ops["ReadVariableOp"](handle, dtype)
        if fact is not None and fact.shape.rank is not None:
            value.set_shape(fact.shape)
        return value

    def _with_values(self, node: NodeDef, inputs: list) -> list:
        """Give branches and loops the values of variables that they only read.

        So the values are operands like others, and gradients find them.
        """
        names = [v.func.name for v in node.attr.values() if v.WhichOneof() == "func"]
        names += [f.name for v in node.attr.values() for f in v.list.func]
        first = 0 if category_of(node.op) == "loop" else 1
        found = list(inputs)
        for i, tensor in enumerate(inputs):
            fact = self.known.get(tensor._id)
            if isinstance(fact, HandleOf) and all(
                self.library.only_reads(name, i - first) for name in names
            ):
                found[i] = ops["Identity"](self.read(tensor, fact.dtype))
                self.known[found[i]._id] = ValueOf(fact.dtype, fact.shape)
        return found

    def facts(self, tensors: list) -> tuple:
        """Return what is known of tensors, for the function that gets them."""
        return tuple(self.known.get(t._id) for t in tensors)

    def function(self, name: str, op: str, inputs: list) -> FuncGraph:
        """Return the graph of a function that a node of this op calls with its inputs."""
        first = 1 if category_of(op) == "branch" else 0
        return self.library.graph(name, self.facts(inputs[first:]))


# What these attributes say does not change results here.
_HARMLESS = frozenset(
    (
        "config",
        "config_proto",
        "executor_type",
        "lower_using_switch_merge",
        "parallel_iterations",
        "use_cudnn_on_gpu",
        "shared_name",
        "container",
        "use_locking",
        "stop_on_exception",
        "is_stateless",
        "output_shapes",
    )
)


class _Attributes:
    """Attributes of a node, with the op's defaults for those that the file leaves out."""

    def __init__(self, node: NodeDef, defaults: dict) -> None:
        self._given = node.attr
        self.node = node
        self.defaults = defaults

    def __contains__(self, name: str) -> bool:
        if name in self._given:
            return True
        return name in self.defaults and self.defaults[name].WhichOneof() is not None

    def __getitem__(self, name: str) -> AttrValue:
        if name in self._given:
            return self._given[name]
        return self.defaults[name] if name in self.defaults else AttrValue()

    def get(self, name: str, default=None):
        """Return the plain value of an attribute."""
        if name not in self:
            return default
        kind = self[name].WhichOneof()
        value = getattr(self[name], kind)
        if kind == "s":
            return value.decode()
        if kind == "type":
            return _dtypes.as_dtype(value)
        if kind == "list":
            for part in ("i", "f", "b", "s", "type"):
                if getattr(value, part):
                    return list(getattr(value, part))
            return []
        return value


def attribute_value(kind: str, value: AttrValue):
    """Return an attribute as a row's callable takes it; kinds are those of the table."""
    if kind == "int":
        return value.i
    if kind == "float":
        return value.f
    if kind == "bool":
        return value.b
    if kind == "string":
        return value.s
    if kind == "tensor":
        return tensor_of(value.tensor)
    if kind == "shape":
        return _shape(value.shape)
    if kind == "list(int)":
        return list(value.list.i)
    if kind == "list(float)":
        return list(value.list.f)
    if kind == "list(string)":
        return list(value.list.s)
    if kind == "list(shape)":
        return [_shape(shape) for shape in value.list.shape]
    if kind == "list(type)" or kind.startswith("list({"):
        return [_dtypes.as_dtype(t) for t in value.list.type]
    return _dtypes.as_dtype(value.type)  # what remains are choices of types


def _shape(message):
    shape = shape_of(message)
    return None if shape.rank is None else shape


def _in_order(nodes: list) -> list:
    """Return nodes so that each comes after what it uses and waits for; else as they stand."""
    by_name = {node.name: node for node in nodes}
    done: set = set()
    ordered = []
    for first in nodes:
        if first.name in done:
            continue
        pending = [(first, iter(first.input))]
        entered = {first.name}  # those on the way, and those done on it
        while pending:
            node, inputs = pending[-1]
            for text in inputs:
                name = text.lstrip("^").partition(":")[0]
                if name in done or name not in by_name:
                    continue
                if name in entered:
                    raise ValueError(f"The node {name!r} needs its own result")
                entered.add(name)
                pending.append((by_name[name], iter(by_name[name].input)))
                break
            else:
                pending.pop()
                done.add(node.name)
                ordered.append(node)
    return ordered


# ---- custom gradients ----------------------------------------------------------------------------


def lost_gradient(node: NodeDef, inputs: list):
    """The results of an IdentityN with a gradient of its own, which no GraphDef has; else None."""
    if node.op != "IdentityN" or "_gradient_op_type" not in node.attr:
        return None
    if not any(_flows(x) for x in inputs):
        return None
    if any(x.dtype in (_dtypes.resource, _dtypes.variant) for x in inputs):
        return None
    message = f"[IdentityN] its custom gradient was not saved with the model ({node.name})"
    body = FuncGraph(message, None)
    flowing = [x for x in inputs if _flows(x)]
    still = [x for x in inputs if not _flows(x)]
    with building(body):
        given = [body._parameter(x.dtype, x.shape, "cotangent") for x in flowing + still]
        body._output(given[0])
    results = ops["CustomGradient"](
        [*inputs, *inputs, *still],
        Tout=[x.dtype for x in inputs],
        n=len(inputs),
        backward=body,
        connected=[-1],
    )
    return list(results) if isinstance(results, list | tuple) else [results]
