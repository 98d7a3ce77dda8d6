package standard

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
)

func TestTheTableIsValid(t *testing.T) {
	if err := Table(kernels.Builtin()).Validate(); err != nil {
		t.Fatal(err)
	}
}

// A graph without nodes does not show its stage.
func TestAnEmptyGraphIsScheduled(t *testing.T) {
	if err := Run(ir.New(), kernels.Builtin(), lower.Options{}); err != nil {
		t.Error(err)
	}
}

// What tapc build runs, for what it is asked.
func TestThePipelineOfRequests(t *testing.T) {
	const lowered = "fuse,layout,tile,memory,collect"
	facts := func(pairs ...any) map[pipeline.Fact][]string {
		out := map[pipeline.Fact][]string{}
		for i := 0; i < len(pairs); i += 2 {
			fact := pairs[i].(pipeline.Fact)
			out[fact] = append(out[fact], pairs[i+1].(string))
		}
		return out
	}
	table := Table(kernels.Builtin())
	for _, c := range []struct {
		name string
		r    pipeline.Request
		want string
	}{
		{"nothing", pipeline.Request{}, ""},
		{"operations", pipeline.Request{Simplify: true}, "fix(simplify,cse,dce),precompute"},
		{"operations, what shards ask for comes later", pipeline.Request{Facts: facts(pipeline.Shards, "a=2")}, ""},
		{"applications", pipeline.Request{Last: pipeline.ApplicationExpression, Facts: facts(pipeline.Shards, "a=2", pipeline.Shards, "b=2x2")},
			"shard{at=a=2,at=b=2x2},apply"},
		{"a plan comes before single cuts, in one pass", pipeline.Request{Last: pipeline.ApplicationExpression, Facts: facts(pipeline.Shards, "a=2", pipeline.Plans, "p.json", pipeline.Shards, "b=2")},
			"choose{plan=p.json},recompute{plan=p.json},propagate{plan=p.json,at=a=2,at=b=2},shard{plan=p.json,at=a=2,at=b=2},apply"},
		{"choices are made before what is chosen is simplified", pipeline.Request{Simplify: true, First: "dce", Facts: facts(pipeline.Choices, "first", pipeline.Plans, "p.json")},
			"dce,choose{plan=p.json},choose{policy=first},fix(simplify,cse,dce),precompute,recompute{plan=p.json}"},
		{"a program", pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true, Facts: facts(pipeline.Target, "cpu")},
			"fix(simplify{target=cpu},cse,dce),precompute,apply,lower{target=cpu}," + lowered},
		{"with permissions", pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true, Facts: facts(pipeline.Target, "cuda", pipeline.Permissions, "lost-nan,tf32")},
			`fix(simplify{allow="lost-nan,tf32",target=cuda},cse,dce),precompute,apply,lower{target=cuda,allow="lost-nan,tf32"},` + lowered},
		{"the user's own", pipeline.Request{Simplify: true, First: "dce,cse", Facts: facts(pipeline.Bindings, "a.npz", pipeline.Bindings, "b c.npz")},
			`bind{file=a.npz},bind{file="b c.npz"},dce,cse,fix(simplify,cse,dce),precompute`},
		{"the user's own and nothing else", pipeline.Request{First: "dce"}, "dce"},
		{"applications go on", pipeline.Request{From: pipeline.ApplicationExpression, Last: pipeline.ScheduledKernels, Simplify: true},
			"fix(simplify,cse,dce),precompute,apply,lower," + lowered},
		{"what is scheduled stays", pipeline.Request{From: pipeline.ScheduledKernels, Last: pipeline.ScheduledKernels, Simplify: true, Facts: facts(pipeline.Target, "cpu")}, ""},
		{"what is scheduled is not cut unseen", pipeline.Request{From: pipeline.ScheduledKernels, Last: pipeline.ScheduledKernels, Facts: facts(pipeline.Shards, "a=2")}, "shard{at=a=2}"},
	} {
		got := table.Standard(c.r)
		if got != c.want {
			t.Errorf("%s:\n %s\nwant\n %s", c.name, got, c.want)
		}
		if _, err := pipeline.ParsePipeline(got, table); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
