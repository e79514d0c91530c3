"""One framework's side of the benchmark: `python worker.py <framework>`.

Reads commands as lines of JSON and answers each with one: what to do next is the driver's business,
so that frameworks take turns batch by batch. `python worker.py <framework> once <case>` does the
work of a case that needs a process of its own, and prints its figure.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import resource
import sys
import time
from typing import Any

import numpy as np
from cases import CASES, PROCESS_MODELS, THREADS

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

    def prepare(self, case: str) -> dict:
        """Makes a case ready and warms its idioms up: seconds per call of each, and its value."""
        idioms, check = self.models.prepare(CASES[case])
        moments = moments_of(check())
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
        return {"times": times, "failed": failed, "check": moments}

    def compare(self, case: str) -> dict:
        """The value of a case alone."""
        return {"check": moments_of(self.models.prepare(CASES[case])[1]())}

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

    def once(self, case: str) -> float:
        """The figure of a process of its own."""
        if case == "installed":
            return installed(self.models.PACKAGE)
        model = PROCESS_MODELS[case]
        idioms, _ = self.models.prepare(CASES[model])
        names = [n for n in idioms if n.startswith(self.models.COMPILED)]
        if case.startswith("first_step"):
            begin = time.perf_counter()
            self.models.sync(idioms[names[0]]())
            return time.perf_counter() - begin
        step = next(iter(idioms.values()))
        for _ in range(3):
            self.models.sync(step())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def moments_of(value: Any) -> list[float]:
    """Mean, mean with weights and root of the mean square: equal arrays have them, others not."""
    value = np.asarray(value, np.float64).ravel()
    ramp = np.linspace(0, 1, value.size)
    return [float(value.mean()), float((value * ramp).mean()), float((value * value).mean() ** 0.5)]


def installed(package: str) -> float:
    """Megabytes of a package and, without extras, of all it requires."""
    sizes: dict[str, float] = {}
    todo = [package]
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in sizes:
            continue
        if name == "mica":
            sizes[name] = size_of_mica()
            todo.append("numpy")
            continue
        try:
            dist = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        files = [str(f.locate()) for f in dist.files or []]
        sizes[name] = sum(os.path.getsize(f) for f in files if os.path.exists(f)) / 1e6
        needed = [r for r in dist.requires or [] if "extra ==" not in r]
        todo += [re.match(r"[\w.-]+", r).group() for r in needed]
    return sum(sizes.values())


def size_of_mica() -> float:
    """Megabytes of the package as it was built, the library included."""
    import mica

    total, seen = 0, set()
    folder = os.path.dirname(mica.__file__)
    paths = [os.path.join(base, f) for base, _, files in os.walk(folder) for f in files]
    with open("/proc/self/maps") as maps:
        paths += [line.split()[-1] for line in maps if "libmica" in line]
    for path in paths:
        real = os.path.realpath(path)
        if real not in seen and os.path.exists(real) and not real.endswith(".pyc"):
            seen.add(real)
            total += os.path.getsize(real)
    return total / 1e6


def main() -> None:
    """Serve commands from standard input; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    framework = sys.argv[1]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    worker = Worker(framework)
    if sys.argv[2:3] == ["once"]:
        print(json.dumps(worker.once(sys.argv[3])), file=answers)
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
