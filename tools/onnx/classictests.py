"""Writes random models of one operator of ai.onnx.ml, with what ONNX Runtime makes of random inputs, as folders that tools/onnx/conform runs.

  python3 classictests.py OUTPUT COUNT [SEED]
  go run ./tools/onnx/conform OUTPUT

Needs the Python packages onnx and onnxruntime. The same seed writes the same models. A model that ONNX Runtime does not run is left out.
"""

import sys

import numpy as np

import randomtests

ML = "ai.onnx.ml"
TYPES = [np.float32, np.float32, np.float64, np.int32, np.int64]


def numbers(m, *shape):
    return m.rng.normal(size=shape).astype(np.float32).ravel().tolist()


def labels(m, n):
    return [int(i) for i in m.rng.choice(100, n, replace=False) - 50]


def row_input(m, features):
    return m.input(m.data([m.size(1, 7), features], m.pick(*TYPES)))


def linear(m):
    features, classes = m.size(1, 6), m.size(2, 5)
    n = 1 if classes == 2 and m.chance() else classes
    m.op("LinearClassifier", [row_input(m, features)], outputs=2, domain=ML, coefficients=numbers(m, n, features), intercepts=numbers(m, n), classlabels_ints=labels(m, classes),
         post_transform=m.pick("NONE", "LOGISTIC", "SOFTMAX"), multi_class=m.pick(None, 1))


def regression(m):
    features, targets = m.size(1, 6), m.size(1, 4)
    m.op("LinearRegressor", [m.input(m.data([m.size(1, 7), features]))], domain=ML, coefficients=numbers(m, targets, features), intercepts=m.pick(None, numbers(m, targets)),
         targets=targets, post_transform=m.pick("NONE", "LOGISTIC", "SOFTMAX") if targets > 1 else "NONE")


def classifier(m):
    """Two classes get one score, for the first; of more, each gets scores of all trees or of one of its own."""
    features, classes, positive = m.size(1, 5), m.size(2, 5), m.chance()
    weight = lambda: float(np.float32(abs(m.rng.normal()) if positive else m.rng.normal()))
    based = m.chance()
    own = based and m.chance()
    give = lambda tree: [(t, weight()) for t in ([0] if classes == 2 else [tree % classes] if own else range(classes))]
    attrs, leaves = randomtests.forest(m, features, give)
    attrs |= {"class_" + n: list(c) for n, c in leaves}
    m.op("TreeEnsembleClassifier", [m.input(randomtests.rows(m, features))], outputs=2, domain=ML, classlabels_int64s=labels(m, classes), base_values=numbers(m, 1 if classes == 2 else classes) if based else None,
         post_transform=m.pick("NONE", "LOGISTIC") if classes == 2 else m.pick("NONE", "LOGISTIC", "SOFTMAX"), **attrs)


def kernel(m):
    return {"kernel_type": m.pick("LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": [0.25, 0.5, float(m.pick(2, 3))]}


def machine(m):
    features, classes = m.size(1, 6), m.size(2, 5)
    each = [m.size(1, 5) for _ in range(classes)]
    m.op("SVMClassifier", [row_input(m, features)], outputs=2, domain=ML, classlabels_ints=labels(m, classes), coefficients=numbers(m, classes - 1, sum(each)), rho=numbers(m, classes * (classes - 1) // 2),
         support_vectors=numbers(m, sum(each), features), vectors_per_class=each, post_transform=m.pick("NONE", "LOGISTIC"), **kernel(m))


def machine_regression(m):
    features, n = m.size(1, 6), m.size(1, 9)
    m.op("SVMRegressor", [m.input(m.data([m.size(1, 7), features]))], domain=ML, coefficients=numbers(m, n), support_vectors=numbers(m, n, features), n_supports=n, rho=numbers(m, 1),
         one_class=m.pick(0, 1), **kernel(m))


def transform(m):
    kind, features = m.pick("Scaler", "Normalizer", "Binarizer", "Imputer", "OneHotEncoder", "ArrayFeatureExtractor"), m.size(1, 6)
    if kind == "Scaler":
        n = m.pick(1, features)
        return m.op(kind, [row_input(m, features)], domain=ML, offset=numbers(m, n), scale=numbers(m, n))
    if kind == "Normalizer":
        return m.op(kind, [row_input(m, features)], domain=ML, norm=m.pick("MAX", "L1", "L2"))
    if kind == "Binarizer":
        return m.op(kind, [m.input(m.data([m.size(1, 7), features]))], domain=ML, threshold=m.pick(0.0, 0.5))
    if kind == "Imputer":
        return m.op(kind, [m.input(randomtests.rows(m, features))], domain=ML, imputed_value_floats=numbers(m, m.pick(1, features)), replaced_value_float=float("nan"))
    if kind == "OneHotEncoder":
        return m.op(kind, [m.input(m.rng.integers(0, 6, [m.size(1, 7), m.size(1, 4)]).astype(m.pick(np.int64, np.int32, np.float32)))], domain=ML, cats_int64s=[int(i) for i in m.rng.choice(9, m.size(1, 6), replace=False)], zeros=1)
    m.op(kind, [row_input(m, features), m.input(m.rng.integers(0, features, [m.size(1, 5)]))], domain=ML)


ALL = [linear, linear, regression, classifier, classifier, classifier, machine, machine, machine_regression, transform, transform]

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    randomtests.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0, ALL)
