package onnx_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
)

// classifiers are graphs of one classifier each, on two features, that changes make unsound.
var classifiers = map[string]string{
	"linear": `ai.onnx.ml.LinearClassifier<coefficients = [1.0, 2.0], intercepts = [0.5], classlabels_ints = [3, 7], post_transform = "LOGISTIC">`,
	"svm": `ai.onnx.ml.SVMClassifier<coefficients = [1.0, -1.0, 1.0, -2.0, 0.5, 2.0], rho = [0.5, 1.0, -1.0], vectors_per_class = [1, 1, 1],
    support_vectors = [1.0, 0.0, 0.0, 1.0, 2.0, 2.0], kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0], classlabels_ints = [3, 7, 9]>`,
	"trees": `ai.onnx.ml.TreeEnsembleClassifier<nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [1.0, 0.0, 0.0],
    nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], class_treeids = [0, 0, 0, 0], class_nodeids = [1, 1, 2, 2],
    class_ids = [0, 1, 1, 2], class_weights = [0.5, 1.0, 1.5, 2.0], classlabels_int64s = [3, 7, 9]>`,
}

func classify(t *testing.T, kind string, change ...string) error {
	t.Helper()
	text := classifiers[kind]
	if len(change) > 0 {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("%s has no %q", kind, change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	m, err := onnx.Read(onnxtest.Must(fmt.Sprintf(treeHead+`g (float[2, 2] x) => (int64[2] y, float[2, n] z) { y, z = %s(x) }`, text)), "model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = onnx.Import(context.Background(), m, onnx.Options{})
	return err
}

// Classifiers with attributes that do not fit each other are refused with a reason.
func TestClassifiersRefuse(t *testing.T) {
	for kind := range classifiers {
		if err := classify(t, kind); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	strings2 := `classlabels_strings = ["a", "b", "c"]`
	for _, c := range []struct{ kind, want, old, new string }{
		{"linear", "a row of features for each class", "[1.0, 2.0]", "[1.0, 2.0, 3.0]"},
		{"linear", "not one for each class", "[3, 7]", "[3]"},
		{"linear", "not one for each class", "[3, 7]", "[3, 7, 9]"},
		{"linear", "intercepts that", "[0.5]", "[0.5, 1.0]"},
		{"linear", "a transformation of scores", "LOGISTIC", "PROBIT"},
		{"linear", "labels that are strings", "classlabels_ints = [3, 7]", strings2},
		{"linear", "labels that are strings", "classlabels_ints = [3, 7], ", ""},
		{"svm", "probabilities", "rho =", "prob_a = [1.0, 1.0, 1.0], prob_b = [1.0, 1.0, 1.0], rho ="},
		{"svm", "labels that are strings", "classlabels_ints = [3, 7, 9]", strings2},
		{"svm", "without support vectors", "vectors_per_class = [1, 1, 1],", ""},
		{"svm", "3 classes with 3 labels", "[1, 1, 1]", "[1, 1, 2]"},
		{"svm", "support vectors of a class", "[1, 1, 1]", "[4, -2, 1]"},
		{"svm", "support vectors of a class", "[1, 1, 1]", "[9000000000000000000, 1, 1]"},
		{"svm", "3 classes with 2 labels", "[3, 7, 9]", "[3, 7]"},
		{"svm", "not as many as vectors_per_class", "1.0, 2.0, 2.0]", "1.0]"},
		{"svm", "not rows of features", "1.0, 2.0, 2.0]", "1.0, 2.0]"},
		{"svm", "a kernel that", "RBF", "SPLINE"},
		{"svm", "three numbers", "[0.5, 0.0, 3.0]", "[0.5]"},
		{"svm", "and 2 pairs", "[0.5, 1.0, -1.0]", "[0.5, 1.0]"},
		{"trees", "target 3 of 3", "[0, 1, 1, 2]", "[0, 1, 1, 3]"},
		{"trees", "target -1 of 3", "[0, 1, 1, 2]", "[-1, 1, 1, 2]"},
		{"trees", "no score", "2.0], classlabels", "-2.0], classlabels"},
		{"trees", "two classes", "[3, 7, 9]", "[3, 7]"},
		{"trees", "1 labels", "[3, 7, 9]", "[3]"},
		{"trees", "labels that are strings", "classlabels_int64s = [3, 7, 9]", strings2},
		{"trees", "base values", "classlabels_int64s", "base_values = [1.0], classlabels_int64s"},
		{"trees", "3 weights", "[0.5, 1.0, 1.5, 2.0]", "[0.5, 1.0, 1.5]"},
		{"trees", "scores that are transformed", "classlabels_int64s", `post_transform = "PROBIT", classlabels_int64s`},
	} {
		if err := classify(t, c.kind, c.old, c.new); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: expected an error with %q, found %v", c.kind, c.new, c.want, err)
		}
	}
}

// The maps of a ZipMap are rows, with the values in the order of the keys.
func TestZipMap(t *testing.T) {
	const text = `g (float[6] flat) => (seq(map(int64, float)) z) <int64[2] s = {2, 3}> { x = Reshape(flat, s) z = ai.onnx.ml.ZipMap<classlabels_int64s = %s>(x) }`
	x := []float32{1, 2, 3, 4, 5, 6}
	expect(t, run(t, treeHead+fmt.Sprintf(text, "[3, 7, 9]"), onnx.Options{}, map[string][]float32{"flat": x})["z"], 1, 2, 3, 4, 5, 6)
	for labels, want := range map[string]string{"[3, 9, 7]": "ascending", "[3, 7]": "each column"} {
		m, err := onnx.Read(onnxtest.Must(treeHead+fmt.Sprintf(text, labels)), "model.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := onnx.Import(context.Background(), m, onnx.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: expected an error with %q, found %v", labels, want, err)
		}
	}
}
