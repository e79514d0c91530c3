"""Real files with damage, read in a process of little memory; test_tf_damage.py starts it.

    file_damage.py <kind> <folder> <seed> <rounds>

Each round changes a file: bits, bytes, cuts, parts of it moved elsewhere, and, where it is made of
messages, one field deep inside, so that all else fits. It is read, and what comes out is an error
that is promised, with the file's name, or a model.
"""

from __future__ import annotations

import random
import resource
import shutil
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

import mica.tf as tf
from mica.tf._bundle import Bundle, write_bundle
from mica.tf._proto import _tagged, _varint, pieces

ROOT = Path(__file__).resolve().parents[3]
PROMISED = (tf.errors.OpError, OSError, ValueError, NotImplementedError)
ROOM = 1 << 30  # more than any sound file here takes
NUMBERS = (0, 1, 2, 7, 23, 127, 128, 255, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 64) - 1)


# ---- damage --------------------------------------------------------------------------------------


def changed_bytes(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    kind = chance.randrange(6)
    place, other = chance.randrange(len(data)), chance.randrange(len(data))
    size = chance.choice((1, 2, 4, 8, 64, 1024))
    if kind == 0:
        for _ in range(chance.randint(1, 4)):
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    elif kind == 1:
        made[place] = chance.randrange(256)
    elif kind == 2:
        del made[place:]
    elif kind == 3:
        del made[place : place + size]
    elif kind == 4:
        made[place:place] = made[other : other + size]
    else:
        made[place : place + size] = made[other : other + size]
    return bytes(made)


def fields(data: bytes):
    """The fields of a message; None for what is none."""
    try:
        found = list(pieces(data))
    except ValueError:
        return None
    return found or None


def written(number: int, wire: int, content) -> bytes:
    if wire == 2:
        return _tagged(number, content)
    return _varint(number << 3 | wire) + (_varint(content) if wire == 0 else content)


def changed_message(data: bytes, chance: random.Random) -> bytes:
    """One field somewhere inside is changed, and lengths are right."""
    found = fields(data)
    if found is None:
        return changed_bytes(data, chance) if data else b"\0"
    i = chance.randrange(len(found))
    number, wire, content = found[i]
    if wire == 2 and content and chance.random() < 0.85:
        found[i] = number, wire, changed_message(content, chance)
    else:
        kind = chance.randrange(6)
        if kind == 0:
            del found[i]
        elif kind == 1:
            found.append(found[i])
        elif kind == 2:
            found[i] = chance.randrange(1, 60), wire, content
        elif kind == 3:
            found[i] = number, 0, chance.choice(NUMBERS)
        elif kind == 4:
            found[i] = number, 2, chance.choice(found)[2] if wire == 0 else b""
            if not isinstance(found[i][2], bytes):
                found[i] = number, 2, b"x"
        elif wire == 0:
            found[i] = number, wire, chance.choice(NUMBERS)
        else:
            swapped = chance.choice([f for f in found if f[1] == wire])
            found[i] = number, wire, swapped[2]
    return b"".join(written(*field) for field in found)


# ---- files ---------------------------------------------------------------------------------------


class SavedModel:
    """The program of a SavedModel."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        shutil.copytree(ROOT / "tests/tf/saved_models" / name, self.folder)
        self.path = self.folder / "saved_model.pb"
        self.data = self.path.read_bytes()

    def change(self, chance: random.Random) -> None:
        change = chance.choice((changed_message, changed_message, changed_bytes))
        self.path.write_bytes(change(self.data, chance))

    def read(self) -> None:
        model = tf.saved_model.load(str(self.folder))
        signatures = getattr(model, "signatures", None)
        functions = list(signatures.values()) if isinstance(signatures, Mapping) else []
        for value in vars(model).values():
            functions += getattr(value, "concrete_functions", [])
        for function in functions:
            _ = getattr(function, "_function", None)  # builds the graph

    def is_named(self, message: str) -> bool:
        return str(self.folder) in message


class Variables(SavedModel):
    """The variables of a SavedModel: the graph of objects in them, with right sums."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        bundle = Bundle(str(self.folder / "variables/variables"))
        self.tensors = {key: bundle[key] for key in bundle}
        self.objects = bundle.text("_CHECKPOINTABLE_OBJECT_GRAPH")

    def change(self, chance: random.Random) -> None:
        changed = tf.constant(changed_message(self.objects, chance))
        tensors = self.tensors | {"_CHECKPOINTABLE_OBJECT_GRAPH": changed}
        if chance.random() < 0.3:
            del tensors[chance.choice(list(tensors))]
        write_bundle(str(self.folder / "variables/variables"), tensors)


class Index(SavedModel):
    """The index of a checkpoint."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self.path = self.folder / "variables/variables.index"
        self.data = self.path.read_bytes()

    def change(self, chance: random.Random) -> None:
        self.path.write_bytes(changed_bytes(self.data, chance))


class Checkpoint:
    """A folder of checkpoints: the file that says which, and the graph of objects."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / "checkpoints"
        self.model = tf.train.Checkpoint(x=tf.Variable([1.0, 2.0]), y=[tf.Variable("text")])
        tf.train.CheckpointManager(self.model, str(self.folder), 3).save()
        self.state = (self.folder / "checkpoint").read_bytes()
        self.prefix = str(self.folder / "ckpt-1")
        bundle = Bundle(self.prefix)
        self.tensors = {key: bundle[key] for key in bundle}
        self.objects = bundle.text("_CHECKPOINTABLE_OBJECT_GRAPH")

    def change(self, chance: random.Random) -> None:
        state, objects, tensors = self.state, self.objects, dict(self.tensors)
        if chance.random() < 0.3:
            state = changed_bytes(state, chance)
        else:
            objects = changed_message(objects, chance)
            if chance.random() < 0.2:
                del tensors[chance.choice(list(tensors))]
        (self.folder / "checkpoint").write_bytes(state)
        tensors["_CHECKPOINTABLE_OBJECT_GRAPH"] = tf.constant(objects)
        write_bundle(self.prefix, tensors)

    def read(self) -> None:
        tf.train.list_variables(self.prefix)
        tf.train.latest_checkpoint(str(self.folder))
        status = self.model.restore(self.prefix)
        try:
            status.assert_consumed()
        except AssertionError:  # it is the promise of assert_consumed
            pass

    def is_named(self, message: str) -> bool:
        return True  # errors of variables name the variable


class Lite:
    """A .tflite file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / "model.tflite"
        self.data = (ROOT / "tests/tf/lite" / name).read_bytes()

    def change(self, chance: random.Random) -> None:
        self.path.write_bytes(changed_bytes(self.data, chance))

    def read(self) -> None:
        interpreter = tf.lite.Interpreter(model_path=str(self.path))
        try:
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError):  # TensorFlow's, without a name
            pass

    def is_named(self, message: str) -> bool:
        return str(self.path) in message


KINDS = {
    "saved_model": (SavedModel, ("dense", "control")),
    "variables": (Variables, ("dense",)),
    "index": (Index, ("dense",)),
    "checkpoint": (Checkpoint, ("",)),
    "lite": (Lite, ("convnet_float32.tflite", "loop_float32.tflite")),
}


def main(kind: str, folder: str, seed: str, rounds: str) -> None:
    warnings.simplefilter("ignore")
    make, names = KINDS[kind]
    files = []
    for name in names:
        (Path(folder) / name).mkdir(exist_ok=True)
        files.append(make(Path(folder) / name, name))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    refused = 0
    for i in range(int(rounds)):
        chance = random.Random(f"{seed} {i}")
        file = files[i % len(files)]
        file.change(chance)
        try:
            file.read()
        except PROMISED as error:
            refused += 1
            assert file.is_named(str(error)), f"round {i}: {error!r} does not name its file"
        except BaseException as error:
            raise SystemExit(f"round {i} of {kind}: {type(error).__name__}: {error}") from error
    print(f"{rounds} changed files of {kind}, {refused} refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
