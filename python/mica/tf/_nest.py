"""Nested structures: lists, tuples, dictionaries and their like with atoms at the leaves.

Dictionaries are walked in the order of their sorted keys; named tuples and attrs classes field by
field; a class with `__tf_flatten__` and `__tf_unflatten__` says itself what its parts are. With
`expand_composites`, values that have a spec (`_type_spec`) are walked into their tensors.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Mapping, MappingView, Sequence

_ATOMS = (str, bytes, bytearray, memoryview)
# Answers for classes that were asked about; most programs have a handful.
_KINDS: dict[type, str | None] = {
    list: "sequence",
    tuple: "sequence",
    dict: "mapping",
    int: None,
    float: None,
    bool: None,
    str: None,
    bytes: None,
    type(None): None,
}


def _kind(kind: type) -> str | None:
    """How values of a class are walked; None for atoms."""
    try:
        return _KINDS[kind]
    except KeyError:
        pass
    if issubclass(kind, _ATOMS):
        found = None
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found = "named"
    elif issubclass(kind, Mapping):
        found = "mapping"
    elif issubclass(kind, MappingView):
        found = "view"
    elif hasattr(kind, "__attrs_attrs__"):
        found = "attrs"
    elif hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):
        found = "own"
    elif issubclass(kind, Sequence):
        found = "sequence"
    else:
        found = None
    _KINDS[kind] = found
    return found


def _spec_of(value: object):
    """The spec of a composite value, None for all others."""
    spec = getattr(value, "_type_spec", None)
    if spec is None or not hasattr(spec, "_to_components"):
        return None
    return None if spec._component_specs is spec else spec


def _is_spec(value: object) -> bool:
    """Whether this is a composite's spec, which has its parts' specs inside."""
    if not hasattr(value, "_component_specs") or isinstance(value, type):
        return False
    return value._component_specs is not value


def _children(value: object, kind: str) -> list:
    if kind == "mapping":
        return [value[key] for key in _sorted_keys(value)]
    if kind == "attrs":
        return [getattr(value, field.name) for field in type(value).__attrs_attrs__]
    if kind == "own":
        return list(value.__tf_flatten__()[1])
    if kind == "view" and isinstance(value, ItemsView):
        return [tuple(item) for item in value]
    return list(value)


def _sorted_keys(mapping: Mapping) -> list:
    try:
        return sorted(mapping)
    except TypeError:
        # The same exception, with nothing of this module in front of it.
        return sorted(mapping.keys())


def is_nested(seq: object) -> bool:
    """Whether the value is a structure rather than an atom.

    Examples
    --------
    >>> is_nested([1]), is_nested({"a": 1}), is_nested("text"), is_nested({1, 2})
    (True, True, False, False)
    """
    return _kind(type(seq)) is not None


def flatten(structure: object, expand_composites: bool = False) -> list:
    """The atoms of a structure as a flat list.

    Examples
    --------
    >>> flatten([1, (2, [3]), {"b": 4, "a": 5}])
    [1, 2, 3, 5, 4]
    """
    found: list = []
    _flatten_into(structure, expand_composites, found)
    return found


def _flatten_into(structure: object, expand: bool, found: list) -> None:
    kind = _kind(type(structure))
    if kind is not None:
        for child in _children(structure, kind):
            _flatten_into(child, expand, found)
        return
    if expand:
        spec = _spec_of(structure)
        if spec is not None:
            _flatten_into(spec._to_components(structure), True, found)
            return
        if _is_spec(structure):
            _flatten_into(structure._component_specs, True, found)
            return
    found.append(structure)


def flatten_with_paths(structure: object, expand_composites: bool = False) -> list[tuple]:
    """Pairs of the path (indices, keys and field names) and the atom."""
    found: list = []

    def walk(value: object, path: tuple) -> None:
        kind = _kind(type(value))
        if kind is None:
            if expand_composites and _spec_of(value) is not None:
                walk(_spec_of(value)._to_components(value), path)
            else:
                found.append((path, value))
            return
        if kind == "mapping":
            names: Sequence = _sorted_keys(value)
        elif kind == "named":
            names = type(value)._fields
        elif kind == "attrs":
            names = [field.name for field in type(value).__attrs_attrs__]
        else:
            names = range(len(value) if kind != "own" else len(_children(value, kind)))
        for name, child in zip(names, _children(value, kind), strict=True):
            walk(child, (*path, name))

    walk(structure, ())
    return found


def _like(value: object, kind: str, children: list) -> object:
    """A structure of the same class with other children."""
    if kind == "mapping":
        new = dict(zip(_sorted_keys(value), children, strict=True))
        return _mapping_like(value, new)
    if kind == "named":
        return type(value)(*children)
    if kind == "attrs":
        names = [field.name for field in type(value).__attrs_attrs__]
        new = type(value).__new__(type(value))
        for name, child in zip(names, children, strict=True):
            object.__setattr__(new, name, child)
        return new
    if kind == "own":
        return type(value).__tf_unflatten__(value.__tf_flatten__()[0], tuple(children))
    if kind == "view" or isinstance(value, range):
        return list(children)
    if hasattr(value, "__wrapped__"):
        return type(value)(_like(value.__wrapped__, _kind(type(value.__wrapped__)), children))
    return type(value)(children)


def _mapping_like(value: Mapping, new: dict) -> Mapping:
    factory = getattr(value, "default_factory", _ATOMS)
    pairs = [(key, new[key]) for key in value]
    if factory is not _ATOMS:
        return type(value)(factory, pairs)
    return type(value)(pairs)


def pack_sequence_as(
    structure: object, flat_sequence: Sequence, expand_composites: bool = False
) -> object:
    """A structure like the given one with the atoms of a flat list.

    Raises
    ------
    ValueError
        If the numbers of atoms differ.
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence}\ninto a structure, but found "
            f"incompatible type `{type(flat_sequence)}` instead."
        )
    expandable = expand_composites and (_spec_of(structure) is not None or _is_spec(structure))
    if not is_nested(structure) and not expandable:
        if len(flat_sequence) != 1:
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {structure}\nHowever the "
                f"input is a sequence ({type(flat_sequence)}) of length {len(flat_sequence)}.\n  "
                f"{_brief(flat_sequence)}\nnest cannot guarantee that it is safe to map one to "
                f"the other."
            )
        return flat_sequence[0]
    atoms = flatten(structure, expand_composites)
    if len(atoms) != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {len(atoms)} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items.  Structure: {_brief(structure)}, "
            f"flat_sequence: {_brief(flat_sequence)}."
        )
    rest = iter([flat_sequence[i] for i in range(len(flat_sequence))])
    return _pack(structure, rest, expand_composites)


def _pack(structure: object, rest, expand: bool) -> object:
    kind = _kind(type(structure))
    if kind is not None:
        children = [_pack(child, rest, expand) for child in _children(structure, kind)]
        return _like(structure, kind, children)
    if expand:
        spec = _spec_of(structure)
        if spec is None and _is_spec(structure):
            spec = structure
        if spec is not None:
            return spec._from_components(_pack(spec._component_specs, rest, True))
    return next(rest)


def map_structure(func: Callable, *structure: object, **kwargs: bool) -> object:
    """Apply a function to the atoms of one or more structures of the same form.

    Examples
    --------
    >>> map_structure(lambda a, b: a + b, {"x": 1}, {"x": 10})
    {'x': 11}
    """
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    first = structure[0]
    for other in structure[1:]:
        assert_same_structure(
            first, other, check_types=check_types, expand_composites=expand_composites
        )
    lists = [flatten(part, expand_composites) for part in structure]
    results = [func(*atoms) for atoms in zip(*lists, strict=True)]
    return _pack(first, iter(results), expand_composites)


def map_structure_with_paths(func: Callable, *structure: object, **options: bool) -> object:
    """As `map_structure`; the function is also given the path of its atoms."""
    expand_composites = options.get("expand_composites", False)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, **options)
    paths = [path for path, _ in flatten_with_paths(structure[0], expand_composites)]
    lists = [flatten(part, expand_composites) for part in structure]
    results = [func(path, *atoms) for path, *atoms in zip(paths, *lists, strict=True)]
    return _pack(structure[0], iter(results), expand_composites)


class _Differs(Exception):
    def __init__(self, kind: type, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise unless both have the same nesting.

    Raises
    ------
    ValueError
        If the numbers of elements or the keys differ, or one has an atom where the other has not.
    TypeError
        If the classes of sequences differ and `check_types` is set.
    """
    try:
        _compare(nest1, nest2, check_types, expand_composites)
    except _Differs as difference:
        kind, text = difference.kind, str(difference)
    else:
        return
    raise kind(
        "The two structures don't have the same nested structure.\n\n"
        f"First structure: {_typed(nest1)}\n\nSecond structure: {_typed(nest2)}\n\n"
        f"More specifically: {text}\n"
        f"Entire first structure:\n{_skeleton(nest1)}\n"
        f"Entire second structure:\n{_skeleton(nest2)}"
    )


def _compare(a: object, b: object, check_types: bool, expand: bool) -> None:
    kind_a, kind_b = _kind(type(a)), _kind(type(b))
    if kind_a is None and kind_b is None:
        if expand:
            _compare_composites(a, b, check_types)
        return
    if (kind_a is None) != (kind_b is None):
        inner, atom = (b, a) if kind_a is None else (a, b)
        raise _Differs(
            ValueError,
            f'Substructure "{_typed(inner)}" is a sequence, while substructure "{_typed(atom)}" '
            f"is not",
        )
    if check_types and not _same_class(a, b, kind_a, kind_b):
        raise _Differs(
            TypeError,
            f"The two namedtuples don't have the same sequence type. First structure {_typed(a)} "
            f"has type {type(a).__name__}, while second structure {_typed(b)} has type "
            f"{type(b).__name__}",
        )
    if kind_a == kind_b == "mapping" and set(a) != set(b):
        raise _Differs(
            ValueError,
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_typed(list(a))}, while second structure has keys {_typed(list(b))}",
        )
    children_a, children_b = _children(a, kind_a), _children(b, kind_b)
    if len(children_a) != len(children_b):
        raise _Differs(
            ValueError,
            "The two structures don't have the same number of elements. First structure: "
            f"{_typed(a)}. Second structure: {_typed(b)}",
        )
    for x, y in zip(children_a, children_b, strict=True):
        _compare(x, y, check_types, expand)


def _same_class(a: object, b: object, kind_a: str, kind_b: str) -> bool:
    if type(a) is type(b):
        return True
    if kind_a == kind_b == "mapping":
        return True
    if kind_a == kind_b == "named":
        # The same named tuple, made twice.
        return type(a).__name__ == type(b).__name__ and type(a)._fields == type(b)._fields
    if kind_a == kind_b == "sequence":
        return type(_unwrapped(a)) is type(_unwrapped(b))
    return False


def _unwrapped(value: object) -> object:
    return getattr(value, "__wrapped__", value)


def _compare_composites(a: object, b: object, check_types: bool) -> None:
    spec_a = _spec_of(a) or (a if _is_spec(a) else None)
    spec_b = _spec_of(b) or (b if _is_spec(b) else None)
    if spec_a is None and spec_b is None:
        return
    if spec_a is None or spec_b is None:
        inner, atom = (b, a) if spec_a is None else (a, b)
        raise _Differs(
            ValueError,
            f'Substructure "{_typed(inner)}" is a sequence, while substructure "{_typed(atom)}" '
            f"is not",
        )
    if spec_a.most_specific_common_supertype([spec_b]) is None:
        raise _Differs(
            TypeError if check_types else ValueError,
            f"Incompatible CompositeTensor TypeSpecs: {_typed(spec_a)} vs. {_typed(spec_b)}",
        )


def _typed(value: object) -> str:
    return f"type={type(value).__name__} str={value}"


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:100] + "..."


class _Dot:
    def __repr__(self) -> str:
        return "."


def _skeleton(structure: object) -> str:
    try:
        return str(_pack_dots(structure))
    except TypeError:
        return str(structure)


def _pack_dots(structure: object) -> object:
    kind = _kind(type(structure))
    if kind is None:
        return _Dot()
    return _like(structure, kind, [_pack_dots(child) for child in _children(structure, kind)])


def list_to_tuple(structure: object) -> object:
    """The structure with every list made a tuple."""
    kind = _kind(type(structure))
    if kind is None:
        return structure
    children = [list_to_tuple(child) for child in _children(structure, kind)]
    return tuple(children) if type(structure) is list else _like(structure, kind, children)
