"""Runs the tests of an installed Keras, a process per file, and says what became of each id.

An id is pytest's, from the folder of the package: `src/ops/nn_test.py::NNTest::test_relu`. A test
that ends its process, or lasts or grows beyond the limits, has failed with that as its message, and
the tests after it run in a new process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_PER_TEST = 240
SECONDS_PER_FILE = 1500
BYTES_PER_FILE = 5 << 30


@dataclasses.dataclass
class Result:
    """What became of one test."""

    outcome: str  # passed, failed, skipped
    seconds: float = 0.0
    message: str = ""


def package(python: str = sys.executable) -> pathlib.Path:
    """The folder of the Keras that `python` has."""
    found = subprocess.run(
        [python, "-c", "import importlib.util as u; print(u.find_spec('keras').origin)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return pathlib.Path(found.stdout.strip()).parent


def files(keras: pathlib.Path) -> list[str]:
    """The test files of a Keras, as the beginnings of their ids."""
    return sorted(str(path.relative_to(keras)) for path in keras.rglob("*_test.py"))


def folder(name: str) -> str:
    """The folder of an id or file that a report names: two levels of `layers`, one of the rest."""
    parts = name.split("::")[0].split("/")[1:-1]
    return "/".join(parts[:2]) or "."


def resident_bytes(process: int) -> int:
    """The memory of a process and its children."""
    total = 0
    with contextlib.suppress(OSError, ValueError):  # it ends while it is asked
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) << 10
        children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text()
        total += sum(resident_bytes(int(child)) for child in children.split())
    return total


class Runner:
    """Runs files of tests with one Python: `command` is what comes before pytest's arguments."""

    def __init__(self, command: list[str], keras: pathlib.Path, log: pathlib.Path | None = None):
        self.command, self.keras, self.log = command, keras, log
        self.seconds_per_test, self.seconds_per_file = SECONDS_PER_TEST, SECONDS_PER_FILE
        self.lock = threading.Lock()

    def environment(self, home: str, journal: str, ids: str | None) -> dict[str, str]:
        found = dict(os.environ)
        path = [str(HERE / "plugin"), *filter(None, [found.get("PYTHONPATH")])]
        found.update(
            KERAS_BACKEND="tensorflow",
            KERAS_TESTS_JOURNAL=journal,
            HOME=home,
            TMPDIR=home,
            KERAS_HOME=home + "/.keras",
            CUDA_VISIBLE_DEVICES="",
            TF_CPP_MIN_LOG_LEVEL="3",
            TF_NUM_INTRAOP_THREADS="1",
            TF_NUM_INTEROP_THREADS="1",
            OMP_NUM_THREADS="1",
            PYTHONPATH=os.pathsep.join(path),
            PYTHONDONTWRITEBYTECODE="1",
        )
        found.pop("KERAS_TESTS_IDS", None)
        if ids is not None:
            found["KERAS_TESTS_IDS"] = ids
        return found

    def once(self, names: list[str], wanted: set[str] | None, home: str):
        """One process: the events it wrote, and why it was ended (empty when it ended itself)."""
        journal, ids = home + "/journal", None
        pathlib.Path(journal).write_text("")
        if wanted is not None:
            ids = home + "/ids"
            pathlib.Path(ids).write_text("\n".join(sorted(wanted)))
        arguments = ["-p", "conftest", "-p", "no:cacheprovider", "-q", "--no-header", "--tb=short"]
        arguments += ["--rootdir", str(self.keras), "-c", os.devnull, "-o", "addopts="]
        arguments += [
            "--disable-warnings",
            "--continue-on-collection-errors",
            *(str(self.keras / name) for name in names),
        ]
        with open(home + "/output", "wb") as output:
            process = subprocess.Popen(
                [*self.command, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=home,
                env=self.environment(home, journal, ids),
            )
            begin, why = time.monotonic(), ""
            while process.poll() is None:
                time.sleep(0.25)
                silent = time.time() - os.stat(journal).st_mtime
                if silent > self.seconds_per_test:
                    why = f"no end within {self.seconds_per_test} seconds"
                elif time.monotonic() - begin > self.seconds_per_file:
                    why = f"the file took longer than {self.seconds_per_file} seconds"
                elif resident_bytes(process.pid) > BYTES_PER_FILE:
                    why = f"more than {BYTES_PER_FILE >> 30} GiB of memory"
                if why:
                    process.kill()
                    process.wait()
        if not why and process.returncode not in (0, 1, 5):
            why = f"the process ended with {process.returncode}"
        events = [json.loads(line) for line in open(journal, encoding="utf-8") if "\n" in line]
        if self.log is not None:
            with self.lock, open(self.log, "ab") as log:
                log.write(f"==== {' '.join(names)[:200]}: {why or 'ended'}\n".encode())
                log.write(pathlib.Path(home + "/output").read_bytes())
        return events, why

    def run(self, names: list[str], wanted: set[str] | None = None) -> dict[str, Result]:
        """The results of all tests of some files, or of those of them that are wanted."""
        results: dict[str, Result] = {}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            while True:
                events, why = self.once(names, wanted, home)
                collected, running = [], None
                for event in events:
                    if event[0] == "collected":
                        collected.append(event[1])
                    elif event[0] == "start":
                        running = event[1]
                    else:
                        results[event[1]] = Result(*[event[0], *event[2:]])
                        running = None
                if not why:
                    return results
                if running is None:  # before, between or after tests: the file as a whole
                    results["/".join(names[:1])] = Result("failed", 0.0, why)
                    return results
                results[running] = Result("failed", 0.0, why)
                wanted = set(collected) - set(results)
                if not wanted:
                    return results


def run_all(runner: Runner, jobs: list[tuple[list[str], set[str] | None]], workers: int, done):
    """Runs jobs (files, the wanted ids), `workers` at a time; `done(files, results)` after each."""
    waiting = iter(jobs)
    lock = threading.Lock()
    failures: list[BaseException] = []

    def work():
        while not failures:
            with lock:
                job = next(waiting, None)
            if job is None:
                return
            try:
                results = runner.run(*job)
                with lock:
                    done(job[0], results)
            except BaseException as error:  # handed to the caller below
                failures.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
