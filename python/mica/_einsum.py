"""Sums of products by the letters of their axes."""

from __future__ import annotations

from typing import Any

from . import _mica
from ._mica import Tensor
from ._tracing import as_array

_DOTS = "..."


def _free_letters(text: str, n: int) -> str:
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    if n > len(free):
        raise ValueError(f"[einsum] '{text}' leaves no letters for {n} more axes")
    return "".join(free[:n])


def _terms(equation: str, operands: list) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters for what '...' stands for."""
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"[einsum] '{equation}' has {len(terms)} terms for {len(operands)} arrays")
    spread = 0
    for term, x in zip(terms, operands, strict=True):
        named = len(term.replace(_DOTS, ""))
        if (named > x.ndim) if _DOTS in term else (named != x.ndim):
            raise ValueError(f"[einsum] '{term}' does not fit an array {tuple(x.shape)}")
        if _DOTS in term:
            spread = max(spread, x.ndim - named)
    letters = _free_letters(text, spread)
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        n = x.ndim - len(term.replace(_DOTS, ""))
        terms[i] = term.replace(_DOTS, letters[spread - n :], 1)
    if not arrow:
        every = "".join(terms)
        output = "".join(c for c in sorted(set(every)) if every.count(c) == 1 and c not in letters)
        output = letters + output
    else:
        output = output.replace(_DOTS, letters, 1)
    for term in [*terms, output]:
        if not all(c.isalpha() for c in term):
            raise ValueError(f"[einsum] '{equation}' has more than letters, commas, '...' and '->'")
    if len(set(output)) != len(output) or not set(output) <= set("".join(terms)):
        raise ValueError(f"[einsum] the result '{output}' repeats a letter, or has one of no term")
    return terms, output


def _diagonal(x: Any, term: str) -> tuple[Any, str]:
    """An array whose letters are all different: of a repeated one the diagonal is taken."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            n = x.shape[first]
            if x.shape[second] != n:
                raise ValueError(
                    f"[einsum] axes of the letter '{letter}' have different sizes: "
                    f"{n} and {x.shape[second]}"
                )
            rest = [i for i in range(x.ndim) if i not in (first, second)]
            shape = [x.shape[i] for i in rest]
            flat = x.transpose((*rest, first, second)).reshape(*shape, n * n)
            start, limit = [0] * (len(shape) + 1), [*shape, n * n]
            step = [1] * len(shape) + [n + 1]
            x = _mica.slice(flat, start=start, limit=limit, stride=step) if n else flat
            term = "".join(term[i] for i in rest) + letter
    return x, term


def _product(a: Any, a_term: str, b: Any, b_term: str, kept: set[str]) -> tuple[Any, str]:
    """Two arrays to one: what is in both and not kept is summed over."""
    shared = [c for c in a_term if c in b_term]
    for c in shared:  # an axis of size 1 stretches
        n, m = a.shape[a_term.index(c)], b.shape[b_term.index(c)]
        if n == m:
            continue
        if 1 not in (n, m):
            raise ValueError(f"[einsum] axes of the letter '{c}' have different sizes: {n} and {m}")
        shape = list((a if n == 1 else b).shape)
        shape[(a_term if n == 1 else b_term).index(c)] = max(n, m)
        if n == 1:
            a = a.broadcast_to(tuple(shape))
        else:
            b = b.broadcast_to(tuple(shape))
    batch = [c for c in shared if c in kept]
    contract = [c for c in shared if c not in kept]
    result = _mica.dot(
        a,
        b,
        lhs_contract=[a_term.index(c) for c in contract],
        rhs_contract=[b_term.index(c) for c in contract],
        lhs_batch=[a_term.index(c) for c in batch],
        rhs_batch=[b_term.index(c) for c in batch],
    )
    rest = [c for c in a_term if c not in shared] + [c for c in b_term if c not in shared]
    return result, "".join(batch + rest)


def _summed(x: Any, term: str, kept: set[str]) -> tuple[Any, str]:
    """Without the axes that nothing else needs."""
    axes = [i for i, c in enumerate(term) if c not in kept]
    return (x.sum(axes), "".join(c for c in term if c in kept)) if axes else (x, term)


def einsum(equation: str, *operands: Any) -> Tensor:
    """The sum of products that an equation of letters names, as numpy's.

    Parameters
    ----------
    equation : str
        The letters of each array's axes, separated by commas, then ``->`` and those of the result.
        Letters that the result lacks are summed over; ``...`` stands for axes that broadcast.
    *operands : array
        Of one dtype; several are multiplied from left to right.

    Examples
    --------
    >>> import mica
    >>> mica.einsum("bij,bjk->bik", mica.ones((2, 3, 4)), mica.ones((2, 4, 5))).shape
    (2, 3, 5)
    >>> mica.einsum("ii", [[1.0, 2.0], [3.0, 4.0]]).item()
    5.0
    """
    arrays = [as_array(x) for x in operands]
    if not arrays:
        raise ValueError("[einsum] needs at least one array")
    terms, output = _terms(equation, arrays)
    pairs = [_diagonal(x, term) for x, term in zip(arrays, terms, strict=True)]
    x, term = pairs[0]
    for i, (other, other_term) in enumerate(pairs[1:], 2):
        later = set(output).union(*(t for _, t in pairs[i:]))
        x, term = _summed(x, term, later | set(other_term))
        other, other_term = _summed(other, other_term, later | set(term))
        x, term = _product(x, term, other, other_term, later)
    x, term = _summed(x, term, set(output))
    order = tuple(term.index(c) for c in output)
    return x if order == tuple(range(len(order))) else x.transpose(order)
