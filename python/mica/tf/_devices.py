"""Devices: which there are, which may be seen, and where ops are asked to go."""

from __future__ import annotations

import sys
from typing import NamedTuple

from .. import _mica
from . import errors


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as ops see it; a physical one may be several."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """What one logical device is given of a physical one."""

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


_KINDS = {"cpu": "CPU", "cuda": "GPU", "opencl": "GPU", "fake": "FAKE"}
_visible: list | None = None
_virtual: dict[str, list] = {}
_growth: dict[str, bool] = {}
_soft_placement = True
_log_placement = False
_listed = False  # whether logical devices have been shown
_stack: list = []
remote_devices: list[LogicalDevice] = []  # of the tasks that have been connected to
_noted: set = set()


def physical_devices() -> list[PhysicalDevice]:
    """Return all devices of the machine that compute."""
    found = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    gpus = 0
    for info in _mica.devices():
        kind = _KINDS.get(info["name"].partition(":")[0])
        if kind == "GPU" and info["available"] and info["priority"] >= 0:
            found.append(PhysicalDevice(f"/physical_device:GPU:{gpus}", "GPU"))
            gpus += 1
    return found


def library_name(kind: str, number: int | None) -> str | None:
    """Return the library's name of a device, such as "cuda:0"; None: there is no such device."""
    if kind == "CPU":
        return "cpu"
    names = [
        info["name"]
        for info in _mica.devices()
        if _KINDS.get(info["name"].partition(":")[0]) == kind
        and info["available"]
        and (info["priority"] >= 0 or kind == "FAKE")
    ]
    return names[number or 0] if 0 <= (number or 0) < len(names) else None


def details(device) -> dict:
    """Return what the library's description says of a device: of a CPU, nothing."""
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    number = int(device.name.rpartition(":")[2])
    found = library_name(device.device_type, number)
    if device.device_type == "CPU" or found is None:
        return {}
    (info,) = [info for info in _mica.devices() if info["name"] == found]
    name, *rest = info["description"].split(", ")
    known: dict = {"device_name": name}
    for part in rest:
        what, _, value = part.partition(" ")
        if what == "capability":
            known["compute_capability"] = tuple(int(n) for n in value.split("."))
    return known


def visible_devices() -> list[PhysicalDevice]:
    """Return the devices that may be used."""
    return physical_devices() if _visible is None else list(_visible)


def is_started() -> bool:
    """Whether something has run, or devices have been shown: from then on they stay."""
    return _listed or _mica.tf_is_started()


def restart() -> None:
    """Forget how devices are divided and which are visible, as if nothing had run yet."""
    global _visible, _soft_placement, _listed
    _visible, _soft_placement, _listed = None, True, False
    _virtual.clear()
    _growth.clear()
    remote_devices.clear()
    set_log_placement(False)
    _mica.tf_restart()


def _check(device) -> None:
    if device not in physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def set_visible(devices, device_type=None) -> None:
    """Say which devices may be used."""
    global _visible
    devices = [] if devices is None else devices
    if not isinstance(devices, list | tuple):
        devices = [devices]
    for device in devices:
        _check(device)
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r}")
    kept = [d for d in visible_devices() if device_type not in (None, d.device_type)]
    wanted = kept + list(devices)
    if wanted == visible_devices():
        return
    if is_started():
        raise RuntimeError("Visible devices cannot be modified after being initialized")
    _visible = wanted


def listed_devices() -> list[LogicalDevice]:
    """Return the devices that ops can be placed on; from then on they stay what they are."""
    global _listed
    _listed = True
    return logical_devices() + remote_devices


def logical_devices() -> list[LogicalDevice]:
    """Return the devices that ops can be placed on."""
    counts: dict[str, int] = {}
    found = []
    for device in visible_devices():
        for _ in range(len(_virtual.get(device.name, [None])) or 1):
            kind = device.device_type
            number = counts.get(kind, 0)
            counts[kind] = number + 1
            found.append(LogicalDevice(f"/device:{kind}:{number}", kind))
    return found


def set_logical_configuration(device: PhysicalDevice, configurations) -> None:
    """Divide a physical device into logical ones."""
    _check(device)
    wanted = list(configurations or [])
    for configuration in wanted if device.device_type == "CPU" else ():
        for what, name in (("memory_limit", "memory limit"), ("experimental_priority", "priority")):
            if getattr(configuration, what) is not None:
                message = f"Setting {name} on CPU virtual devices is currently not supported"
                raise ValueError(message)
    if _virtual.get(device.name) == wanted:
        return
    if is_started():
        raise RuntimeError("Virtual devices cannot be modified after being initialized")
    _virtual[device.name] = wanted
    limits = [configuration.memory_limit for configuration in wanted]
    if limits and None not in limits:
        name = library_name(device.device_type, int(device.name.rpartition(":")[2]))
        _mica.device(name).limit_memory(int(sum(limits) * 2**20))


def logical_configuration(device: PhysicalDevice):
    """Return how a physical device is divided, or None."""
    _check(device)
    return _virtual.get(device.name)


def set_growth(device: PhysicalDevice, enable: bool) -> None:
    """Say whether memory is taken as it is needed; it always is."""
    _check(device)
    if device.name in _virtual:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    if _growth.get(device.name) == bool(enable):
        return
    if is_started():
        raise RuntimeError("Physical devices cannot be modified after being initialized")
    _growth[device.name] = bool(enable)


def growth(device: PhysicalDevice) -> bool:
    """Whether memory is taken as it is needed."""
    _check(device)
    if device.device_type != "GPU":
        raise KeyError(device)
    return _growth.get(device.name, True)


def set_soft_placement(enabled: bool) -> None:
    """Say whether ops go to the CPU where the device asked for is not there."""
    global _soft_placement
    _soft_placement = bool(enabled)


def soft_placement() -> bool:
    """Whether ops go to the CPU where the device asked for is not there."""
    return _soft_placement


def set_log_placement(enabled: bool) -> None:
    """Say whether the device of every op is written to standard error."""
    global _log_placement
    _log_placement = bool(enabled)
    _mica.tf_set_listener(_write_placement if _log_placement else None)


def _write_placement(op: str, name: str | None, runner) -> None:
    """Write where an op runs, or the node of a function: its name is given then."""
    place = "/job:localhost/replica:0/task:0/device:CPU:0" if runner is None else runner.name
    if name is None:
        line = f"Executing op {op} in device {place}"
    else:
        line = f"{name or op}: ({op}): {place}"
    sys.stderr.write(line + "\n")


def placement_text(graph) -> str:
    """Return a line for each node of a graph with the device that it runs on."""
    place = "/job:localhost/replica:0/task:0/device:CPU:0"
    return "\n".join(f"{o.name}: ({o.type}): {place}" for o in graph.get_operations())


def log_placement() -> bool:
    """Whether the device of every op is written."""
    return _log_placement


def parse(name: str) -> tuple[str, int | None]:
    """Return the kind and the number of a device's name."""
    last = name.rstrip("/").rpartition("/")[2]
    if last.startswith("device:"):
        last = last[len("device:") :]
    kind, _, number = last.partition(":")
    if kind.lower() in ("job", "replica", "task") or "=" in last:
        return "CPU", 0
    if not kind:
        return "", None
    if number and not number.lstrip("-").isdigit() and number != "*":
        raise ValueError(f"Unknown attribute '{last}' is encountered while parsing the device name")
    return kind.upper(), int(number) if number and number != "*" else None


def _note(kind: str, number) -> None:
    text = f"{kind}:{0 if number is None else number}"
    if text not in _noted:
        _noted.add(text)
        sys.stderr.write(f"mica.tf: there is no {text} here: its ops run on CPU:0\n")


class device:
    """Within it, ops are asked to go to the named device."""

    def __init__(self, device_name) -> None:
        if device_name is not None and not isinstance(device_name, str):
            if callable(device_name):
                raise RuntimeError(
                    "tf.device does not support functions when eager execution is enabled."
                )
            device_name = getattr(device_name, "name", None) or str(device_name)
        self._name = device_name
        self._before: list = []
        task = f"/{device_name}".partition("/job:")[2]
        self._has_job = bool(task) and not task.startswith("localhost")
        if device_name:
            kind, number = parse(device_name)
            if kind not in ("CPU", "GPU", "TPU", "XLA_CPU", "XLA_GPU", "FAKE", ""):
                raise ValueError(
                    f"Unknown attribute '{device_name.strip('/')}' is encountered while parsing "
                    f"the device name: '{device_name}'."
                )
            self._place = kind, number
        else:
            self._place = None
        # A task alone says nothing about the device, None takes back what was said outside.
        last = (device_name or "").rstrip("/").rpartition("/")[2].partition(":")[0].lower()
        self._keeps = bool(device_name) and last in ("", "job", "replica", "task")
        self._placed_before: list = []

    def __enter__(self) -> None:
        runner = _mica.tf_remote()
        before = runner
        if runner is not None or self._has_job:
            from .distribute._placement import placed

            runner = placed(self._name, runner)
        if runner is None:
            self._check()
        _mica.tf_set_remote(runner)
        self._placed_before.append(_mica.tf_place(self._target(runner)))
        self._before.append(before)
        _stack.append(self._name if runner is None else runner.name)

    def _target(self, runner):
        """Return the library's name of the device that ops run on here; None: the default."""
        if runner is None and self._keeps:
            outside = _mica.tf_place(None)
            return outside
        if runner is not None or self._place is None:
            return None
        return library_name(*self._place) or "cpu"

    def _check(self) -> None:
        """Say it where there is no such device on this machine."""
        if not self._place or self._place[0] in ("CPU", ""):
            return
        kind, number = self._place
        there = [d for d in logical_devices() if d.device_type == kind]
        if there and (number is None or number < len(there)):
            return
        if kind == "FAKE" and library_name(kind, number):
            return
        if not _soft_placement:
            known = ", ".join(d.name for d in logical_devices())
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not satisfy device specification '{self._name}'. "
                f"All available devices [{known}].",
            )
        _note(kind, number)

    def __exit__(self, *unused) -> None:
        _stack.pop()
        _mica.tf_place(self._placed_before.pop())
        _mica.tf_set_remote(self._before.pop())


def current_device() -> str:
    """Return the name of the device that ops are asked to go to."""
    return _stack[-1] or "" if _stack else ""
