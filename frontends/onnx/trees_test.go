package onnx_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
)

const treeHead = `<ir_version: 10, opset_import: ["": 17, "ai.onnx.ml": 3]>`

// stump is a regressor of two trees on rows of two features: one tests the first for at most 1, and then the second for more than 2; the
// other is a leaf.
func stump(more string) string {
	return fmt.Sprintf(`g (float[8] flat) => (float[4, 1] y) <int64[2] s = {4, 2}> { x = Reshape(flat, s) y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, nodes_treeids = [0, 0, 0, 0, 0, 7],
  nodes_nodeids = [0, 1, 2, 3, 4, 0], nodes_featureids = [0, 0, 1, 0, 0, 0], nodes_values = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0],
  nodes_modes = ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 3, 0, 0, 0], nodes_falsenodeids = [2, 0, 4, 0, 0, 0],
  target_treeids = [0, 0, 0, 7], target_nodeids = [1, 3, 4, 0], target_ids = [0, 0, 0, 0], target_weights = [10.0, 20.0, 30.0, 1.0]%s>(x) }`, more)
}

func TestTrees(t *testing.T) {
	nan := float32(math.NaN())
	x := []float32{1, 0, 2, 3, 2, 2, nan, 5}
	for _, c := range []struct {
		more string
		want []float64
	}{
		{"", []float64{11, 21, 31, 21}},
		{`, base_values = [0.5], aggregate_function = "AVERAGE"`, []float64{6, 11, 16, 11}},
		{`, aggregate_function = "MIN"`, []float64{1, 1, 1, 1}},
		{`, aggregate_function = "MAX"`, []float64{10, 20, 30, 20}},
		{`, nodes_missing_value_tracks_true = [1, 0, 0, 0, 0, 0]`, []float64{11, 21, 31, 11}},
	} {
		expect(t, run(t, treeHead+stump(c.more), onnx.Options{}, map[string][]float32{"flat": x})["y"], c.want...)
	}
}

func TestTreesRefuse(t *testing.T) {
	for want, change := range map[string][2]string{
		"tree 0 has 2 roots":          {"nodes_falsenodeids = [2, 0, 4", "nodes_falsenodeids = [2, 0, 2"},
		"tests feature 2 of 2":        {"nodes_featureids = [0, 0, 1", "nodes_featureids = [0, 0, 2"},
		"tree 0 has no node 9":        {"nodes_truenodeids = [1, 0, 3", "nodes_truenodeids = [1, 0, 9"},
		"tree 0 has no leaf 2":        {"target_nodeids = [1, 3, 4", "target_nodeids = [1, 2, 4"},
		"target 1 of 1":               {"target_ids = [0, 0, 0, 0]", "target_ids = [0, 0, 0, 1]"},
		"6 and 5 nodes":               {"nodes_values = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0]", "nodes_values = [1.0, 0.0, 2.0, 0.0, 0.0]"},
		`nodes_modes is "BRANCH_ODD"`: {`"BRANCH_GT"`, `"BRANCH_ODD"`},
		"scores that are transformed": {"n_targets = 1", `n_targets = 1, post_transform = "PROBIT"`},
		"2 base values for 1 targets": {"n_targets = 1", "n_targets = 1, base_values = [1.0, 2.0]"},
	} {
		text := strings.Replace(stump(""), change[0], change[1], 1)
		m, err := onnx.Read(onnxtest.Must(treeHead+text), "model.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := onnx.Import(context.Background(), m, onnx.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, found %v", want, err)
		}
	}
}

// A forest that goes in circles, or out of its lists, is refused.
func TestTreeEnsembleRefuses(t *testing.T) {
	const text = `<ir_version: 10, opset_import: ["": 17, "ai.onnx.ml": 5]>g (float[2, 1] x) => (float[2, 1] y) {
  y = ai.onnx.ml.TreeEnsemble<n_targets = 1, tree_roots = [0], nodes_modes = uint8[2] {0, 6}, nodes_featureids = [0, 0], nodes_splits = float[2] {1.0, 0.0},
  nodes_truenodeids = [1, 0], nodes_trueleafs = [0, 1], nodes_falsenodeids = [0, 0], nodes_falseleafs = [1, 1], leaf_targetids = [0], leaf_weights = float[1] {2.0},
  membership_values = float[2] {3.0, nan}>(x) }`
	for want, change := range map[string][2]string{
		"":                        {"", ""},
		"does not lead to a leaf": {"nodes_truenodeids = [1, 0]", "nodes_truenodeids = [0, 0]"},
		"leads to nodes 2":        {"nodes_truenodeids = [1, 0]", "nodes_truenodeids = [2, 0]"},
		"node 9 of":               {"tree_roots = [0]", "tree_roots = [9]"},
		"has no members":          {"float[2] {3.0, nan}", "float[1] {3.0}"},
	} {
		m, err := onnx.Read(onnxtest.Must(strings.Replace(text, change[0], change[1], 1)), "model.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := onnx.Import(context.Background(), m, onnx.Options{}); err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, found %v", want, err)
		}
	}
}

// Scan had a batch before version 9: every entry is scanned from its own state.
func TestScanOfABatch(t *testing.T) {
	text := `<ir_version: 4, opset_import: ["": 8]>
g (float[2] s0, float[6] x0) => (float[2, 1] y, float[2, 3, 1] z) <int64[2] a2 = {2, 1}, int64[3] a3 = {2, 3, 1}>
{ s = Reshape(s0, a2) x = Reshape(x0, a3) y, z = Scan<num_scan_inputs = 1, directions = [%d], body = b (float[1] a, float[1] v) => (float[1] c, float[1] d) { c = Add(a, v) d = Mul(c, v) }>(, s, x) }`
	in := map[string][]float32{"s0": {10, 20}, "x0": {1, 2, 3, 4, 5, 6}}
	got := run(t, fmt.Sprintf(text, 0), onnx.Options{}, in)
	expect(t, got["y"], 16, 35)
	expect(t, got["z"], 11, 26, 48, 96, 145, 210)
	expect(t, run(t, fmt.Sprintf(text, 1), onnx.Options{}, in)["z"], 39, 30, 16, 156, 155, 140)
}
