"""Single faults that a line of C can have: what scripts/mutants.py chooses from.

A fault is one of five kinds: index (another element, axis or operand), mask (another condition or
bit), sign, rounding (another way to round, a coarser type, a wrong digit in a constant) and bound
(one more or one less). A line is cut into tokens; text and comments are never changed.
"""

import dataclasses
import pathlib
import re

KINDS = ("index", "mask", "sign", "rounding", "bound")

TOKEN = re.compile(
    r'(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')'
    r"|(?P<float>(?:0x[0-9a-fA-F]*\.?[0-9a-fA-F]*p[+-]?\d+"
    r"|\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)[fF]?)"
    r"|(?P<integer>0x[0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<space>\s+)"
    r"|(?P<operator><<=|>>=|->|\+\+|--|&&|\|\||<<|>>|<=|>=|==|!=|[-+*/%&|^]=|\.\.\.|##|.)"
)

SWAPPED = {
    "lhs": "rhs",
    "rows": "columns",
    "low": "high",
    "lower": "upper",
    "outer": "inner",
    "before": "after",
    "first": "last",
    "left": "right",
    "begin": "end",
    "min": "max",
}
SWAPPED |= {value: key for key, value in SWAPPED.items()}
CALLS = {
    "mica_add": "mica_sub",
    "mica_sub": "mica_add",
    "mica_mul": "mica_div",
    "mica_div": "mica_mul",
    "mica_max": "mica_min",
    "mica_min": "mica_max",
    "mica_sin": "mica_cos",
    "mica_cos": "mica_sin",
}
ROUNDED = {"floor": "ceil", "ceil": "floor", "rint": "trunc", "round": "trunc", "trunc": "floor"}
ROUNDED |= {name + "f": other + "f" for name, other in ROUNDED.items()}
OPERATORS = {
    "<": ("bound", "<="),
    "<=": ("bound", "<"),
    ">": ("bound", ">="),
    ">=": ("bound", ">"),
    "&&": ("mask", "||"),
    "||": ("mask", "&&"),
    "==": ("mask", "!="),
    "!=": ("mask", "=="),
    "<<": ("mask", ">>"),
    ">>": ("mask", "<<"),
    "+=": ("sign", "-="),
    "-=": ("sign", "+="),
    "*=": ("index", "+="),
}
BINARY = {
    "+": ("sign", "-"),
    "-": ("sign", "+"),
    "*": ("index", "+"),
    "/": ("index", "*"),
    "%": ("index", "/"),
    "&": ("mask", "|"),
    "|": ("mask", "&"),
    "^": ("mask", "&"),
}
# Calls whose operands may stand in any order.
COMMUTES = re.compile(r"(?:add|mul|max|min|and|or|xor|equal|same\w*|eq|ne|agree)$")
INDEX_NAME = re.compile(r"^(?:[ijkmnrcd]|axis|row|column|lane|place)$")
DECLARES_ARRAY = re.compile(r"^\s*(?:static |const |unsigned )*\w+ \**\w+\[")
DECLARES = re.compile(r"^\s*(?:static |const |unsigned )*\w+ \**\w+(?: =|,|\[)")
# Memory that is asked for before it is needed, and how far before.
ASKS_AHEAD = re.compile(r"__builtin_prefetch\(|\bint64_t ahead =")
ALLOCATES = re.compile(r"alloc$")
SPREADS = ("mica_parallel_for", "mica_parallel_walk")  # (how many, how many at a time, ...)


@dataclasses.dataclass(frozen=True)
class Fault:
    path: str
    line: int  # from 1
    kind: str
    was: str
    now: str
    occurrence: int  # lines of a file can be alike

    @property
    def key(self):
        return (self.path, self.was.strip(), self.now.strip())


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int

    @property
    def end(self):
        return self.at + len(self.text)


def tokens_of(line):
    return [Token(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(line)]


def code_lines(text):
    """Lines by number with comments blanked; lines with nothing to change are left out."""
    blanked = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    blanked = re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), blanked)
    for number, line in enumerate(blanked.split("\n"), 1):
        begin = line.lstrip()
        if begin.startswith("#") and not begin.startswith("#define"):
            continue
        if not begin or "assert(" in begin or "_Pragma" in begin:
            continue
        if ASKS_AHEAD.search(begin):  # computes nothing, whatever it is given
            continue
        if line == begin and not begin.startswith("#"):  # what a function or a table is called
            continue
        yield number, line


def wrong_digit(number):
    """The same number with another second digit; None when there is none."""
    digits = "0123456789abcdef" if number.lower().startswith("0x") else "0123456789"
    begin = 2 if len(digits) == 16 else 0
    seen = 0
    for i in range(begin, len(number)):
        c = number[i].lower()
        if c == "p" or (c in "ef" and len(digits) == 10):
            break
        if c not in digits or (c == "0" and not seen):
            continue
        seen += 1
        if seen == 2:
            other = digits[(digits.index(c) + len(digits) // 2) % len(digits)]
            return number[:i] + other + number[i + 1 :]
    if re.fullmatch(r"\d+\.\d*[fF]?", number) and float(number.rstrip("fF")) != 0:
        return f"{float(number.rstrip('fF')) * 1.5!r}" + ("f" if number[-1] in "fF" else "")
    return None


def closing(tokens, i):
    """The place of the token that closes the bracket at i; None when it is on another line."""
    depth = 0
    for k in range(i, len(tokens)):
        depth += tokens[k].text in "([{"
        depth -= tokens[k].text in ")]}" and tokens[k].kind == "operator"
        if depth == 0:
            return k
    return None


def arguments(tokens, i):
    """[(begin, end)] of what stands between the commas of the bracket at i."""
    end = closing(tokens, i)
    if end is None:
        return []
    parts, depth, begin = [], 0, i + 1
    for k in range(i + 1, end + 1):
        if depth == 0 and (k == end or tokens[k].text == ","):
            parts.append((tokens[begin].at, tokens[k].at) if begin < k else None)
            begin = k + 1
        depth += tokens[k].text in "([{"
        depth -= tokens[k].text in ")]}" and tokens[k].kind == "operator"
    return [part for part in parts if part]


def is_operand(token):
    return token is not None and (token.kind in ("name", "integer", "float") or token.text in ")]")


def is_spaced(line, token):
    return line[token.at - 1 : token.at] == " " and line[token.end : token.end + 1] == " "


def token_faults(line, tokens, i):
    """(kind, begin, end, text to put there) for the token at i."""
    token = tokens[i]
    before = tokens[i - 1] if i > 0 else None
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    text = token.text
    binary = is_operand(before) and is_spaced(line, token)
    if token.kind == "operator":
        if text in OPERATORS and is_spaced(line, token):
            kind, other = OPERATORS[text]
            yield kind, token.at, token.end, other
        if text in BINARY and binary and before.text != "return":
            kind, other = BINARY[text]
            yield kind, token.at, token.end, other
        if text in "+-" and binary and after and after.text == "1":
            following = tokens[i + 2].text if i + 2 < len(tokens) else ""
            if following not in ("*", "/", "<<", "."):
                yield "bound", before.end, after.end, ""
        if text == "-" and not is_operand(before) and after and not line[token.end].isspace():
            yield "sign", token.at, token.end, ""
        if text in "!~" and after:
            yield "mask", token.at, token.end, ""
        if text == "[" and is_operand(before) and not DECLARES_ARRAY.match(line):
            yield from subscript_faults(line, tokens, i)
        if text == "?":
            yield from choice_faults(line, tokens, i)
    elif token.kind == "name":
        yield from name_faults(line, tokens, i)
    elif token.kind == "integer":
        if not DECLARES_ARRAY.match(line) and re.fullmatch(r"\d{1,3}", text):
            yield "bound", token.at, token.end, str(int(text) + 1)
        if re.fullmatch(r"0x[0-9a-fA-F]+[uUlL]*", text) and wrong_digit(text):
            yield "mask", token.at, token.end, wrong_digit(text)
    elif token.kind == "float" and wrong_digit(text):
        yield "rounding", token.at, token.end, wrong_digit(text)


def subscript_faults(line, tokens, i):
    end = closing(tokens, i)
    if end is None or end == i + 1:
        return
    inside = line[tokens[i].end : tokens[end].at]
    other = {"0": "1", "1": "0"}.get(inside, f"{inside} + 1")
    yield "index", tokens[i].end, tokens[end].at, other


def choice_faults(line, tokens, i):
    """a ? b : c with its sides exchanged, where both are on the line."""
    depth = 0
    for k in range(i + 1, len(tokens)):
        text = tokens[k].text
        depth += text in "([{?" and tokens[k].kind == "operator"
        if depth == 0 and text == ":":
            break
        depth -= text in ")]}:" and tokens[k].kind == "operator"
        if depth < 0:
            return
    else:
        return
    end = k + 1
    depth = 0
    while end < len(tokens):
        text = tokens[end].text
        if depth == 0 and text in (";", ",", ")", "]", "}", ":", "?"):
            break
        depth += text in "([{" and tokens[end].kind == "operator"
        depth -= text in ")]}" and tokens[end].kind == "operator"
        end += 1
    else:
        return
    if tokens[end].text == "?" or end == k + 1:
        return
    yes = line[tokens[i].end : tokens[k].at].strip()
    no = line[tokens[k].end : tokens[end].at].strip()
    if yes != no:
        yield "mask", tokens[i].end, tokens[end].at, f" {no} : {yes}"


def name_faults(line, tokens, i):
    token = tokens[i]
    text = token.text
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    before = tokens[i - 1] if i > 0 else None
    is_call = after is not None and after.text == "("
    is_member = before is not None and before.text in (".", "->")
    if text in CALLS and is_call:
        yield "sign", token.at, token.end, CALLS[text]
    if text in ROUNDED and is_call:
        yield "rounding", token.at, token.end, ROUNDED[text]
    if text == "double" and before and before.text == "(" and after and after.text == ")":
        yield "rounding", token.at, token.end, "float"
    if text in ("true", "false"):
        yield "mask", token.at, token.end, "false" if text == "true" else "true"
    if text in SWAPPED and not is_call:
        yield "index", token.at, token.end, SWAPPED[text]
    if text in ("if", "while") and is_call and closing(tokens, i + 1) is not None:
        begin, end = after.end, tokens[closing(tokens, i + 1)].at
        yield "mask", begin, end, f"!({line[begin:end]})"
    if text == "mica_neg" and is_call:
        parts, end = arguments(tokens, i + 1), closing(tokens, i + 1)
        if len(parts) == 2:
            yield "sign", token.at, tokens[end].end, line[parts[1][0] : parts[1][1]]
    if is_call and not COMMUTES.search(text) and text not in ("if", "while", "for", "switch"):
        parts = arguments(tokens, i + 1)
        if len(parts) >= 2:
            (a, b), (c, d) = parts[-2:]
            if line[a:b].strip() != line[c:d].strip():
                swapped = line[c:d].strip() + ", " + line[a:b].strip()
                lead = line[a:b][: len(line[a:b]) - len(line[a:b].lstrip())]
                yield "index", a, d, lead + swapped
    points = after is not None and after.text in (".", "->")
    if INDEX_NAME.match(text) and not is_call and not is_member and not points:
        others = {t.text for t in tokens if t.kind == "name" and INDEX_NAME.match(t.text)}
        for other in sorted(others - {text}):
            yield "index", token.at, token.end, other


def extents(line, tokens):
    """The sizes of arrays that a line declares after others: larger ones change nothing."""
    if not DECLARES.match(line):
        return
    depth, is_declared = 0, False  # is_declared: between a comma and the = or comma after it
    for i, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        if token.text == "[" and depth == 0 and is_declared and closing(tokens, i) is not None:
            yield token.end, tokens[closing(tokens, i)].at
        depth += token.text in "([{"
        depth -= token.text in ")]}"
        if depth == 0 and token.text in ",=":
            is_declared = token.text == ","


def rooms(tokens):
    """How much memory is asked for."""
    for i, token in enumerate(tokens):
        if ALLOCATES.search(token.text) and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            yield from arguments(tokens, i + 1)


def is_idle(fault, rooms, others):
    """Whether a fault changes nothing by what it is, such as more memory than is needed."""
    kind, begin, end, other = fault
    if any(low <= begin and end <= high for low, high in others):
        return True
    more = kind == "bound" and other.isdigit()
    return more and any(low <= begin and end <= high for low, high in rooms)


def portions(tokens):
    """How many elements threads take at a time: each is computed on its own."""
    for i, token in enumerate(tokens):
        if token.text in SPREADS and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            yield from arguments(tokens, i + 1)[1:2]


def faults_of(path, text):
    """All the faults of a file, but those that change nothing by what they are."""
    originals = text.split("\n")
    seen = {}
    for number, line in code_lines(text):
        was = originals[number - 1]
        tokens = [token for token in tokens_of(line) if token.kind != "space"]
        occurrence = seen[was] = seen.get(was, -1) + 1
        made = set()
        asked, others = [*rooms(tokens)], [*extents(line, tokens), *portions(tokens)]
        for i in range(len(tokens)):
            for fault in token_faults(line, tokens, i):
                kind, begin, end, other = fault
                if is_idle(fault, asked, others):
                    continue
                now = was[:begin] + other + was[end:]
                if now.split() == was.split() or now in made:
                    continue
                made.add(now)
                yield Fault(path, number, kind, was, now, occurrence)


# Looks for a library, cuts graphs for ML Compute: no kernel, no rule of an op.
NO_KERNEL = ("src/device/cpu/lapack.c", "src/transform/cut.c")


def sources(root):
    """What is changed: kernels, rules of transforms and shapes, the text of scalar functions."""
    root = pathlib.Path(root)
    patterns = (
        "src/device/cpu/*.[ch]",
        "src/device/cpu/isa/*.[ch]",
        "src/transform/*.[ch]",
        "src/ir/shape_*.c",
        "src/ir/scalar*.h",
    )
    found = {str(p.relative_to(root)) for pattern in patterns for p in root.glob(pattern)}
    return sorted(found.difference(NO_KERNEL))
