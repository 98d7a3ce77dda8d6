package programflags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/inline"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/recompute"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/split"
)

// Cuts are the flags that say how operations are cut.
type Cuts struct {
	shards []string
	plan   Plan
	keep   bool // all operations that use definitions
}

// KeepDefinitions lets all operations that use definitions stay, as if all were to be cut.
func (c *Cuts) KeepDefinitions() { c.keep = true }

// Add adds the flags to a command's.
func (c *Cuts) Add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&c.shards, "shard", nil, "cut operations into shards along their index: KERNEL=2x2 or LABEL=by16x2, as docs/plans.md has it (repeatable)")
	flagnames.Entries(fs, "shard")
	c.plan.Add(fs)
}

// Given says whether something is to be cut.
func (c *Cuts) Given() bool { return len(c.shards) > 0 || c.plan.file != "" }

// With gives the flags with another plan file.
func (c Cuts) With(plan string) Cuts {
	c.plan.file, c.plan.memory = plan, nil
	return c
}

// Priced says that --machine is what all prices of a command are for, with a plan and without one.
func (c *Cuts) Priced() { c.plan.alone = true }

// Check refuses flags that say nothing, or what can not be read.
func (c *Cuts) Check() error {
	if !c.Given() && c.plan.write != "" {
		return diag.Usage("--write-plan goes with --plan or --shard, which it writes")
	}
	return c.plan.check()
}

// Written writes the plan of the flags to the file of --write-plan, for a graph that was cut as they say. With --plan pass propagate does so, which knows layouts.
func (c *Cuts) Written() error {
	if c.plan.write == "" || c.plan.file != "" {
		return nil
	}
	cuts, err := (&planfile.Plan{}).Behind(c.shards)
	if err != nil {
		return err
	}
	for _, x := range cuts {
		if !utf8.ValidString(x.Target) {
			return diag.Usage("--write-plan: no JSON names %q, which is no UTF-8: expected labels that are, or the cut by --shard alone", x.Target)
		}
	}
	return outputfile.Replace(c.plan.write, 0o644, func(f *os.File) error { return planfile.Write(f, &planfile.Plan{Cuts: cuts}) })
}

// Permissions are those that the plan gives.
func (c *Cuts) Permissions() permission.Set { return c.plan.Permissions() }

// Takes refuses a graph, which was read from a file, that is past what the flags say: a plan is for one that was not cut yet, shards are for one that is not scheduled.
func (c *Cuts) Takes(g *ir.Graph, file string) error {
	if c.plan.file == "" && c.plan.write != "" {
		return Past(g, file, "--write-plan="+c.plan.write+" writes how a graph is cut", pipeline.OperationExpression)
	}
	if c.plan.file == "" && len(c.shards) > 0 {
		return Past(g, file, "--shard says how a graph is cut", pipeline.ApplicationExpression)
	}
	return c.plan.Takes(g, file)
}

// Takes refuses a graph, which was read from a file, that was cut already, if there is a plan.
func (p *Plan) Takes(g *ir.Graph, file string) error {
	if p.file == "" {
		return nil
	}
	return Past(g, file, "--plan="+p.file+" says how a graph is cut", pipeline.OperationExpression)
}

// Past is an error if a graph is past the last stage at which something is done to it, as its words say.
func Past(g *ir.Graph, file, words string, last pipeline.Stage) error {
	found := pipeline.StageOf(g)
	if found <= last {
		return nil
	}
	hint := "build takes it as it is, without a plan or shards; expected here is the file that it was made from"
	if found == pipeline.ApplicationExpression {
		hint += ", or what tapc unshard makes of it"
	}
	return diag.Errorf("TAP0920", "plan", diag.Location{File: file}, "%s, and this one is cut already", words).
		Want("a graph of "+last.String(), found.String()).WithHint("%s", hint)
}

// Facts adds what the flags say to a request for the standard pipeline.
func (c *Cuts) Facts(facts map[pipeline.Fact][]string) {
	facts[pipeline.Shards] = c.shards
	c.plan.facts(facts)
}

// Mesh gives the plan if it has layouts on a mesh, and all operations are where the mesh says; nil otherwise.
func (c *Cuts) Mesh() (*planfile.Plan, error) {
	if c.plan.file == "" {
		return nil, nil
	}
	p, err := c.plan.parse()
	if err != nil || len(p.Tensors) == 0 || len(p.Place) > 0 {
		return nil, err
	}
	return p, nil
}

// Inline asks for what definitions stand for in a graph that uses some: before all else, and of those that are to be cut behind the cuts.
func (c *Cuts) Inline(g *ir.Graph, last pipeline.Stage, facts map[pipeline.Fact][]string) {
	keep := strings.Join(c.definitions(g), ",")
	if facts[pipeline.Composites] = []string{keep}; keep != "" && last > pipeline.OperationExpression {
		facts[pipeline.CutComposites] = []string{""}
	}
}

// definitions gives the definitions whose uses are to be cut, by their kernel or a label.
func (c *Cuts) definitions(g *ir.Graph) (list []string) {
	targets := map[string]bool{}
	for _, text := range c.shards {
		targets[text[:max(0, strings.LastIndexByte(text, '='))]] = true
	}
	if c.plan.file != "" {
		if p, err := planfile.Read(c.plan.file); err == nil { // what is wrong with it Check has told
			for _, x := range p.Cuts {
				targets[x.Target] = true
			}
		}
	}
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok || !targets[op.Kernel] && !targets[n.Label] && !c.keep {
			continue
		}
		if name, used := definition.Used(op.Kernel); used && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Scheduled says whether a plan is priced by its schedule on several devices: it has none, or says how many devices there are, or there are cuts beside its layouts,
// which are spread over as many devices as its mesh has.
func (c *Cuts) Scheduled(p *planfile.Plan) bool {
	if p != nil && c.Devices() < 2 && (len(p.Cuts) > 0 || len(c.shards) > 0) {
		c.plan.devices = int(p.Mesh.Devices())
	}
	return c.Devices() > 1 && c.plan.on != ""
}

// Propagate carries the layouts of a plan through a graph, for the devices of a kind of the machine, which it gives.
func (c *Cuts) Propagate(ctx context.Context, g *ir.Graph, p *planfile.Plan, lib *kernels.Library, allow permission.Set, kind string) (*propagate.Result, *machine.Machine, error) {
	if p == nil || len(p.Tensors) == 0 || c.plan.on == "" {
		return nil, nil, diag.Usage("prices on several devices need --machine, and a plan with a mesh and tensors, or devices")
	}
	m, err := machine.Find(c.plan.on)
	if err != nil {
		return nil, nil, err
	}
	if err := inline.All(g, lib); err != nil {
		return nil, nil, err
	}
	if err := choose.Planned(ctx, g, p, rewrite.Options{Library: lib}); err != nil {
		return nil, nil, err
	}
	if _, err := recompute.Run(g, recompute.Requests(p)); err != nil {
		return nil, nil, err
	}
	_, r, err := propagate.Run(g, p, propagate.Settings{Library: lib, Allow: allow, Split: split.One, Machine: m, Kind: kind})
	apply.Run(g) // what is not cut is one application
	return r, m, err
}

// Plan is the flags that name a plan file and say how many devices there are.
type Plan struct {
	file    string
	refuse  bool   // transfers between layouts
	on      string // machine that transfers are priced for
	alone   bool   // the machine says something without a plan, too
	write   string // file for the plan with all layouts
	devices int
	memory  []string // of the plan's devices, if it says something of them
	placed  bool     // the plan says where shards are
	flags   *pflag.FlagSet
}

// Add adds the flag to a command's.
func (p *Plan) Add(fs *pflag.FlagSet) {
	p.flags = fs
	fs.StringVar(&p.file, "plan", "", "cut operations as this plan `FILE` says (docs/plans.md)")
	fs.IntVar(&p.devices, "devices", 0, "spread operations that are cut over so many devices; the plan's number if it has one, else 1")
	fs.BoolVar(&p.refuse, "no-implicit-reshard", false, "refuse a plan whose layouts do not agree everywhere, instead of moving data")
	fs.StringVar(&p.on, "machine", "", "price the transfers of a plan for this machine: a name that tapc machine lists, or a machine file")
	fs.StringVar(&p.write, "write-plan", "", "write the plan to this `FILE`, with all cuts and how all tensors that have a label lie on its mesh")
	flagnames.Texts(fs, "plan")
	flagnames.Files(fs, flagnames.Written, "write-plan")
	Machine(fs)
}

// Machine holds the flag --machine to machines that are known, or files.
func Machine(fs *pflag.FlagSet) {
	flagnames.Check(fs, "machine", machine.Presets(), machine.Check)
}

// Machine is the name of the machine that prices are for; "" for none.
func (c *Cuts) Machine() string { return c.plan.on }

// Devices is how many devices the plan or the flag says that there are; 0 if neither does.
func (c *Cuts) Devices() int {
	_ = c.plan.read() // what is wrong with it Check says
	return c.plan.devices
}

// Permissions are those that the plan gives.
func (p *Plan) Permissions() permission.Set {
	if p.file == "" {
		return 0
	}
	plan, err := planfile.Read(p.file)
	if err != nil {
		return 0 // Check has told
	}
	return plan.Permissions
}

// Check refuses flags that go with a plan where there is none, and a plan that can not be read.
func (p *Plan) Check() error {
	if p.file == "" && p.write != "" {
		return diag.Usage("--write-plan goes with --plan, whose layouts it writes")
	}
	return p.check()
}

func (p *Plan) check() error {
	if p.file == "" && p.refuse {
		return diag.Usage("--no-implicit-reshard goes with --plan")
	}
	if p.file == "" && p.on != "" && !p.alone {
		return diag.Usage("--machine goes with --plan, whose transfers it prices")
	}
	if p.flags.Changed("devices") && (p.devices < 1 || p.devices > planfile.MaxDevices) {
		return diag.Usage("--devices=%d: expected 1 to %d", p.devices, planfile.MaxDevices)
	}
	return p.read()
}

// read finds what the plan says of devices.
func (p *Plan) read() error {
	if p.file == "" {
		return nil
	}
	plan, err := p.parse()
	if err != nil || len(plan.Devices) == 0 {
		return err
	}
	if p.flags.Changed("devices") && p.devices != len(plan.Devices) {
		return diag.Usage("--devices=%d: the plan %s has %d devices", p.devices, p.file, len(plan.Devices))
	}
	p.devices, p.placed = len(plan.Devices), len(plan.Place) > 0
	if slices.ContainsFunc(plan.Devices, func(d planfile.Device) bool { return d.Memory > 0 }) {
		for _, d := range plan.Devices {
			p.memory = append(p.memory, fmt.Sprint(d.Memory))
		}
	}
	return nil
}

// parse reads the file. What is wrong in it says where; what is wrong with it as a whole is an error of the flag. Passes read it, too, so it is no pipe.
func (p *Plan) parse() (*planfile.Plan, error) {
	err := inputfile.Again(p.file)
	var plan *planfile.Plan
	if err == nil {
		plan, err = planfile.Read(p.file)
	}
	var d diag.Diagnostic
	if err != nil && !errors.As(err, &d) {
		err = fmt.Errorf("--plan: %w", err)
	}
	return plan, err
}

func (p *Plan) facts(facts map[pipeline.Fact][]string) {
	if p.devices > 1 {
		facts[pipeline.Devices] = []string{fmt.Sprint(p.devices)}
	}
	if p.placed {
		facts[pipeline.Places] = []string{p.file}
	}
	if p.memory != nil {
		facts[pipeline.Memories] = []string{strings.Join(p.memory, ",")}
	}
	if p.on != "" {
		facts[pipeline.Machines] = []string{p.on}
	}
	if p.file == "" {
		return
	}
	facts[pipeline.Plans] = []string{p.file}
	if p.refuse {
		facts[pipeline.Reshards] = []string{propagate.Refuse}
	}
	if p.write != "" {
		facts[pipeline.Propagated] = []string{p.write}
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
	steps = append(steps, t.Using(pipeline.Plans, r)...)
	return strings.Join(append(steps, t.Using(pipeline.Places, r)...), ",") // where shards are is said of shards that are there
}
