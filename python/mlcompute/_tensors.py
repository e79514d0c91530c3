"""Devices, tensor descriptors, tensor data, tensors and parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import _mlcompute as _c
from ._core import Base, public, value_of, wrap

_DTYPES = {
    "FLOAT32": np.float32, "FLOAT16": np.float16, "BOOLEAN": np.bool_, "INT64": np.int64,
    "INT32": np.int32, "INT8": np.int8, "UINT8": np.uint8,
}  # fmt: skip
_DEVICE_NAMES = ("cpu", "gpu", "any")
_chosen_device = "any"


def numpy_dtype(data_type):
    """Return numpy's dtype for a data type, its number or its name."""
    name = value_of("data_type", data_type).name
    if name not in _DTYPES:
        raise ValueError(f"[data_type] {name} has no elements")
    return np.dtype(_DTYPES[name])


def set_mlc_device(device_name="any"):
    """Choose the device for graphs that are compiled without one: 'cpu', 'gpu' or 'any'."""
    global _chosen_device
    if device_name not in _DEVICE_NAMES:
        names = ", ".join(repr(name) for name in _DEVICE_NAMES)
        raise ValueError(f"[set_mlc_device] {device_name!r} is no device name; there are {names}")
    _chosen_device = device_name


@public
class platform:
    """What is global: the seed of random initializers."""

    @staticmethod
    def set_rng_seed_to(seed):
        """Start the random initializers' sequence again, from a seed."""
        _c.mlc_platform_set_rng_seed(seed)

    @staticmethod
    def get_rng_seed():
        """Return the seed that was set; None when it never was."""
        return _c.mlc_platform_rng_seed()


@public
class device(Base):
    """Where graphs run: "cpu", "gpu", "any" or "ane".

    Where there is no such device, another is taken and a note says so on stderr, once. Without a
    name it is the one that `set_mlc_device` chose.
    """

    def __init__(self, type=None, selects_multiple_compute_devices=None):
        type = _chosen_device if type is None else type
        if selects_multiple_compute_devices is None:
            self._adopt(_c.mlc_device_with_type(type))
        else:
            several = selects_multiple_compute_devices
            self._adopt(_c.mlc_device_with_type_and_count(type, several))

    @classmethod
    def cpu_device(cls):
        """Return the processor."""
        return cls._of(_c.mlc_device_cpu())

    @classmethod
    def gpu_device(cls):
        """Return a GPU; the processor, with a note, where there is none."""
        return cls._of(_c.mlc_device_gpu())

    @classmethod
    def ane_device(cls):
        """Return the best other device, with a note; for inference graphs only."""
        return cls._of(_c.mlc_device_ane())

    @classmethod
    def device_with_type(cls, type, selects_multiple_compute_devices=None):
        """Return a device of a type; of several, the first is taken."""
        return cls(type, selects_multiple_compute_devices)

    @classmethod
    def named(cls, name):
        """Return a device by Mica's name: "cpu", "ref", "cuda:1"."""
        return cls._of(_c.mlc_device_named(name))

    def __repr__(self):
        return f"device({self.type.name.lower()!r})"


@public
class tensor_descriptor(Base):
    """Shape and type of a tensor; lengths of its sequences."""

    def __init__(self, shape, data_type="Float32", sequence_lengths=None, sorted_sequences=None):
        if sequence_lengths is None and sorted_sequences is None:
            self._adopt(_c.mlc_tensor_descriptor_create(shape, data_type))
        else:
            is_sorted = bool(sorted_sequences)
            self._adopt(
                _c.mlc_tensor_descriptor_with_sequences(
                    shape, sequence_lengths, is_sorted, data_type
                )
            )

    @classmethod
    def with_width(cls, width, height, feature_channel_count, batch_size, data_type="Float32"):
        """Return the descriptor of images: (batch, channels, height, width)."""
        return cls._of(
            _c.mlc_tensor_descriptor_image(
                width, height, feature_channel_count, batch_size, data_type
            )
        )

    @classmethod
    def convolution_weights_descriptor(
        cls,
        width=None,
        height=None,
        input_feature_channel_count=1,
        output_feature_channel_count=1,
        data_type="Float32",
    ):
        """Return (1, out * in, height, width); without width and height a dense layer's."""
        channels = (input_feature_channel_count, output_feature_channel_count)
        if width is None and height is None:
            return cls._of(_c.mlc_tensor_descriptor_dense_weights(*channels, data_type))
        return cls._of(
            _c.mlc_tensor_descriptor_convolution_weights(width, height, *channels, data_type)
        )

    @classmethod
    def convolution_biases_descriptor(cls, feature_channel_count, data_type="Float32"):
        """Return (1, channels, 1, 1)."""
        return cls._of(_c.mlc_tensor_descriptor_biases(feature_channel_count, data_type))

    @staticmethod
    def max_tensor_dimensions():
        """Return the most dimensions that a tensor may have."""
        return _c.mlc_tensor_descriptor_max_dimensions()

    def __repr__(self):
        return f"tensor_descriptor({self.shape}, {self.data_type.debug_description()!r})"


def _join(values):
    def text(value):
        return format(float(value), "g") if values.dtype.kind == "f" else str(int(value))

    return " ".join(text(value) for value in values.reshape(-1))


@public
class tensor_data(Base):
    """A view of an array's memory: bound, never copied.

    The array (any C-contiguous buffer) stays alive as long as the library uses its memory. A
    read-only array can be bound as immutable data only. `deallocator`, when given, is called with
    the array once nothing uses it any more.
    """

    _dtype = None

    def __init__(self, array, immutable=False, deallocator=None):
        if immutable:
            if deallocator is not None:
                raise ValueError("[tensor_data] immutable data takes no deallocator")
            self._adopt(_c.mlc_tensor_data_create_immutable(array))
        elif deallocator is not None:
            self._adopt(_c.mlc_tensor_data_create_with_deallocator(array, deallocator))
        else:
            self._adopt(_c.mlc_tensor_data_create(array))
        self._dtype = getattr(array, "dtype", None)

    @property
    def bytes(self):
        """The memory, as a memoryview; None where there is none."""
        return memoryview(self._handle) if _c.mlc_tensor_data_bytes(self) else None

    def numpy(self, dtype=None, shape=(-1,)):
        """Return the memory as an array, without a copy; of the bound array's dtype by default."""
        return np.frombuffer(self._handle, dtype or self._dtype or np.uint8).reshape(shape)

    def print(self):
        """Print the elements on one line."""
        print(_join(self.numpy()))

    def __len__(self):
        return self.length


def data_of(value, writable=False):
    """Tensor data from itself or from an array."""
    if isinstance(value, tensor_data):
        return value
    read_only = getattr(getattr(value, "flags", None), "writeable", True) is False
    return tensor_data(value, immutable=read_only and not writable)


def check_type(name, data, tensor_):
    """Raise when an array's elements are not of the tensor's type; plain bytes may be any."""
    dtype = data._dtype
    if dtype is None or dtype == np.uint8 or tensor_ is None:
        return
    wanted = tensor_.descriptor.data_type
    if np.dtype(dtype) != numpy_dtype(wanted):
        said = wanted.debug_description()
        raise ValueError(f"[{name}] the data is {dtype}, the tensor {tensor_.label} {said}")


def named_data(given, tensors=None, writable=False):
    """Names with tensor data, from names with tensor data or arrays."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise TypeError(f"expected a dict of names and data, got {type(given).__name__}")
    result = {name: data_of(value, writable) for name, value in given.items()}
    for name, data in result.items():
        check_type(name, data, (tensors or {}).get(name))
    return result


def _typed(data, data_type):
    """Data for a tensor of this type."""
    data = data_of(data)
    dtype = numpy_dtype(data_type)
    if data._dtype is not None and data._dtype != np.uint8 and np.dtype(data._dtype) != dtype:
        raise ValueError(f"[tensor] the data is {data._dtype}, the tensor's type {dtype}")
    return data


def _only_one(**given):
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"[tensor] {' and '.join(names)} exclude each other")
    return names[0] if names else None


@public
class tensor(Base):
    """A node of graphs: a shape, a type and, once it has them, values.

    `tensor(shape, data_type)` has no data; `data`, `fill_with_data` or `random_initializer_type`
    give it some. A tensor_descriptor may stand in the place of the shape.
    """

    def __init__(
        self,
        shape: int | Sequence[int] | tensor_descriptor,
        data_type="Float32",
        *,
        random_initializer_type=None,
        fill_with_data=None,
        data=None,
    ):
        options = {
            "random_initializer_type": random_initializer_type,
            "fill_with_data": fill_with_data,
            "data": data,
        }
        if isinstance(shape, tensor_descriptor):
            self._adopt(self._handle_of_descriptor(shape, **options))
        else:
            self._adopt(self._handle_of_shape(shape, data_type, **options))

    @staticmethod
    def _handle_of_descriptor(descriptor, random_initializer_type, fill_with_data, data):
        given = _only_one(
            random_initializer_type=random_initializer_type,
            fill_with_data=fill_with_data,
            data=data,
        )
        if given == "random_initializer_type":
            return _c.mlc_tensor_create_random(descriptor, random_initializer_type)
        if given == "fill_with_data":
            return _c.mlc_tensor_create_filled(descriptor, fill_with_data)
        if given == "data":
            return _c.mlc_tensor_create_with_data(descriptor, _typed(data, descriptor.data_type))
        return _c.mlc_tensor_create(descriptor)

    @staticmethod
    def _handle_of_shape(shape, data_type, random_initializer_type, fill_with_data, data):
        given = _only_one(
            random_initializer_type=random_initializer_type,
            fill_with_data=fill_with_data,
            data=data,
        )
        numpy_dtype(data_type)  # Invalid is none
        if given == "random_initializer_type":
            return _c.mlc_tensor_with_shape_random(shape, random_initializer_type, data_type)
        if given == "fill_with_data":
            return _c.mlc_tensor_with_shape_filled(shape, fill_with_data, data_type)
        if given == "data":
            return _c.mlc_tensor_with_shape_data(shape, _typed(data, data_type), data_type)
        return _c.mlc_tensor_with_shape(shape, data_type)

    @classmethod
    def tensor_with_descriptor(
        cls, descriptor, *, random_initializer_type=None, fill_with_data=None, data=None
    ):
        """Return a tensor of a descriptor; without data, or with one kind of it."""
        return cls._of(
            cls._handle_of_descriptor(descriptor, random_initializer_type, fill_with_data, data)
        )

    @classmethod
    def tensor_with_shape(
        cls,
        shape,
        data_type="Float32",
        *,
        random_initializer_type=None,
        fill_with_data=None,
        data=None,
    ):
        """Return a tensor of a shape; without data, or with one kind of it."""
        return cls._of(
            cls._handle_of_shape(shape, data_type, random_initializer_type, fill_with_data, data)
        )

    @classmethod
    def tensor_with_width(
        cls,
        width,
        height,
        feature_channel_count,
        batch_size,
        *,
        random_initializer_type=None,
        fill_with_data=None,
        data=None,
        data_type="Float32",
    ):
        """Return images: (batch, channels, height, width)."""
        sizes = (width, height, feature_channel_count, batch_size)
        given = _only_one(
            random_initializer_type=random_initializer_type,
            fill_with_data=fill_with_data,
            data=data,
        )
        if given == "fill_with_data":
            return cls._of(_c.mlc_tensor_image_filled(*sizes, fill_with_data, data_type))
        if given == "data":
            data = _typed(data, data_type)
            return cls._of(_c.mlc_tensor_image_data(*sizes, data, data_type))
        if value_of("data_type", data_type).name != "FLOAT32":
            raise ValueError("[tensor] images without given data are Float32")
        if given == "random_initializer_type":
            return cls._of(_c.mlc_tensor_image_random(*sizes, random_initializer_type))
        return cls._of(_c.mlc_tensor_image(*sizes))

    @classmethod
    def tensor_with_sequence_length(
        cls,
        sequence_length,
        feature_channel_count,
        batch_size,
        *,
        random_initializer_type=None,
        data=None,
    ):
        """Return Float32 sequences of one length: (batch, length, channels)."""
        sizes = (sequence_length, feature_channel_count, batch_size)
        given = _only_one(random_initializer_type=random_initializer_type, data=data)
        if given == "random_initializer_type":
            return cls._of(_c.mlc_tensor_sequence_random(*sizes, random_initializer_type))
        if given == "data":
            return cls._of(_c.mlc_tensor_sequence_data(*sizes, _typed(data, "Float32")))
        return cls._of(_c.mlc_tensor_sequence(*sizes))

    @classmethod
    def tensor_with_sequence_lengths(
        cls,
        sequence_lengths,
        sorted_sequences,
        feature_channel_count,
        batch_size,
        *,
        random_initializer_type=None,
        data=None,
    ):
        """Return Float32 sequences of several lengths; as long as the longest."""
        sizes = (sequence_lengths, sorted_sequences, feature_channel_count, batch_size)
        given = _only_one(random_initializer_type=random_initializer_type, data=data)
        if given == "random_initializer_type":
            return cls._of(_c.mlc_tensor_sequences_random(*sizes, random_initializer_type))
        if given == "data":
            return cls._of(_c.mlc_tensor_sequences_data(*sizes, _typed(data, "Float32")))
        raise ValueError("[tensor] sequences of several lengths need data or an initializer")

    @property
    def data(self):
        """The host's data: the bound memory, or the library's; None when there is none."""
        data = wrap(_c.mlc_tensor_data_of(self))
        if data is not None and data._dtype is None:
            data._dtype = numpy_dtype(self.descriptor.data_type)
        return data

    @property
    def shape(self):
        """The sizes of the descriptor."""
        return self.descriptor.shape

    def synchronize_data(self):
        """Wait for the device's data and copy it to the host's."""
        return _c.mlc_tensor_synchronize_data(self)

    def synchronize_optimizer_data(self):
        """Wait for the optimizer's buffers of this tensor and copy them to the host's."""
        return _c.mlc_tensor_synchronize_optimizer_data(self)

    def copy_data_from_device_memory(self, to_bytes, synchronize_with_device=True):
        """Copy the data to a writable buffer of the same length."""
        return _c.mlc_tensor_copy_data(self, to_bytes, synchronize_with_device)

    def bind_and_write_data(self, data, to_device):
        """Bind data to the tensor and write it to a device."""
        data = data_of(data)
        check_type("bind_and_write_data", data, self)
        return _c.mlc_tensor_bind_and_write(self, data, to_device)

    def bind_optimizer_data(self, data, device_data=None):
        """Bind the buffers in which an optimizer keeps its state for this tensor."""
        return _c.mlc_tensor_bind_optimizer_data(
            self, [data_of(one, writable=True) for one in data], device_data
        )

    def tensor_by_quantizing(self, to_type, scale, bias, axis=None):
        """Return clamp(round(x / scale) + bias) as Int8, UInt8 or Int32.

        With an axis, scale and bias are tensors with one element per place along it.
        """
        if axis is None:
            return tensor._of(_c.mlc_tensor_quantize(self, to_type, scale, bias))
        return tensor._of(_c.mlc_tensor_quantize_axis(self, to_type, scale, bias, axis))

    def tensor_by_dequantizing(self, to_type, scale, bias, axis=None):
        """Return (q - bias) scale; scale and bias are tensors."""
        if axis is None:
            return tensor._of(_c.mlc_tensor_dequantize(self, to_type, scale, bias))
        return tensor._of(_c.mlc_tensor_dequantize_axis(self, to_type, scale, bias, axis))

    def copy(self):
        """Return another tensor with the same descriptor, label and data."""
        return tensor._of(_c.mlc_tensor_copy(self))

    def __copy__(self):
        return self.copy()

    def numpy(self):
        """Return the values as an array without a copy, once what computes them has ended."""
        self.synchronize_data()
        return self.data.numpy(numpy_dtype(self.descriptor.data_type), self.shape)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return np.array(array, dtype) if copy or copy is None else np.asarray(array, dtype)

    def print(self):
        """Print the label and the values on one line."""
        print(f"MLCTensor {self.label} : {_join(self.numpy())}")

    def __repr__(self):
        return f"<tensor {self.label} {self.shape} {self.descriptor.data_type.debug_description()}>"


@public
class tensor_parameter(Base):
    """An input tensor that the optimizer trains."""

    def __init__(self, tensor, optimizer_data=None):
        if optimizer_data is None:
            self._adopt(_c.mlc_tensor_parameter_create(tensor))
        else:
            data = [data_of(one, writable=True) for one in optimizer_data]
            self._adopt(_c.mlc_tensor_parameter_create_with_optimizer_data(tensor, data))


@public
class tensor_optimizer_device_data(Base):
    """One buffer of an optimizer's state on a device."""

    def __init__(self):
        raise TypeError("[tensor_optimizer_device_data] only the library makes these")

    @property
    def length(self):
        """The buffer's bytes."""
        return _c.mlc_optimizer_device_data_bytes(self)
