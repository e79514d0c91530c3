"""Answers many calls in processes that may crash or hang without harm to the rest."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from pathlib import Path

WORKER = Path(__file__).resolve().parent / "worker.py"


class Process:
    """One worker. A call that it does not survive is answered {"x": why}."""

    def __init__(self, python: str, module: str, limit: float, environment: dict):
        self.command = [python, str(WORKER), module]
        self.limit = limit
        self.environment = {**os.environ, **environment}
        self.child = None

    def start(self) -> None:
        self.child = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )

    def answer(self, call: dict) -> dict:
        fresh = self.child is None
        if fresh:
            self.start()
        child = self.child
        late = threading.Timer(self.limit + (120 if fresh else 0), child.kill)
        late.start()
        try:
            child.stdin.write(json.dumps(call) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except BrokenPipeError:
            line = ""
        expired = not late.is_alive()
        late.cancel()
        if line:
            return json.loads(line)
        code = child.wait()
        child.stdin.close()
        child.stdout.close()
        self.child = None
        return {"x": "hangs" if expired else f"crashes: {code}"}

    def end(self) -> None:
        if self.child is not None:
            self.child.stdin.close()
            self.child.wait()
            self.child.stdout.close()
            self.child = None


def answers(
    calls: list[dict],
    python: str,
    module: str,
    processes: int = 2,
    limit: float = 30.0,
    environment: dict | None = None,
    progress=None,
) -> list[dict]:
    """The answer of every call, in order."""
    found: list = [None] * len(calls)
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    chunk = 50
    for start in range(0, len(calls), chunk):
        waiting.put(range(start, min(start + chunk, len(calls))))
    failures: list = []

    def serve() -> None:
        process = Process(python, module, limit, environment or {})
        try:
            while True:
                try:
                    numbers = waiting.get_nowait()
                except queue.Empty:
                    return
                for i in numbers:
                    found[i] = process.answer(calls[i])
                if progress:
                    progress(numbers[-1] + 1)
        except BaseException as error:
            failures.append(error)
        finally:
            process.end()

    threads = [threading.Thread(target=serve) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found
