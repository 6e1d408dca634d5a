#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the arithmetic of one variant, one way at a time, and shows that the weights of a training change.

    mutations.py --cc CC --archive libshoal_archive.a --libraries LIB... [--only NAME]

Each mutation edits headers of src/backend/kernel; AVX2's kernels are compiled with them and linked before those of
the archive. Unbroken, the variants AVX2 and plain come to the same weights; broken, AVX2 must not. An edit that no
longer fits the code fails the script.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = "backend/kernel"
SKIPPED = 77

# name, header, edits: what stands there, what stands there instead
MUTATIONS = [
    ("a multiply-add that rounds twice", "vector.h",
     [("(vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c)", "a * b + c")]),
    ("the first two channels in another order", "product_loops.h",
     [("third[i / 3] = a + i * a_row;", "third[i / 3] = a + i * a_row + (length > 1 ? a_step : 0);"),
      ("third[i / 3] += a_step;", "third[i / 3] += length < 2 || k > 1 ? a_step : k == 0 ? -a_step : 2 * a_step;"),
      ("        for (; k < length; k++, b += b_row) {",
       "        b += length > 1 ? b_row : 0;\n"
       "        for (; k < length; k++, b += length < 2 || k > 2 ? b_row : k == 1 ? -b_row : 2 * b_row) {")]),
    ("the C library's exponential function", "functions.h",
     [("    return vec_keep_nan(x, vec_polynomial(r, c, 6) * first * second);",
       "    for (int i = 0; i < VEC; i++)\n        x[i] = expf(x[i]);\n    return x;")]),
    ("denormal numbers taken for zero", "product_loops.h",
     [("static void product(const sh_matrix_product *p)\n{\n",
       "static void product(const sh_matrix_product *p)\n{\n    _mm_setcsr(_mm_getcsr() | 0x8040);\n")]),
]

FLAGS = ["-std=c11", "-O1", "-ffp-contract=off", "-D_POSIX_C_SOURCE=200809L", "-w", f"-I{ROOT}/include",
         f"-I{ROOT}/src"]


def build(options, folder, program, objects):
    subprocess.run([options.cc, str(folder / "two_trainings.o"), *objects, options.archive, *options.libraries, "-lm",
                    "-Wl,--gc-sections", "-o", str(program)], check=True)


def hashes(program, variant):
    """Of the weights of each training; None where one did not come to its end, for example by numbers not finite."""
    with tempfile.TemporaryDirectory() as runs:
        done = subprocess.run([program, runs], env=dict(os.environ, SHOAL_VARIANT=variant), capture_output=True,
                              text=True, timeout=600, check=False)
    return done.stdout if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--archive", required=True)
    parser.add_argument("--libraries", nargs="*", default=[])
    parser.add_argument("--only")
    options = parser.parse_args()
    if "fma" not in pathlib.Path("/proc/cpuinfo").read_text().split():
        print("skipped: this processor has no AVX2 with multiply-adds")
        return SKIPPED
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([options.cc, *FLAGS, "-c", str(ROOT / "test/arithmetic/two_trainings.c"), "-o",
                        str(folder / "two_trainings.o")], check=True)
        build(options, folder, folder / "trainings", [])
        expected = hashes(folder / "trainings", "plain")
        if expected is None or hashes(folder / "trainings", "avx2") != expected:
            sys.exit("mutations: unbroken, AVX2 and plain do not come to the same weights")
        for mutation, header, edits in MUTATIONS:
            if options.only and options.only not in mutation:
                continue
            text = (ROOT / "src" / KERNELS / header).read_text()
            for before, after in edits:
                if text.count(before) != 1:
                    sys.exit(f"mutations: '{mutation}' fits {text.count(before)} places of {header}: mend it")
                text = text.replace(before, after)
            changed = folder / mutation.replace(" ", "_")
            (changed / KERNELS).mkdir(parents=True)
            (changed / KERNELS / header).write_text(text)
            subprocess.run([options.cc, f"-I{changed}", *FLAGS, "-mavx2", "-mfma", "-c",
                            str(ROOT / "src" / KERNELS / "variant_avx2.c"), "-o", str(folder / "mutant.o")], check=True)
            build(options, folder, folder / "mutant", [str(folder / "mutant.o")])
            found = hashes(folder / "mutant", "avx2")
            caught = found not in (None, expected)
            survivors += not caught
            print(f"{mutation}: {'other weights' if caught else 'ENDED' if found is None else 'NOT CAUGHT'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
