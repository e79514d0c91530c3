"""No function of the C API takes a process down when it is given NULL.

A program is made from the prototypes of include/mica: for every function one call with good
arguments, and one for each argument in which that is NULL: a pointer, a list without its array or
with a NULL in it, a value that is none. Every call runs in a process of its own. Functions may
refuse or do nothing; what may not happen is a signal. A type of argument that has no example here
is a failure, so that new functions are covered.
"""

import re
import sys
from dataclasses import dataclass

import pytest
from house import BUILD, ROOT, compiler, run

HEADERS = [
    "mica.h",
    "data.h",
    "dist.h",
    "io.h",
    "media.h",
    "records.h",
    "tf.h",
    "tf/tape.h",
    "mlc.h",
    "nn.h",
    "version.h",
]

pytestmark = [
    pytest.mark.skipif(not compiler(), reason="no C compiler was found"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux's preprocessor writes"),
]

# An example of each type, beside those that follow from its name: T * and const T * are one of
# OBJECTS or a zeroed struct whose first member is its size, T ** and pointers to numbers are room.
EXAMPLES = {
    "mica_value": "value",
    "mica_value *": "values",
    "mica_value[2]": "values",
    "mica_value[3]": "values",
    "mica_ints": "MICA_INTS(2, 2)",
    "mica_types": "((mica_types){&type, 1})",
    "mica_data": "((mica_data){&type, room})",
    "mica_type *": "&type",
    "mica_tf_value": "tf_value",
    "mica_tf_value *": "tf_values",
    "mica_tf_ref": "ref",
    "mica_tf_ref *": "refs",
    "mica_tf_shape *": "&shape",
    "mica_status": "NULL",
    "mica_run_args *": "&run_args",
    "mica_dataset_function *": "functions",
    "mica_dataset_function[3]": "functions",
    "mica_dataset_function[4]": "functions",
    "mica_dataset *const *": "datasets",
    "mica_graph *const *": "graphs",
    "mica_array *": '(&(mica_array){"x", type, room})',
    "mica_tensor *const *": "tensors",
    "mlc_tensors": "((mlc_tensors){mlc_tensors_, 1})",
    "mlc_graphs": "((mlc_graphs){mlc_graphs_, 1})",
    "mlc_data_list": "((mlc_data_list){datas, 1})",
    "mlc_device_data_list": "((mlc_device_data_list){NULL, 0})",
    "mlc_named_tensors": 'MLC_NAMED_TENSORS({"x", mlc_tensor_})',
    "mlc_named_data": 'MLC_NAMED_DATA({"x", data})',
    "mlc_parameters": "((mlc_parameters){parameters, 1})",
    "mica_nn_activation": "mica_nn_activation_make(1)",
    "char *": '"x"',
    "text": "room",  # to be filled
    "char *const *": "texts",
    "size_t *": "sizes",
    "void *": "room",
    "void *const *": "(const void *[]){room}",
    "mica_peer *": "&(mica_peer){.door = door, .socket = -1}",
    "mica_frame *": "&(mica_frame){NULL}",
    "void": None,
}
OBJECTS = {
    "mica_graph": "graph",
    "mica_device": "device",
    "mica_tensor": "tensor",
    "mica_executable": "executable",
    "mica_event": "event",
    "mica_tf_graph": "tf_graph",
    "mica_tf_operation": "operation",
    "mica_tf_generators": "generators",
    "mica_tf_tape": "tape",
    "mica_dataset": "dataset",
    "mica_iterator": "iterator",
    "mica_arrays": "arrays",
    "mica_bundle": "bundle",
    "mica_bundle_writer": "writer",
    "mica_folder_writer": "folder",
    "mica_file_reader": "file_reader",
    "mica_record_reader": "record_reader",
    "mica_record_writer": "record_writer",
    "mica_event_writer": "event_writer",
    "mica_saved_model": "model",
    "mica_dist": "dist",
    "mica_function_library": "function_library",
    "mica_door": "door",
    "mlc_tensor": "mlc_tensor_",
    "mlc_layer": "layer",
    "mlc_graph": "mlc_graph_",
    "mlc_inference_graph": "inference",
    "mlc_training_graph": "training",
    "mlc_device": "mlc_device_",
    "mlc_optimizer": "optimizer",
    "mlc_tensor_data": "data",
    "mlc_tensor_descriptor": "descriptor",
    "mlc_tensor_parameter": "parameter",
    "mlc_optimizer_device_data": "NULL",
}
NUMBERS = {
    *("int", "int32_t", "int64_t", "uint8_t", "uint64_t", "size_t", "_Bool", "float", "double"),
}
FREES = {"mica_string_free", "mica_bytes_free"}  # what the library has allocated
# What is also given in the place of an argument that is no pointer.
EMPTY = {
    "mica_value": ["MICA_NULL_VALUE"],
    "mica_ints": ["((mica_ints){NULL, 2})"],
    "mica_types": ["((mica_types){NULL, 1})"],
    "mica_data": ["((mica_data){NULL, room})", "((mica_data){&type, NULL})"],
    "mica_tf_value": ["((mica_tf_value){0})", "((mica_tf_value){.dtype = tf_value.dtype})"],
    "mlc_tensors": ["((mlc_tensors){NULL, 1})", "((mlc_tensors){(mlc_tensor *[]){NULL}, 1})"],
    "mlc_graphs": ["((mlc_graphs){NULL, 1})", "((mlc_graphs){(mlc_graph *[]){NULL}, 1})"],
    "mlc_data_list": ["((mlc_data_list){NULL, 1})"],
    "mlc_device_data_list": ["((mlc_device_data_list){NULL, 1})"],
    "mlc_named_tensors": [
        "((mlc_named_tensors){NULL, 1})",
        'MLC_NAMED_TENSORS({"x", NULL})',
        "MLC_NAMED_TENSORS({NULL, mlc_tensor_})",
    ],
    "mlc_named_data": [
        "((mlc_named_data){NULL, 1})",
        'MLC_NAMED_DATA({"x", NULL})',
        "MLC_NAMED_DATA({NULL, data})",
    ],
    "mlc_parameters": ["((mlc_parameters){NULL, 1})"],
    "mica_tensor *const *": ["NULL", "(mica_tensor *[]){NULL}"],
    "mica_dataset *const *": ["NULL", "(mica_dataset *[]){NULL}"],
    "mica_graph *const *": ["NULL", "(mica_graph *[]){NULL}"],
    "char *const *": ["NULL", "(const char *[]){NULL}"],
    "void *const *": ["NULL", "(const void *[]){NULL}"],
    "mica_peer *": ["NULL", "&(mica_peer){.socket = -1}"],
}

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
%(headers)s

#define TRY(call)                                                                                  \
    do {                                                                                           \
        mica_status status = (call);                                                               \
        if (status) {                                                                              \
            printf("setup: %%s\n", mica_status_message(status));                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static char room[4096];
static size_t sizes[64] = {1, 1};
static const char *texts[] = {"x", "y", NULL};
static mica_type type;
static mica_graph *graph, *graphs[2];
static mica_value value, values[64];
static mica_device *device;
static mica_tensor *tensor, *tensors[64], *outputs[64];
static mica_executable *executable;
static mica_event *event;
static mica_run_args run_args;
static mica_tf_value tf_value, tf_values[64];
static mica_tf_graph *tf_graph;
static mica_tf_operation *operation;
static mica_tf_generators *generators;
static mica_tf_tape *tape;
static mica_tf_ref ref, refs[64];
static mica_tf_shape shape;
static mica_dataset *dataset, *datasets[2];
static mica_dataset_function functions[4];
static mica_iterator *iterator;
static mica_arrays *arrays;
static mica_bundle *bundle;
static mica_bundle_writer *writer;
static mica_folder_writer *folder;
static mica_file_reader *file_reader;
static mica_record_reader *record_reader;
static mica_record_writer *record_writer;
static mica_event_writer *event_writer;
static mica_saved_model *model;
static mica_dist *dist;
static mica_function_library *function_library;
static const unsigned char empty_model[] = {0x12, 0}; /* one MetaGraphDef of no bytes */
static mica_door *door;
static mlc_tensor *mlc_tensor_, *mlc_tensors_[2];
static mlc_layer *layer, *loss;
static mlc_graph *mlc_graph_, *mlc_graphs_[2];
static mlc_inference_graph *inference;
static mlc_training_graph *training;
static mlc_device *mlc_device_;
static mlc_optimizer *optimizer;
static mlc_tensor_data *data, *datas[2];
static mlc_tensor_descriptor *descriptor;
static mlc_tensor_parameter *parameter, *parameters[2];

static int nothing(void) { return 0; }

static void set_up(void) {
    type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 2));
    TRY(mica_device_open("cpu", &device));
    TRY(mica_tensor_from_host(device, &type, room, &tensor));
    TRY(mica_graph_create("g", &graph));
    value = mica_parameter(graph, &type);
    mica_output(graph, mica_add(graph, value, value));
    graphs[0] = graph;
    TRY(mica_executable_create(device, graph, NULL, &executable));
    run_args = (mica_run_args){.size = sizeof run_args, .inputs = tensors, .n_inputs = 1,
                               .outputs = outputs, .n_outputs = 1, .waits = true};
    tf_value = mica_tf_value_of(tensor);
    TRY(mica_tf_graph_create("g", &tf_graph));
    mica_tf_value_shape(tf_value, &shape);
    TRY(mica_tf_graph_parameter(tf_graph, MICA_TF_float32, &shape, "x", &ref));
    TRY(mica_tf_graph_output(tf_graph, ref));
    operation = mica_tf_graph_operation(tf_graph, 0);
    TRY(mica_tf_generators_create(&generators));
    TRY(mica_tf_tape_create(NULL, &tape));
    TRY(mica_dataset_tensors(&tf_value, 1, &dataset));
    datasets[0] = dataset;
    TRY(mica_iterator_create(dataset, NULL, &iterator));
    TRY(mica_arrays_save("x.npz", &(mica_array){"x", type, room}, 1));
    TRY(mica_arrays_open("x.npz", &arrays));
    TRY(mica_bundle_writer_create("bundle", &writer));
    TRY(mica_bundle_writer_add(writer, "x", MICA_TF_float32, MICA_INTS(2, 2), room, 16));
    TRY(mica_bundle_writer_finish(writer));
    TRY(mica_bundle_open("bundle", &bundle));
    mica_bundle_writer_release(writer);
    TRY(mica_bundle_writer_create("other", &writer));
    TRY(mica_folder_writer_create("folder", texts, 1, &folder));
    TRY(mica_record_writer_create("records", NULL, &record_writer));
    TRY(mica_record_writer_append(record_writer, "x", 1));
    TRY(mica_record_writer_flush(record_writer));
    TRY(mica_record_reader_open("records", NULL, 0, &record_reader));
    TRY(mica_file_reader_open("records", NULL, 0, &file_reader));
    TRY(mica_event_writer_create("events", "", 1, 1, &event_writer));
    TRY(mica_saved_model_load("%(model)s", device, NULL, &model));
    TRY(mica_dist_open(NULL, &dist));
    TRY(mica_function_library_create(empty_model, 2, "x", device, &function_library));
    TRY(mica_door_create(&door));
    TRY(mlc_device_cpu(&mlc_device_));
    TRY(mlc_tensor_with_shape(MICA_INTS(2, 2), MLC_DATA_TYPE_FLOAT32, &mlc_tensor_));
    descriptor = mlc_tensor_descriptor_of(mlc_tensor_);
    TRY(mlc_tensor_parameter_create(mlc_tensor_, &parameter));
    TRY(mlc_tensor_data_create(room, 16, &data));
    TRY(mlc_arithmetic_layer_create(MLC_ARITHMETIC_OPERATION_SQRT, &layer));
    TRY(mlc_graph_create(&mlc_graph_));
    mlc_tensor *result = NULL;
    TRY(mlc_graph_node(mlc_graph_, layer, (mlc_tensors){&mlc_tensor_, 1}, &result));
    mlc_graphs_[0] = mlc_graph_;
    TRY(mlc_inference_graph_create((mlc_graphs){mlc_graphs_, 1}, &inference));
    mlc_optimizer_descriptor how = mlc_optimizer_descriptor_make(0.1f, 1, 0, 0);
    TRY(mlc_sgd_optimizer_create_default(&how, &optimizer));
    TRY(mlc_training_graph_create((mlc_graphs){mlc_graphs_, 1}, NULL, optimizer, &training));
    mlc_tensors_[0] = mlc_tensor_, datas[0] = data, parameters[0] = parameter;
    for (int i = 0; i < 64; i++)
        values[i] = value, tensors[i] = tensor, tf_values[i] = tf_value, refs[i] = ref;
    for (int i = 0; i < 4; i++) functions[i].graph = tf_graph;
}

%(calls)s

static const struct {
    const char *text;
    void (*run)(void);
} calls[] = {
%(table)s};

int main(void) {
    set_up();
    int n_crashed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            calls[i].run();
            if (getenv("MICA_TEST_COUNTS")) exit(0); /* counters of coverage are written at exit */
            _exit(0);
        }
        int state = 0;
        waitpid(child, &state, 0);
        if (!WIFSIGNALED(state)) continue;
        n_crashed++;
        printf("%%s: %%s\n", strsignal(WTERMSIG(state)), calls[i].text);
    }
    printf("%%zu calls, %%d ended by a signal\n", sizeof calls / sizeof calls[0], n_crashed);
    return n_crashed > 0;
}
"""


@dataclass
class Function:
    name: str
    returns: str
    parameters: list[str]  # types, without const


def prototypes() -> list[Function]:
    """The functions that the headers declare and the library exports."""
    text = "".join(f"#include <mica/{header}>\n" for header in HEADERS)
    result = run(*compiler(), "-E", "-P", f"-I{ROOT}/include", "-x", "c", "-", input=text)
    assert result.returncode == 0, result.stderr
    text = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", result.stdout)
    pattern = r"[;}] *((?:const )?\w+[ *]+)((?:mica|mlc)_\w+)\(((?:[^()]|\([^()]*\))*)\) *(?=;)"
    found = {}
    for returns, name, parameters in re.findall(pattern, re.sub(r"\s+", " ", text)):
        found[name] = Function(name, returns.strip(), [type_of(p) for p in split(parameters)])
    exports = set((ROOT / "src/exports.txt").read_text(encoding="utf-8").split())
    assert exports <= set(found), sorted(exports - set(found))
    return [found[name] for name in sorted(exports)]


def split(parameters: str) -> list[str]:
    """At the commas that are in no parentheses."""
    return [each.strip() for each in re.split(r",(?![^()]*\))", parameters)]


def type_of(parameter: str) -> str:
    if "(*" in parameter:
        return "function"
    if parameter in ("void", "...") or re.match(r"char \*\w", parameter):
        return "text" if parameter.startswith("char") else parameter
    array = re.search(r"\[\d*\]$", parameter)
    text = re.sub(r"\w+(\[\d*\])?$", "", parameter).strip()
    text = re.sub(r"\bconst (?=\w)", "", text)
    return text + array[0] if array else text


def example(kind: str) -> str:
    """An argument of a type."""
    base = kind.rstrip(" *")
    if kind in EXAMPLES:
        return EXAMPLES[kind]
    if kind in ("function", "mica_host_function", "mica_tf_host_call"):
        return "(void *)nothing"
    if kind in NUMBERS:
        return "1"
    if kind.endswith("**") or (kind.endswith("*") and base in NUMBERS):
        return "(void *)calloc(64, 64)"
    if kind.endswith("*") and base in OBJECTS:
        return OBJECTS[base]
    if kind.endswith("*"):
        return f"zeroed(sizeof({base}))"
    assert re.fullmatch(r"(mica|mlc)_\w+", kind), f"what is an example of {kind}?"
    return f"({kind})1"  # an enumeration: the compiler refuses structs


def empties(kind: str) -> list[str]:
    """What stands in the place of an argument that is missing."""
    others = ("text", "function", "mica_host_function", "mica_tf_host_call")
    return EMPTY.get(kind, ["NULL"] if kind.endswith(("*", "]")) or kind in others else [])


def calls_of(function: Function) -> list[str]:
    kinds = [kind for kind in function.parameters if kind not in ("void", "...")]
    good = ["NULL"] if function.name in FREES else [example(kind) for kind in kinds]
    calls = [good]
    for i, kind in enumerate(kinds):
        calls += [[*good[:i], empty, *good[i + 1 :]] for empty in empties(kind)]
    return [f"{function.name}({', '.join(call)})" for call in calls]


ZEROED = """
/* A struct of zeros that begins with its size, as options do. */
static void *zeroed(size_t size) {
    size_t *all = calloc(1, size < sizeof(size_t) ? sizeof(size_t) : size);
    if (size > sizeof(size_t)) *all = size;
    return all;
}
"""


def test_no_argument_that_is_missing_ends_the_process(tmp_path):
    texts = [call for function in prototypes() for call in calls_of(function)]
    bodies = [f"static void call_{i}(void) {{ (void){t}; }}" for i, t in enumerate(texts)]
    quoted = [t.replace("\\", "\\\\").replace('"', '\\"') for t in texts]
    source = PROGRAM % {
        "model": ROOT / "tests/tf/saved_models/dense",
        "headers": "".join(f"#include <mica/{header}>\n" for header in HEADERS),
        "calls": ZEROED + "\n".join(bodies),
        "table": "".join(f'    {{"{text}", call_{i}}},\n' for i, text in enumerate(quoted)),
    }
    (tmp_path / "calls.c").write_text(source, encoding="utf-8")
    command = [*compiler(), "-w", "-O0", tmp_path / "calls.c", f"-I{ROOT}/include", f"-L{BUILD}"]
    command += [f"-Wl,-rpath,{BUILD}", "-lmica", "-o", tmp_path / "calls"]
    result = run(*command)
    assert result.returncode == 0, result.stderr[:4000]
    result = run(tmp_path / "calls", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
