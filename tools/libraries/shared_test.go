package libraries_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/library"
)

const cache = `<ir_version: 8, opset_import: ["": 17]>
net (float[past, 2] past, float[1, 2] row) => (float[total, 2] present, float[2] top)
{
  present = Concat<axis = 0>(past, row)
  top = ReduceMax<axes = [0], keepdims = 0>(present)
}
`

// TestGoShared lets a cache grow by rows in one memory, at the sizes of one library.
func TestGoShared(t *testing.T) {
	model, err := onnxtest.Model(cache)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cache.onnx"), string(model))
	do(t, dir, nil, tapc(t), "build", "cache.onnx", "--dim", "past=0..3", "--alias", "past=present,0=5", "--emit=lib", "-o", "libcache.so")
	m := opened(t, filepath.Join(dir, "libcache.so"), library.Options{Threads: 1})
	if d := m.Dims(); len(d) != 1 || d[0].Name != "past" || !slices.Equal(d[0].Sizes, []int64{0, 1, 2, 3}) {
		t.Errorf("dimensions %v", d)
	}
	ctx := context.Background()
	past, out := m.Inputs()[0].Make().([]float32), m.MakeOutputs()
	if len(past) != 10 || len(out) != 1 {
		t.Errorf("memory of %d elements and %d outputs: want 10 and 1", len(past), len(out))
	}
	for n := range 4 {
		in := library.Values{"past": past, "row": []float32{float32(n), float32(n * 2)}}
		if err := m.RunAt(ctx, map[string]int64{"past": int64(n)}, in, out); err != nil {
			t.Fatal(err)
		}
		if top := out["top"].([]float32); top[1] != float32(n*2) {
			t.Errorf("at %d: %v", n, top)
		}
	}
	if want := []float32{0, 0, 1, 2, 2, 4, 3, 6, 0, 0}; !slices.Equal(past, want) {
		t.Errorf("got %v, want %v", past, want)
	}
	in := library.Values{"past": past, "row": []float32{1, 1}}
	refused(t, m.RunAt(ctx, map[string]int64{"past": 4}, in, out), library.BadArgument, "no version for the sizes")
	refused(t, m.RunAt(ctx, map[string]int64{"pats": 2}, in, out), library.BadArgument, `no dimension with several sizes is named "pats", did you mean "past"`)
	refused(t, m.RunAt(ctx, nil, in, out), library.BadArgument, `the size of "past" is missing`)
	out["present"] = make([]float32, 10)
	refused(t, m.RunAt(ctx, map[string]int64{"past": 1}, in, out), library.BadArgument, "expected NULL or the address of input past")
	in["past"] = past[:6]
	refused(t, m.RunAt(ctx, map[string]int64{"past": 1}, in, out), library.BadArgument, "expected 10 elements")
}
