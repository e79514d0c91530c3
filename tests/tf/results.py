"""What mica.tf gives for every case: python tests/tf/results.py [part of a case's name]

Cases run in a process of their own, so that one that ends it is reported like any other.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

LIMIT = 60.0  # seconds for one mode of a case
OPS = "ops"  # asked for in place of a case: the ops that have been used
used: set[str] = set()  # by the cases of the last run


def _work() -> None:
    """Reads names of cases, writes a line for each: {mode: null or what is wrong}."""
    import os

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import mica.tf as tf
    from mica import _mica

    ops: set[str] = set()
    _mica.tf_set_listener(lambda op, name, runner: ops.add(op))
    runner = corpus.Runner(tf)
    cases = corpus.load()
    _, golden = corpus.read_golden()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        name, mode = line.split()
        if name == OPS:
            answers.write(json.dumps(sorted(ops)) + "\n")
            answers.flush()
            continue
        case = cases[name]
        absent = [symbol for symbol in case.of if corpus.missing(tf, symbol)]
        if mode == "vmap" and corpus.missing(tf, "tf.vectorized_map"):
            absent.append("tf.vectorized_map")
        try:
            if absent:
                wrong = f"missing: {absent[0]}"
            else:
                wrong = corpus.compare(case, mode, runner.run(case, mode), golden[name])
        except Exception as error:
            text = (str(error) or "no message").splitlines()[-1 if "user code" in str(error) else 0]
            wrong = f"{type(error).__name__}: {text[:200]}"
        answers.write(json.dumps(wrong) + "\n")
        answers.flush()


class Worker:
    """A process that runs cases; a new one takes over where one has ended."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--work"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert self.process.stdout
            if not self.process.stdout.readline():
                raise RuntimeError(f"it does not start; see {sys.executable} {__file__} --work")
        return self.process

    def ask(self, name: str, mode: str) -> str | None:
        process = self.start()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(f"{name} {mode}\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], LIMIT)
            line = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, line = True, ""
        if line:
            return json.loads(line)
        process.kill()
        process.wait()
        self.process = None
        return "the process ended" if ready else f"no answer within {LIMIT:.0f} s"

    def stop(self) -> None:
        if self.process is not None:
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def run(part: str = "") -> dict[str, dict[str, str | None]]:
    """What is wrong with each mode of each case, or None."""
    worker = Worker()
    out = {}
    try:
        for name, case in corpus.load().items():
            if part in name:
                modes = (*case.modes, *case.more_modes)
                out[name] = {mode: worker.ask(name, mode) for mode in modes}
        used.clear()
        used.update(worker.ask(OPS, "-") or ())
    finally:
        worker.stop()
    return out


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        _work()
        return
    found = run(sys.argv[1] if len(sys.argv) > 1 else "")
    for name, modes in found.items():
        for mode, wrong in modes.items():
            if wrong:
                print(f"{name} {mode}: {wrong}")
    whole = sum(not any(modes.values()) for modes in found.values())
    print(f"{whole} of {len(found)} cases pass in every mode")


if __name__ == "__main__":
    main()
