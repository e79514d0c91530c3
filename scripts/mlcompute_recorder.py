"""A plugin of pytest that watches what tests call of mlcompute, and takes it away.

    pytest -p mlcompute_recorder ...          (with scripts/ on PYTHONPATH)

Every call of a function of the library is made by a stand-in. It notes the function, the
enumerations' values among its arguments, and the descriptors' fields that are looked at, under the
test that runs. What is noted has a key: "mlc_graph_node", "mlc_loss_type:HINGE",
"mlc_matmul_descriptor.alpha".

With MLCOMPUTE_RECORD=FILE the notes are written to a file. With MLCOMPUTE_NOOPS=FILE the keys that
the file lists are, one after the other, made to do nothing, and the tests that call them run again
until one fails; the file is written anew with the test that failed, or null.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/_mlcompute"))

import headers as mlc_headers  # noqa: E402

HEADERS = mlc_headers.read(ROOT / "include/mica")
NUMBERS = {"int64_t", "int32_t", "uint64_t", "size_t", "float", "double"}
ENUM_VALUES = {
    name: {number: short for short, number in mlc_headers.short_names(enumeration).items()}
    for name, enumeration in HEADERS.enumerations.items()
}
FIELD_ENUMS = {
    struct.name: {
        mlc_headers.snake(member[1:]): parameter.type
        for parameter, member, _ in struct.fields
        if parameter.type in ENUM_VALUES
    }
    for struct in HEADERS.structs.values()
}


def enum_key(enumeration: str, value: object) -> str | None:
    """The key of a value that is given as a number or a name."""
    if isinstance(value, str):
        plain = value.replace("_", "").lower()
        names = (
            n for n in ENUM_VALUES[enumeration].values() if n.replace("_", "").lower() == plain
        )
        name = next(names, None)
    else:
        name = ENUM_VALUES[enumeration].get(value) if isinstance(value, int) else None
    return f"{enumeration}:{name}" if name else None


def flag_keys(enumeration: str, value: object) -> list[str]:
    if not isinstance(value, int):
        return []
    if value == 0:
        return [f"{enumeration}:NONE"]
    return [
        f"{enumeration}:{name}" for bit, name in ENUM_VALUES[enumeration].items() if value & bit
    ]


class StandIn:
    """In the place of the extension, for the package's modules."""

    def __init__(self, real: object) -> None:
        self.real = real
        self.noted: set[str] = set()
        self.gone = ""  # the key that does nothing

    def __getattr__(self, name: str) -> object:
        found = getattr(self.real, name)
        if not name.startswith("mlc_"):
            return found
        function = HEADERS.functions.get(name)

        def call(*args: object) -> object:
            self.note(name)
            args = self.look(function, args)
            if self.gone == name:
                return nothing(function)
            return found(*args)

        return call

    def note(self, key: str) -> None:
        self.noted.add(key)

    def other(self, enumeration: str, value: int, key: str) -> int:
        """Another value, when the one given does nothing."""
        if self.gone != key:
            return value
        numbers = list(ENUM_VALUES[enumeration])
        return numbers[(numbers.index(value) + 1) % len(numbers)]

    def look(self, function: object, given: tuple) -> tuple:
        """Note values among the arguments; change those that do nothing."""
        args = list(given)
        parameters = [] if function is None else function.parameters
        visible = [p for p in parameters if not (p.name.startswith("out_") and "*" in p.type)]
        visible = [p for p in visible if p.name != "length"]
        for i, (p, value) in enumerate(zip(visible, args, strict=False)):
            if p.type in ENUM_VALUES and (key := enum_key(p.type, value)):
                self.note(key)
                number = HEADERS.enumerations[p.type].values
                number = mlc_headers.short_names(HEADERS.enumerations[p.type])[key.split(":")[1]]
                args[i] = self.other(p.type, number, key)
            elif p.name == "options":
                args[i] = self.flags("mlc_graph_compilation_options", value)
            elif p.type == "const mlc_execution *":
                options = self.flags("mlc_execution_options", value[5])
                args[i] = (*value[:5], options, value[6])
            elif hasattr(value, "_fields"):
                args[i] = self.fields(value)
        return tuple(args)

    def flags(self, enumeration: str, value: int) -> int:
        for key in flag_keys(enumeration, value):
            self.note(key)
            if self.gone == key:
                names = mlc_headers.short_names(HEADERS.enumerations[enumeration])
                value = int(value) & ~names[key.split(":")[1]]
                if key.endswith(":NONE"):
                    value = 1
        return value

    def fields(self, descriptor: object) -> object:
        struct = descriptor._fields["_struct"]
        for name, enumeration in FIELD_ENUMS[struct].items():
            key = enum_key(enumeration, descriptor._fields[name])
            if key:
                self.note(key)
            if key and self.gone == key:
                changed = descriptor.copy()
                number = int(descriptor._fields[name])
                changed._fields[name] = self.other(enumeration, number, key)
                return changed
        return descriptor


def nothing(function: object) -> object:
    """What a function answers that does nothing."""
    if function is None or any(p.name.startswith("out_") for p in function.parameters):
        return None
    if function.type == "mica_status":
        return True
    if function.type in NUMBERS:
        return 0
    if function.type in ENUM_VALUES:
        return None
    if function.type == "bool":
        return False
    if function.type == "const char *":
        return ""
    if function.type == "mica_ints" or function.type.endswith(("s", "_list")):
        return []
    return None


class Watch:
    """The plugin: one stand-in, and what each test noted."""

    def __init__(self) -> None:
        self.stand_in: StandIn | None = None
        self.notes: dict[str, set[str]] = {}

    def begin(self) -> None:
        import mlcompute
        from mlcompute import _core, _descriptors, _graphs, _layers, _tensors

        self.stand_in = StandIn(mlcompute._mlcompute)
        for module in (_core, _descriptors, _graphs, _layers, _tensors):
            module._c = self.stand_in
        for cls in _core._structs.values():
            for name, found in list(vars(cls).items()):
                key = getattr(getattr(found, "fget", None), "c_name", None)
                if key:
                    setattr(cls, name, self.watched(found, key))

    def watched(self, found: property, key: str) -> property:
        stand_in = self.stand_in

        def get(self: object) -> object:
            stand_in.note(key)
            return None if stand_in.gone == key else found.fget(self)

        def put(self: object, value: object) -> None:
            if stand_in.gone != key:
                found.fset(self, value)

        get.c_name = key
        return property(get, put, doc=found.__doc__)

    def run(self, item: pytest.Item) -> bool:
        """Whether the test passes."""
        self.stand_in.noted = set()
        reports = runtestprotocol(item, nextitem=None, log=False)
        return all(report.passed or report.skipped for report in reports)

    def find_failing(self, key: str, items: list[pytest.Item]) -> str | None:
        self.stand_in.gone = key
        try:
            for item in items:
                signal.alarm(30)
                if not self.run(item):
                    return item.nodeid
        finally:
            signal.alarm(0)
            self.stand_in.gone = ""
        return None


watch = Watch()


def too_long(number: int, frame: object) -> None:
    raise TimeoutError("the test took too long")


def pytest_sessionstart() -> None:
    watch.begin()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    if session.testsfailed or session.config.option.collectonly:
        return True
    failed = []
    for item in session.items:
        if not watch.run(item):
            failed.append(item.nodeid)
        watch.notes[item.nodeid] = set(watch.stand_in.noted)
    if failed:
        print("failed before anything was taken away:", *failed[:20])
        session.testsfailed = len(failed)
    record = os.environ.get("MLCOMPUTE_RECORD")
    if record:
        notes = {test: sorted(keys) for test, keys in watch.notes.items()}
        Path(record).write_text(json.dumps(notes, indent=1), encoding="utf-8")
    noops = os.environ.get("MLCOMPUTE_NOOPS")
    if noops and not failed:
        take_away(session, Path(noops))
    return True


def liking(test: str) -> tuple:
    """Tests of members come first, those with the fewest calls before others."""
    return ("test_mlcompute.py" in test, "bad_argument" in test, len(watch.notes[test]))


def take_away(session: pytest.Session, path: Path) -> None:
    signal.signal(signal.SIGALRM, too_long)
    wanted = json.loads(path.read_text(encoding="utf-8"))
    places = {test: i for i, test in enumerate(watch.notes)}
    found = {}
    for key, first in wanted.items():
        tests = [test for test, keys in watch.notes.items() if key in keys]
        tests.sort(key=lambda test: (test != first, *liking(test), places[test]))
        items = {item.nodeid: item for item in session.items}
        with suppress(KeyboardInterrupt):
            found[key] = watch.find_failing(key, [items[test] for test in tests])
        path.write_text(json.dumps(found | {k: None for k in wanted if k not in found}))
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
