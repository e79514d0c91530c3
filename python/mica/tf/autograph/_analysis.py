"""Which names a piece of a function reads and binds, and which are live where.

It works on a function without jumps (see `_lower`), so one walk backwards over the statements gives
the live names; a loop is walked until nothing changes. Every if and loop gets what the conversion
asks for: `bound` (names it may bind), `places` (attributes and elements that it may assign),
`live_in` and `live_out`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONTROL = (ast.If, ast.While, ast.For)


class Uses:
    """What a piece of code reads, binds and assigns to."""

    __slots__ = ("bound", "globals", "late", "nonlocals", "places", "reads")

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.bound: set[str] = set()
        # Attributes and elements assigned to: text -> (node, names that it is made of)
        self.places: dict[str, tuple[ast.expr, frozenset[str]]] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        # Names that nested functions, which may be called later, read.
        self.late: set[str] = set()

    def add(self, other: Uses) -> None:
        for slot in ("reads", "bound", "globals", "nonlocals", "late"):
            getattr(self, slot).update(getattr(other, slot))
        self.places.update(other.places)


def place(node: ast.expr) -> tuple[str, frozenset[str]] | None:
    """The text and the names of an attribute or element that can be part of a loop's state.

    Elements are named by literals or by names: ``self.x``, ``a.b.c``, ``table["key"]``, ``x[i]``.
    """
    if isinstance(node, ast.Name):
        return node.id, frozenset((node.id,))
    if isinstance(node, ast.Attribute):
        inner = place(node.value)
        return None if inner is None else (f"{inner[0]}.{node.attr}", inner[1])
    if isinstance(node, ast.Subscript):
        inner = place(node.value)
        index = node.slice
        if inner is None:
            return None
        if isinstance(index, ast.Constant) and isinstance(index.value, (int, str)):
            return f"{inner[0]}[{index.value!r}]", inner[1]
        if isinstance(index, ast.Name):
            return f"{inner[0]}[{index.id}]", inner[1] | {index.id}
    return None


def uses(node: ast.AST | Iterable[ast.AST]) -> Uses:
    """What a statement, an expression or a list of either uses, nested blocks included."""
    found = Uses()
    for part in [node] if isinstance(node, ast.AST) else node:
        _collect(part, found)
    return found


def _collect(node: ast.AST, found: Uses) -> None:
    kind = type(node)
    if kind is ast.Name:
        if isinstance(node.ctx, ast.Load):
            found.reads.add(node.id)
        else:
            found.bound.add(node.id)
        return
    if kind is ast.Constant:
        return
    handler = _HANDLERS.get(kind)
    if handler is not None:
        handler(node, found)
        return
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            _collect(value, found)
        elif isinstance(value, list):
            for part in value:
                if isinstance(part, ast.AST):
                    _collect(part, found)
    found.reads.update(getattr(node, "flags", ()))


def _collect_place(node: ast.Attribute | ast.Subscript, found: Uses) -> None:
    if isinstance(node.ctx, ast.Store):
        named = place(node)
        if named is not None:
            found.places[named[0]] = (node, named[1])
    for child in ast.iter_child_nodes(node):
        _collect(child, found)


def _collect_augmented(node: ast.AugAssign, found: Uses) -> None:
    if isinstance(node.target, ast.Name):
        found.reads.add(node.target.id)
    _collect(node.target, found)
    _collect(node.value, found)


def function_names(node: ast.FunctionDef | ast.Lambda) -> tuple[set[str], Uses]:
    """The local names of a function, and what its body uses."""
    inner = uses(node.body)
    local = {a.arg for a in arguments_of(node.args)} | inner.bound
    return local - inner.globals - inner.nonlocals, inner


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters of a function."""
    found = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    return found + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]


def _collect_function(node: ast.FunctionDef, found: Uses) -> None:
    found.bound.add(node.name)
    for part in [*node.decorator_list, *_outside(node.args)]:
        _collect(part, found)
    if node.returns is not None:
        _collect(node.returns, found)
    local, inner = function_names(node)
    free = (inner.reads | inner.late | inner.nonlocals) - local
    found.reads |= free
    found.late |= free


def _outside(arguments: ast.arguments) -> list[ast.expr]:
    """The defaults and annotations of a function, which belong to what is around it."""
    found = list(arguments.defaults) + [d for d in arguments.kw_defaults if d is not None]
    return found + [a.annotation for a in arguments_of(arguments) if a.annotation is not None]


def _collect_lambda(node: ast.Lambda, found: Uses) -> None:
    for part in _outside(node.args):
        _collect(part, found)
    local, inner = function_names(node)
    found.reads |= inner.reads - local


def _collect_class(node: ast.ClassDef, found: Uses) -> None:
    found.bound.add(node.name)
    inner = uses([*node.decorator_list, *node.bases, *node.keywords, *node.body])
    found.reads |= inner.reads | inner.late
    found.late |= inner.late


def _collect_comprehension(node: ast.expr, found: Uses) -> None:
    targets: set[str] = set()
    inner = Uses()
    for i, generator in enumerate(node.generators):
        targets |= uses(generator.target).bound
        _collect(generator.iter, found if i == 0 else inner)
        for condition in generator.ifs:
            _collect(condition, inner)
    for name in ("elt", "key", "value"):
        if getattr(node, name, None) is not None:
            _collect(getattr(node, name), inner)
    found.reads |= inner.reads - targets
    # An assignment expression inside binds a name of the function.
    found.bound |= inner.bound


def _collect_handler(node: ast.ExceptHandler, found: Uses) -> None:
    if node.name:
        found.bound.add(node.name)
    for child in ast.iter_child_nodes(node):
        _collect(child, found)


def _collect_import(node: ast.Import | ast.ImportFrom, found: Uses) -> None:
    for alias in node.names:
        found.bound.add((alias.asname or alias.name).split(".")[0])


def _collect_pattern(node: ast.AST, found: Uses) -> None:
    for name in (getattr(node, "name", None), getattr(node, "rest", None)):
        if name is not None:
            found.bound.add(name)
    for child in ast.iter_child_nodes(node):
        _collect(child, found)


def _collect_global(node: ast.Global, found: Uses) -> None:
    found.globals.update(node.names)


def _collect_nonlocal(node: ast.Nonlocal, found: Uses) -> None:
    found.nonlocals.update(node.names)


_HANDLERS = {
    ast.Attribute: _collect_place,
    ast.Subscript: _collect_place,
    ast.AugAssign: _collect_augmented,
    ast.FunctionDef: _collect_function,
    ast.AsyncFunctionDef: _collect_function,
    ast.Lambda: _collect_lambda,
    ast.ClassDef: _collect_class,
    ast.ExceptHandler: _collect_handler,
    ast.Import: _collect_import,
    ast.ImportFrom: _collect_import,
    ast.Global: _collect_global,
    ast.Nonlocal: _collect_nonlocal,
    **{kind: _collect_comprehension for kind in _COMPREHENSIONS},
    **{getattr(ast, name): _collect_pattern for name in ("MatchAs", "MatchStar", "MatchMapping")},
}


class Liveness:
    """Walks a function backwards and writes what is live at every if and loop."""

    def __init__(self, always: set[str]) -> None:
        # Names that are live everywhere: what nested functions read, global and nonlocal names.
        self.always = frozenset(always)

    def block(self, statements: list[ast.stmt], out: frozenset[str]) -> frozenset[str]:
        for node in reversed(statements):
            out = self.statement(node, out) | self.always
        return out

    def statement(self, node: ast.stmt, out: frozenset[str]) -> frozenset[str]:
        handler = getattr(self, "_" + type(node).__name__.lower(), None)
        if handler is not None:
            return handler(node, out)
        used = uses(node)
        return (out - used.bound) | used.reads

    def _if(self, node: ast.If, out: frozenset[str]) -> frozenset[str]:
        inside = self.block(node.body, out) | self.block(node.orelse, out)
        self._note(node, [*node.body, *node.orelse], inside, out)
        test = uses(node.test)
        return (inside - test.bound) | test.reads

    def _while(self, node: ast.While, out: frozenset[str]) -> frozenset[str]:
        test = uses(node.test)
        head = out | test.reads | frozenset(node.flags)
        while True:
            before = head
            inside = self.block(node.body, head)
            head = head | ((inside - test.bound) | test.reads)
            if head == before:
                break
        self._note(node, [node.test, *node.body], head, out)
        return head

    def _for(self, node: ast.For, out: frozenset[str]) -> frozenset[str]:
        target = uses(node.target)
        head = out | frozenset(node.flags)
        while True:
            before = head
            inside = self.block(node.body, head)
            head = head | ((inside - target.bound) | target.reads)
            if head == before:
                break
        self._note(node, [node.target, *node.body], head, out)
        return head | uses(node.iter).reads

    @staticmethod
    def _note(node: ast.stmt, parts: list, live_in: frozenset, live_out: frozenset) -> None:
        used = uses(parts)
        node.bound, node.places = used.bound, used.places
        node.live_in, node.live_out = live_in, live_out

    def _with(self, node: ast.With, out: frozenset[str]) -> frozenset[str]:
        used = uses(node.items)
        return (self.block(node.body, out) - used.bound) | used.reads

    def _try(self, node: ast.Try, out: frozenset[str]) -> frozenset[str]:
        end = self.block(node.finalbody, out)
        caught: frozenset[str] = frozenset()
        for handler in node.handlers:
            inside = self.block(handler.body, end)
            if handler.name:
                inside = inside - {handler.name}
            caught |= inside | (uses(handler.type).reads if handler.type else set())
        after = self.block(node.orelse, end)
        # An exception may come from anywhere in the body.
        kept, self.always = self.always, self.always | caught | end
        inside = self.block(node.body, after | caught | end)
        self.always = kept
        return inside

    _trystar = _try

    def _match(self, node: ast.stmt, out: frozenset[str]) -> frozenset[str]:
        live = out
        for case in node.cases:
            used = uses([case.pattern] + ([case.guard] if case.guard else []))
            live |= (self.block(case.body, out) - used.bound) | used.reads
        return live | uses(node.subject).reads

    def _return(self, node: ast.Return, out: frozenset[str]) -> frozenset[str]:
        return frozenset(uses(node).reads)

    def _raise(self, node: ast.Raise, out: frozenset[str]) -> frozenset[str]:
        return frozenset(uses(node).reads)
