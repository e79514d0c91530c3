"""How much room a framework takes: in memory with the processes it starts, and on disk."""

from __future__ import annotations

import importlib.metadata
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

STEPS = 6  # at least; more until what compiles meanwhile has settled
LONGEST = 120.0  # seconds
PAUSE = 0.01  # between two looks at the processes

# The wheel of PyTorch on PyPI brings CUDA along; its builds for CPUs leave these parts out.
CUDA_PACKAGES = re.compile(r"^(nvidia-|triton|cuda-)")
CUDA_FILES = re.compile(r"(^|/)lib(torch|c10)_(cuda|nvshmem)[^/]*\.so")


def children(pid: int) -> Iterator[int]:
    """The processes below one, itself included."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = path.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in found:
            yield from children(int(child))


def resident(pid: int) -> int:
    """Bytes of memory of a process; 0 when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def most_memory(step: Callable[[], None], is_settled: Callable[[], bool]) -> float:
    """Megabytes that a process and its children held at most, over steps until all is settled."""
    most, stops = 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not stops.wait(PAUSE):
            most = max(most, sum(map(resident, list(children(os.getpid())))))

    watcher = threading.Thread(target=look)
    watcher.start()
    begin, count = time.perf_counter(), 0
    while count < STEPS or not (is_settled() or time.perf_counter() - begin > LONGEST):
        step()
        count += 1
    for _ in range(STEPS):  # with what was compiled last
        step()
    stops.set()
    watcher.join()
    return most / 2**20


def _size(paths: list[str]) -> float:
    kept = {os.path.realpath(p) for p in paths if not p.endswith(".pyc")}
    return sum(os.path.getsize(p) for p in kept if os.path.isfile(p)) / 1e6


def installed(package: str, with_keras: bool = False) -> float:
    """Megabytes of a package and, without extras, of all it requires; no .pyc, nothing for GPUs."""
    sizes: dict[str, float] = {}
    todo = [package, *(["keras"] if with_keras else [])]
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in sizes or CUDA_PACKAGES.search(name):
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
        sizes[name] = _size([f for f in files if not CUDA_FILES.search(f)])
        needed = [r for r in dist.requires or [] if "extra ==" not in r]
        todo += [re.match(r"[\w.-]+", r).group() for r in needed]
    return sum(sizes.values())


def size_of_mica() -> float:
    """Megabytes of the package as it was built, the library included."""
    import mica

    folder = os.path.dirname(mica.__file__)
    paths = [os.path.join(base, f) for base, _, files in os.walk(folder) for f in files]
    with open("/proc/self/maps") as maps:
        paths += [line.split()[-1] for line in maps if "libmica" in line]
    return _size(paths)
