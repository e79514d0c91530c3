"""Functions of the package that other functions stand in for, by the classes of arguments.

Where the package's functions take values made of tensors (ragged ones), the names of its namespaces
are objects of C that look at the arguments' classes, and ask the class for what stands in.

One's own functions: while some function is registered, the names of the package stand for a wrapper
that looks at the arguments; with none, they are what they were.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing

from .. import _mica
from ._composite import CompositeTensor

_PACKAGE = __name__.rpartition(".")[0]

# ---- values made of tensors ----------------------------------------------------------------------

# Functions of the elements of their first argument -> what that is called.
UNARY = {
    name: "x"
    for name in (
        "abs acos acosh asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e ceil conj "
        "cos cosh digamma erf erfc erfcinv erfinv exp expm1 floor is_finite is_inf is_nan lgamma "
        "log log1p log_sigmoid logical_not ndtri negative reciprocal reciprocal_no_nan rint round "
        "rsqrt sigmoid sign sin sinh sqrt square tan tanh cast invert"
    ).split()
} | {
    "angle": "input",
    "as_string": "input",
    "bitcast": "input",
    "check_numerics": "tensor",
    "clip_by_value": "t",
    "decode_base64": "input",
    "decode_compressed": "bytes",
    "decode_raw": "input_bytes",
    "dropout": "x",
    "elu": "features",
    "encode_base64": "input",
    "gelu": "features",
    "identity": "input",
    "imag": "input",
    "leaky_relu": "features",
    "ones_like": "input",
    "real": "input",
    "relu": "features",
    "relu6": "features",
    "saturate_cast": "value",
    "selu": "features",
    "silu": "features",
    "softplus": "features",
    "softsign": "features",
    "stateless_dropout": "x",
    "stop_gradient": "input",
    "strings.length": "input",
    "strings.lower": "input",
    "strings.regex_full_match": "input",
    "strings.regex_replace": "input",
    "strings.strip": "input",
    "strings.substr": "input",
    "strings.to_hash_bucket": "input",
    "strings.to_hash_bucket_fast": "input",
    "strings.to_hash_bucket_strong": "input",
    "strings.to_number": "input",
    "strings.unicode_script": "input",
    "strings.unicode_transcode": "input",
    "strings.upper": "input",
    "zeros_like": "input",
}

# Functions of the elements of two -> what these are called.
BINARY = {
    name: ("x", "y")
    for name in (
        "add atan2 bitwise_and bitwise_or bitwise_xor complex divide divide_no_nan equal floordiv "
        "floormod greater greater_equal left_shift less less_equal logical_and logical_or "
        "logical_xor maximum minimum mod multiply multiply_no_nan nextafter not_equal pow realdiv "
        "right_shift squared_difference subtract truediv truncatediv truncatemod xdivy xlog1py "
        "xlogy zeta igamma igammac polygamma"
    ).split()
} | {
    "complex": ("real", "imag"),
    "igamma": ("a", "x"),
    "igammac": ("a", "x"),
    "polygamma": ("a", "x"),
    "sigmoid_cross_entropy_with_logits": ("labels", "logits"),
}

# Functions of strings that give rows.
OF_ROWS = tuple(
    f"strings.{name}"
    for name in (
        "split unicode_decode unicode_decode_with_offsets unicode_split unicode_split_with_offsets "
        "bytes_split"
    ).split()
)
SEGMENTS = [
    f"{kind}{name}"
    for kind, names in (
        ("segment_", "sum max min prod mean"),
        ("unsorted_segment_", "sum max min prod mean sqrt_n"),
    )
    for name in names.split()
]
OTHERS = (
    "accumulate_n add_n bincount boolean_mask broadcast_dynamic_shape broadcast_to concat "
    "count_nonzero embedding_lookup expand_dims fill gather gather_nd one_hot ones print rank "
    "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum "
    "reduce_variance reshape reverse shape size softmax split squeeze stack strings.format "
    "strings.join strings.reduce_join strings.unicode_encode tile where zeros"
).split()
_KEYS = frozenset([*UNARY, *BINARY, *OF_ROWS, *SEGMENTS, *OTHERS])

# Function -> what stands in the namespaces for it.
_offered: dict[int, object] = {}


def _handler_of(key: str, function):
    """Ask the classes among the arguments, in order, for what stands in for the function."""

    def ask(args: tuple, kwargs: dict):
        for each in (*args, *kwargs.values()):
            parts = each if isinstance(each, (list, tuple)) else (each,)
            for part in parts:
                stand_in = getattr(type(part), "_stand_in", None)
                found = None if stand_in is None else stand_in(key, function)
                if found is not None:
                    return found(*args, **kwargs)
        return NotImplemented

    return ask


def offered(key: str, function, module: str):
    """What stands in a namespace for a function that takes values made of tensors."""
    if key not in _KEYS or isinstance(function, (type, _mica.TFDispatched)):
        return function
    found = _offered.get(id(function))
    if found is None:
        found = _mica.TFDispatched(function, _handler_of(key, function))
        functools.update_wrapper(found, function, updated=())
        found.__module__ = module
        _offered[id(function)] = found
    return found


def offer(names: dict, prefix: str = "") -> None:
    """Let the functions of a namespace take values made of tensors."""
    for name, value in list(names.items()):
        if callable(value) and prefix + name in _KEYS:
            names[name] = offered(prefix + name, value, names["__name__"])


_mica.tf_dispatch_on(CompositeTensor)

# ---- functions of one's own ----------------------------------------------------------------------

_UNARY = (
    "abs acos acosh asin asinh atan atanh cast ceil conj cos cosh digamma erf erfc exp expm1 floor "
    "identity imag is_finite is_inf is_nan lgamma log log1p log_sigmoid logical_not negative "
    "ones_like real reciprocal rint round rsqrt sigmoid sign sin sinh softplus sqrt square tan "
    "tanh zeros_like"
).split()
_BINARY = (
    "add atan2 divide equal floordiv floormod greater greater_equal less less_equal logical_and "
    "logical_or logical_xor maximum minimum multiply not_equal pow squared_difference subtract "
    "truediv"
).split()


class _Wrapper:
    """A function of the package while others may stand in for it."""

    def __init__(self, api) -> None:
        self.api = api
        self.handlers: list = []
        self.places: list[tuple[dict, str]] = []
        functools.update_wrapper(self, api, updated=())

    def __call__(self, *args, **kwargs):
        for handler in self.handlers:
            if handler.takes(self.api, args, kwargs):
                return handler.call(self.api, args, kwargs)
        return self.api(*args, **kwargs)


_wrappers: dict[int, _Wrapper] = {}
# Function that was registered -> the wrappers it stands in.
_registered: dict[int, tuple[object, list]] = {}


def _modules():
    return [
        module
        for name, module in list(sys.modules.items())
        if module is not None and (name == _PACKAGE or name.startswith(_PACKAGE + "."))
    ]


def _wrapper_of(api) -> _Wrapper:
    if isinstance(api, _Wrapper):
        return api
    found = _wrappers.get(id(api))
    if found is not None:
        return found
    found = _wrappers[id(api)] = _Wrapper(api)
    for module in _modules():
        # The modules that the package itself calls keep the function.
        if module.__name__.rpartition(".")[2].startswith("_"):
            continue
        for name, value in list(vars(module).items()):
            if value is api:
                found.places.append((vars(module), name))
                vars(module)[name] = found
    return found


def _register(target, apis: list, handler) -> None:
    wrappers = []
    for api in apis:
        wrapper = _wrapper_of(api)
        wrapper.handlers.append(handler)
        wrappers.append(wrapper)
    _registered[id(target)] = (target, [(wrapper, handler) for wrapper in wrappers])


def unregister_dispatch_for(dispatch_target) -> None:
    """Take a registered function away."""
    if id(dispatch_target) not in _registered:
        raise ValueError(f"Function {dispatch_target} was not registered for dispatch")
    _, pairs = _registered.pop(id(dispatch_target))
    for wrapper, handler in pairs:
        wrapper.handlers.remove(handler)
        if not wrapper.handlers:
            for names, name in wrapper.places:
                names[name] = wrapper.api
            _wrappers.pop(id(wrapper.api), None)


def _is(value: object, kind: object) -> bool:
    origin = typing.get_origin(kind)
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return any(_is(value, part) for part in typing.get_args(kind))
    if origin in (list, tuple):
        inner = [part for part in typing.get_args(kind) if part is not Ellipsis]
        return (
            isinstance(value, (list, tuple))
            and bool(value)
            and all(_is(part, inner[0]) for part in value)
        )
    return isinstance(kind, type) and isinstance(value, kind)


class _BySignature:
    def __init__(self, target, signatures: list[dict]) -> None:
        self.target, self.signatures = target, signatures
        self.signature = inspect.signature(target)

    def takes(self, api, args, kwargs) -> bool:
        try:
            given = self.signature.bind(*args, **kwargs).arguments
        except TypeError:
            return False
        names = list(self.signature.parameters)
        for wanted in self.signatures:
            by_name = {names[k] if isinstance(k, int) else k: v for k, v in wanted.items()}
            if all(n in given and _is(given[n], kind) for n, kind in by_name.items()):
                return True
        return False

    def call(self, api, args, kwargs):
        return self.target(*args, **kwargs)


def dispatch_for_api(api, *signatures):
    """Let a function stand in for one of the package, for arguments of the annotated types."""

    def decorate(target):
        given = list(signatures)
        if not given:
            try:
                hints = typing.get_type_hints(target)
            except NameError:
                hints = dict(target.__annotations__)
            hints.pop("return", None)
            if not hints:
                raise ValueError("dispatch_for_api needs annotations or signatures")
            given = [hints]
        original = api.api if isinstance(api, _Wrapper) else api
        _register(target, [original], _BySignature(target, given))
        return target

    return decorate


class _Elementwise:
    def __init__(self, target, kinds: tuple) -> None:
        self.target, self.kinds = target, kinds

    def takes(self, api, args, kwargs) -> bool:
        count = len(self.kinds)
        return len(args) >= count and all(
            _is(value, kind) for value, kind in zip(args[:count], self.kinds, strict=True)
        )

    def call(self, api, args, kwargs):
        count = len(self.kinds)
        extra = args[count:]

        @functools.wraps(api)
        def one(*values):
            return api(*values, *extra, **kwargs)

        return self.target(one, *args[:count])


def _apis(names: list[str]) -> list:
    package = sys.modules[_PACKAGE]
    found = []
    for name in names:
        for place in (package, package.math, package.nn):
            api = getattr(place, name, None)
            if api is not None:
                api = api.api if isinstance(api, _Wrapper) else api
                if all(api is not other for other in found):
                    found.append(api)
    return found


def dispatch_for_unary_elementwise_apis(x_type):
    """Let a function of (api, x) stand in for all functions of elements, for a type of x."""

    def decorate(target):
        _register(target, _apis(_UNARY), _Elementwise(target, (x_type,)))
        return target

    return decorate


def dispatch_for_binary_elementwise_apis(x_type, y_type):
    """Let a function of (api, x, y) stand in for all functions of two elements."""

    def decorate(target):
        _register(target, _apis(_BINARY), _Elementwise(target, (x_type, y_type)))
        return target

    return decorate
