"""The graph of a file that programs run which know nothing of objects.

It has a node for every variable, constant and table, a placeholder for every input of a signature
and a call of its function, and the nodes that save and restore all variables.
"""

from __future__ import annotations

from ... import _mica
from .. import _dtypes
from .._core import convert_to_tensor
from .._graph_def import AttrValue, ListValue, NameAttrList, NodeDef, shape_proto
from ._messages import GraphDef, SaverDef, SignatureDef, TensorInfo
from ._node_names import NodeNames
from ._structures import shape_message
from ._tables import import_attributes, table_attributes, table_op
from ._tensors import tensor_proto


def _type(dtype) -> AttrValue:
    return AttrValue(type=dtype.as_datatype_enum)


def _types(dtypes) -> AttrValue:
    return AttrValue(list=ListValue(type=[d.as_datatype_enum for d in dtypes]))


class MainGraph:
    """The nodes, as they are asked for."""

    def __init__(self, graph_def: GraphDef) -> None:
        self._nodes = graph_def.node
        self._names = NodeNames()
        self._imports: list[str] = []

    def _node(self, op: str, wanted: str, inputs=(), **attributes) -> NodeDef:
        made = self._nodes.add(name=self._names.unique(wanted), op=op, input=list(inputs))
        made.attr.update(attributes)
        return made

    # ---- what functions capture

    def constant(self, tensor, wanted: str = "Const") -> str:
        """Add a constant; the node's name."""
        value = AttrValue(tensor=tensor_proto(tensor))
        return self._node("Const", wanted, dtype=_type(tensor.dtype), value=value).name

    def variable(self, name: str, variable) -> str:
        """Add a variable; the node's name."""
        node = self._node(
            "VarHandleOp",
            name,
            allowed_devices=AttrValue(list=ListValue()),
            container=AttrValue(s=b""),
            dtype=_type(variable.dtype),
            shape=AttrValue(shape=shape_message(variable.shape)),
        )
        node.attr["shared_name"] = AttrValue(s=node.name.encode())
        return node.name

    def table(self, shared: str, table, keys, values) -> str:
        """Add a table that is filled when the model is initialized; the node's name."""
        node = self._node(table_op(table), shared, **table_attributes(shared, table))
        inputs = [node.name, self.constant(keys), self.constant(values)]
        made = self._node(
            "LookupTableImportV2", f"{shared}/import", inputs, **import_attributes(table)
        )
        self._imports.append(made.name)
        return node.name

    # ---- signatures

    def signature(self, key: str, trace, function: str, captured: list[str]) -> SignatureDef:
        """Add a call of a signature's function."""
        made = SignatureDef(method_name="tensorflow/serving/predict")
        _, specs = trace.structured_input_signature
        inputs, dtypes = [], []
        for name in sorted(specs):
            spec = specs[name]
            shape = shape_message(spec.shape)
            node = self._node(
                "Placeholder",
                f"{key}_{name}",
                dtype=_type(spec.dtype),
                shape=AttrValue(shape=shape),
            )
            made.inputs[name] = _info(f"{node.name}:0", spec)
            inputs.append(node.name)
            dtypes.append(spec.dtype)
        call = self._node(
            "StatefulPartitionedCall",
            "StatefulPartitionedCall",
            inputs + captured,
            Tin=_types(dtypes + [t.dtype for t in trace.captured_inputs]),
            Tout=_types([output.dtype for output in trace.outputs]),
            f=AttrValue(func=NameAttrList(name=function)),
            config=AttrValue(s=b""),
            config_proto=AttrValue(s=b""),
            executor_type=AttrValue(s=b""),
        )
        outputs = trace.structured_outputs
        for i, name in enumerate(sorted(outputs)):
            text = call.name if i == 0 else f"{call.name}:{i}"
            made.outputs[name] = _info(text if ":" in text else f"{text}:0", outputs[name])
        return made

    # ---- saving and restoring

    def saver(self, variables: list) -> SaverDef:
        """Add the nodes that save and restore (key, node, variable)."""
        string = _dtypes.string
        filename = self._node(
            "Placeholder",
            "saver_filename",
            dtype=_type(string),
            shape=AttrValue(shape=shape_proto([])),
        )
        reads = [
            self._node(
                "ReadVariableOp", f"{node}/Read/ReadVariableOp", [node], dtype=_type(v.dtype)
            )
            for _, node, v in variables
        ]
        dtypes = [v.dtype for _, _, v in variables]
        names = self.constant(_texts([key for key, _, _ in variables]), "saver/names")
        slices = self.constant(_texts([""] * len(variables)), "saver/slices")
        last = filename.name
        if variables:
            inputs = [filename.name, names, slices, *(r.name for r in reads)]
            save = self._node("SaveV2", "saver/SaveV2", inputs, dtypes=_types(dtypes))
            last = f"^{save.name}"
        saved = self._node(
            "Identity",
            "saver/Identity",
            [filename.name] + ([last] if last.startswith("^") else []),
            T=_type(string),
        )
        done = []
        if variables:
            inputs = [filename.name, names, slices]
            restore = self._node("RestoreV2", "saver/RestoreV2", inputs, dtypes=_types(dtypes))
            for i, (_, node, v) in enumerate(variables):
                text = restore.name if i == 0 else f"{restore.name}:{i}"
                assign = self._node(
                    "AssignVariableOp", "saver/Assign", [node, text], dtype=_type(v.dtype)
                )
                done.append(f"^{assign.name}")
        restored = self._node("NoOp", "saver/restore_all", done)
        return SaverDef(
            filename_tensor_name=f"{filename.name}:0",
            save_tensor_name=f"{saved.name}:0",
            restore_op_name=restored.name,
            version=2,
        )

    def initializer(self) -> SignatureDef:
        """Add the node that fills tables."""
        node = self._node("NoOp", "NoOp", [f"^{name}" for name in self._imports])
        info = TensorInfo(name=node.name, tensor_shape=shape_proto(None))
        return SignatureDef(outputs={"__saved_model_init_op": info})


def _texts(values: list):
    if values:
        return convert_to_tensor(values)
    return _mica.tf_strings([0], [])


def _info(name: str, spec) -> TensorInfo:
    return TensorInfo(
        name=name, dtype=spec.dtype.as_datatype_enum, tensor_shape=shape_message(spec.shape)
    )
