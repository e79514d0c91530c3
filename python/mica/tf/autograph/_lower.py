"""Takes `break`, `continue`, `return` inside control flow, and loops' `else`, out of a function.

What is left has one way in and one way out of every statement, so that branches and bodies can
become functions of their own. A jump sets a flag; what it jumps over moves into the other branch of
its `if` where that branch alone can go on, and else into an `if` that asks the flags. The flags of
a loop are a part of its condition: `node.flags`.
"""

from __future__ import annotations

import ast
import copy

PREFIX = "ag__"
RESULT = PREFIX + "result"
RETURNED = PREFIX + "returned"

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements directly inside a statement."""
    found = [getattr(node, name) for name in ("body", "orelse", "finalbody") if hasattr(node, name)]
    found += [handler.body for handler in getattr(node, "handlers", ())]
    found += [case.body for case in getattr(node, "cases", ())]
    return [block for block in found if isinstance(block, list)]


def _contains(node: ast.stmt, kinds: tuple, through_loops: bool) -> bool:
    if isinstance(node, kinds):
        return True
    if isinstance(node, _SCOPES):
        return False
    if isinstance(node, _LOOPS) and not through_loops:
        # A loop's `else` belongs to the loop around it.
        return any(_contains(child, kinds, through_loops) for child in node.orelse)
    return any(_contains(child, kinds, through_loops) for b in _blocks(node) for child in b)


def returns_inside_control_flow(function: ast.FunctionDef) -> bool:
    """Whether some `return` stands inside an if or a loop."""

    def inside(node: ast.stmt) -> bool:
        if isinstance(node, _SCOPES):
            return False
        if isinstance(node, (ast.If, *_LOOPS)):
            return _contains(node, (ast.Return,), True)
        return any(inside(child) for block in _blocks(node) for child in block)

    return any(inside(node) for node in function.body)


def _name(name: str, context: ast.expr_context, like: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, context), like)


def assign(name: str, value: ast.expr, like: ast.AST) -> ast.Assign:
    """``name = value``, at the place of another node."""
    return ast.copy_location(ast.Assign([_name(name, ast.Store(), like)], value), like)


def constant(value: object, like: ast.AST) -> ast.Constant:
    """A literal at the place of another node."""
    return ast.copy_location(ast.Constant(value), like)


def operator(name: str, arguments: list[ast.expr], like: ast.AST) -> ast.Call:
    """A call of one of AutoGraph's run-time operators."""
    function = ast.copy_location(
        ast.Attribute(_name(PREFIX, ast.Load(), like), name, ast.Load()), like
    )
    call = ast.copy_location(ast.Call(function, arguments, []), like)
    call.is_operator = True
    return call


class _Lowering:
    """One function's jumps."""

    def __init__(self, lower_returns: bool) -> None:
        self.lower_returns = lower_returns
        self.count = 0
        # The flags of the loops around the statement: pairs of names (break, continue).
        self.loops: list[tuple[str, str]] = []

    def jumps(self, node: ast.stmt) -> list[str]:
        """Names of the flags that the statement may set and that concern what follows it."""
        found = []
        if self.loops:
            if _contains(node, (ast.Break,), False):
                found.append(self.loops[-1][0])
            if _contains(node, (ast.Continue,), False):
                found.append(self.loops[-1][1])
        if self.lower_returns and _contains(node, (ast.Return,), True):
            found.append(RETURNED)
        return found

    def always_jumps(self, block: list[ast.stmt]) -> bool:
        """Whether the end of the block cannot be reached."""
        for node in block:
            if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
                return True
            if isinstance(node, ast.If) and node.orelse:
                if self.always_jumps(node.body) and self.always_jumps(node.orelse):
                    return True
            elif isinstance(node, (ast.With, ast.AsyncWith)) and self.always_jumps(node.body):
                # A context manager may swallow an exception, but not a jump.
                return not _contains(node, (ast.Raise,), True)
        return False

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """A list of statements without jumps."""
        done: list[ast.stmt] = []
        for i, node in enumerate(statements):
            flags = self.jumps(node)
            if not flags:
                done += self.statement(node)
                continue
            rest = statements[i + 1 :]
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                return done + self.jump(node)
            if isinstance(node, ast.If) and rest:
                if self.always_jumps(node.body):
                    node.orelse = node.orelse + rest
                    rest = []
                elif node.orelse and self.always_jumps(node.orelse):
                    node.body = node.body + rest
                    rest = []
            done += self.statement(node)
            if rest:
                guard = operator("none_of", [_name(f, ast.Load(), node) for f in flags], node)
                ast.copy_location(guard, rest[0])
                done.append(ast.copy_location(ast.If(guard, self.block(rest), []), rest[0]))
            return done
        return done

    def jump(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Return):
            value = node.value or constant(None, node)
            return [assign(RESULT, value, node), assign(RETURNED, constant(True, node), node)]
        flag = self.loops[-1][0 if isinstance(node, ast.Break) else 1]
        return [assign(flag, constant(True, node), node)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, _SCOPES):
            return [node]
        if isinstance(node, _LOOPS):
            return self.loop(node)
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                setattr(node, name, self.block(getattr(node, name)))
        for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            part.body = self.block(part.body) or [ast.copy_location(ast.Pass(), part)]
        if isinstance(node, ast.If) and not node.body:
            node.body = [ast.copy_location(ast.Pass(), node)]
        return [node]

    def loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        self.count += 1
        broken, skipped = f"{PREFIX}break_{self.count}", f"{PREFIX}continue_{self.count}"
        breaks = any(_contains(child, (ast.Break,), False) for child in node.body)
        continues = any(_contains(child, (ast.Continue,), False) for child in node.body)
        returns = self.lower_returns and any(
            _contains(child, (ast.Return,), True) for child in node.body
        )
        after, node.orelse = node.orelse, []
        node.flags = [broken] * breaks + [RETURNED] * returns
        self.loops.append((broken, skipped))
        body = self.block(node.body) or [ast.copy_location(ast.Pass(), node)]
        self.loops.pop()
        if continues:
            body.insert(0, assign(skipped, constant(False, node), node))
        node.body = body
        done = [assign(broken, constant(False, node), node)] if breaks else []
        if isinstance(node, ast.While) and _binds(node.test):
            done += self.test_in_body(node)
        done.append(node)
        if after:
            after = self.block(after)
            if node.flags:
                guard = operator(
                    "none_of", [_name(f, ast.Load(), node) for f in node.flags], after[0]
                )
                after = [ast.copy_location(ast.If(guard, after, []), after[0])]
            done += after
        return done

    def test_in_body(self, node: ast.While) -> list[ast.stmt]:
        """Move a condition that binds names out of the loop's head: the body ends with it."""
        holds = f"{PREFIX}holds_{self.count}"
        first = assign(holds, node.test, node.test)
        again: ast.stmt = assign(holds, copy.deepcopy(node.test), node.test)
        if node.flags:
            guard = operator("none_of", [_name(f, ast.Load(), node) for f in node.flags], node)
            again = ast.copy_location(ast.If(guard, [again], []), node)
        node.body.append(again)
        node.test = _name(holds, ast.Load(), node.test)
        return [first]


def _binds(test: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(test))


def lower(function: ast.FunctionDef) -> None:
    """Rewrite the function's body in place."""
    returns = returns_inside_control_flow(function)
    lowering = _Lowering(returns)
    complete = lowering.always_jumps(function.body)
    body = lowering.block(function.body)
    if returns:
        place = function.body[-1]
        last = ast.copy_location(ast.Pass(), place)
        last.lineno = last.end_lineno = getattr(place, "end_lineno", place.lineno)
        arguments = [_name(RESULT, ast.Load(), last)]
        if not complete:
            arguments.append(_name(RETURNED, ast.Load(), last))
        docstring = body[:1] if ast.get_docstring(function, clean=False) is not None else []
        body = [
            *docstring,
            assign(RETURNED, constant(False, function.body[0]), function.body[0]),
            assign(RESULT, operator("no_result", [], function.body[0]), function.body[0]),
            *body[len(docstring) :],
            ast.copy_location(ast.Return(operator("result", arguments, last)), last),
        ]
    function.body = body or [ast.copy_location(ast.Pass(), function)]
