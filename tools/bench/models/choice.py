"""Times how a library for many sizes finds the version of a run: python3 choice.py [SIZES] [CC].

It builds a model that reads one number, whatever the size of its input, for each size up to SIZES (1024), and for the greatest alone. A C program (CC, cc) calls both in
turns, the first at sizes at random: what it takes longer is what choosing takes. It needs onnx and tapc, which TAPC names if it is not on the path."""
import os, subprocess, sys, tempfile
from onnx import TensorProto, helper, save

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "libmany.h"
#include "libone.h"
enum { SIZES = %d, RUNS = 100000, ROUNDS = 15 };
static float x[SIZES], y[1];
static const void *const in[] = {x};
static void *const out[] = {y};
static char error[200];
static int64_t order[RUNS];
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec * 1e9 + (double)t.tv_nsec; }
static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }
int main(void) {
  tapc_instance *many = many_create(1, error, sizeof error), *one = one_create(1, error, sizeof error);
  double at_sizes[ROUNDS], alone[ROUNDS], chosen[ROUNDS];
  if (!many || !one) return fprintf(stderr, "%%s\n", error), 1;
  srand(1);
  for (int i = 0; i < RUNS; i++) order[i] = 1 + rand() %% SIZES;
  for (int r = 0; r < ROUNDS; r++) {
    double a = now();
    for (int i = 0; i < RUNS; i++) if (many_run_at(many, &order[i], in, out, error, sizeof error)) return fprintf(stderr, "%%s\n", error), 1;
    double b = now();
    for (int i = 0; i < RUNS; i++) if (one_run(one, in, out, error, sizeof error)) return fprintf(stderr, "%%s\n", error), 1;
    double c = now();
    at_sizes[r] = (b - a) / RUNS, alone[r] = (c - b) / RUNS, chosen[r] = at_sizes[r] - alone[r];
  }
  qsort(at_sizes, ROUNDS, sizeof *chosen, by_value), qsort(alone, ROUNDS, sizeof *chosen, by_value), qsort(chosen, ROUNDS, sizeof *chosen, by_value);
  printf("%%d sizes: a run takes %%.0f ns, of the program of one size %%.0f ns; choosing %%.0f ns, in %%d rounds %%.0f to %%.0f\n",
         SIZES, at_sizes[ROUNDS / 2], alone[ROUNDS / 2], chosen[ROUNDS / 2], ROUNDS, chosen[0], chosen[ROUNDS - 1]);
  return 0;
}
"""


def main():
    sizes, compiler = int((sys.argv[1:] or [1024])[0]), (sys.argv[2:] or ["cc"])[0]
    with tempfile.TemporaryDirectory() as folder:
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [n]) for name, n in (("x", "n"), ("y", 1)))
        first = helper.make_tensor("first", TensorProto.INT64, [1], [0])
        graph = helper.make_graph([helper.make_node("Gather", ["x", "first"], ["y"])], "choice", [x], [y], [first])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), os.path.join(folder, "choice.onnx"))
        run = lambda *words: subprocess.run(words, cwd=folder, check=True)
        for name, dim in ("many", f"n=1..{sizes}"), ("one", f"n={sizes}"):
            run(os.environ.get("TAPC", "tapc"), "build", "choice.onnx", "--dim", dim, "--emit=lib", f"--name={name}", "--progress=none", "-o", f"lib{name}.so")
        with open(os.path.join(folder, "choice.c"), "w") as f:
            f.write(PROGRAM % sizes)
        run(compiler, "-O2", "choice.c", "-L.", "-lmany", "-lone", "-Wl,-rpath,$ORIGIN", "-o", "choice")
        run("./choice")


main()
