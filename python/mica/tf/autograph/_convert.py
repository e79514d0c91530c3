"""The source transformation: branches and bodies become functions that run-time operators call.

    if x > 0:                         def ag__then(): nonlocal y; y = x
        y = x                         def ag__else(): nonlocal y; y = -x
    else:                     =>      ag__.if_stmt(x > 0, ag__then, ag__else,
        y = -x                                   ag__get, ag__set, ("y",), 1)

The new functions share the variables of the function they came from (`nonlocal`), so in plain
Python they do exactly what the statements did. When the condition is a tensor, the operators read
and write the variables through `ag__get` and `ag__set` and build a graph. A name that may not have
a value yet holds `Undefined` from the start of the function, and is read by `ag__.ld`.

Every new node has the place of the user's statement, so tracebacks need no map back.
"""

from __future__ import annotations

import ast

from ._analysis import CONTROL, Liveness, Uses, arguments_of, function_names, uses
from ._lower import PREFIX, assign, constant, lower, operator

# Functions that look at the frame they are called from, or that must stay what they are.
_UNTOUCHED_CALLS = frozenset(
    ("print", "locals", "globals", "vars", "dir", "eval", "exec", "super", "breakpoint")
)
_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNMOVABLE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def _movable(node: ast.AST) -> bool:
    """Whether an expression means the same inside a lambda."""
    return not any(isinstance(part, _UNMOVABLE) for part in ast.walk(node))


def is_generator(function: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether the function has a `yield` or an `await` of its own."""
    pending = list(function.body) if isinstance(function.body, list) else [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))
    return False


class _Frame:
    """What is known of the function that is being converted."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, outer: _Frame | None) -> None:
        self.outer = outer
        self.parameters = [a.arg for a in arguments_of(node.args)]
        positional = node.args.posonlyargs + node.args.args
        self.first = positional[0].arg if positional else None
        self.local, self.uses = function_names(node)
        # Names bound inside branches and bodies: their functions declare them nonlocal.
        self.moved: set[str] = set()
        # Names of exception handlers, which Python deletes at the handler's end.
        self.fragile: set[str] = set()
        # Names that get `Undefined` at the start.
        self.undefined: set[str] = set()
        # Names that surely have a value at the current statement.
        self.assigned: set[str] = set(self.parameters)
        # Names of the comprehensions around the current expression.
        self.shadowed: list[set[str]] = []

    def may_be_undefined(self, name: str) -> bool:
        if any(name in names for names in self.shadowed):
            return False
        if name in self.local:
            return name in self.moved and name not in self.assigned
        frame = self.outer
        while frame is not None:
            if name in frame.local:
                return name in frame.moved and name not in frame.parameters
            frame = frame.outer
        return False


class Converter:
    """Converts one function and the functions inside it."""

    def __init__(self) -> None:
        self.frame: _Frame | None = None
        self.count = 0

    # Functions

    def function(self, node: ast.FunctionDef) -> None:
        """Convert a function's body in place."""
        lower(node)
        frame = self.frame = _Frame(node, self.frame)
        for part in ast.walk(node):
            if isinstance(part, ast.ExceptHandler) and part.name:
                frame.fragile.add(part.name)
        always = set(frame.uses.late) | frame.uses.globals | frame.uses.nonlocals
        Liveness(always).block(node.body, frozenset(always))
        self._find_moved(node.body)
        body = self.block(node.body)
        front = 1 if ast.get_docstring(node, clean=False) is not None else 0
        place = node.body[0]
        new = [self._undefined(name, place) for name in sorted(frame.undefined)]
        for kind, names in ((ast.Global, frame.uses.globals), (ast.Nonlocal, frame.uses.nonlocals)):
            if names:
                new.insert(0, ast.copy_location(kind(sorted(names)), place))
        node.body = body[:front] + new + body[front:]
        self.frame = frame.outer

    def _find_moved(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            if isinstance(node, CONTROL):
                self.frame.moved |= node.bound & self.frame.local
            else:
                for name in ("body", "orelse", "finalbody"):
                    block = getattr(node, name, None)
                    if isinstance(block, list) and not isinstance(
                        node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
                    ):
                        self._find_moved(block)
                for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
                    self._find_moved(part.body)

    @staticmethod
    def _undefined(name: str, like: ast.AST) -> ast.Assign:
        return assign(name, operator("Undefined", [constant(name, like)], like), like)

    # Statements

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Convert statements that are run one after the other."""
        done: list[ast.stmt] = []
        for node in statements:
            handler = getattr(self, "_" + type(node).__name__.lower(), None)
            if handler is not None:
                done += handler(node)
            else:
                done += self._simple(node)
        return done or [ast.Pass(lineno=1, col_offset=0)]

    def _simple(self, node: ast.stmt) -> list[ast.stmt]:
        bound = uses(node).bound
        self._expressions(node)
        self.frame.assigned |= bound
        return [node]

    def _expressions(self, node: ast.AST) -> None:
        """Convert the expressions directly in a node."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.expression(value))
            elif isinstance(value, list) and value and not isinstance(value[0], ast.stmt):
                for i, part in enumerate(value):
                    if isinstance(part, ast.expr):
                        value[i] = self.expression(part)
                    elif isinstance(part, ast.AST):
                        self._expressions(part)

    def _global(self, node: ast.stmt) -> list[ast.stmt]:
        # They are declared at the start of the function.
        return []

    _nonlocal = _global

    def _augassign(self, node: ast.AugAssign) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        if isinstance(node.target, ast.Name):
            if self.frame.may_be_undefined(node.target.id):
                load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
                check = operator("ld", [load], node)
                done.append(ast.copy_location(ast.Expr(check), node))
        else:
            node.target = self.expression(node.target)
        node.value = self.expression(node.value)
        self.frame.assigned |= uses(node).bound
        return [*done, node]

    def _annassign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        # A nonlocal name must not be annotated.
        if isinstance(node.target, ast.Name) and node.target.id in self.frame.moved:
            if node.value is None:
                return []
            return self._simple(ast.copy_location(ast.Assign([node.target], node.value), node))
        return self._simple(node)

    def _delete(self, node: ast.Delete) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.frame.moved:
                load = ast.copy_location(ast.Name(target.id, ast.Load()), node)
                done.append(ast.copy_location(ast.Expr(operator("ld", [load], node)), node))
                done.append(self._undefined(target.id, node))
            else:
                target = self.expression(target)
                done.append(ast.copy_location(ast.Delete([target]), node))
            if isinstance(target, ast.Name):
                self.frame.assigned.discard(target.id)
        return done

    def _assert(self, node: ast.Assert) -> list[ast.stmt]:
        if node.msg is not None and not _movable(node.msg):
            return self._simple(node)
        message = self._lambda_of(node.msg) if node.msg is not None else constant(None, node)
        call = operator("assert_stmt", [self.expression(node.test), message], node)
        return [ast.copy_location(ast.Expr(call), node)]

    def _functiondef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        node.decorator_list = [self.expression(part) for part in node.decorator_list]
        self._defaults(node.args)
        if not is_generator(node):
            self.function(node)
            mark = ast.Attribute(ast.Name(PREFIX, ast.Load()), "artifact", ast.Load())
            mark = ast.copy_location(mark, node)
            ast.copy_location(mark.value, node)
            node.decorator_list.append(mark)
        self.frame.assigned.add(node.name)
        return [node]

    def _asyncfunctiondef(self, node: ast.AsyncFunctionDef) -> list[ast.stmt]:
        self.frame.assigned.add(node.name)
        return [node]

    def _classdef(self, node: ast.ClassDef) -> list[ast.stmt]:
        node.bases = [self.expression(part) for part in node.bases]
        node.decorator_list = [self.expression(part) for part in node.decorator_list]
        self.frame.assigned.add(node.name)
        return [node]

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.expression(part) for part in arguments.defaults]
        arguments.kw_defaults = [
            None if part is None else self.expression(part) for part in arguments.kw_defaults
        ]

    def _with(self, node: ast.With) -> list[ast.stmt]:
        for item in node.items:
            item.context_expr = self.expression(item.context_expr)
            if item.optional_vars is not None:
                bound = uses(item.optional_vars).bound
                item.optional_vars = self.expression(item.optional_vars)
                self.frame.assigned |= bound
        node.body = self.block(node.body)
        return [node]

    def _try(self, node: ast.Try) -> list[ast.stmt]:
        frame = self.frame
        before = set(frame.assigned)
        ends = []
        node.body = self.block(node.body)
        if node.orelse:
            node.orelse = self.block(node.orelse)
        ends.append(frame.assigned)
        for handler in node.handlers:
            frame.assigned = set(before)
            if handler.type is not None:
                handler.type = self.expression(handler.type)
            if handler.name:
                frame.assigned.add(handler.name)
            leaves = isinstance(handler.body[-1], ast.Raise)
            handler.body = self.block(handler.body)
            frame.assigned.discard(handler.name)
            if not leaves:
                ends.append(frame.assigned)
        after = set.intersection(*ends)
        if node.finalbody:
            frame.assigned = set(before)
            node.finalbody = self.block(node.finalbody)
            after |= frame.assigned
        frame.assigned = after
        return [node]

    _trystar = _try

    def _match(self, node: ast.stmt) -> list[ast.stmt]:
        frame = self.frame
        node.subject = self.expression(node.subject)
        before = set(frame.assigned)
        for case in node.cases:
            frame.assigned = before | uses(case.pattern).bound
            if case.guard is not None:
                case.guard = self.expression(case.guard)
            case.body = self.block(case.body)
        frame.assigned = before
        return [node]

    # Control flow

    def _enter(self, node: ast.stmt) -> set[str]:
        """Note the names that have no sure value before a branch or loop that binds them."""
        frame = self.frame
        frame.undefined |= (node.bound & frame.local) - frame.assigned - set(frame.parameters)
        return set(frame.assigned)

    def _if(self, node: ast.If) -> list[ast.stmt]:
        frame = self.frame
        test = self.expression(node.test)
        frame.assigned |= uses(node.test).bound
        before = self._enter(node)
        leaves = [bool(b) and isinstance(b[-1], ast.Raise) for b in (node.body, node.orelse)]
        ends = []
        blocks = []
        used = []
        for block in (node.body, node.orelse):
            frame.assigned = set(before)
            used.append(uses(block))
            blocks.append(self.block(block))
            ends.append(frame.assigned)
        frame.assigned = ends[1] if leaves[0] else ends[0] if leaves[1] else ends[0] & ends[1]
        outputs, inputs = self._state(node)
        self.count += 1
        names = [f"{PREFIX}then_{self.count}", f"{PREFIX}else_{self.count}"]
        functions = [
            self._helper(name, [], block, use, node)
            for name, block, use in zip(names, blocks, used, strict=True)
        ]
        accessors, get, put = self._accessors(outputs + inputs, node)
        arguments = [
            test,
            self._load(names[0], node),
            self._load(names[1], node),
            get,
            put,
            self._texts(outputs + inputs, node),
            constant(len(outputs), node),
        ]
        return [*functions, *accessors, self._call("if_stmt", arguments, node)]

    def _while(self, node: ast.While) -> list[ast.stmt]:
        frame = self.frame
        options = self._loop_options(node)
        before = self._enter(node)
        in_test = uses(node.test)
        test = self.expression(node.test)
        if node.flags:
            going_on = operator("none_of", [self._load(f, node) for f in node.flags], node)
            if _movable(node.test):
                test = operator("and_", [going_on, self._lambda_of(test, False)], node)
            else:
                test = ast.copy_location(ast.BoolOp(ast.And(), [going_on, test]), node)
        frame.assigned |= in_test.bound
        after = before | in_test.bound
        used = uses(node.body)
        body = self.block(node.body)
        frame.assigned = after
        outputs, inputs = self._state(node)
        self.count += 1
        names = [f"{PREFIX}test_{self.count}", f"{PREFIX}body_{self.count}"]
        answer = [ast.copy_location(ast.Return(test), node)]
        functions = [
            self._helper(names[0], [], answer, in_test, node),
            self._helper(names[1], [], body, used, node),
        ]
        accessors, get, put = self._accessors(outputs + inputs, node)
        arguments = [
            self._load(names[0], node),
            self._load(names[1], node),
            get,
            put,
            self._texts(outputs + inputs, node),
            options,
        ]
        return [*functions, *accessors, self._call("while_stmt", arguments, node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        frame = self.frame
        options = self._loop_options(node)
        sequence = self.expression(node.iter)
        frame.assigned |= uses(node.iter).bound
        before = self._enter(node)
        used = uses([node.target, *node.body])
        name_of_target = node.target.id if isinstance(node.target, ast.Name) else None
        frame.assigned |= uses(node.target).bound
        target = self.expression(node.target)
        item = PREFIX + "item"
        first = ast.copy_location(ast.Assign([target], self._load(item, node.target)), node.target)
        body = [first, *self.block(node.body)]
        frame.assigned = before
        outputs, inputs = self._state(node)
        self.count += 1
        name = f"{PREFIX}body_{self.count}"
        functions = [self._helper(name, [item], body, used, node)]
        going_on: ast.expr = constant(None, node)
        if node.flags:
            going_on = operator("none_of", [self._load(f, node) for f in node.flags], node)
            going_on = self._lambda_of(going_on, False)
        accessors, get, put = self._accessors(outputs + inputs, node)
        arguments = [
            sequence,
            going_on,
            self._load(name, node),
            get,
            put,
            self._texts(outputs + inputs, node),
            constant(name_of_target, node),
            options,
        ]
        return [*functions, *accessors, self._call("for_stmt", arguments, node)]

    def _loop_options(self, node: ast.For | ast.While) -> ast.expr:
        """Take `set_loop_options` out of a loop's body; it is evaluated before the loop."""
        for i, statement in enumerate(node.body):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", None))
            if name == "set_loop_options":
                del node.body[i]
                if not node.body:
                    node.body.append(ast.copy_location(ast.Pass(), statement))
                new = operator("loop_options", [], call)
                new.args = [self.expression(part) for part in call.args]
                for keyword in call.keywords:
                    keyword.value = self.expression(keyword.value)
                new.keywords = call.keywords
                return new
        return constant(None, node)

    def _state(self, node: ast.stmt) -> tuple[list, list]:
        """The variables that a branch or loop carries: (outputs, those it only takes in)."""
        live_in, live_out = node.live_in, node.live_out
        loop = not isinstance(node, ast.If)
        outputs: list = [n for n in sorted(node.bound) if n in live_out or (loop and n in live_in)]
        for text, (place, names) in sorted(node.places.items()):
            index_names = {
                part.slice.id
                for part in ast.walk(place)
                if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Name)
            }
            if names <= live_in and not (loop and index_names & node.bound):
                outputs.append((text, place))
        inputs: list = [n for n in sorted(node.bound) if n in live_in and n not in outputs]
        return outputs, inputs

    def _accessors(self, state: list, node: ast.stmt) -> tuple[list, ast.expr, ast.expr]:
        """The functions that read and write a statement's state, and how they are called."""
        if not state:
            nothing = [
                ast.copy_location(ast.Attribute(self._load(PREFIX, node), name, ast.Load()), node)
                for name in ("get_nothing", "set_nothing")
            ]
            return [], *nothing
        get, put = f"{PREFIX}get_{self.count}", f"{PREFIX}set_{self.count}"
        values = [self._read(part, node) for part in state]
        answer = ast.copy_location(
            ast.Return(ast.copy_location(ast.Tuple(values, ast.Load()), node)), node
        )
        value = PREFIX + "value"
        writes: list[ast.stmt] = []
        for i, part in enumerate(state):
            item = ast.Subscript(self._load(value, node), constant(i, node), ast.Load())
            ast.copy_location(item, node)
            if isinstance(part, str):
                writes.append(assign(part, item, node))
            else:
                target = _copy_place(part[1], ast.Store(), node)
                write = ast.copy_location(ast.Assign([target], item), node)
                given = operator("is_defined", [item], node)
                writes.append(ast.copy_location(ast.If(given, [write], []), node))
        bound = Uses()
        bound.bound.update(part for part in state if isinstance(part, str))
        functions = [
            self._helper(get, [], [answer], Uses(), node),
            self._helper(put, [value], writes, bound, node),
        ]
        return functions, self._load(get, node), self._load(put, node)

    def _read(self, part: str | tuple, node: ast.stmt) -> ast.expr:
        if isinstance(part, str):
            load = self._load(part, node)
            if part in self.frame.local and part not in self.frame.fragile:
                return load
            text = part
        else:
            text, place = part
            load = _copy_place(place, ast.Load(), node)
        return operator("ldu", [self._lambda_of(load, False), constant(text, node)], node)

    def _helper(
        self, name: str, parameters: list[str], body: list[ast.stmt], used: Uses, node: ast.stmt
    ) -> ast.FunctionDef:
        """A function made of a branch or body, sharing the names that it binds."""
        frame = self.frame
        declared: list[ast.stmt] = []
        shared = sorted((used.bound & frame.local) | (used.bound & frame.uses.nonlocals))
        if shared:
            declared.append(ast.copy_location(ast.Nonlocal(shared), node))
        outside = sorted(used.bound & frame.uses.globals)
        if outside:
            declared.append(ast.copy_location(ast.Global(outside), node))
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.copy_location(ast.arg(p), node) for p in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        function = ast.FunctionDef(name=name, args=arguments, body=declared + body)
        function.decorator_list = []
        if "type_params" in ast.FunctionDef._fields:
            function.type_params = []
        return ast.copy_location(function, node)

    @staticmethod
    def _load(name: str, like: ast.AST) -> ast.Name:
        return ast.copy_location(ast.Name(name, ast.Load()), like)

    @staticmethod
    def _texts(state: list, node: ast.stmt) -> ast.expr:
        texts = [constant(p if isinstance(p, str) else p[0], node) for p in state]
        return ast.copy_location(ast.Tuple(texts, ast.Load()), node)

    @staticmethod
    def _call(name: str, arguments: list[ast.expr], node: ast.stmt) -> ast.Expr:
        return ast.copy_location(ast.Expr(operator(name, arguments, node)), node)

    # Expressions

    def _lambda_of(self, node: ast.expr, convert: bool = True) -> ast.Lambda:
        """``lambda: node``."""
        body = self.expression(node) if convert else node
        arguments = ast.arguments(
            posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        return ast.copy_location(ast.Lambda(arguments, body), node)

    def expression(self, node: ast.expr) -> ast.expr:
        """Convert an expression."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        self._expressions(node)
        return node

    def _name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and self.frame.may_be_undefined(node.id):
            return operator("ld", [node], node)
        return node

    def _constant(self, node: ast.Constant) -> ast.expr:
        return node

    def _boolop(self, node: ast.BoolOp) -> ast.expr:
        if not all(_movable(part) for part in node.values[1:]):
            self._expressions(node)
            return node
        first = self.expression(node.values[0])
        rest = [self._lambda_of(part) for part in node.values[1:]]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return operator(name, [first, *rest], node)

    def _unaryop(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.expression(node.operand)
        return operator("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def _compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1 or not all(_movable(part) for part in node.comparators[1:]):
            self._expressions(node)
            return node
        signs = [constant(_COMPARISONS[type(op)], node) for op in node.ops]
        first = [self.expression(node.left), self.expression(node.comparators[0])]
        rest = [self._lambda_of(part) for part in node.comparators[1:]]
        signs_node = ast.copy_location(ast.Tuple(signs, ast.Load()), node)
        return operator("chain", [signs_node, *first, *rest], node)

    def _ifexp(self, node: ast.IfExp) -> ast.expr:
        if not (_movable(node.body) and _movable(node.orelse)):
            self._expressions(node)
            return node
        parts = [self.expression(node.test)]
        parts += [self._lambda_of(node.body), self._lambda_of(node.orelse)]
        return operator("if_exp", parts, node)

    def _call_expression(self, node: ast.Call) -> ast.expr:
        if getattr(node, "is_operator", False):
            self._expressions(node)
            return node
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "super" and not node.args and not node.keywords and self.frame.first:
            node.args = [self._load("__class__", node), self._load(self.frame.first, node)]
            return node
        self._expressions(node)
        debugger = isinstance(node.func, ast.Attribute) and node.func.attr == "set_trace"
        if name not in _UNTOUCHED_CALLS and not debugger:
            node.func = operator("converted", [node.func], node.func)
        return node

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        self._defaults(node.args)
        if is_generator(node):
            return node
        outer = self.frame
        # Names of a comprehension around it are seen inside as they are outside.
        self.frame = _Frame(node, outer)
        self.frame.shadowed = list(outer.shadowed) if outer is not None else []
        node.body = self.expression(node.body)
        self.frame = outer
        return operator("artifact", [node], node)

    def _comprehension(self, node: ast.expr) -> ast.expr:
        names: set[str] = set()
        first = node.generators[0]
        first.iter = self.expression(first.iter)
        for generator in node.generators:
            names |= uses(generator.target).bound
        self.frame.shadowed.append(names)
        for i, generator in enumerate(node.generators):
            if i:
                generator.iter = self.expression(generator.iter)
            generator.target = self.expression(generator.target)
            generator.ifs = [self.expression(part) for part in generator.ifs]
        for name in ("elt", "key", "value"):
            if getattr(node, name, None) is not None:
                setattr(node, name, self.expression(getattr(node, name)))
        self.frame.shadowed.pop()
        return node

    def _namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.expression(node.value)
        self.frame.assigned.add(node.target.id)
        return node


_EXPRESSIONS = {
    ast.Name: Converter._name,
    ast.Constant: Converter._constant,
    ast.BoolOp: Converter._boolop,
    ast.UnaryOp: Converter._unaryop,
    ast.Compare: Converter._compare,
    ast.IfExp: Converter._ifexp,
    ast.Call: Converter._call_expression,
    ast.Lambda: Converter._lambda,
    ast.NamedExpr: Converter._namedexpr,
    ast.ListComp: Converter._comprehension,
    ast.SetComp: Converter._comprehension,
    ast.DictComp: Converter._comprehension,
    ast.GeneratorExp: Converter._comprehension,
}


def _copy_place(node: ast.expr, context: ast.expr_context, like: ast.AST) -> ast.expr:
    """A fresh copy of ``a.b[i]`` with another context."""
    if isinstance(node, ast.Attribute):
        new = ast.Attribute(_copy_place(node.value, ast.Load(), like), node.attr, context)
    elif isinstance(node, ast.Subscript):
        inner = node.slice
        index = (
            constant(inner.value, like)
            if isinstance(inner, ast.Constant)
            else _copy_place(inner, ast.Load(), like)
        )
        new = ast.Subscript(_copy_place(node.value, ast.Load(), like), index, context)
    else:
        while not isinstance(node, ast.Name):
            # A name that was converted to a check that it is defined.
            node = node.args[0]
        new = ast.Name(node.id, context)
    return ast.copy_location(new, like)
