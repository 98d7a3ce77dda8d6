package pipeline

import (
	"context"

	"tensortapestry.org/tapc/ir/diag"
)

// Pass is one row of the table: a step of a compilation, as a value. Run changes the graph in place or replaces it; what
// stands around that (see the package comment) is the runner's work.
type Pass struct {
	Name     string
	Doc      string          // one line for lists, then paragraphs after an empty line if there is more to say
	Plugin   string          // the plugin that provides it; "" is tapc itself
	Needs    Stage           // the earliest stage that it takes
	Upto     Stage           // the latest stage that it takes, if later than Needs
	Gives    Stage           // what the graph is afterwards, if later than before
	After    []Order         // passes that come before it where both are in a pipeline
	Options  []Option        // as name{option=value}
	Rules    func() []string // names that it asks fuel for, so that they can be disabled; nil is none
	Opens    bool            // it may leave choices open
	Run      func(ctx context.Context, p *Context) error
	Suspect  *Suspect // of a plugin's pass; nil is tapc's own
	Standard Standard // its part in what tapc build runs
}

// Suspect is what the runner does otherwise for a pass that it does not trust.
type Suspect struct {
	Verified bool                        // Run verifies the graph that it takes over, so the runner does not do it again
	Changed  func(found diag.List) error // gives the error for a pass that changed observed values
}

// Order is a constraint on the order of two passes, with its reason.
type Order struct {
	Name   string // of the pass that comes first
	Reason string
}

// latest is the last stage that the pass takes.
func (p *Pass) latest() Stage { return max(p.Needs, p.Upto) }

// takes says whether the pass works on graphs of a stage.
func (p *Pass) takes(s Stage) bool { return s >= p.Needs && s <= p.latest() }

// after gives the stage of the graph after the pass.
func (p *Pass) after(s Stage) Stage { return max(s, p.Gives) }

// OptionType is the type of an option's value.
type OptionType uint8

// The option types. A path is a string that the shell completes as a file name.
const (
	Int OptionType = iota
	Bool
	String
	Path
	Float
)

// String gives the type's word in documentation.
func (t OptionType) String() string { return [...]string{"int", "bool", "string", "path", "float"}[t] }

// Option is a declared option of a pass. Default is written as in a pipeline; "" is 0, false or the empty string.
type Option struct {
	Name    string
	Doc     string
	Type    OptionType
	Default string
	// Many lets a step give the option several times; OptionValues.Texts has all values.
	Many bool
	// Required makes a pipeline that leaves the option out an error.
	Required bool
	// Words are the values that an option of type String may have; any if there are none.
	Words []string
	// Fact is what the standard pipeline gives the option for its value.
	Fact Fact
}

// FuelOption is the option of passes that rewrite: how many rewrites this use of the pass may make. The runner sees to it
// for a pass that declares it.
var FuelOption = Option{Name: "fuel", Doc: "number of rewrites that may happen; negative is any number", Type: Int, Default: "-1"}

// CostModelOption names a machine: what a pass chooses from it compares by the costs of that, not by facts of its own.
var CostModelOption = Option{Name: "machine", Doc: "compare by the costs of a machine, a name that tapc machine lists or the path of a machine file (default: by facts of the pass's own)",
	Type: String, Fact: CostModel}

// AllowOption says what a pass may do to numbers; Context.Allow reads it.
var AllowOption = Option{Name: "allow", Doc: "what the program may do to numbers: permissions, with commas between", Type: String, Fact: Permissions}

// verifyName is the name of the pass that Verify gives.
const verifyName = "verify"

// Verify is the pass that verifies the graph against the constraints of its dialect, for pipelines that run without
// verification after each pass and for the end of one.
func Verify() Pass {
	return Pass{Name: verifyName, Doc: "Verify the graph against the constraints of its dialect.", Upto: ScheduledKernels,
		Run: func(ctx context.Context, p *Context) error { return p.Verify(ctx) }}
}
