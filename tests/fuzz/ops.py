"""Fuzzes every row of the op table: eager, in functions, in branches and loops, with gradients.

    scripts/fuzz_ops.sh --seed 1 --count 2000          runs cases 0 to 1999 of seed 1
    scripts/fuzz_ops.sh --seed 1 --start 17 --count 1  runs case 17 again

The script builds library and extension with AddressSanitizer and UndefinedBehaviorSanitizer. The
cases run in a process of their own, which writes the number of a case to a file before it runs, so
that whatever ends the process is reported with it, and the next process goes on after it. A case
fails when the process dies (a sanitizer's report, a signal, 60 seconds without an end) or when what
it raises is no error of TensorFlow's: RecursionError, SystemError, MemoryError, InternalError and
the like. The limits on memory are the sanitizer's: larger requests are refused, as they are by a
machine without memory, and must come out as ResourceExhaustedError.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from op_cases import Case, Cases, Dtype, Function, Value

LONGEST = 60  # seconds of one case


# ---- running a case -----------------------------------------------------------------------------


class Runner:
    """Runs cases with mica.tf."""

    def __init__(self) -> None:
        import mica.tf as tf

        self.tf = tf
        self.allowed = (tf.errors.OpError, ValueError, TypeError, NotImplementedError)
        self.refused = (tf.errors.InternalError, tf.errors.UnknownError)

    def handle(self, value: Value) -> Any:
        tf = self.tf
        if value.dtype == "variant":
            dataset = tf.data.Dataset.range(3)._handle_tensor
            return [
                tf.raw_ops.OptionalNone,
                lambda: tf.raw_ops.OptionalFromValue(components=[tf.constant([1.0])]),
                lambda: dataset,
                tf.raw_ops.StackEmpty,
                lambda: tf.raw_ops.StackPush(stack=tf.raw_ops.StackEmpty(), values=[tf.ones(2)]),
                lambda: tf.data.Dataset.from_tensor_slices([b"a", b"b"])._handle_tensor,
            ][value.handle % 6]()
        table = tf.raw_ops.AnonymousMutableHashTable
        self.kept = [
            tf.Variable([1.0, 2.0]),
            tf.Variable([[1, 2]]),
            tf.Variable("text"),
            tf.Variable(tf.zeros([3], tf.int64)),
        ]
        iterator = tf.raw_ops.AnonymousIteratorV3(output_types=[tf.float32], output_shapes=[[]])
        handles = [each.handle for each in self.kept] + [
            table(key_dtype=tf.int64, value_dtype=tf.float32),
            table(key_dtype=tf.string, value_dtype=tf.string),
            iterator,
        ]
        return handles[value.handle % len(handles)]

    def tensor(self, value: Value) -> Any:
        tf = self.tf
        if value.array is None:
            return self.handle(value)
        if value.dtype == "bfloat16":
            return tf.cast(tf.constant(value.array.astype("float32")), tf.bfloat16)
        if value.dtype == "string":
            return tf.constant(value.array, tf.string, shape=value.array.shape)
        return tf.constant(value.array, value.dtype)

    def graph(self, function: Function, tensors: list[Any]) -> Any:
        """A function as a graph: of the operands of a list, or of numbers."""
        tf = self.tf
        from mica.tf._context import building
        from mica.tf._graph import FuncGraph

        graph = FuncGraph(function.kind, None)
        with building(graph):
            parameters = [graph._parameter(t.dtype, t.shape, "x") for t in tensors]
            if function.kind == "extra":
                parameters.append(graph._parameter(tf.float32, [], "x"))
            results = {
                "same": lambda: parameters,
                "first": lambda: parameters[:1],
                "none": lambda: [],
                "number": lambda: [tf.constant(1.0)],
                "never": lambda: [tf.constant(False)],
            }.get(function.kind, lambda: parameters)()
            for result in results:
                graph._output(tf.identity(result))
        return graph

    def attribute(self, given: Any, name: str, lists: list[list[Any]]) -> Any:
        if isinstance(given, Dtype):
            return getattr(self.tf, given.name)
        if isinstance(given, Value):
            return self.tensor(given)
        if isinstance(given, Function):
            kind = "never" if name == "cond" and given.kind != "extra" else given.kind
            return self.graph(Function(kind, 0), lists[0] if lists else [])
        if isinstance(given, list):
            return [self.attribute(each, name, lists) for each in given]
        return given

    def call_of(self, case: Case) -> tuple[Any, list[Any], list[int]]:
        """The op as a function of tensors, the tensors, and which of them can be arguments."""
        tf = self.tf
        tensors, places, lists = [], {}, []
        for name, given in case.inputs.items():
            if isinstance(given, list):
                places[name] = range(len(tensors), len(tensors) + len(given))
                tensors += [self.tensor(each) for each in given]
                lists.append(tensors[len(tensors) - len(given) :])
            else:
                places[name] = len(tensors)
                tensors.append(self.tensor(given))
        attributes = {k: self.attribute(v, k, lists) for k, v in case.attributes.items()}
        op = getattr(tf.raw_ops, case.row.name)

        def call(*given: Any) -> Any:
            inputs = {
                name: given[place] if isinstance(place, int) else [given[i] for i in place]
                for name, place in places.items()
            }
            return op(**inputs, **attributes)

        core = [i for i, t in enumerate(tensors) if t.dtype.name not in ("resource", "variant")]
        return call, tensors, core

    def run(self, case: Case) -> None:
        getattr(self, "mode_" + case.mode)(*self.call_of(case))

    # Modes

    def mode_eager(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return call(*tensors)

    def traced(self, call: Any, tensors: list[Any], core: list[int], spec: Any) -> Any:
        """Runs a function of the tensors that can be arguments; the others are captured."""
        tf = self.tf

        def inner(*given: Any) -> Any:
            whole = list(tensors)
            for place, tensor in zip(core, given, strict=True):
                whole[place] = tensor
            results = self.flat(call(*whole))
            return [r for r in results if r is not None and r.dtype.name != "resource"]

        arguments = [tensors[i] for i in core]
        signature = None if spec is None else [spec(t) for t in arguments]
        return tf.function(inner, input_signature=signature)(*arguments)

    def unknown(self, tensor: Any) -> Any:
        return self.tf.TensorSpec(None, tensor.dtype)

    def ranked(self, tensor: Any) -> Any:
        return self.tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype)

    def flat(self, results: Any) -> list[Any]:
        if results is None:
            return []
        if isinstance(results, (list, tuple)):  # an output may be a list of tensors itself
            return [each for part in results for each in self.flat(part)]
        return [results]

    def mode_known(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.traced(call, tensors, core, None)

    def mode_unknown(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.traced(call, tensors, core, self.unknown)

    def mode_ranked(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.traced(call, tensors, core, self.ranked)

    def differentiable(self, tensor: Any) -> bool:
        return tensor is not None and (tensor.dtype.is_floating or tensor.dtype.is_complex)

    def gradient(self, call: Any) -> Any:
        """The results and their gradients, as a function of the same tensors."""
        tf = self.tf

        def both(*tensors: Any) -> list[Any]:
            sources = [t for t in tensors if self.differentiable(t)]
            with tf.GradientTape() as tape:
                tape.watch(sources)
                results = self.flat(call(*tensors))
            targets = [r for r in results if self.differentiable(r)]
            found = tape.gradient(targets, sources) if targets and sources else []
            return results + [tf.convert_to_tensor(g) for g in found if g is not None]

        return both

    def mode_tape(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.gradient(call)(*tensors)

    def mode_second(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.gradient(self.gradient(call))(*tensors)

    def mode_known_tape(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.traced(self.gradient(call), tensors, core, None)

    def mode_unknown_tape(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        return self.traced(self.gradient(call), tensors, core, self.unknown)

    def mode_forward(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        tf = self.tf
        sources = [t for t in tensors if self.differentiable(t)]
        if not sources:
            return call(*tensors)
        with tf.autodiff.ForwardAccumulator(sources, [tf.ones_like(t) for t in sources]) as forward:
            results = self.flat(call(*tensors))
        return [forward.jvp(r) for r in results if self.differentiable(r)]

    def mode_branch(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        tf = self.tf

        def branch(*given: Any) -> Any:
            go = tf.size(given[core[0]]) >= 0 if core else tf.constant(True)

            def run() -> Any:
                results = [r for r in self.flat(call(*given)) if r is not None]
                return [tf.identity(r) for r in results if r.dtype.name != "resource"]

            return tf.cond(go, run, run)

        return self.traced(branch, tensors, core, self.unknown)

    def mode_loop(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        tf = self.tf

        def loop(*given: Any) -> Any:
            def body(i: Any, total: Any) -> Any:
                results = [r for r in self.flat(call(*given)) if r is not None]
                numbers = [r for r in results if r.dtype.is_floating or r.dtype.is_integer]
                sums = [tf.cast(tf.reduce_sum(r), tf.float32) for r in numbers]
                return i + 1, tf.add_n([total, *sums])

            return tf.while_loop(lambda i, total: i < 2, body, [tf.constant(0), tf.constant(0.0)])

        return self.traced(loop, tensors, core, self.unknown)

    def mode_mapped(self, call: Any, tensors: list[Any], core: list[int]) -> Any:
        tf = self.tf
        if not core:
            return call(*tensors)

        def slice_of(part: Any) -> Any:
            whole = list(tensors)
            whole[core[0]] = part
            results = [r for r in self.flat(call(*whole)) if r is not None]
            return [r for r in results if r.dtype.name not in ("resource", "variant")]

        stacked = tf.stack([tensors[core[0]]] * 2)
        return tf.vectorized_map(slice_of, stacked)


# ---- the process that runs cases ----------------------------------------------------------------


def work(arguments: argparse.Namespace) -> None:
    """Runs cases until the end, or until something ends the process."""
    warnings.simplefilter("ignore")
    journal = os.open(arguments.journal, os.O_RDWR | os.O_CREAT)
    cases, runner = Cases(arguments.seed, arguments.only), Runner()
    counts: collections.Counter[str] = collections.Counter()

    def note(**entry: Any) -> None:
        os.write(journal, (json.dumps(entry) + "\n").encode())

    for index in range(arguments.start, arguments.start + arguments.count):
        os.lseek(journal, 0, os.SEEK_END)
        note(begin=index, case="being made")
        case = cases[index]
        note(begin=index, case=str(case)[:2000])
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            runner.run(case)
            counts["gave a result"] += 1
        except Exception as error:
            is_good = isinstance(error, runner.allowed) and not isinstance(error, runner.refused)
            counts["raised" if is_good else "failed"] += 1
            if not is_good:
                note(failed=index, error="".join(traceback.format_exception(error))[-4000:])
            if arguments.verbose:
                traceback.print_exc()
        faulthandler.cancel_dump_traceback_later()
    note(end=arguments.start + arguments.count, counts=counts)


# ---- the driver ---------------------------------------------------------------------------------


class Failures:
    """What failed, by what it looks like."""

    def __init__(self) -> None:
        self.by_key: dict[str, list[str]] = {}

    def add(self, key: str, text: str) -> None:
        self.by_key.setdefault(key, []).append(text)

    def __len__(self) -> int:
        return sum(map(len, self.by_key.values()))

    def show(self) -> None:
        for key, texts in self.by_key.items():
            print(f"\n==== {len(texts)} x {key}\n{texts[0]}")


def key_of(report: str) -> str:
    """The line that says what went wrong and where: failures of one kind have one key."""
    lines = report.splitlines()
    summary = [line for line in lines if "SUMMARY:" in line or "runtime error:" in line]
    if summary:
        return summary[0].split("SUMMARY:")[-1].strip()
    return lines[-1] if lines else "no report"


def environment(preload: str, count: int) -> dict[str, str]:
    """Limits on memory, and reports that can be read.

    Python's objects are the sanitizer's, too, but in long runs, which are then three times as fast.
    """
    is_long = count > 5000
    options = [
        "detect_leaks=0", "allocator_may_return_null=1", "max_allocation_size_mb=64",
        "detect_stack_use_after_return=0", "handle_abort=1", "soft_rss_limit_mb=3000",
        f"malloc_context_size={1 if is_long else 12}", "quarantine_size_mb=16",
    ]  # fmt: skip
    own = {
        "ASAN_OPTIONS": ":".join(options),
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "MICA_TIER": "built_in",
        "MICA_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONMALLOC": "pymalloc" if is_long else "malloc",
    }
    return {**own, **os.environ, **({"LD_PRELOAD": preload} if preload else {})}


def journal_of(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The last case that began (or the end), and those that failed without ending the process."""
    entries = []
    for line in path.read_text().splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    begun = {e["begin"]: e["case"] for e in entries if "begin" in e}
    failed = [{**e, "case": begun.get(e["failed"], "")} for e in entries if "failed" in e]
    last = [e for e in entries if "begin" in e or "end" in e]
    return (last[-1] if last else {}), failed


def drive(arguments: argparse.Namespace) -> int:
    """Starts processes until all cases have run; 1 when one failed."""
    failures, counts = Failures(), collections.Counter()
    start, end, began = arguments.start, arguments.start + arguments.count, time.time()
    with tempfile.TemporaryDirectory() as folder:
        while start < end:
            journal, report = Path(folder, "journal"), Path(folder, "report")
            journal.unlink(missing_ok=True)
            n = min(arguments.chunk, end - start)
            command = [sys.executable, os.path.abspath(__file__), "--worker", "--journal", journal]
            command += ["--seed", arguments.seed, "--start", start, "--count", n]
            command += ["--only", arguments.only] if arguments.only else []
            with report.open("wb") as err:
                done = subprocess.run(
                    list(map(str, command)), cwd=folder,
                    env=environment(arguments.preload, arguments.count),
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, check=False,
                )  # fmt: skip
            text = report.read_bytes().decode(errors="replace")
            last, failed = journal_of(journal) if journal.exists() else ({}, [])
            for entry in failed:
                where = f"seed {arguments.seed} case {entry['failed']}: {entry['case']}"
                failures.add(entry["error"].strip().splitlines()[-1], f"{where}\n{entry['error']}")
            if "end" in last:
                counts.update(last["counts"])
                start = last["end"]
                continue
            at = last.get("begin", start)
            where = f"seed {arguments.seed} case {at}: {last.get('case', 'before the first')}"
            failures.add(key_of(text), f"{where}\nexit {done.returncode}\n{text[-6000:]}")
            if "begin" not in last or not arguments.keep_going:
                break
            counts["ended the process"] += 1
            counts["before that"] += at - start
            start = at + 1
    failures.show()
    print(
        f"fuzz: seed {arguments.seed}, cases {arguments.start} to {start - 1}: {len(failures)} "
        f"failed; {dict(counts)}; {time.time() - began:.0f} s"
    )
    return 1 if len(failures) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--chunk", type=int, default=5000, help="cases of one process")
    parser.add_argument("--only", default="", help="a part of a row's name")
    parser.add_argument("--keep-going", action="store_true", help="past cases that end the process")
    parser.add_argument("--verbose", action="store_true", help="with --worker: every exception")
    parser.add_argument("--worker", action="store_true", help="run the cases in this process")
    parser.add_argument("--journal", default=os.devnull)
    parser.add_argument("--preload", default="", help="a library that the process begins with")
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return 0
    return drive(arguments)


if __name__ == "__main__":
    sys.exit(main())
