package standard

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
)

// TestWrittenCuts compares cuts that options give with the plan file of the same: of random lists, behind a plan and without one, that name operations by labels and kernels and cut them along what they
// reduce and what they do not, the graph is the same to the byte.
func TestWrittenCuts(t *testing.T) {
	source := `tapc 1
%x = tensor int32 [0:6, 0:20]
%w = tensor int32 [0:20, 0:8]
%h = tensor int32 [0:6, 0:8]
%a = tensor int32 [0:6, 0:8]
%s = tensor int32 [0:6]
%m = tensor int32 [0:8]
%up = operation op:matmul (X: %x, Y: %w) -> (Z: %h)
%act = operation op:relu (tensor: %h) -> (result: %a)
%rows = operation op:sum {dims: [1], keepdims: false} (tensor: %a) -> (result: %s)
%columns = operation op:sum {dims: [0], keepdims: false} (tensor: %a) -> (result: %m)
`
	all := []string{"up=k:2", "up=m:2", "up=k:by7,n:2", "op:matmul=2x2", "act=2x1", "act=1x2/2x1", "op:relu=by4x1", "rows=s1:2", "rows=s0:3", "op:sum=2", "op:sum=1", "columns=s0:3", "columns=4",
		"op:add=1x2", "op:matmul=k:4"}
	table, dir, twice := Table(kernels.Builtin()), t.TempDir(), 0
	carried := func(passes string) (string, error) {
		t.Helper()
		g, err := text.Read([]byte(source), "graph.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		p, err := pipeline.ParsePipeline(passes, table)
		if err != nil {
			t.Fatal(err)
		}
		r := pipeline.Runner{}
		result, err := r.Run(context.Background(), p, g)
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		if err := text.Write(&b, result.Graph, text.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String(), nil
	}
	written := func(name string, p *planfile.Plan) string {
		t.Helper()
		var b bytes.Buffer
		if err := planfile.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fitted := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 19))
		facts := map[pipeline.Fact][]string{}
		plan := &planfile.Plan{}
		if seed%2 == 1 {
			first, err := plan.Behind([]string{all[rnd.IntN(len(all))]})
			if err != nil {
				t.Fatal(err)
			}
			plan.Cuts = first
			facts[pipeline.Plans] = []string{written("first.json", plan)}
		}
		targets := map[string]bool{}
		for range 1 + rnd.IntN(4) {
			text := all[rnd.IntN(len(all))]
			facts[pipeline.Shards] = append(facts[pipeline.Shards], text)
			c, err := planfile.ParseCut(text)
			if err != nil {
				t.Fatal(err)
			}
			if targets[c.Target] {
				twice++
			}
			targets[c.Target] = true
		}
		cuts, err := plan.Behind(facts[pipeline.Shards])
		if err != nil {
			t.Fatal(err)
		}
		byFlags, err := carried(table.Standard(pipeline.Request{Last: pipeline.ApplicationExpression, Facts: facts}))
		again := map[pipeline.Fact][]string{pipeline.Plans: {written("all.json", &planfile.Plan{Cuts: cuts})}}
		byPlan, failed := carried(table.Standard(pipeline.Request{Last: pipeline.ApplicationExpression, Facts: again}))
		if byFlags != byPlan || (err == nil) != (failed == nil) {
			t.Errorf("seed %d: %v behind %v: %v and %v:\n%s\nwith the plan\n%s", seed, facts[pipeline.Shards], plan.Cuts, err, failed, byFlags, byPlan)
		}
		if err == nil {
			fitted++
		}
	}
	if fitted < 100 || twice < 20 {
		t.Errorf("%d of the lists fit, and %d name a target twice: too little is tested", fitted, twice)
	}
}
