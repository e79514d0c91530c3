"""One framework's side of the benchmark: `python worker.py <framework>`.

Reads commands as lines of JSON and answers each with one: what to do next is the driver's business,
so that frameworks take turns batch by batch. `python worker.py <framework> once <case> <idiom>`
does the work of a case that needs a process of its own, and prints its figure.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

import values
from cases import CASES, PROCESS_MODELS, THREADS
from footprint import installed, most_memory

WARM_CALLS, WARM_SECONDS = 20, 2.0
BATCH_SECONDS = 0.2


class Worker:
    """The cases of one framework."""

    def __init__(self, framework: str) -> None:
        self.models = importlib.import_module(f"models_{framework}")
        self.idioms: dict[str, tuple[Any, int, int]] = {}

    def version(self) -> dict:
        """Of the package."""
        return {"version": getattr(sys.modules[self.models.MODULE], "__version__", "?")}

    def prepare(self, case: str, path: str) -> dict:
        """Makes a case ready, stores its value and warms its idioms up: seconds per call."""
        idioms, check = self.models.prepare(CASES[case])
        values.store(path, check())
        times, failed, self.idioms = {}, {}, {}
        for name, function in idioms.items():
            function, steps = function if isinstance(function, tuple) else (function, 1)
            try:
                once = self.warm_up(function)
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"[:300]
                continue
            calls = max(1, int(BATCH_SECONDS / once))
            self.idioms[name] = (function, steps, calls)
            times[name] = once / steps
        return {"times": times, "failed": failed}

    def evaluate(self, case: str, path: str) -> dict:
        """Stores the value of a case, and times nothing."""
        values.store(path, self.models.prepare(CASES[case])[1]())
        return {}

    def compare(self, paths: dict[str, str]) -> dict:
        """What stored values differ in from Mica's."""
        return {"differences": values.compare(paths)}

    def warm_up(self, function: Any) -> float:
        """At least two calls, at most 20 or about two seconds; the seconds of the last."""
        start = time.perf_counter()
        once = 0.0
        for i in range(WARM_CALLS):
            begin = time.perf_counter()
            self.models.sync(function())
            once = time.perf_counter() - begin
            if i and time.perf_counter() - start > WARM_SECONDS:
                break
        return once

    def batch(self, idiom: str) -> dict:
        """Times some calls, together at least a fifth of a second."""
        function, steps, calls = self.idioms[idiom]
        begin = time.perf_counter()
        for _ in range(calls):
            result = function()
        self.models.sync(result)
        took = time.perf_counter() - begin
        return {"seconds": took / calls / steps, "took": took}

    def drop(self) -> dict:
        """Forgets the case."""
        self.idioms = {}
        return {}

    def once(self, case: str, idiom: str) -> Any:
        """The figure of a process of its own, or without an idiom the names of those it has."""
        if case.startswith("installed"):
            return installed(self.models.PACKAGE, with_keras=case == "installed_tf")
        idioms, _ = self.models.prepare(CASES[PROCESS_MODELS[case]])
        if not idiom:
            only = self.models.COMPILED if case.startswith("first_compiled") else ""
            return [name for name in idioms if name.startswith(only)]
        step = idioms[idiom]
        if case.startswith("memory"):
            return most_memory(lambda: self.models.sync(step()), self.models.is_settled)
        begin = time.perf_counter()
        self.models.sync(step())
        return time.perf_counter() - begin


def main() -> None:
    """Serve commands from standard input; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    framework = sys.argv[1]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    worker = Worker(framework)
    if sys.argv[2:3] == ["once"]:
        print(json.dumps(worker.once(sys.argv[3], *sys.argv[4:5] or [""])), file=answers)
        return
    print(json.dumps(worker.version()), file=answers)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(worker, command.pop("do"))(**command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
