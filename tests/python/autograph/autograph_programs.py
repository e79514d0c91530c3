"""Random programs with branches, loops and jumps, for AutoGraph's tests."""

import linecache
import random


def made_from(text, name="f", **names):
    """A function whose source is the given text."""
    filename = f"<test {hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space = dict(names)
    exec(compile(text, filename, "exec"), space)
    return space[name]


class Writer:
    """Writes a random program: ints, branches, loops, jumps."""

    def __init__(self, seed, start="0", sequence="range"):
        self.start, self.sequence = start, sequence
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0

    def write(self, depth, text):
        self.lines.append("    " * depth + text)

    def value(self):
        return self.random.choice(["a", "b", "c", "n", "1", "2", "3"])

    def test(self):
        sign = self.random.choice(["<", ">", "==", "!=", "<="])
        simple = f"{self.value()} % 5 {sign} {self.value()} % 7"
        kind = self.random.random()
        if kind < 0.15:
            return f"not ({simple})"
        if kind < 0.3:
            joined = self.random.choice(["and", "or"])
            return f"{simple} {joined} {self.value()} % 2 == 1"
        return simple

    def block(self, depth, room, in_loop):
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, room, in_loop)

    def statement(self, depth, room, in_loop):
        kind = self.random.random()
        name = self.random.choice("abc")
        if kind < 0.4 or room == 0:
            operation = self.random.choice(["+", "-", "*"])
            line = f"{name} = ({self.value()} {operation} {self.value()}) % 101"
            if self.random.random() < 0.2:
                line = f"{name} = {self.value()} if {self.test()} else {self.value()}"
            self.write(depth, line)
        elif kind < 0.65:
            self.write(depth, f"if {self.test()}:")
            self.block(depth + 1, room - 1, in_loop)
            if self.random.random() < 0.5:
                self.write(depth, "else:")
                self.block(depth + 1, room - 1, in_loop)
        elif kind < 0.75:
            self.loops += 1
            i = f"i{self.loops}"
            self.write(depth, f"{i} = {self.start}")
            self.write(depth, f"while {i} < {self.random.randint(1, 4)}:")
            self.write(depth + 1, f"{i} += 1")
            self.block(depth + 1, room - 1, True)
        elif kind < 0.85:
            self.loops += 1
            self.write(depth, f"for i{self.loops} in {self.sequence}({self.random.randint(0, 4)}):")
            self.write(depth + 1, f"{name} = {name} + i{self.loops}")
            self.block(depth + 1, room - 1, True)
        elif in_loop and kind < 0.97:
            if self.random.random() < 0.7:
                self.write(depth, f"if {self.test()}:")
                depth += 1
            self.write(depth, self.random.choice(["break", "continue"]))
        else:
            self.write(depth, f"if {self.test()}:")
            self.write(depth + 1, f"return {name} + 1000")

    def function(self):
        self.write(0, "def f(n):")
        self.write(1, "a, b, c = n, n + 1, n + 2")
        self.block(1, 4, False)
        self.block(1, 3, False)
        self.write(1, "return a * 10000 + b * 100 + c")
        return "\n".join(self.lines) + "\n"
