"""An allocation fails, each in its turn, while TensorFlow's cases run.

    python tests/tf/allocations.py [--most 20] [--modes eager,grad_static] [part of a case's name]

The library has to be one of those for tests (the CMake option MICA_PLANT, which sanitizers and
coverage bring along), on PYTHONPATH. A case runs once to count its allocations; then it runs again
and again, and another one fails each time, --most of them spread evenly over all. What it raises
then is an error for lack of memory, or nothing; the process lives, no block is lost (a sweep that
loses some is repeated, until what is kept for later has stopped growing), and the case gives what
it gave before. Cases run in a process of their own, which says what it is about to do.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

CHUNK = 300  # modes of cases of one process
SWEEPS = 4  # of a mode of a case that loses blocks each time
MODES = ("eager", "plain", "unknown", "grad_static", "second", "vmap", "forward")


def library() -> Any:
    """The library that the extension has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "libmica.so" in line}
    (path,) = paths
    found = ctypes.CDLL(path)
    if not hasattr(found, "mica_memory_fail_nth"):
        raise SystemExit(f"{path} is not built for tests: build with -DMICA_PLANT=ON")
    found.mica_memory_fail_nth.argtypes = [ctypes.c_int64, ctypes.c_bool]
    found.mica_memory_count_arenas.argtypes = [ctypes.c_bool]
    found.mica_device_open.restype = ctypes.c_void_p
    found.mica_device_set_memory_limit.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    found.mica_device_set_memory_limit.restype = ctypes.c_void_p
    found.mica_memory_live_blocks.restype = ctypes.c_int64
    found.mica_memory_total_allocations.restype = ctypes.c_int64
    return found


class Sweep:
    """Fails allocations of cases."""

    def __init__(self, most: int) -> None:
        import mica.tf as tf
        from mica import _mica

        self.most = most
        self.library = library()
        self.library.mica_memory_count_arenas(True)
        self.device = ctypes.c_void_p()
        assert self.library.mica_device_open(b"cpu", ctypes.byref(self.device)) is None
        self.runner = corpus.Runner(tf)
        self.clear = _mica.tf_eager_clear
        self.lacks_memory = (tf.errors.ResourceExhaustedError, MemoryError)

    def attempt(self, case: corpus.Case, mode: str, n: int) -> tuple[Any, str | None]:
        """The result with the n-th allocation failing, and what is wrong with an error."""
        self.clear()
        self.library.mica_memory_fail_nth(n, False)
        try:
            return self.runner.run(case, mode), None
        except self.lacks_memory:
            return None, None
        except Exception as error:
            return None, f"{type(error).__name__}: {str(error)[:300]}"
        finally:
            self.library.mica_memory_fail_nth(0, False)

    def settle(self) -> int:
        """The blocks that live when no garbage is left: what is freed may free more.

        The device gives back what it keeps for those who ask next.
        """
        blocks = -1
        while blocks != (blocks := self.library.mica_memory_live_blocks()):
            gc.collect()
            self.clear()
            for limit in (1, 0):
                status = self.library.mica_device_set_memory_limit(self.device, limit)
                assert status is None
        return blocks

    def sweep(self, case: corpus.Case, mode: str, total: int, say: Any) -> list[str]:
        """What is wrong when allocations fail."""
        step = max(1, -(-total // self.most))
        found = []
        for n in range(1 + total % step, total + 1, step):
            say(f"allocation {n} of {total}")
            _, wrong = self.attempt(case, mode, n)
            if wrong:
                found.append(f"allocation {n} of {total}: {wrong}")
        say("once more")
        _, wrong = self.attempt(case, mode, 0)
        if wrong:
            found.append(f"afterwards: {wrong}")
        return found

    def faults(self, case: corpus.Case, mode: str, say: Any) -> list[str]:
        say("the first time")
        _, wrong = self.attempt(case, mode, 0)
        if wrong:
            return []  # it does not work anyway
        before = self.library.mica_memory_total_allocations()
        self.attempt(case, mode, 0)
        total = self.library.mica_memory_total_allocations() - before
        blocks, lost, found = self.settle(), [], []
        # What is kept for later stops growing: that is not lost.
        while len(lost) < SWEEPS and (not lost or lost[-1] > 0):
            found += self.sweep(case, mode, total, say)
            lost.append(self.settle() - blocks)
            blocks += lost[-1]
        if min(lost) > 0:
            found.append(f"{lost} blocks are lost after {total} allocations")
        return list(dict.fromkeys(found))


def names_of(part: str, modes: list[str]) -> list[tuple[str, str]]:
    return [
        (name, mode)
        for name, case in corpus.load().items()
        for mode in (*case.modes, *case.more_modes)
        if part in name and mode in modes
    ]


def work(arguments: argparse.Namespace) -> None:
    """Sweeps the cases from --start on; lines of the journal say where it is and what is wrong."""
    warnings.simplefilter("ignore")
    cases, sweep = corpus.load(), Sweep(arguments.most)
    with open(arguments.journal, "w", encoding="utf-8") as journal:

        def write(**entry: Any) -> None:
            journal.write(json.dumps(entry) + "\n")
            journal.flush()

        todo = names_of(arguments.part, arguments.modes.split(","))
        end = min(len(todo), arguments.start + arguments.count)
        for i, (name, mode) in enumerate(todo[arguments.start : end], arguments.start):

            def say(what: str, i: int = i, name: str = name, mode: str = mode) -> None:
                write(at=i, what=f"{name} {mode}: {what}")

            for fault in sweep.faults(cases[name], mode, say):
                write(fault=f"{name} {mode}: {fault}")
        write(end=end)


def drive(arguments: argparse.Namespace) -> int:
    start, end = arguments.start, len(names_of(arguments.part, arguments.modes.split(",")))
    faults = 0
    environment = {"MICA_TIER": "built_in", "MICA_THREADS": "1", **os.environ}
    if arguments.preload:
        environment["LD_PRELOAD"] = arguments.preload

    def show(text: str) -> None:
        nonlocal faults
        faults += 1
        print(text, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        while start < end:
            journal, report = Path(folder, "journal"), Path(folder, "report")
            journal.write_text("")
            command = [sys.executable, __file__, *sys.argv[1:], "--worker", "--journal", journal]
            with report.open("wb") as err:
                done = subprocess.run(
                    list(map(str, [*command, "--start", start, "--count", CHUNK])),
                    env=environment, stdout=subprocess.DEVNULL, stderr=err, check=False,
                )  # fmt: skip
            entries = [json.loads(line) for line in journal.read_text().splitlines()]
            for entry in entries:
                if "fault" in entry:
                    show(entry["fault"])
            last = [each for each in entries if "at" in each or "end" in each]
            if last and "end" in last[-1]:
                start = last[-1]["end"]
                continue
            text = report.read_bytes().decode(errors="replace")
            at = last[-1] if last else {"at": end, "what": "it does not start"}
            show(f"{at['what']}: ended with {done.returncode}\n{text[-4000:]}")
            start = at["at"] + 1
    print(f"allocations: {end} modes of cases, {faults} faults")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--most", type=int, default=20, help="allocations of one mode of a case")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--preload", default="", help="a library that the process begins with")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=CHUNK, help="of one process")
    parser.add_argument("--worker", action="store_true", help="run the cases in this process")
    parser.add_argument("--journal", default=os.devnull)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return 0
    return drive(arguments)


if __name__ == "__main__":
    sys.exit(main())
