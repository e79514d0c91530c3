"""Functions with Python control flow over tensors: branches, returns, loops, jumps, logic."""

from __future__ import annotations

import collections

import autograph_cases_python  # noqa: F401
import tensorflow as tf
from autograph_registry import CASES, Py, argument, case

__all__ = ["CASES", "argument"]


# Branches


@case((3,), (-3,))
def if_else(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y


@case((3,), (-3,))
def if_alone(x):
    if x < 0:
        x = -x
    return x


@case((1,), (5,), (20,), (200,))
def elif_chain(x):
    if x < 2:
        y = 1
    elif x < 10:
        y = 2
    elif x < 100:
        y = 3
    else:
        y = 4
    return y * x


@case((1,), (5,), (-20,))
def nested_if(x):
    y = x
    if x > 0:
        if x > 3:
            y = x * 2
        else:
            y = x * 3
        y = y + 1
    return y


@case((1, 2), (2, 1), (2, 2))
def two_variables(a, b):
    if a < b:
        low, high = a, b
    else:
        low, high = b, a
    return low, high


@case((1, 2), (2, 1))
def swap(a, b):
    if a > b:
        a, b = b, a
    return a, b


@case((1.0,), (-1.0,))
def constants_in_branches(x):
    if x > 0.0:
        sign = 1.0
    else:
        sign = -1.0
    return sign * x


@case((2,), (-2,))
def local_of_a_branch(x):
    y = x + 1
    if x > 0:
        t = x * x
        y = y + t
    return y


@case((2,), (-2,))
def same_name_in_both(x):
    if x > 0:
        t = x * 10
        y = t + 1
    else:
        t = x - 10
        y = t - 1
    return y


@case((True,), (False,))
def boolean_condition(flag):
    result = 0
    if flag:
        result = 7
    return result


@case((3, Py(True)), (3, Py(False)), traces=2)
def python_condition(x, double):
    if double:
        x = x * 2
    return x


@case((3, Py(None)), (3, 4), traces=2)
def none_is_python(x, y):
    if y is None:
        y = x
    return x + y


@case((3,), (-3,))
def tuple_in_branches(x):
    if x > 0:
        pair = (x, x + 1)
    else:
        pair = (x - 1, x)
    return pair[0] * pair[1]


@case((3,), (-3,))
def dictionary_in_branches(x):
    if x > 0:
        d = {"a": x, "b": x + 1}
    else:
        d = {"a": x - 1, "b": x}
    return d["a"] - d["b"]


Point = collections.namedtuple("Point", "x y")


@case((3,), (-3,))
def namedtuple_in_branches(x):
    p = Point(x, x)
    if x > 0:
        p = Point(p.y + 1, p.x * 2)
    return p.x, p.y


@case((3,), (-3,))
def aug_assign(x):
    y = x
    if x > 0:
        y += 5
        y *= 2
    else:
        y -= 1
    return y


@case((4,), (-4,))
def both_branches_call(x):
    def double(v):
        return v * 2

    def halve(v):
        return v // 2

    if x > 0:
        y = double(x)
    else:
        y = halve(x)
    return y


@case(([1.0, 2.0],), ([-1.0, -2.0],))
def vectors(x):
    if tf.reduce_sum(x) > 0.0:
        y = x * 2.0
    else:
        y = x / 2.0
    return y


@case((1, 1), (1, -1), (-1, 1), (-1, -1))
def branches_of_branches(a, b):
    if a > 0:
        if b > 0:
            q = 1
        else:
            q = 4
    else:
        if b > 0:
            q = 2
        else:
            q = 3
    return q


@case((5,), (-5,))
def empty_then(x):
    y = 1
    if x > 0:
        pass
    else:
        y = 2
    return y


@case((5,), (-5,))
def unused_assignment(x):
    if x > 0:
        unused = x * 3  # noqa: F841
    return x


@case((5,), (-5,))
def input_only(x):
    t = x
    y = x
    if x > 0:
        t = t + 1
        y = t * 2
    else:
        t = t - 1
        y = t * 3
    return y


# Returns


@case((3,), (-3,))
def early_return(x):
    if x > 0:
        return x
    return -x


@case((3,), (-3,), (0,))
def several_returns(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@case((3,), (-3,))
def return_in_both(x):
    if x > 0:
        return x * 2
    else:
        return x * 3


@case((3,), (30,), (-3,), beyond=True)
def nested_returns(x):
    if x > 0:
        y = x + 1
        if y > 10:
            return y
        y = y * 2
    else:
        y = x - 1
    return y + 100


@case((3,), (-3,))
def return_tuple(x):
    if x > 0:
        return x, True
    return -x, False


@case((3,), (-3,))
def return_dictionary(x):
    if x > 0:
        return {"value": x, "sign": 1}
    return {"value": -x, "sign": -1}


@case((3, Py(1)), (3, Py(2)), traces=2)
def python_return(x, mode):
    if mode == 1:
        return x
    y = x * x
    return y + mode


@case((3,), (-3,))
def return_before_more(x):
    y = x
    if y < 0:
        y = -y
        return y * 100
    y = y + 1
    y = y * 2
    return y


@case((3,), (-3,), (13,))
def guard_clauses(x):
    if x < 0:
        return x
    if x > 10:
        return x * 2
    y = x * x
    if y > 8:
        y = y - 8
    return y


@case((5,), (0,), (-2,))
def return_from_python_loop(x):
    total = 0
    for i in [1, 2, 3]:
        total = total + i * x
    return total


@case((10,), (2,), (0,), beyond=True)
def return_from_loop(n):
    for i in tf.range(n):
        if i * i > 10:
            return i
    return -1


@case((10,), (2,), beyond=True)
def return_from_while(n):
    i = 0
    while i < n:
        if i == 4:
            return i * 100
        i += 1
    return i


@case((6, 5), (6, 100), (2, 1), beyond=True)
def return_from_nested_loops(n, stop):
    total = 0
    for i in tf.range(n):
        for j in tf.range(n):
            total = total + i * j
            if total > stop:
                return total
    return -total


# While loops


@case((10,), (0,), (1,))
def while_count(n):
    i = 0
    while i < n:
        i += 1
    return i


@case((10,), (0,), (3,))
def while_sum(n):
    i = 0
    total = 0
    while i < n:
        total = total + i
        i = i + 1
    return total


@case((27,), (1,), (6,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case((48, 18), (7, 3), (5, 0))
def greatest_common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@case((2.0,), (100.0,))
def newton_root(x):
    guess = x
    error = tf.abs(guess * guess - x)
    while error > 1e-3:
        guess = 0.5 * (guess + x / guess)
        error = tf.abs(guess * guess - x)
    return guess


@case((10,), (1,), (0,))
def fibonacci(n):
    a, b = 0, 1
    i = 0
    while i < n:
        a, b = b, a + b
        i += 1
    return a


@case((3, 4), (0, 2), (2, 0))
def nested_while(n, m):
    total = 0
    i = 0
    while i < n:
        j = 0
        while j < m:
            total += i * j + 1
            j += 1
        i += 1
    return total


@case((3,), (0,))
def python_while(x):
    i = 0
    while i < 3:
        x = x * 2
        i += 1
    return x


@case((20,), (5,))
def while_with_and(n):
    i = 0
    while i < n and i * i < 50:
        i += 1
    return i


@case((20,), (5,))
def while_with_or(n):
    i = 0
    while i < n or i < 8:
        i += 1
    return i


@case((20,), (5,))
def while_with_not(n):
    i = 0
    while not i >= n:
        i += 2
    return i


@case((5,), (0,))
def while_with_local(n):
    i = 0
    total = 0
    while i < n:
        square = i * i
        shifted = square + 1
        total += shifted
        i += 1
    return total


@case(([1.0, 2.0, 3.0], 3), ([1.0, 2.0, 3.0], 0))
def while_with_vector(x, n):
    i = 0
    while i < n:
        x = x * 2.0
        i += 1
    return x


@case((5,), (0,))
def while_with_tuple(n):
    state = (0, 1)
    while state[0] < n:
        state = (state[0] + 1, state[1] * 2)
    return state[1]


@case((5,), (0,))
def while_with_dictionary(n):
    state = {"i": 0, "product": 1}
    while state["i"] < n:
        state = {"i": state["i"] + 1, "product": state["product"] * 3}
    return state["product"]


@case((5,), (0,))
def while_then_if(n):
    i = 0
    while i < n:
        i += 1
    if i > 3:
        i = -i
    return i


@case((5,), (0,))
def two_whiles(n):
    i = 0
    while i < n:
        i += 1
    j = i
    while j > 0:
        j -= 2
    return i, j


@case((100,), (3,))
def while_true_break(n):
    i = tf.constant(0)
    while tf.constant(True):
        i += 1
        if i * i > n:
            break
    return i


# For loops


@case((5,), (0,), (1,))
def for_range(n):
    total = 0
    for i in tf.range(n):
        total += i
    return total


@case((2, 9), (-9, 2), (3, 3))
def for_range_start(a, b):
    total = 0
    for i in tf.range(a, b):
        total = total * 2 + i
    return total


@case((2, 19, 3), (19, 2, -4), (1, 2, 5))
def for_range_step(a, b, c):
    total = 0
    for i in tf.range(a, b, c):
        total = total * 2 + i
    return total


@case((5,), (0,))
def for_builtin_range(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


@case((2, 5), (0, 0))
def for_builtin_range_start(a, b):
    total = 0
    for i in range(a, b):
        total += i * i
    return total


@case(([1, 2, 3],), ([5, 5, 5],))
def for_tensor(x):
    total = 0
    for v in x:
        total += v * v
    return total


@case(([[1.0, 2.0], [3.0, 4.0]],))
def for_rows(x):
    total = tf.zeros([2])
    for row in x:
        total = total * 2.0 + row
    return total


@case(([[1.0, 2.0], [3.0, 4.0]],))
def for_elements(x):
    total = 0.0
    for row in x:
        for v in row:
            total = total * 2.0 + v
    return total


@case((2,))
def for_python_list(x):
    total = 0
    for v in [1, 2, 3]:
        total += v * x
    return total


@case((2,))
def for_python_range(x):
    for _ in range(3):
        x = x * x
    return x


@case((2,))
def for_enumerate(x):
    total = 0
    for i, v in enumerate([5, 6, 7]):
        total += i * v * x
    return total


@case((2,))
def for_zip(x):
    total = 0
    for a, b in zip([1, 2], [3, 4], strict=False):
        total += a * b * x
    return total


@case((2,))
def for_dictionary(x):
    total = 0
    weights = {"a": 1, "b": 10}
    for key in weights:
        total += weights[key] * x
    for _, value in weights.items():
        total += value * x
    return total


@case((2,))
def for_unpacking(x):
    total = 0
    for (a, b), c in [((1, 2), 3), ((4, 5), 6)]:
        total += a * b * c * x
    return total


@case((2, 3))
def for_list_of_tensors(x, y):
    total = 0
    for v in [x, y, x * y]:
        if v > 2:
            total += v
    return total


@case((3, 4), (0, 1))
def nested_for(n, m):
    total = 0
    for i in tf.range(n):
        for j in tf.range(m):
            total += i * 10 + j
    return total


@case((5,), (0,))
def for_with_if(n):
    even = 0
    odd = 0
    for i in tf.range(n):
        if i % 2 == 0:
            even += i
        else:
            odd += i
    return even, odd


@case((5,), (1,))
def target_after_loop(n):
    i = -1
    for i in tf.range(n):  # noqa: B007
        pass
    return i


@case((5,), (2,))
def local_after_loop(n):
    for i in tf.range(n):
        y = i * 2
    return y


@case((5,), (0,))
def for_with_while(n):
    total = 0
    for i in tf.range(n):
        j = i
        while j > 0:
            total += j
            j -= 1
    return total


@case((4,), (0,))
def for_in_if(n):
    total = 0
    if n > 2:
        for i in tf.range(n):
            total += i
    else:
        total = -1
    return total


@case((4,), (0,))
def for_aug_vector(n):
    x = tf.constant([1.0, 2.0])
    for _ in tf.range(n):
        x *= 2.0
    return x


@case((4,), (1,))
def tensor_array_write(n):
    ta = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        ta = ta.write(i, i * i)
    return ta.stack()


@case((4,), (1,))
def tensor_array_dynamic(n):
    ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    for i in tf.range(n):
        if i % 2 == 0:
            ta = ta.write(ta.size(), i * 3)
    return ta.stack()


@case((3,), (0,))
def shape_invariants(n):
    x = tf.zeros([1])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
        x = tf.concat([x, [tf.cast(i, tf.float32)]], 0)
    return x


# Break and continue


@case((10,), (3,), (0,))
def break_while(n):
    i = 0
    while i < n:
        if i == 5:
            break
        i += 1
    return i


@case((10,), (3,), (0,))
def break_for(n):
    total = 0
    for i in tf.range(n):
        if i > 5:
            break
        total += i
    return total


@case((10,), (3,))
def continue_for(n):
    total = 0
    for i in tf.range(n):
        if i % 3 == 0:
            continue
        total += i
    return total


@case((10,), (3,))
def continue_while(n):
    total = 0
    i = 0
    while i < n:
        i += 1
        if i % 2 == 0:
            continue
        total += i
    return total


@case((20,), (4,))
def break_and_continue(n):
    total = 0
    for i in tf.range(n):
        if i % 2 == 0:
            continue
        if i > 10:
            break
        total += i
    return total


@case((20,), (4,))
def code_after_jumps(n):
    total = 0
    count = 0
    for i in tf.range(n):
        if i % 4 == 1:
            total += 100
            continue
        count += 1
        if total > 250:
            count = -count
            break
        total += i
    total = total + count
    return total


@case((5, 3), (5, 9))
def break_inner(n, stop):
    total = 0
    for i in tf.range(n):
        for j in tf.range(n):
            if i + j > stop:
                break
            total += 1
        total += 100
    return total


@case((5, 3), (5, 19))
def break_outer_by_flag(n, stop):
    total = 0
    for i in tf.range(n):
        found = False
        for j in tf.range(n):
            total += 1
            if i * j > stop:
                found = True
                break
        if found:
            break
    return total


@case((5,), (-5,))
def break_python_loop(x):
    for i in range(5):
        x += i
        if i == 2:
            break
    return x


@case((5,), (-5,))
def continue_python_loop(x):
    for i in range(5):
        if i == 2:
            continue
        x += i
    return x


@case((10,), (2,))
def break_in_else(n):
    i = 0
    while tf.constant(True):
        if i < n:
            i += 3
        else:
            break
    return i


@case((10,), (2,))
def break_in_both(n):
    i = tf.constant(0)
    while i < 100:
        i += 1
        if n > 5:
            if i > 7:
                i = -i
                break
        else:
            i = i * 2
            break
        i += 1
    return i


@case((6,), (2,))
def continue_in_branches(n):
    total = 0
    for i in tf.range(n):
        if i < 2:
            if i == 0:
                continue
            total += 10
        else:
            total += 1
            continue
        total += 1000
    return total


@case((6,), (3,))
def break_with_values(n):
    best = -1
    for i in tf.range(n):
        value = (i * 7) % 5
        if value == 4:
            best = value * 10 + i
            break
    return best


# Logic


@case((1, 1), (1, -1), (-1, 1), (-1, -1))
def logical_and(a, b):
    y = 0
    if a > 0 and b > 0:
        y = 1
    return y


@case((1, 1), (1, -1), (-1, 1), (-1, -1))
def logical_or(a, b):
    y = 0
    if a > 0 or b > 0:
        y = 1
    return y


@case((1,), (-1,))
def logical_not(a):
    y = 0
    if not a > 0:
        y = 1
    return y


@case((1, 2, 3), (3, 2, 1), (2, 2, 2))
def three_conditions(a, b, c):
    return (a < b and b < c) or not (a != c)


@case((3,), (9,), (-3,))
def chained_comparison(x):
    y = 0
    if 0 < x < 5:
        y = 1
    return y


@case((3, 3), (3, 4))
def equality(a, b):
    y = 10
    if a == b:
        y = 20
    return y


@case((3, 3), (3, 4))
def inequality(a, b):
    y = 10
    if a != b:
        y = 20
    return y


@case((3,), (-3,))
def ternary(x):
    return x if x > 0 else -x


@case((3,), (30,), (-3,), beyond=True)
def nested_ternary(x):
    return 1 if x > 10 else 2 if x > 0 else 3


@case((3,), (-3,))
def ternary_in_expression(x):
    return (x if x > 0 else 0) + (1 if x < 0 else 2)


@case((3, Py(True)), (3, Py(False)), traces=2)
def python_and_tensor(x, flag):
    y = 0
    if flag and x > 0:
        y = x
    return y


@case((3, Py(True)), (-3, Py(False)), traces=2)
def tensor_or_python(x, flag):
    y = 0
    if flag or x > 0:
        y = x
    return y


@case((4, 2), (4, 0))
def and_guards(a, b):
    y = -1
    if b != 0 and a // b == 2:
        y = a // b
    return y


@case((True, True), (True, False), (False, False))
def booleans(a, b):
    return not a or b, a and not b


@case((3,), (0,))
def walrus_free_condition(x):
    y = x * 2
    return y + 1 if y > 3 else y - 1
