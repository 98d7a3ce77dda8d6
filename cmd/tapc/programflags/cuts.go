package programflags

import (
	"strings"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/propagate"
)

// Cuts are the flags that say how operations are cut.
type Cuts struct {
	shards []string
	plan   Plan
}

// Add adds the flags to a command's.
func (c *Cuts) Add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&c.shards, "shard", nil, "cut operations into shards along their index: KERNEL=2x2 or LABEL=by16x2, as docs/plans.md has it (repeatable)")
	c.plan.Add(fs)
}

// Given says whether something is to be cut.
func (c *Cuts) Given() bool { return len(c.shards) > 0 || c.plan.file != "" }

// Check refuses flags that say nothing.
func (c *Cuts) Check() error { return c.plan.Check() }

// Facts adds what the flags say to a request for the standard pipeline.
func (c *Cuts) Facts(facts map[pipeline.Fact][]string) {
	facts[pipeline.Shards] = c.shards
	c.plan.facts(facts)
}

// Plan is the flag that names a plan file.
type Plan struct {
	file   string
	refuse bool // transfers between layouts
	flags  *pflag.FlagSet
}

// Add adds the flag to a command's.
func (p *Plan) Add(fs *pflag.FlagSet) {
	p.flags = fs
	fs.StringVar(&p.file, "plan", "", "cut operations as this plan `FILE` says (docs/plans.md)")
	fs.BoolVar(&p.refuse, "no-implicit-reshard", false, "refuse a plan whose layouts do not agree everywhere, instead of moving data")
}

// Check refuses a plan without a name.
func (p *Plan) Check() error {
	if p.file == "" && p.flags.Changed("plan") {
		return diag.Usage("--plan names no file: expected a plan, as docs/plans.md has it")
	}
	if p.file == "" && p.refuse {
		return diag.Usage("--no-implicit-reshard goes with --plan")
	}
	return nil
}

func (p *Plan) facts(facts map[pipeline.Fact][]string) {
	if p.file == "" {
		return
	}
	facts[pipeline.Plans] = []string{p.file}
	if p.refuse {
		facts[pipeline.Reshards] = []string{propagate.Refuse}
	}
}

// Passes gives a pipeline with the passes that carry the plan out, with permissions, behind it.
func (p *Plan) Passes(t *pipeline.Table, before string, allow permission.Set) string {
	if p.file == "" {
		return before
	}
	var steps []string
	if before != "" {
		steps = append(steps, before)
	}
	r := pipeline.Request{Facts: map[pipeline.Fact][]string{}}
	if allow != 0 {
		r.Facts[pipeline.Permissions] = []string{allow.String()}
	}
	p.facts(r.Facts)
	return strings.Join(append(steps, t.Using(pipeline.Plans, r)...), ",")
}
