"""`tf.compat.v1.flags`: flags of the command line, by name, with a value and a help text."""

from __future__ import annotations

import sys as _sys

from ..._missing import finder as _finder

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_string",
    "Error",
    "IllegalFlagValueError",
    "UnrecognizedFlagError",
    "mark_flag_as_required",
]


class Error(Exception):
    """A mistake in flags."""


class IllegalFlagValueError(Error):
    """A value that a flag cannot have."""


class UnrecognizedFlagError(Error):
    """A flag that is not defined."""


class DuplicateFlagError(Error):
    """A flag that is defined twice."""


class _Flag:
    def __init__(self, name: str, default, parse, text: str, is_bool: bool) -> None:
        self.name, self.parse, self.help, self.is_bool = name, parse, text, is_bool
        self.default = (
            default if default is None or not isinstance(default, str) else parse(default)
        )
        self.value, self.present, self.is_required = self.default, 0, False

    def set(self, text) -> None:
        try:
            self.value = self.parse(text)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={text}: {error}") from None
        self.present += 1


class _Values:
    """The flags as attributes; called with the arguments of a program it parses them."""

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False

    def __getattr__(self, name: str):
        flags = self.__dict__["_flags"]
        if name not in flags:
            raise AttributeError(name)
        if not self.__dict__["_parsed"]:
            self(_sys.argv, known_only=True)
        return flags[name].value

    def __setattr__(self, name: str, value) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        self._flags[name].value = value

    def __delattr__(self, name: str) -> None:
        del self._flags[name]

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self):
        return iter(sorted(self._flags))

    def __getitem__(self, name: str) -> _Flag:
        return self._flags[name]

    def flag_values_dict(self) -> dict:
        """Return names and values."""
        return {name: flag.value for name, flag in self._flags.items()}

    def is_parsed(self) -> bool:
        """Whether arguments were parsed."""
        return self._parsed

    def mark_as_parsed(self) -> None:
        """Take the values as they are."""
        self.__dict__["_parsed"] = True

    def __call__(self, argv, known_only: bool = False) -> list[str]:
        """Parse arguments and return those that are no flags, the program's name first."""
        rest, waiting = [argv[0]], list(argv[1:])
        while waiting:
            argument = waiting.pop(0)
            if argument == "--":
                rest += waiting
                break
            if not argument.startswith("-") or argument == "-":
                rest.append(argument)
                continue
            name, equals, text = argument.lstrip("-").partition("=")
            flag = self._flags.get(name)
            if flag is None and name.startswith("no") and not equals:
                negated = self._flags.get(name[2:])
                if negated is not None and negated.is_bool:
                    negated.set("false")
                    continue
            if flag is None:
                if not known_only:
                    raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
                rest.append(argument)
                continue
            if not equals:
                if flag.is_bool:
                    text = "true"
                elif not waiting:
                    raise Error(f"Missing value for flag --{name}")
                else:
                    text = waiting.pop(0)
            flag.set(text)
        self.__dict__["_parsed"] = True
        for flag in self._flags.values():
            if flag.is_required and flag.value is None:
                raise IllegalFlagValueError(
                    f"flag --{flag.name}=None: Flag --{flag.name} must have a value other than "
                    "None."
                )
        return rest


FLAGS = _Values()


def _define(name: str, default, help, parse, flag_values, is_bool: bool = False) -> None:
    values = flag_values or FLAGS
    if name in values._flags:
        raise DuplicateFlagError(f"The flag '{name}' is defined twice.")
    values._flags[name] = _Flag(name, default, parse, help, is_bool)


def _truth(text) -> bool:
    if isinstance(text, bool):
        return text
    lowered = str(text).lower()
    if lowered in ("true", "t", "1"):
        return True
    if lowered in ("false", "f", "0"):
        return False
    raise ValueError("Non-boolean argument to boolean flag", text)


def DEFINE_string(name, default, help, flag_values=None, required=False) -> None:
    """Define a flag that is a text."""
    _define(name, default, help, str, flag_values)
    (flag_values or FLAGS)[name].is_required = required


def DEFINE_bool(name, default, help, flag_values=None, required=False) -> None:
    """Define a flag that is true or false; --noname is false."""
    _define(name, default, help, _truth, flag_values, True)
    (flag_values or FLAGS)[name].is_required = required


DEFINE_boolean = DEFINE_bool


def _bounded(kind, lower, upper):
    def parse(text):
        value = kind(text)
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            raise ValueError(f"{text} is not in the range [{lower}, {upper}]")
        return value

    return parse


def DEFINE_integer(
    name, default, help, lower_bound=None, upper_bound=None, flag_values=None, required=False
) -> None:
    """Define a flag that is an integer."""
    _define(name, default, help, _bounded(int, lower_bound, upper_bound), flag_values)
    (flag_values or FLAGS)[name].is_required = required


def DEFINE_float(
    name, default, help, lower_bound=None, upper_bound=None, flag_values=None, required=False
) -> None:
    """Define a flag that is a number."""
    _define(name, default, help, _bounded(float, lower_bound, upper_bound), flag_values)
    (flag_values or FLAGS)[name].is_required = required


def DEFINE_enum(name, default, enum_values, help, flag_values=None, required=False) -> None:
    """Define a flag that is one of several texts."""

    def parse(text):
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    _define(name, default, help, parse, flag_values)
    (flag_values or FLAGS)[name].is_required = required


def DEFINE_list(name, default, help, flag_values=None, required=False) -> None:
    """Define a flag that is a list of texts with commas between them."""

    def parse(text):
        if isinstance(text, list):
            return text
        return [part.strip() for part in text.split(",")] if text else []

    _define(name, default, help, parse, flag_values)
    (flag_values or FLAGS)[name].is_required = required


def mark_flag_as_required(flag_name, flag_values=None) -> None:
    """Let parsing fail when a flag has no value."""
    (flag_values or FLAGS)[flag_name].is_required = True


__getattr__ = _finder(__name__)
