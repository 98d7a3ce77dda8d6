package tensorops

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
)

// Choice is an operation of the kernel choice: it holds alternatives open. Its branches are tensors, which other branches and the rest of the
// graph may read or share subgraphs with; all of them give the values of the result, up to what rewrites were allowed to do to numbers.
type Choice struct {
	Op       ir.NodeID
	Names    []string // of the branches, in order, none twice
	Branches []ir.Selection
	Result   ir.Selection
}

// MaxBranches bounds the branches of a choice.
const MaxBranches = 64

// The names by which operations are choices.
const (
	choiceKernel   = "choice"
	choiceBranches = "branches"
	choiceResult   = "result"
	choiceNames    = "names"
)

// IsChoice says whether an operation holds alternatives open.
func (o *Operation) IsChoice() bool {
	_, named := o.Params.Get(choiceNames)
	return base(o.Kernel) == choiceKernel && named && o.Inputs.Get(choiceBranches) != nil
}

// HasChoices says whether a graph holds alternatives open.
func HasChoices(g *ir.Graph) bool {
	for n := range g.Nodes() {
		if op, ok := n.Body.(*Operation); ok && op.IsChoice() {
			return true
		}
	}
	return false
}

// ChoiceParams gives the parameters of a choice between branches of these names.
func ChoiceParams(names []string) ir.Attrs {
	return ir.Attrs{}.With(choiceNames, ir.StringAttr(strings.Join(names, ",")))
}

// ChoiceOf reads a choice; the diagnostics say what is wrong with one that is malformed.
func ChoiceOf(g *ir.Graph, id ir.NodeID) (Choice, diag.List) {
	n, op := g.Node(id), OperationOf(g, id)
	c := Choice{Op: id}
	bad := func(code, field, expected, found string) (Choice, diag.List) {
		return c, diag.List{diag.Errorf(code, choiceID, g.At(n, field), "%s is no choice", g.Name(id)).Want(expected, found)}
	}
	in, out := op.Inputs.Get(choiceBranches), op.Outputs.Get(choiceResult)
	if op.Inputs.Len() != 1 || op.Outputs.Len() != 1 || out == nil || len(out.Sel) != 1 {
		return bad("TAP0191", "/body", `the input port "branches" and one output "result"`, fmt.Sprintf("%d input ports, %d output ports", op.Inputs.Len(), op.Outputs.Len()))
	}
	if n.Tag(IOSequencePointKind) != nil {
		return bad("TAP0191", check.TagField(IOSequencePointKind), "no effect outside the graph", "the tag IOSequencePoint")
	}
	names, _ := op.Params.Get(choiceNames)
	if names.Kind != ir.AttrString {
		return bad("TAP0191", "/body/params/names", "names with commas between", fmt.Sprintf("a value of kind %v", names.Kind))
	}
	c.Names, c.Branches, c.Result = strings.Split(names.Str, ","), in.Sel, out.Sel[0]
	if len(c.Names) != len(c.Branches) || len(c.Branches) > MaxBranches {
		return bad("TAP0192", "/body/params/names", fmt.Sprintf("1 to %d branches, and a name for each", MaxBranches), fmt.Sprintf("%d branches, %d names", len(c.Branches), len(c.Names)))
	}
	for i, name := range c.Names {
		if strings.TrimSpace(name) != name || name == "" || slices.Contains(c.Names[:i], name) {
			return bad("TAP0192", "/body/params/names", "a name for each branch that no other has", fmt.Sprintf("%q for branch %d", name, i))
		}
	}
	return c, nil
}

// choiceID is the constraint that choices are held to.
const choiceID = "ChoiceConstraint"

var choices = check.Constraint{
	ID: choiceID,
	Doc: "A choice, an operation of the kernel choice with the parameter names, has 1 to 64 branches with different names, of which none is empty, " +
		"and one result. Every branch has the result's element type and shape. It has no effect outside the graph, and branches do not depend on it.",
	Requires: []string{"NoTensorOperationCyclesConstraint"},
	Codes: []check.Code{
		{ID: "TAP0191", Meaning: "a choice has other ports than branches and a result, names that are no text, or an effect"},
		{ID: "TAP0192", Meaning: "a choice has too many branches or none, not a name for each, or a name twice"},
		{ID: "TAP0193", Meaning: "a branch of a choice has another element type or shape than its result"},
	},
	Check: func(c *check.Context) {
		for n := range check.Each[*Operation](c) {
			if n.Body.(*Operation).IsChoice() {
				checkChoice(c, n)
			}
		}
	},
}

func checkChoice(c *check.Context, n *ir.Node) {
	g := c.Graph()
	x, bad := ChoiceOf(g, n.ID)
	for _, d := range bad {
		c.Report(d)
	}
	if bad != nil {
		return
	}
	want := typeText(g, x.Result)
	for i, b := range x.Branches {
		if got := typeText(g, b); got != want && c.Go() {
			c.Report(c.Error("TAP0193", n, check.PortField(sides[0], choiceBranches, i), "branch %q of %s does not fit its result", x.Names[i], g.Name(n.ID)).
				Want(want, fmt.Sprintf("%s, of %s", got, g.Name(b.Tensor))))
		}
	}
}

// typeText is the element type of a selection and its shape.
func typeText(g *ir.Graph, s ir.Selection) string {
	return fmt.Sprint(TensorOf(g, s.Tensor).DType, s.Range().Shape())
}
