"""Tables as functions of a file: one that makes a table, one that fills it."""

from __future__ import annotations

from .. import _dtypes
from .._graph_def import AttrValue, NodeDef
from ..lookup.experimental import MutableHashTable
from ._messages import ArgDef, FunctionDef, OpDef


def table_attributes(shared: str, table) -> dict:
    """The attributes of the op that makes a table."""
    return {
        "container": AttrValue(s=b""),
        "key_dtype": AttrValue(type=table.key_dtype.as_datatype_enum),
        "shared_name": AttrValue(s=shared.encode()),
        "use_node_name_sharing": AttrValue(b=True),
        "value_dtype": AttrValue(type=table.value_dtype.as_datatype_enum),
    }


def table_op(table) -> str:
    """The op that makes a table: functions may change one that is mutable."""
    if isinstance(table, MutableHashTable):
        return "MutableHashTableV2"
    return getattr(table, "_op", "HashTableV2")


def import_attributes(table) -> dict:
    """The attributes of the op that fills a table."""
    return {
        "Tin": AttrValue(type=table.key_dtype.as_datatype_enum),
        "Tout": AttrValue(type=table.value_dtype.as_datatype_enum),
    }


def table_functions(shared: str, table) -> list:
    """Return (name, function, whether it gets the table, its keys and its values)."""
    resource = _dtypes.resource.as_datatype_enum
    create = FunctionDef(
        signature=OpDef(output_arg=[ArgDef(name="identity", type=resource)], is_stateful=True),
        node_def=[
            NodeDef(name="hash_table", op=table_op(table), attr=table_attributes(shared, table))
        ],
        ret={"identity": "hash_table:table_handle:0"},
        control_ret={"hash_table": "hash_table"},
    )
    create.signature.control_output.append("hash_table")
    arguments = [
        ArgDef(name="table", type=resource),
        ArgDef(name="keys", type=table.key_dtype.as_datatype_enum),
        ArgDef(name="values", type=table.value_dtype.as_datatype_enum),
    ]
    fill = FunctionDef(
        signature=OpDef(input_arg=arguments, is_stateful=True, control_output=["import"]),
        node_def=[
            NodeDef(
                name="import",
                op="LookupTableImportV2",
                input=["table", "keys", "values"],
                attr=import_attributes(table),
            )
        ],
        control_ret={"import": "import"},
    )
    return [("_create_resource", create, False), ("_initialize", fill, True)]
