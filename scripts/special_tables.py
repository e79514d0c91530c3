"""Writes src/tf/ops/special/tables.h: Chebyshev expansions of special functions.

    python scripts/special_tables.py > src/tf/ops/special/tables.h

needs: mpmath
"""

from mpmath import (
    besseli,
    besselj,
    besselk,
    bessely,
    chop,
    cos,
    ei,
    erfi,
    euler,
    exp,
    fresnelc,
    fresnels,
    log,
    mp,
    mpf,
    pi,
    polylog,
    sin,
    sqrt,
)

mp.dps = 40
TINY = mpf(10) ** -30


def coefficients(function, low, high) -> list:
    """The expansion of a function of u over [low, high], to the precision of a double."""
    n = 64
    nodes = [cos(pi * (k + mpf(1) / 2) / n) for k in range(n)]
    values = [function((high - low) / 2 * t + (high + low) / 2) for t in nodes]
    out = []
    for j in range(n):
        total = sum(v * cos(pi * j * (k + mpf(1) / 2) / n) for k, v in enumerate(values))
        out.append(total * 2 / n)
    out[0] /= 2
    scale = max(abs(c) for c in out)
    while len(out) > 1 and abs(out[-1]) < scale * mpf(10) ** -17:
        out.pop()
    return out


def at_infinity(function):
    """A function of x as one of 1 / x, which may be 0."""
    return lambda u: function(1 / (u if u > TINY else TINY ** mpf("0.2")))


def of_root(function):
    """An even function of x as one of its square."""
    return lambda u: function(sqrt(u) if u > TINY else mpf(10) ** -12)


def dawson(x):
    return sqrt(pi) / 2 * exp(-x * x) * erfi(x)


def _phase(order, x):
    """P and Q of Hankel's expansion: J = sqrt(2 / pi x) (P cos - Q sin), Y = (P sin + Q cos)."""
    angle = x - (2 * order + 1) * pi / 4
    scale = sqrt(pi * x / 2)
    j, y = besselj(order, x) * scale, bessely(order, x) * scale
    return j * cos(angle) + y * sin(angle), x * (y * cos(angle) - j * sin(angle))


def _fresnel(x):
    """f and g: C = 1/2 + f sin - g cos, S = 1/2 - f cos - g sin, of pi x^2 / 2."""
    angle = pi * x * x / 2
    c, s = fresnelc(x) - mpf(1) / 2, fresnels(x) - mpf(1) / 2
    return (
        pi * x * (c * sin(angle) - s * cos(angle)),
        pi * pi * x**3 * (-c * cos(angle) - s * sin(angle)),
    )


def _large(function, low):
    return at_infinity(function), mpf(0), mpf(1) / low


TABLES = {
    "i0e_small": (lambda x: exp(-x) * besseli(0, x), mpf(0), mpf(8)),
    "i0e_large": _large(lambda x: sqrt(x) * exp(-x) * besseli(0, x), 8),
    "i1e_small": (
        lambda x: exp(-x) * (besseli(1, x) / x if x > TINY else mpf(1) / 2),
        mpf(0),
        mpf(8),
    ),
    "i1e_large": _large(lambda x: sqrt(x) * exp(-x) * besseli(1, x), 8),
    "k0_small": (of_root(lambda x: besselk(0, x) + log(x / 2) * besseli(0, x)), mpf(0), mpf(4)),
    "k0e_large": _large(lambda x: sqrt(x) * exp(x) * besselk(0, x), 2),
    "k1_small": (
        of_root(lambda x: x * (besselk(1, x) - log(x / 2) * besseli(1, x))),
        mpf(0),
        mpf(4),
    ),
    "k1e_large": _large(lambda x: sqrt(x) * exp(x) * besselk(1, x), 2),
    "j0_small": (of_root(lambda x: besselj(0, x)), mpf(0), mpf(64)),
    "j1_small": (of_root(lambda x: besselj(1, x) / x), mpf(0), mpf(64)),
    "y0_small": (
        of_root(lambda x: bessely(0, x) - 2 / pi * log(x) * besselj(0, x)),
        mpf(0),
        mpf(64),
    ),
    "y1_small": (
        of_root(lambda x: (bessely(1, x) - 2 / pi * (log(x) * besselj(1, x) - 1 / x)) / x),
        mpf(0),
        mpf(64),
    ),
    "p0_large": _large(lambda x: _phase(0, x)[0], 8),
    "q0_large": _large(lambda x: _phase(0, x)[1], 8),
    "p1_large": _large(lambda x: _phase(1, x)[0], 8),
    "q1_large": _large(lambda x: _phase(1, x)[1], 8),
    "dawson_small": (of_root(lambda x: dawson(x) / x), mpf(0), mpf(9)),
    "dawson_middle": (lambda x: x * dawson(x), mpf(3), mpf(6)),
    "dawson_large": _large(lambda x: x * dawson(x), 6),
    "ei_small": (
        lambda x: (ei(x) - log(abs(x)) - euler) / x if abs(x) > TINY else mpf(1),
        mpf(-4),
        mpf(6),
    ),
    "ei_middle": (lambda x: x * exp(-x) * ei(x), mpf(6), mpf(14)),
    "ei_far": (lambda u: exp(-1 / u) * ei(1 / u) / u, 1 / mpf(40), 1 / mpf(14)),
    "ei_large": _large(lambda x: x * exp(-x) * ei(x), 40),
    "spence": (
        lambda w: chop(-polylog(2, -w) / w).real if abs(w) > TINY else mpf(1),
        mpf(-0.5),
        mpf(0.5),
    ),
    "fresnel_c_small": (
        lambda u: fresnelc(u ** mpf("0.25")) / u ** mpf("0.25") if u > TINY else mpf(1),
        mpf(0),
        mpf("6.5536"),
    ),
    "fresnel_s_small": (
        lambda u: fresnels(u ** mpf("0.25")) / u ** mpf("0.75") if u > TINY else pi / 6,
        mpf(0),
        mpf("6.5536"),
    ),
    "fresnel_f_large": _large(lambda x: _fresnel(x)[0], mpf("1.6")),
    "fresnel_g_large": _large(lambda x: _fresnel(x)[1], mpf("1.6")),
}


def main() -> None:
    print("/* Chebyshev expansions; made by scripts/special_tables.py. */")
    print("#ifndef MICA_TF_SPECIAL_TABLES_H\n#define MICA_TF_SPECIAL_TABLES_H\n")
    print("#include <stdint.h>\n")
    print("/* The sum of terms[k] T_k(t), t = (2 u - low - high) / (high - low). */")
    print("typedef struct mica_tf_chebyshev {\n    double low, high;\n    int32_t n;")
    print("    const double *terms;\n} mica_tf_chebyshev;\n")
    for name, (function, low, high) in TABLES.items():
        found = coefficients(function, low, high)
        print(f"static const double {name}_terms[] = {{")
        texts = [f"{mp.nstr(c, 17, min_fixed=1, max_fixed=0)}," for c in found]
        while texts:
            line = "   "
            while texts and len(line) + len(texts[0]) < 99:
                line += " " + texts.pop(0)
            print(line)
        print("};")
        parts = f"{mp.nstr(low, 17)}, {mp.nstr(high, 17)}, {len(found)}, {name}_terms"
        print(f"static const mica_tf_chebyshev {name} = {{{parts}}};\n")
    print("#endif")


if __name__ == "__main__":
    main()
