package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// TestRandomGraphs takes graphs through the passes and evaluates the schedules.
func TestRandomGraphs(t *testing.T) {
	var total tally
	for seed := range uint64(40) {
		g, err := generate(seed, 16)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := g.try(context.Background(), runReference, &total); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if total.compared < 10*total.unstable || len(total.kernels) < 100 {
		t.Errorf("too little is compared: %v", &total)
	}
}

// TestSeeds makes the same graph of the same seed.
func TestSeeds(t *testing.T) {
	var texts [3]string
	for i, seed := range []uint64{5, 5, 6} {
		g, err := generate(seed, 10)
		if err != nil {
			t.Fatal(err)
		}
		x, in := g.build()
		var b strings.Builder
		if err := text.Write(&b, x, text.Options{}); err != nil {
			t.Fatal(err)
		}
		texts[i] = b.String() + fmt.Sprint(in)
	}
	if texts[0] != texts[1] || texts[0] == texts[2] {
		t.Error("a graph is not a function of its seed")
	}
}

// TestAWrongValueIsFound runs graphs on a back end that gets one element of one result of exp wrong. The graph is reduced to
// exp and what its result goes through, and what is written can be read again.
func TestAWrongValueIsFound(t *testing.T) {
	wrong := func(ctx context.Context, g *graph) (map[string]tensorfile.Tensor, error) {
		out, err := runReference(ctx, g)
		for _, s := range g.steps {
			if s.off || s.decl.Name != "softsign" {
				continue
			}
			name := nameOf(int(s.call.Outputs[0].Sel[0].Sel.Tensor))
			if x, ok := out[name]; ok && len(x.Data) > 0 {
				v := scalar.Decode(x.DType, x.Data)
				v.F += 1
				v.Encode(x.Data)
			}
		}
		return out, err
	}
	for seed := uint64(0); seed < 400; seed++ {
		g, err := generate(seed, 12)
		if err != nil {
			t.Fatal(err)
		}
		fault := g.try(context.Background(), wrong, nil)
		if fault == nil {
			continue
		}
		small := g.reduce(context.Background(), wrong)
		if small.kept() != 1 {
			t.Errorf("reduced to %d steps, expected 1", small.kept())
		}
		dir := t.TempDir()
		if err := small.save(dir, fault); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "graph.tap"))
		if err != nil {
			t.Fatal(err)
		}
		x, err := text.Read(data, "graph.tap", dialects.Registry())
		if err != nil || !strings.Contains(string(data), "op:softsign") || x.Len() != 3 {
			t.Errorf("the graph that is written: %v\n%s", err, data)
		}
		return
	}
	t.Error("no graph showed the wrong value")
}

// TestTogether tries graphs in one program: all are compared, and that which differs is found among them.
func TestTogether(t *testing.T) {
	var list []*graph
	var want tally
	for seed := range uint64(8) {
		g, err := generate(seed, 6)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.try(context.Background(), runReference, &want); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	s := settings{folder: t.TempDir()}
	var got tally
	if failed, err := s.tryTogether(context.Background(), runReference, list, &got); err != nil || failed {
		t.Fatalf("found a difference or %v, expected none", err)
	}
	if got.graphs != want.graphs || got.operations != want.operations || got.compared+got.unstable != want.compared+want.unstable {
		t.Errorf("found %v, expected %v", &got, &want)
	}
	last := list[len(list)-1]
	name := last.steps[0].decl.Name
	for _, g := range list[:len(list)-1] {
		for _, s := range g.steps {
			if s.decl.Name == name {
				t.Fatalf("%s is in two graphs", name)
			}
		}
	}
	refuses := func(ctx context.Context, g *graph) (map[string]tensorfile.Tensor, error) {
		for _, s := range g.steps {
			if s.decl.Name == name && !s.off {
				return nil, fmt.Errorf("there is %s", name)
			}
		}
		return runReference(ctx, g)
	}
	if failed, err := s.tryTogether(context.Background(), refuses, list, nil); err != nil || !failed {
		t.Fatalf("found no difference (%v)", err)
	}
	made, err := os.ReadDir(s.folder)
	if err != nil || len(made) != 1 || made[0].Name() != fmt.Sprint(last.seed) {
		t.Errorf("found %v (%v), expected the folder %d alone", made, err, last.seed)
	}
}

// TestWhatRoundingDecidesIsLeftOut compares numbers whose moved runs disagree, and a near miss that only those do not explain.
func TestWhatRoundingDecidesIsLeftOut(t *testing.T) {
	make := func(values ...float64) tensorfile.Tensor {
		x := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{int64(len(values))}}
		for _, f := range values {
			x.Data = append(x.Data, 0, 0, 0, 0)
			scalar.FloatValue(scalar.Float32, f).Encode(x.Data[len(x.Data)-4:])
		}
		return x
	}
	want := make(1, 2, 100)
	for _, c := range []struct {
		got, moved tensorfile.Tensor
		compared   int
		ok         bool
	}{
		{make(1, 2, 100), make(1, 2, 100), 3, true},
		{make(1, 2.5, 100), make(1, 2.1, 100), 3, true},
		{make(1, 3.5, 100), make(1, 2.1, 100), 2, false},
		{make(1.01, 2, 100), make(1, 2, 100), 1, false},
	} {
		n, _, err := compare("x", want, c.got, []tensorfile.Tensor{c.moved})
		if n != c.compared || (err == nil) != c.ok {
			t.Errorf("%v: compared %d, %v", c.got, n, err)
		}
	}
}
