package gen_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/tools/gengraph/gen"
)

func shapes() []gen.Options {
	return []gen.Options{
		{Shape: gen.Chain, Ops: 300, Seed: 1},
		{Shape: gen.Chain, Ops: 1, Seed: 2},
		{Shape: gen.Wide, Ops: 2500, Seed: 3},
		{Shape: gen.Sharded, Ops: 200, Seed: 4, Shards: 4},
		{Shape: gen.Sharded, Ops: 50, Seed: 5, Shards: 1, Extent: 7},
	}
}

func print(t *testing.T, g *ir.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.Write(&b, g, text.Options{GraphOrder: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFormsAgree reads each form back and compares it with the graph made in memory; all are valid.
func TestFormsAgree(t *testing.T) {
	for _, o := range shapes() {
		var g gen.Graph
		if err := gen.Generate(o, &g); err != nil {
			t.Fatal(err)
		}
		want := print(t, g.Result)
		if o.Shape == gen.Sharded {
			if found := application.Environment().Verify(context.Background(), g.Result); len(found) > 0 {
				t.Fatal(found)
			}
		} else if found := tensorops.Environment().Verify(context.Background(), g.Result); len(found) > 0 {
			t.Fatal(found)
		}
		for format, read := range map[string]func([]byte, string, *ir.Registry) (*ir.Graph, error){"loom": loomjson.Read, "tap": text.Read} {
			data := document(t, o, format)
			h, err := read(data, "x", dialects.Registry())
			if err != nil {
				t.Fatalf("%+v as %s: %v", o, format, err)
			}
			if diff := cmp.Diff(want, print(t, h)); diff != "" {
				t.Errorf("%+v as %s (-graph +read):\n%s", o, format, diff)
			}
			if !bytes.Equal(data, document(t, o, format)) {
				t.Errorf("%+v as %s: two runs differ", o, format)
			}
		}
	}
}

func document(t *testing.T, o gen.Options, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	sink, err := gen.NewSink(format, &b)
	if err == nil {
		err = gen.Generate(o, sink)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestMLIR checks that an MLIR module has the same operations and a function for each chain.
func TestMLIR(t *testing.T) {
	o := gen.Options{Shape: gen.Wide, Ops: 2500, Seed: 3}
	module := string(document(t, o, "mlir"))
	tap := string(document(t, o, "tap"))
	for ours, theirs := range map[string]string{"op:add": "arith.addf", "op:mul": "arith.mulf", "op:sub": "arith.subf", "op:exp": "math.exp"} {
		if a, b := strings.Count(tap, "operation "+ours), strings.Count(module, theirs); a != b || a == 0 {
			t.Errorf("%d %s, %d %s", a, ours, b, theirs)
		}
	}
	if n := strings.Count(module, "func.func"); n != 3 {
		t.Errorf("%d functions", n)
	}
}

// TestShares checks the promised shares: a tenth folds away, a tenth are copies.
func TestShares(t *testing.T) {
	var g gen.Graph
	if err := gen.Generate(gen.Options{Shape: gen.Chain, Ops: 20000, Seed: 9}, &g); err != nil {
		t.Fatal(err)
	}
	n := 0
	for x := range g.Result.Nodes() {
		if x.Body.Kind() == tensorops.OperationKind {
			n++
		}
	}
	if n != 20001 {
		t.Errorf("%d operations", n)
	}
	s, err := simplify.Run(context.Background(), g.Result, nil, rewrite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := simplify.CSE(context.Background(), g.Result, rewrite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if folded := s.Of("mul-one"); folded < 1600 || folded > 2400 || c.Applied < 1600 || c.Applied > 2400 {
		t.Errorf("%d of 20000 folded, %d were copies", folded, c.Applied)
	}
}

func TestRefusals(t *testing.T) {
	for _, o := range []gen.Options{{Shape: gen.Chain}, {Shape: "ring", Ops: 1}, {Shape: gen.Sharded, Ops: 1}, {Shape: gen.Sharded, Ops: 1, Shards: 3}} {
		if err := gen.Generate(o, &gen.Graph{}); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := gen.Generate(gen.Options{Shape: gen.Sharded, Ops: 1, Shards: 4}, gen.NewMLIR(&bytes.Buffer{})); err == nil {
		t.Error("a sharded MLIR module")
	}
	if _, err := gen.NewSink("yaml", nil); err == nil {
		t.Error("an unknown format")
	}
}
