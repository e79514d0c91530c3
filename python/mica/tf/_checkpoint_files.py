"""Files of checkpoints in a folder: which is the latest, which are kept, what is in them."""

from __future__ import annotations

import os
import re
import time
import warnings

from .. import _mica
from ._bundle import Bundle

_STATE = "checkpoint"
_LINE = re.compile(r'^(\w+): (?:"((?:[^"\\]|\\.)*)"|(\S+))$')


class CheckpointState:
    """What the file `checkpoint` of a folder says."""

    def __init__(
        self,
        model_checkpoint_path: str = "",
        all_model_checkpoint_paths=(),
        all_model_checkpoint_timestamps=(),
        last_preserved_timestamp: float = 0.0,
    ) -> None:
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = list(all_model_checkpoint_paths)
        self.all_model_checkpoint_timestamps = list(all_model_checkpoint_timestamps)
        self.last_preserved_timestamp = last_preserved_timestamp

    def __str__(self) -> str:
        def quoted(path: str) -> str:
            return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'

        lines = [f"model_checkpoint_path: {quoted(self.model_checkpoint_path)}"]
        lines += [
            f"all_model_checkpoint_paths: {quoted(p)}" for p in self.all_model_checkpoint_paths
        ]
        lines += [
            f"all_model_checkpoint_timestamps: {t!r}" for t in self.all_model_checkpoint_timestamps
        ]
        if self.last_preserved_timestamp:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp!r}")
        return "".join(line + "\n" for line in lines)


def update_checkpoint_state(
    folder: str, path: str, paths: list[str], times=(), preserved: float = 0.0
) -> None:
    """Write the file `checkpoint`; paths in the same folder are written without it."""

    def relative(name: str) -> str:
        inside = os.path.dirname(os.path.abspath(name)) == os.path.abspath(folder or ".")
        return os.path.basename(name) if inside else os.path.abspath(name)

    state = CheckpointState(relative(path), map(relative, paths), times, preserved)
    _mica.tf_file_replace(os.path.join(folder, _STATE), str(state).encode())


def get_checkpoint_state(checkpoint_dir, latest_filename=None) -> CheckpointState | None:
    """Return what the file `checkpoint` of a folder says, with whole paths, or None."""
    folder = os.fspath(checkpoint_dir)
    path = os.path.join(folder, latest_filename or _STATE)
    try:
        with open(path, encoding="utf-8") as file:
            return _state_of(file.read(), folder)
    except OSError:
        return None
    except ValueError as error:
        warnings.warn(f"{path}: Checkpoint ignored: {error}", stacklevel=2)
        return None


def _state_of(text: str, folder: str) -> CheckpointState | None:
    state = CheckpointState()
    for line in text.splitlines():
        found = _LINE.match(line.strip())
        if found is None:
            continue
        name, path, number = found.groups()
        if path is not None:
            path = os.path.join(folder, path.replace('\\"', '"').replace("\\\\", "\\"))
        if name == "model_checkpoint_path" and path:
            state.model_checkpoint_path = path
        elif name == "all_model_checkpoint_paths" and path:
            state.all_model_checkpoint_paths.append(path)
        elif name == "all_model_checkpoint_timestamps" and number:
            state.all_model_checkpoint_timestamps.append(float(number))
        elif name == "last_preserved_timestamp" and number:
            state.last_preserved_timestamp = float(number)
    return state if state.model_checkpoint_path else None


def latest_checkpoint(checkpoint_dir, latest_filename=None) -> str | None:
    """Return the path of the newest checkpoint of a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not os.path.isfile(state.model_checkpoint_path + ".index"):
        return None
    return state.model_checkpoint_path


# ---- tensors of a file ---------------------------------------------------------------------------


class CheckpointReader:
    """The tensors of a checkpoint, by their keys."""

    def __init__(self, path: str) -> None:
        self._bundle = Bundle(path)

    def get_tensor(self, tensor_str: str):
        """Return a tensor as numpy's."""
        return self._bundle[tensor_str].numpy()

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is such a tensor."""
        return tensor_str in self._bundle

    def get_variable_to_shape_map(self) -> dict:
        """Return the shapes of all tensors."""
        return {key: self._bundle.shape(key).as_list() for key in self._bundle}

    def get_variable_to_dtype_map(self) -> dict:
        """Return the dtypes of all tensors."""
        return {key: self._bundle.dtype(key) for key in self._bundle}


def load_checkpoint(ckpt_dir_or_file) -> CheckpointReader:
    """Return a reader of a checkpoint, or of the newest one of a folder."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = found
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file, name: str):
    """Return one tensor of a checkpoint as numpy's."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file) -> list[tuple[str, list[int]]]:
    """Return the keys and shapes of a checkpoint."""
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return [(name, shapes[name]) for name in sorted(shapes)]


# ---- several checkpoints in a folder -------------------------------------------------------------


class CheckpointManager:
    """Keeps the newest checkpoints of a folder and removes older ones.

    Parameters
    ----------
    checkpoint
        What is saved.
    directory
        Where.
    max_to_keep
        How many files stay; None: all.
    keep_checkpoint_every_n_hours
        One file in so many hours is never removed.
    step_counter, checkpoint_interval
        A variable that counts steps, and how many of them lie between two files.
    init_fn
        Called by restore_or_initialize when there is no file.
    last_checkpoint_step
        The step of the last file of an earlier run.
    """

    def __init__(
        self,
        checkpoint,
        directory,
        max_to_keep,
        keep_checkpoint_every_n_hours=None,
        checkpoint_name="ckpt",
        step_counter=None,
        checkpoint_interval=None,
        init_fn=None,
        last_checkpoint_step=None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._name = checkpoint_name
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._last_step = last_checkpoint_step
        self._init_fn = init_fn
        self._kept: dict[str, float] = {}  # may be removed: path -> time
        self._latest = None
        self._preserved = time.time()
        self._recover()

    def _recover(self) -> None:
        """Go on with the files of an earlier run."""
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        self._latest = state.model_checkpoint_path
        now = time.time()
        times = state.all_model_checkpoint_timestamps
        for i, path in enumerate(state.all_model_checkpoint_paths):
            self._kept[path] = times[i] if i < len(times) else now
        if state.last_preserved_timestamp:
            self._preserved = state.last_preserved_timestamp

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self):
        """What is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self):
        """The number of steps between two files."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the newest file, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the files that may be removed, oldest first."""
        return list(self._kept)

    def save(self, checkpoint_number=None, check_interval: bool = True, options=None):
        """Write a file and remove those that are too many; returns its path, or None."""
        if self._interval is not None:
            step = int(self._step_counter)
            if check_interval and self._last_step is not None:
                if step < self._last_step + self._interval:
                    return None
            self._last_step = step
        if checkpoint_number is None:
            self._checkpoint.save_counter.assign_add(1)
            checkpoint_number = int(self._checkpoint.save_counter)
        number = int(checkpoint_number)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"))
        self._latest = path
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        removed = self._too_many()
        update_checkpoint_state(
            self._directory, path, list(self._kept), self._kept.values(), self._preserved
        )
        for old in removed:
            _mica.tf_bundle_remove(old)
        return path

    def _too_many(self) -> list[str]:
        removed = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            made = self._kept.pop(path)
            if self._hours is not None and made - self._hours * 3600.0 >= self._preserved:
                self._preserved = made  # it stays for ever
            else:
                removed.append(path)
        return removed

    def restore_or_initialize(self) -> str | None:
        """Restore the newest file; without one, call init_fn. Returns the file's path, or None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._step_counter is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Do nothing: writing is over when `save` returns."""


def checkpoints_iterator(
    checkpoint_dir, min_interval_secs: float = 0, timeout=None, timeout_fn=None
):
    """Yield the path of the newest checkpoint of a folder, and again when there is a newer one."""
    before, began = None, time.time()
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != before:
            before, began = path, time.time()
            yield path
            time.sleep(max(0.0, began + min_interval_secs - time.time()))
        elif timeout is not None and time.time() - began > timeout:
            if timeout_fn is None or timeout_fn():
                return
            began = time.time()
        else:
            time.sleep(min(1.0, timeout or 1.0) / 10)
