#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the coefficients of the elementary functions in backend/kernel/functions.h.

Each is a polynomial whose largest error, weighted as stated, is least (Remez's exchange in 50 decimal digits).
Coefficients are rounded to floats, and the error is that of the rounded ones.
"""
import struct
from decimal import Decimal as D, getcontext

getcontext().prec = 50
GRID = 300
PI = D("3.14159265358979323846264338327950288419716939937510582097")


def rounded(x):
    """The nearest float."""
    return D(struct.unpack("f", struct.pack("f", float(x)))[0])


def cosine(x):
    term = total = D(1)
    for n in range(1, 40):
        term = -term * x * x / (2 * n * (2 * n - 1))
        total += term
    return total


def erf(x):
    term = total = x
    for n in range(1, 140):
        term = -term * x * x / n
        total += term / (2 * n + 1)
    return total * 2 / PI.sqrt()


def tanh(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def solve(rows):
    """Gauss: rows of a matrix, each with its right side behind it."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def value(coefficients, x):
    total = D(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def remez(points, first, count, fixed):
    """`count` coefficients from x^first on, behind those that are fixed; points are (x, wanted, weight)."""
    left = [(x, f - value(fixed, x), w) for x, f, w in points]
    step = (len(left) - 1) / count
    places = [round(i * step) for i in range(count + 1)]
    for _ in range(30):
        rows = []
        for i, place in enumerate(places):
            x, f, w = left[place]
            rows.append([x ** (first + j) for j in range(count)] + [(-1) ** i / w, f])
        found = solve(rows)[:count]
        errors = [(value(found, x) * x ** first - f) * w for x, f, w in left]
        extremes = []  # the largest error of each run of one sign
        for place, error in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = place
            else:
                extremes.append(place)
        while len(extremes) > count + 1:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        if len(extremes) < count + 1 or extremes == places:
            break
        places = extremes
    return found


def fit(name, wanted, weight, low, high, degree, fixed=()):
    low, high = D(low), D(high)
    xs = [low + (high - low) * (1 - cosine(PI * i / GRID)) / 2 for i in range(GRID + 1)]
    points = [(x, wanted(x), weight(x)) for x in xs if abs(x) > D("1e-10")]
    least = max(w for _, _, w in points) / 100  # where the polynomial hardly counts
    points = [point for point in points if point[2] > least]
    fixed = [D(c) for c in fixed]
    found = remez(points, len(fixed), degree + 1 - len(fixed), fixed)
    coefficients = fixed + [rounded(c) for c in found]
    error = max(abs((value(coefficients, x) - f) * w) for x, f, w in points)
    print("%s: error at most 2^%.1f" % (name, float(error.ln() / D(2).ln())))
    for n, c in enumerate(coefficients):
        print("    %2d  %sf" % (n, float(c).hex()))


def split(name, x):
    high = rounded(x)
    print("%s: %sf + %sf" % (name, float(high).hex(), float(rounded(x - high)).hex()))


def main():
    split("ln 2", D(2).ln())
    split("1 / ln 2", 1 / D(2).ln())
    # Relative errors: the weight is what the polynomial is multiplied by, over the function.
    fit("exp, (e^x - 1 - x) / x^2", lambda x: (x.exp() - 1 - x) / x**2, lambda x: x**2 / x.exp(),
        "-0.3467", "0.3467", 4)
    fit("log, (log(1 + x) - x) / x^2", lambda x: ((1 + x).ln() - x) / x**2,
        lambda x: abs(x**2 / (1 + x).ln()), "-0.33334", "0.33334", 8, fixed=["-0.5"])
    # In t = x^2.
    fit("tanh, (tanh(x) / x - 1) / x^2", lambda t: (tanh(t.sqrt()) / t.sqrt() - 1) / t,
        lambda t: t * t.sqrt() / tanh(t.sqrt()), "1e-9", "0.390626", 4)
    fit("erf, erf(x) / x - 1", lambda t: erf(t.sqrt()) / t.sqrt() - 1, lambda t: t.sqrt() / erf(t.sqrt()),
        "1e-9", "1", 6)
    # In t = x - 2.5.
    fit("erf, 1 - erf(t + 2.5)", lambda t: 1 - erf(t + D("2.5")), lambda t: D(1), "-1.5", "1.43", 15)


if __name__ == "__main__":
    main()
