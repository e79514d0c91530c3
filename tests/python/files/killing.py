"""What a writer leaves behind when it is killed: between two system calls, or at any moment."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import signal
import sys
import traceback
from pathlib import Path

_TRACEME, _SYSCALL, _SETOPTIONS = 0, 24, 0x4200
_KILL_WITH_TRACER = 0x100000


def is_possible() -> bool:
    """Whether system calls of children can be followed here."""
    return sys.platform == "linux"


def _ptrace(request: int, pid: int, data: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, pid, None, data) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def _report(to: int, status: str, value=None) -> None:
    with os.fdopen(to, "wb") as file:
        pickle.dump((status, value), file)


class Child:
    """A forked process that makes a writer, tells so, and calls it.

    The process that forks must not have used Mica: its children could not.
    """

    def __init__(self, make, *arguments, is_traced: bool = False) -> None:
        ready, to = os.pipe()
        self._result, result = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ready)
            os.close(self._result)
            try:
                write = make(*arguments)
                if is_traced:
                    _ptrace(_TRACEME, 0)
                    os.kill(os.getpid(), signal.SIGSTOP)
                else:
                    os.write(to, b"!")
                _report(result, "value", write())
                os._exit(0)
            except BaseException:
                _report(result, "error", traceback.format_exc())
                os._exit(1)
        os.close(to)
        os.close(result)
        if not is_traced:
            os.read(ready, 1)
        os.close(ready)

    def kill(self) -> bool:
        """End it; whether it was still at work."""
        os.kill(self.pid, signal.SIGKILL)
        os.close(self._result)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) == -signal.SIGKILL

    def result(self):
        """What the writer returned, once it has ended by itself."""
        with os.fdopen(self._result, "rb") as file:
            status, value = pickle.load(file)
        assert status == "value", value
        return value


def call(function, *arguments):
    """Call a function in a child and return what it returns."""
    child = Child(lambda: lambda: function(*arguments))
    value = child.result()
    os.waitpid(child.pid, 0)
    return value


class Service:
    """A child that calls a function again and again."""

    def __init__(self, function) -> None:
        asked, self._ask = os.pipe()
        self._answers, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._ask)
            with os.fdopen(asked, "rb") as questions, os.fdopen(answer, "wb") as answers:
                while questions.read(1):
                    try:
                        found = "value", function()
                    except BaseException:
                        found = "error", traceback.format_exc()
                    pickle.dump(found, answers)
                    answers.flush()
            os._exit(0)
        os.close(asked)
        os.close(answer)
        self._file = os.fdopen(self._answers, "rb")

    def __call__(self):
        os.write(self._ask, b"?")
        status, value = pickle.load(self._file)
        assert status == "value", value
        return value

    def end(self) -> None:
        os.close(self._ask)
        os.waitpid(self.pid, 0)
        self._file.close()


def fingerprint(folder: Path) -> tuple:
    """What tells two states of a folder apart."""
    found = []
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        found.append((str(path), about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    return tuple(found)


def states(make, folder: Path, copies: Path, *arguments) -> tuple[int, list[Path]]:
    """Call a writer in a child that is stopped before and after each of its system calls.

    Returns the number of system calls and a copy of every state that the folder was in: what a kill
    there would have left.
    """
    child = Child(make, *arguments, is_traced=True)
    os.waitpid(child.pid, 0)
    _ptrace(_SETOPTIONS, child.pid, 1 | _KILL_WITH_TRACER)
    made: list[Path] = []
    before, stops, passed = None, 0, 0
    while True:
        now = fingerprint(folder)
        if now != before:
            before = now
            made.append(copies / str(len(made)))
            shutil.copytree(folder, made[-1], symlinks=True)
        _ptrace(_SYSCALL, child.pid, passed)
        status = os.waitpid(child.pid, 0)[1]
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            child.result()
            return stops // 2, made
        is_call = os.WSTOPSIG(status) == signal.SIGTRAP | 0x80
        passed = 0 if is_call else os.WSTOPSIG(status)
        stops += is_call
