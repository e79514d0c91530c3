"""Which functions are converted, how they are made, and what is kept of it.

A conversion belongs to a code object: functions that share it (closures, methods) share the new
code and keep their own cells and defaults. Library functions, generators, classes and everything
without a source run as they are.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import inspect
import logging
import sys
import threading
import types

from . import _source
from ._convert import Converter, is_generator
from ._hooks import hooks
from ._lower import PREFIX

_logger = logging.getLogger("tensorflow")
_verbosity = [0, False]

_FUTURE_FLAGS = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag,
    __future__.all_feature_names,
    0,
)
_AS_THEY_ARE = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    type,
)
_STANDARD = frozenset(sys.stdlib_module_names) - {"__main__"}
_OTHERS = ("numpy", "scipy", "matplotlib", "PIL", "pandas", "pytest", "_pytest", "IPython", "absl")

# id of a code object -> (the code object, the new one or None when it runs as it is).
_codes: dict[int, tuple[types.CodeType, types.CodeType | None]] = {}
# Those of a library that tf.function was given, by the same rule.
_asked: dict[int, tuple[types.CodeType, types.CodeType]] = {}
_lock = threading.RLock()


class ConversionError(Exception):
    """A function cannot be converted."""


class _Status(threading.local):
    enabled = True


_status = _Status()


@contextlib.contextmanager
def status(enabled: bool):
    """Convert, or do not convert, the functions called on this thread within the context."""
    kept, _status.enabled = _status.enabled, enabled
    try:
        yield
    finally:
        _status.enabled = kept


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Say how much AutoGraph tells about its work: 0 is errors only, 10 everything."""
    _verbosity[:] = [level, alsologtostdout]


def log(level: int, message: str) -> None:
    """Tell something at a level of verbosity."""
    if _verbosity[0] >= level:
        _logger.info(message)
        if _verbosity[1]:
            print(message)


def artifact(function):
    """Mark a function as converted already."""
    function.ag__artifact = True
    return function


def do_not_convert(func=None):
    """Run a function as it is, without conversion (decorator)."""
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with status(False):
            return func(*args, **kwargs)

    if inspect.ismethod(func):
        wrapper = functools.wraps(func)(wrapper)
    wrapper.ag__artifact = True
    wrapper.ag__unconverted = True
    return wrapper


def is_library(module: str | None) -> bool:
    """Whether the functions of a module run as they are."""
    if not module:
        return False
    package = module.partition(".")[0]
    return package in _STANDARD or package in _OTHERS or package in hooks.library_modules


def converted(function):
    """What a converted function calls instead of the given callable."""
    kind = type(function)
    if kind in _AS_THEY_ARE:
        return _builtin(function)
    if kind is types.FunctionType:
        return _convert_function(function)
    if kind is types.MethodType:
        return _convert_method(function)
    if kind is functools.partial:
        new = converted(function.func)
        if new is function.func:
            return function
        return functools.partial(new, *function.args, **function.keywords)
    if isinstance(function, type) or not callable(function):
        return function
    return _convert_object(function)


def _builtin(function):
    try:
        overload = hooks.builtins.get(function)
    except TypeError:
        return function
    return function if overload is None else overload


def _convert_method(method: types.MethodType):
    function = method.__func__
    if type(function) is not types.FunctionType:
        return method
    new = _convert_function(function)
    return method if new is function else types.MethodType(new, method.__self__)


def _convert_object(value):
    """An object that can be called: its class's `__call__`."""
    call = next((vars(c)["__call__"] for c in type(value).__mro__ if "__call__" in vars(c)), None)
    if type(call) is not types.FunctionType:
        return value
    if is_library(getattr(type(value), "__module__", None)):
        return value
    new = _convert_function(call)
    return value if new is call else types.MethodType(new, value)


def _convert_function(function: types.FunctionType):
    code = function.__code__
    kept = _codes.get(id(code))
    if kept is not None:
        new = kept[1]
        if new is None or not _status.enabled:
            return function
        return _with_code(function, new)
    if not _status.enabled or getattr(function, "ag__artifact", False):
        return function
    if is_library(function.__module__) or PREFIX in code.co_freevars:
        _codes[id(code)] = (code, None)
        return function
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        _codes[id(code)] = (code, None)
        return function
    try:
        return _with_code(function, convert_code(function))
    except Exception as error:
        _codes[id(code)] = (code, None)
        warn_unconverted(function, error)
        return function


def warn_unconverted(function: object, error: Exception) -> None:
    """Say that a function runs as it is, and why."""
    _logger.warning(
        "AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this "
        "warning, decorate the function with @tf.autograph.experimental.do_not_convert",
        function,
        error,
    )


def convert(function):
    """The converted form of a function for which tf.function asks; itself where there is none."""
    if getattr(function, "ag__artifact", False):
        return function
    if type(function) is types.FunctionType and (
        function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)
    ):
        warn_unconverted(function, ConversionError("generators are not supported"))
        return function
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func), *function.args, **function.keywords)
    with status(True):
        return _convert_asked(function) or converted(function)


def _convert_asked(function):
    """The converted form of a library's function that tf.function is of, or None.

    Keras' functions run as they are where others call them; what tf.function is given is converted
    wherever it comes from, as in TensorFlow.
    """
    of = getattr(function, "__func__", function)
    package = str(getattr(of, "__module__", "")).partition(".")[0]
    if type(of) is not types.FunctionType or package not in hooks.converted_when_asked:
        return None
    if getattr(of, "ag__artifact", False) or PREFIX in of.__code__.co_freevars:
        return None
    code = of.__code__
    try:
        if id(code) not in _asked:
            _asked[id(code)] = (code, convert_code(of))
            _codes[id(code)] = (code, None)  # others call it as it is
        new = _with_code(of, _asked[id(code)][1])
    except Exception as error:
        warn_unconverted(function, error)
        return function
    return new if of is function else types.MethodType(new, function.__self__)


def convert_code(function: types.FunctionType) -> types.CodeType:
    """The code of the converted function, made at the first call.

    Raises
    ------
    ConversionError, _source.SourceError
        If the function cannot be converted.
    """
    code = function.__code__
    with _lock:
        kept = _codes.get(id(code))
        if kept is not None and kept[1] is not None:
            return kept[1]
        node, outer = _converted_tree(function)
        if _verbosity[0] >= 3:
            log(3, f"AutoGraph converted {function}:\n{ast.unparse(outer)}")
        flags = code.co_flags & _FUTURE_FLAGS
        compiled = compile(outer, code.co_filename, "exec", flags=flags, dont_inherit=True)
        new = _find_code(compiled, node.name)
        new = _renamed(new, code.co_name, getattr(code, "co_qualname", code.co_name))
        # Lines are counted from co_firstlineno, which is that of `def`: decorators are gone.
        _codes[id(code)] = (code, new)
        # The new code is never converted again.
        _codes[id(new)] = (new, None)
        return new


def tree(function: types.FunctionType) -> ast.FunctionDef:
    """The converted function as a syntax tree."""
    node, _ = _converted_tree(function)
    name = function.__name__
    node.name = "tf__" + (name if name.isidentifier() else "lambda")
    return node


def _converted_tree(function: types.FunctionType) -> tuple[ast.FunctionDef, ast.Module]:
    code = function.__code__
    node = _source.parse(function)
    if is_generator(node) or isinstance(node, ast.AsyncFunctionDef):
        raise ConversionError("generators are not supported")
    if isinstance(node, ast.Lambda):
        body = ast.copy_location(ast.Return(node.body), node.body)
        new = ast.FunctionDef(name=PREFIX + "lambda", args=node.args, body=[body])
        if "type_params" in ast.FunctionDef._fields:
            new.type_params = []
        node = ast.copy_location(new, node)
    node.decorator_list = []
    node.returns = None
    arguments = node.args
    for argument in [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *(a for a in (arguments.vararg, arguments.kwarg) if a is not None),
    ]:
        argument.annotation = None
    # Defaults are those of the function object.
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    Converter().function(node)
    return node, _module_of(node, code, function.__qualname__)


def _module_of(node: ast.FunctionDef, code: types.CodeType, qualname: str) -> ast.Module:
    """The function inside one whose parameters are its free variables."""
    inner: ast.stmt = node
    parts = qualname.split(".")
    owner = parts[-2] if len(parts) > 1 else ""
    if owner.isidentifier() and _is_mangled(code, owner):
        # The compiler mangles private names where it sees the class.
        inner = ast.ClassDef(name=owner, bases=[], keywords=[], body=[node], decorator_list=[])
        if "type_params" in ast.ClassDef._fields:
            inner.type_params = []
    names = [PREFIX, *(name for name in code.co_freevars if name != PREFIX)]
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    factory = ast.FunctionDef(
        name=PREFIX + "factory", args=arguments, body=[inner], decorator_list=[]
    )
    if "type_params" in ast.FunctionDef._fields:
        factory.type_params = []
    for part in (factory, inner):
        ast.copy_location(part, node)
    return ast.fix_missing_locations(ast.Module([factory], []))


def _is_mangled(code: types.CodeType, owner: str) -> bool:
    prefix = f"_{owner.lstrip('_')}__"
    names = (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    return any(name.startswith(prefix) for name in names) or any(
        _is_mangled(part, owner) for part in code.co_consts if isinstance(part, types.CodeType)
    )


def _find_code(code: types.CodeType, name: str) -> types.CodeType:
    """The code object of the innermost function of that name below module, factory and class."""
    for part in code.co_consts:
        if not isinstance(part, types.CodeType):
            continue
        if part.co_name == name and not (part.co_name == PREFIX + "factory"):
            if not _is_class_body(part):
                return part
        found = _find_code(part, name) if _is_wrapper(part) else None
        if found is not None:
            return found
    if code.co_name == "<module>":
        raise ConversionError(f"the converted code of {name} was lost")
    return None


def _is_class_body(code: types.CodeType) -> bool:
    return not code.co_flags & inspect.CO_NEWLOCALS


def _is_wrapper(code: types.CodeType) -> bool:
    return code.co_name == PREFIX + "factory" or _is_class_body(code)


def _renamed(code: types.CodeType, name: str, qualname: str) -> types.CodeType:
    """The code with helpers named as the function they are parts of, for tracebacks."""
    constants = []
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            if part.co_name.startswith(PREFIX):
                part = _renamed(part, name, qualname)
            else:
                inner = getattr(part, "co_qualname", part.co_name)
                part = _renamed(part, part.co_name, inner)
        constants.append(part)
    changes: dict = {"co_consts": tuple(constants), "co_name": name}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = qualname
    return code.replace(**changes)


def _with_code(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    """A function like the given one with other code."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(
        _operators_cell() if name == PREFIX else cells[name] for name in code.co_freevars
    )
    new = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    new.__kwdefaults__ = function.__kwdefaults__
    new.__annotations__ = function.__annotations__
    new.__doc__ = function.__doc__
    new.__module__ = function.__module__
    new.__qualname__ = function.__qualname__
    new.__dict__.update(function.__dict__)
    new.ag__artifact = True
    return new


@functools.cache
def _operators_cell() -> types.CellType:
    from . import _operators

    return types.CellType(_operators)
