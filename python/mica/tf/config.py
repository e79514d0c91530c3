"""tf.config: devices, threads, how functions run."""

from __future__ import annotations

from .. import _mica
from . import _devices
from ._devices import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice
from ._function import functions_run_eagerly, run_functions_eagerly
from ._missing import finder as _finder
from ._missing import namespace as _namespace
from .distribute._connections import connect_to_cluster, connect_to_host


def list_physical_devices(device_type=None) -> list[PhysicalDevice]:
    """Return the devices of the machine."""
    return [d for d in _devices.physical_devices() if device_type in (None, d.device_type)]


def list_logical_devices(device_type=None) -> list[LogicalDevice]:
    """Return the devices that ops can be placed on."""
    return [d for d in _devices.listed_devices() if device_type in (None, d.device_type)]


def get_visible_devices(device_type=None) -> list[PhysicalDevice]:
    """Return the devices that may be used."""
    return [d for d in _devices.visible_devices() if device_type in (None, d.device_type)]


def set_visible_devices(devices, device_type=None) -> None:
    """Say which devices may be used."""
    _devices.set_visible(devices, device_type)


def set_logical_device_configuration(device, logical_devices) -> None:
    """Divide a physical device into logical ones."""
    _devices.set_logical_configuration(device, logical_devices)


def get_logical_device_configuration(device):
    """Return how a physical device is divided, or None."""
    return _devices.logical_configuration(device)


def set_soft_device_placement(enabled: bool) -> None:
    """Say whether ops go to the CPU where the device asked for is not there."""
    _devices.set_soft_placement(enabled)


def get_soft_device_placement() -> bool:
    """Whether ops go to the CPU where the device asked for is not there."""
    return _devices.soft_placement()


def experimental_connect_to_cluster(
    cluster_spec_or_resolver,
    job_name="localhost",
    task_index=0,
    protocol=None,
    make_master_device_default=True,
    cluster_device_filters=None,
) -> None:
    """Connect to the servers of a cluster, in place of those of another one."""
    connect_to_cluster(
        cluster_spec_or_resolver,
        job_name,
        task_index,
        protocol,
        make_master_device_default,
        cluster_device_filters,
    )


def experimental_connect_to_host(remote_host=None, job_name="worker") -> None:
    """Connect to a server, or to a list of them, which become the tasks of a job."""
    connect_to_host(remote_host, job_name)


@_namespace
class threading:
    """How many threads compute."""

    _inter = 0
    _intra = 0

    @classmethod
    def set_intra_op_parallelism_threads(cls, num_threads: int) -> None:
        """Say how many threads one op may use; 0: as many as the machine has."""
        cls._intra = int(num_threads)
        _mica.set_threads(cls._intra)

    @classmethod
    def get_intra_op_parallelism_threads(cls) -> int:
        """Return how many threads one op may use."""
        return cls._intra

    @classmethod
    def set_inter_op_parallelism_threads(cls, num_threads: int) -> None:
        """Say how many ops may run side by side; functions run one after the other here."""
        cls._inter = int(num_threads)

    @classmethod
    def get_inter_op_parallelism_threads(cls) -> int:
        """Return how many ops may run side by side."""
        return cls._inter


@_namespace
class optimizer:
    """What is done to graphs before they run."""

    _jit = ""
    _options: dict = {}  # noqa: RUF012

    @classmethod
    def set_jit(cls, enabled) -> None:
        """Keep the wish; graphs are always compiled here."""
        cls._jit = {True: "autoclustering", False: ""}.get(enabled, enabled)

    @classmethod
    def get_jit(cls) -> str:
        """Return what was wished."""
        return cls._jit

    @classmethod
    def set_experimental_options(cls, options: dict) -> None:
        """Keep options; the passes of Mica are named by MICA_PASSES."""
        cls._options.update(options)

    @classmethod
    def get_experimental_options(cls) -> dict:
        """Return the options kept."""
        return dict(cls._options)


def _device_named(device: str):
    kind, number = _devices.parse(device)
    there = [d for d in _devices.logical_devices() if d.device_type == kind]
    name = _devices.library_name(kind, number)
    if name is None or (kind != "FAKE" and (number or 0) >= len(there)):
        raise ValueError(f"No matching devices found for '{device}'")
    return _mica.device(name)


@_namespace
class experimental:
    """Older names."""

    VirtualDeviceConfiguration = LogicalDeviceConfiguration
    list_physical_devices = staticmethod(list_physical_devices)
    list_logical_devices = staticmethod(list_logical_devices)
    set_visible_devices = staticmethod(set_visible_devices)
    get_visible_devices = staticmethod(get_visible_devices)
    set_virtual_device_configuration = staticmethod(set_logical_device_configuration)
    get_virtual_device_configuration = staticmethod(get_logical_device_configuration)

    @staticmethod
    def set_memory_growth(device, enable: bool) -> None:
        """Say whether memory is taken as it is needed."""
        _devices.set_growth(device, enable)

    @staticmethod
    def get_memory_growth(device) -> bool:
        """Whether memory is taken as it is needed."""
        return _devices.growth(device)

    @staticmethod
    def get_device_details(device) -> dict:
        """Return what is known of a device: of a GPU, its name and compute capability."""
        return _devices.details(device)

    @staticmethod
    def get_memory_info(device: str) -> dict:
        """Return the bytes that a device has in use, and the most since the last reset."""
        info = _device_named(device).memory_info()
        return {"current": info["now"], "peak": info["peak"]}

    @staticmethod
    def get_memory_usage(device: str) -> int:
        """Return the bytes that a device has in use."""
        return _device_named(device).memory_info()["now"]

    @staticmethod
    def reset_memory_stats(device: str) -> None:
        """Let the peak be what is in use now."""
        _device_named(device).memory_reset()

    @staticmethod
    def enable_op_determinism() -> None:
        """Do nothing: ops are deterministic."""

    @staticmethod
    def enable_tensor_float_32_execution(enabled: bool) -> None:
        """Do nothing: float32 is float32."""

    @staticmethod
    def tensor_float_32_execution_enabled() -> bool:
        """Whether products of float32 are computed with fewer bits: never."""
        return False

    @staticmethod
    def set_synchronous_execution(enable: bool) -> None:
        """Do nothing: reading a tensor waits for it."""


__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]

__getattr__ = _finder(__name__)
