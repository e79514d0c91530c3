"""From a function to the syntax tree of its source, with the file's own line numbers.

Only the lines of the function are parsed, so the cost does not depend on the length of the file. A
lambda may stand anywhere in a statement: for it the file is parsed once, and the right one of
several on a line is told by its code.
"""

from __future__ import annotations

import ast
import linecache
import types


class SourceError(ValueError):
    """The source of a function cannot be had, or is not what the function was made from."""


# Lines beyond the last one that has code, which closing brackets and comments may take.
_TAIL = 60
_trees: dict[str, tuple[list[str], ast.Module]] = {}


def _lines_of(function: types.FunctionType) -> list[str]:
    code = function.__code__
    filename = code.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        raise SourceError(
            f"the source code of {function.__qualname__} could not be found ({filename}). Note "
            f"that functions defined in certain environments, like the interactive Python shell, "
            f"do not expose their source code. If that is the case, you should define them in a "
            f".py source file."
        )
    return lines


def last_line(code: types.CodeType) -> int:
    """The last line that has code, nested functions included."""
    last = max((line for _, _, line in code.co_lines() if line is not None), default=0)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            last = max(last, last_line(constant))
    return last


def parse(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The tree of a function or lambda; positions are those of its file.

    Raises
    ------
    SourceError
        If there is no source, or it does not belong to the function.
    """
    code = function.__code__
    lines = _lines_of(function)
    if code.co_name == "<lambda>":
        return _parse_lambda(code, lines)
    first = code.co_firstlineno
    if first > len(lines):
        raise SourceError(f"{code.co_filename} is shorter than when {code.co_name} was made")
    start = lines[first - 1]
    indented = start[:1] in (" ", "\t")
    head = ["if 1:\n"] if indented else []
    stop = max(last_line(code), first)
    for end in range(stop, min(stop + _TAIL, len(lines)) + 1):
        try:
            module = ast.parse("".join(head + lines[first - 1 : end]))
        except SyntaxError:
            continue
        node = module.body[0].body[0] if indented else module.body[0]
        ast.increment_lineno(node, first - 1 - len(head))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _fits(node, code):
            return node
        break
    return _search(code, lines)


def _tree(filename: str, lines: list[str]) -> ast.Module:
    kept = _trees.get(filename)
    if kept is not None and (kept[0] is lines or kept[0] == lines):
        return kept[1]
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError as error:
        raise SourceError(f"the source of {filename} cannot be parsed: {error}") from error
    _trees[filename] = (lines, tree)
    return tree


def _search(code: types.CodeType, lines: list[str]) -> ast.FunctionDef:
    for node in ast.walk(_tree(code.co_filename, lines)):
        if isinstance(node, ast.FunctionDef) and _fits(node, code):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return _copied(node)
    raise SourceError(f"the source of {code.co_name} is not at its place in {code.co_filename}")


def _argument_names(arguments: ast.arguments) -> tuple[str, ...]:
    names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return tuple(names)


def _fits(node: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> bool:
    if getattr(node, "name", "<lambda>") != code.co_name:
        return False
    names = _argument_names(node.args)
    given = code.co_varnames[: len(names)]
    # Private names of a class are mangled in the code.
    return len(given) == len(names) and all(
        a == b or b.endswith(a) for a, b in zip(names, given, strict=True)
    )


def _parse_lambda(code: types.CodeType, lines: list[str]) -> ast.Lambda:
    tree = _tree(code.co_filename, lines)
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno and _fits(node, code)
    ]
    if len(found) > 1:
        found = [node for node in found if _same_code(node, code)] or found
        column = _first_column(code)
        if len(found) > 1 and column is not None:
            found = [n for n in found if n.body.col_offset <= column < n.end_col_offset] or found
    if not found:
        raise SourceError(f"the source of a lambda was not found in {code.co_filename}")
    texts = {ast.dump(node) for node in found}
    if len(texts) > 1:
        raise SourceError(
            f"line {code.co_firstlineno} of {code.co_filename} has several lambdas that cannot be "
            f"told apart; put them on lines of their own"
        )
    return _copied(found[0])


def _first_column(code: types.CodeType) -> int | None:
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return None
    columns = [column for line, _, column, _ in positions() if line and column]
    return min(columns, default=None)


def _same_code(node: ast.Lambda, code: types.CodeType) -> bool:
    try:
        compiled = compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval")
    except (SyntaxError, ValueError):
        return False
    other = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    # Whether a name is global or free is not seen from the expression alone.
    names = set(other.co_names) | set(other.co_freevars)
    return names == set(code.co_names) | set(code.co_freevars) and _constants(other) == _constants(
        code
    )


def _constants(code: types.CodeType) -> tuple:
    return tuple(
        (c.co_name, c.co_varnames) if isinstance(c, types.CodeType) else (type(c), c)
        for c in code.co_consts
    )


def _copied(node: ast.AST) -> ast.AST:
    """A copy that may be changed; the file's tree is kept."""
    if isinstance(node, list):
        return [_copied(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    new = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
    for name in node._attributes:
        if hasattr(node, name):
            setattr(new, name, getattr(node, name))
    return new
