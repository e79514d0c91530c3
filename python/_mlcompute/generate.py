"""Writes the part of the extension `mlcompute._mlcompute` that follows from the headers.

    python generate.py INCLUDE-FOLDER OUTPUT.c

Every function of mica/mlc*.h gets a function of the same name for Python. Objects are handles,
descriptors are objects with a dict of fields, enumerations are numbers or names, lists are
sequences, names with tensors or data are dicts. Results come as the value of the call, statuses as
exceptions. What takes a callback is bound by hand in binding.c.
"""

import sys
from pathlib import Path

import headers as mlc
from headers import Function, Headers, Parameter

OBJECTS = (
    "device", "tensor_descriptor", "tensor_data", "tensor", "tensor_parameter",
    "optimizer_device_data", "layer", "optimizer", "graph",
)  # fmt: skip
LISTS = {
    "mlc_tensors": "tensor", "mlc_parameters": "tensor_parameter", "mlc_layers": "layer",
    "mlc_graphs": "graph", "mlc_data_list": "tensor_data",
    "mlc_device_data_list": "optimizer_device_data",
}  # fmt: skip
NUMBERS = {"int64_t": "int64", "int32_t": "int32", "uint64_t": "uint64", "float": "float",
           "double": "double", "bool": "bool", "size_t": "size"}  # fmt: skip
# Objects that may be None, as (function, parameter); "" is any function.
MAY_BE_NONE = {
    ("", "biases"), ("", "beta"), ("", "gamma"), ("", "output_activation"),
    ("mlc_instance_normalization_layer_create", "mean"),
    ("mlc_instance_normalization_layer_create", "variance"),
    ("mlc_training_graph_create", "loss_layer"), ("mlc_training_graph_create", "optimizer"),
    ("mlc_training_graph_gradient_data", "layer"),
}  # fmt: skip
# binding.c has these, or Python has no use for them.
BY_HAND = {
    "mlc_tensor_data_create", "mlc_tensor_data_create_immutable",
    "mlc_tensor_data_create_with_deallocator",
    "mlc_tensor_data_create_immutable_with_deallocator", "mlc_set_note_handler",
}  # fmt: skip
LEFT_OUT = {"mlc_device_mica_device", "mlc_execution_make", "mlc_data_type_dtype"}


def may_be_none(function: str, parameter: str) -> bool:
    loss_weights = function.startswith("mlc_loss_layer_") and parameter == "weights"
    return loss_weights or bool({("", parameter), (function, parameter)} & MAY_BE_NONE)


def bare(type_: str) -> str:
    """mlc_inference_graph * -> graph."""
    name = type_.replace("const ", "").rstrip("* ").removeprefix("mlc_")
    return "graph" if name in ("inference_graph", "training_graph") else name


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Writer:
    """Collects the C text."""

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        self.lines: list[str] = []
        self.bound: list[Function] = []

    def __call__(self, *lines: str) -> None:
        self.lines += lines

    # ---- enumerations ----------------------------------------------------------------------------

    def enumerations(self) -> None:
        for enumeration in self.headers.enumerations.values():
            values = mlc.short_names(enumeration)
            self(f"static const enum_value values_of_{enumeration.name}[] = {{")
            self(*(f'    {{"{name}", {number}}},' for name, number in values.items()))
            flags = str("options" in enumeration.name).lower()
            name = enumeration.name.removeprefix("mlc_")
            original = quoted(enumeration.original) if enumeration.original else "NULL"
            self("};")
            self(f"static const enum_table table_of_{enumeration.name} = {{")
            self(
                f'    "{name}", {original}, values_of_{enumeration.name}, {len(values)}, {flags}}};'
            )

    # ---- descriptors -----------------------------------------------------------------------------

    def structs(self) -> None:
        for struct in self.headers.structs.values():
            self(
                f"static bool read_{struct.name}(call *c, PyObject *object, {struct.name} *out) {{"
            )
            self(f'    PyObject *fields = descriptor_fields(c, object, "{struct.name}");')
            self(f"    *out = ({struct.name}){{.size = sizeof *out}};")
            self("    return fields")
            for parameter, member, _ in struct.fields:
                key = mlc.snake(member[1:])
                value = f'field(c, fields, "{key}")'
                self(f"        && {self.reader(parameter, value, 'out->' + parameter.name)}")
            self("        ;", "}")
            self(f"static PyObject *make_{struct.name}(const {struct.name} *value) {{")
            self("    PyObject *fields = PyDict_New();")
            self(f'    PyObject *name = make_string("{struct.name}");')
            self('    bool ok = fields && set_field(fields, "_struct", name)')
            for parameter, member, _ in struct.fields:
                made = self.maker(parameter.type, "value->" + parameter.name)
                self(f'        && set_field(fields, "{mlc.snake(member[1:])}", {made})')
            self("        ;")
            self("    if (!ok) Py_CLEAR(fields);")
            self("    return fields;", "}")

    def reader(self, parameter: Parameter, value: str, out: str) -> str:
        """An expression that reads a field or an argument, and is false with an error set."""
        type_, name = parameter.type, quoted(parameter.name)
        if type_ in NUMBERS:
            return f"read_{NUMBERS[type_]}(c, {value}, {name}, &{out})"
        if type_ in self.headers.enumerations:
            return f"read_enum(c, {value}, {name}, &table_of_{type_}, (int *)&{out})"
        if type_ == "const float *":
            count = "out->anchor_box_count" if out.startswith("out->") else "whole(args[1])"
            return f"read_anchors(c, {value}, {name}, &{out}, {count})"
        raise ValueError(f"no reader for {type_} {parameter.name}")

    def maker(self, type_: str, value: str) -> str:
        """An expression that makes a Python object of a C value."""
        if type_ in NUMBERS:
            return f"make_{NUMBERS[type_]}({value})"
        if type_ in self.headers.enumerations:
            return f"PyLong_FromLong((long){value})"
        if type_ == "const char *":
            return f"make_string({value})"
        if type_ == "const float *":
            return f"make_anchors({value}, value->anchor_box_count)"
        if type_ == "mica_ints":
            return f"make_ints({value})"
        if type_ in LISTS:
            return f"make_{LISTS[type_]}_list({value}.data, {value}.n)"
        if type_ in self.headers.structs:
            return f"make_{type_}(&{value})"
        if bare(type_) in OBJECTS:
            return f"make_{bare(type_)}((void *){value}, false)"
        if "mlc_" + bare(type_) in self.headers.structs:
            return f"({value} ? make_mlc_{bare(type_)}({value}) : Py_NewRef(Py_None))"
        if type_ == "void *":
            return f"PyLong_FromVoidPtr({value})"
        raise ValueError(f"no Python object for {type_}")

    # ---- functions -------------------------------------------------------------------------------

    def argument(self, function: Function, p: Parameter, number: str) -> tuple[str, str, str]:
        """A variable, how it is read, and how it is passed."""
        value, name, var = f"args[{number}]", quoted(p.name), f"a_{p.name}"
        if p.type in NUMBERS and p.name == "options":
            table = "table_of_mlc_graph_compilation_options"
            return f"uint64_t {var}", f"read_flags(c, {value}, {name}, &{table}, &{var})", var
        if p.type in NUMBERS or p.type in self.headers.enumerations or p.type == "const float *":
            return f"{p.type} {var}", self.reader(p, value, var), var
        if p.type == "mica_ints":
            return f"mica_ints {var}", f"read_ints(c, {value}, {name}, &{var})", var
        if p.type == "const char *":
            return f"const char *{var}", f"read_string(c, {value}, {name}, &{var})", var
        if p.type in LISTS:
            kind = f"KIND_{LISTS[p.type]}"
            pointers = f"void **{var}; int32_t n_{p.name}"
            read = f"read_list(c, {value}, {name}, {kind}, &{var}, &n_{p.name})"
            return pointers, read, f"({p.type}){{(void *){var}, n_{p.name}}}"
        if p.type in ("mlc_named_tensors", "mlc_named_data"):
            kind = "tensor" if p.type == "mlc_named_tensors" else "tensor_data"
            read = f"read_named(c, {value}, {name}, KIND_{kind}, &{var})"
            return f"named_list {var}", read, f"({p.type}){{(void *){var}.data, {var}.n}}"
        if p.type == "const mlc_execution *":
            return (
                "execution_holder execution",
                f"read_execution(c, {value}, &execution)",
                "&execution.execution",
            )
        if p.name == "gate_activations":
            read = (
                f"(gates_given = {value} != Py_None, !gates_given || read_gates(c, {value}, gates))"
            )
            return (
                "mlc_activation_descriptor gates[4]; bool gates_given", read,
                "gates_given ? gates : NULL",
            )  # fmt: skip
        none = str(may_be_none(function.name, p.name)).lower()
        kind = bare(p.type)
        if "mlc_" + kind in self.headers.structs:
            read = f"read_mlc_{kind}(c, {value}, &{var})"
            if none == "true":
                read = f"(has_{p.name} = {value} != Py_None, !has_{p.name} || {read})"
                passed = f"has_{p.name} ? &{var} : NULL"
                return f"mlc_{kind} {var}; bool has_{p.name}", read, passed
            return f"mlc_{kind} {var}", read, f"&{var}"
        if kind in OBJECTS:
            read = f"read_object(c, {value}, {name}, KIND_{kind}, {none}, (void **)&{var})"
            return f"mlc_{kind} *{var}", read, var
        raise ValueError(f"{function.name}: no argument for {p.type} {p.name}")

    def output(self, function: Function, p: Parameter) -> tuple[str, str]:
        """A variable for an out parameter, and the Python object of it."""
        inner = p.type.removesuffix("*").strip()
        if inner == "char *":
            return f"char *{p.name} = NULL", f"take_text({p.name})"
        if bare(p.type) in OBJECTS and p.type.count("*") == 2:
            kind = bare(p.type)
            from_graph = kind == "tensor" and bare(function.parameters[0].type) == "graph"
            owned = str(not from_graph).lower()
            return f"mlc_{kind} *{p.name} = NULL", f"make_{kind}({p.name}, {owned})"
        if inner in LISTS:
            return f"{inner} {p.name} = {{0}}", self.maker(inner, p.name)
        return f"{inner} {p.name} = 0", self.maker(inner, p.name)

    def function(self, function: Function) -> None:
        reads, passes, outputs, variables = [], [], [], []
        n, parameters = 0, list(function.parameters)
        while parameters:
            p = parameters.pop(0)
            is_out = p.name.startswith("out_") and "*" in p.type
            if is_out:
                variable, made = self.output(function, p)
                variables.append(variable)
                outputs.append(made)
                passes.append("&" + p.name)
                continue
            if p.type in ("void *", "const void *") and parameters[0].name == "length":
                parameters.pop(0)
                writable = str(p.type == "void *").lower()
                variables.append("void *bytes; size_t length")
                reads.append(f"read_buffer(c, args[{n}], {writable}, &bytes, &length)")
                passes += ["bytes", "length"]
            else:
                variable, read, passed = self.argument(function, p, str(n))
                variables.append(variable)
                reads.append(read)
                passes.append(passed)
            n += 1
        takes_execution = any(p.type == "const mlc_execution *" for p in function.parameters)
        call = f"{function.name}({', '.join(passes)})"
        args = "PyObject *const *args" if n else "PyObject *const *Py_UNUSED(args)"
        self(f"static PyObject *call_{function.name}(PyObject *Py_UNUSED(module), {args},")
        self("                                       Py_ssize_t n) {")
        self(f'    call frame = {{.name = "{function.name}"}}, *c = &frame;')
        self("    PyObject *result = NULL;")
        self(*(f"    {variable};" for variable in variables))
        self(f"    if (!count_is(c, n, {n})) goto done;")
        self(*(f"    if (!({read})) goto done;" for read in reads))
        if function.type == "mica_status":
            self("    mica_status status;")
            self(
                "    Py_BEGIN_ALLOW_THREADS;", f"    status = {call};", "    Py_END_ALLOW_THREADS;"
            )
            if takes_execution:
                self("    execution_started(&execution, status);")
            good = outputs[0] if outputs else "Py_NewRef(Py_True)"
            self(f"    result = status ? raise_status(status) : {good};")
        elif function.type == "void":
            self("    Py_BEGIN_ALLOW_THREADS;", f"    {call};", "    Py_END_ALLOW_THREADS;")
            self("    result = Py_NewRef(Py_None);")
        elif outputs:  # a bool says whether there is one
            self(f"    result = {call} ? {outputs[0]} : Py_NewRef(Py_None);")
        else:
            kept = "*" if function.type.endswith("*") else ""
            self(f"    {function.type.rstrip('*').strip()} {kept}answer = {call};")
            self(f"    result = {self.maker(function.type, 'answer')};")
        self("    goto done;", "done:", "    call_end(c);", "    return result;", "}")
        self.bound.append(function)

    # ---- tables ----------------------------------------------------------------------------------

    def tables(self) -> None:
        self("PyMethodDef generated_methods[] = {")
        for function in self.bound:
            name = function.name
            self(f'    {{"{name}", (PyCFunction)(void (*)(void))call_{name}, METH_FASTCALL,')
            self(f"     {quoted(function.text or name)}}},")
        self("    {NULL, NULL, 0, NULL},", "};")
        self("const enum_table *const generated_enums[] = {")
        self(*(f"    &table_of_{name}," for name in self.headers.enumerations), "    NULL,", "};")
        self("const property_row generated_properties[] = {")
        for struct in self.headers.structs.values():
            for parameter, member, text in struct.fields:
                enum = quoted(parameter.type.removeprefix("mlc_")) if (
                    parameter.type in self.headers.enumerations) else "NULL"  # fmt: skip
                row = (mlc.snake(struct.original), mlc.snake(member[1:]), struct.name)
                row = ", ".join(quoted(word) for word in row)
                self(f"    {{{row}, NULL, {enum}, {quoted(text)}, true}},")
        for function in self.headers.functions.values():
            for member in function.members:
                inputs = [p for p in function.parameters if not p.name.startswith("out_")]
                if member.name.startswith(".") and len(inputs) == 1:
                    self.property_row(function, member)
        self("    {NULL, NULL, NULL, NULL, NULL, NULL, false},", "};")

    def property_row(self, function: Function, member: mlc.Member) -> None:
        words = function.name.split("_")
        setters = ("_".join([*words[:i], "set", *words[i:]]) for i in range(2, len(words)))
        setter = next((name for name in setters if name in self.headers.functions), "")
        enum = function.type.removeprefix("mlc_")
        enum = quoted(enum) if function.type in self.headers.enumerations else "NULL"
        self(
            f"    {{{quoted(mlc.snake(member.owner))}, {quoted(mlc.snake(member.name[1:]))},"
            f" {quoted(function.name)}, {quoted(setter) if setter else 'NULL'}, {enum},"
            f" {quoted(function.text)}, false}},"
        )


def main() -> None:
    include, output = map(Path, sys.argv[1:])
    headers = mlc.read(include / "mica")
    write = Writer(headers)
    write("/* Made by python/_mlcompute/generate.py. */", '#include "binding.h"', "")
    write.enumerations()
    write.structs()
    write("static bool read_gates(call *c, PyObject *object, mlc_activation_descriptor *gates) {")
    write("    PyObject *items = four_items(c, object);", "    bool ok = items;")
    write("    for (int i = 0; ok && i < 4; i++)")
    write("        ok = read_mlc_activation_descriptor(c, PyTuple_GET_ITEM(items, i), &gates[i]);")
    write("    return ok;", "}")
    for function in headers.functions.values():
        lifetime = function.name.endswith(("_retain", "_release"))
        if not lifetime and function.name not in BY_HAND | LEFT_OUT:
            write.function(function)
    write.tables()
    write("const enum_table *const execution_options_table = &table_of_mlc_execution_options;")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(write.lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
