package variants

import (
	"cmp"
	"context"
	"slices"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/search/layouts"
)

// Kind is a row of the table of decisions: what plans decide of one kind, where it applies, and how an alternative is priced and said. A row without Open is decided
// in each variant of the graph, by genes of search/layouts.
type Kind struct {
	Name   string         // the word of --space
	Doc    string         // what is decided
	On     string         // where it applies, in words
	Fuel   string         // the mutators that take other alternatives, by whose names fuel bounds them; of rows with Open, the one
	Needs  permission.Set // what has to be allowed for all of its alternatives
	Priced string         // how, in words
	Field  string         // the fields of plan files that say it
	Else   string         // what holds where it is not searched, in words

	// Rest says what holds of so many points that are not searched, where that is worth saying.
	Rest func(points int) string

	Most int // variants that its points make; 0 is as many as there may be

	// Open finds the points of a graph, those that others depend on first.
	Open func(g *ir.Graph, lib *kernels.Library, s *layouts.Settings) ([]Point, error)
	// Make changes a variant as the passes do that carry plans out, and says so in its plan. It is called for every variant, with no point where nothing is decided.
	Make func(ctx context.Context, v *Variant, taken []Taken) error
}

// Point is one decision: of one place of a graph, or of several that are made alike.
type Point struct {
	Labels []string // what it is about, by the names that plan files have
	Values []string // the alternatives; the first is what happens without a plan
	Alike  string   // points with the same are made alike where there are too many
	Silent bool     // the first alternative is not worth telling
}

// Taken is a point with the number of the alternative that is taken.
type Taken struct {
	Point
	Value int
}

// Variant is a graph while decisions are made about it: the settings of its plans, and what of a plan file says the decisions. Left says that some points are in no
// decision. The graph may be changed.
type Variant struct {
	Graph    *ir.Graph
	Library  *kernels.Library
	Settings layouts.Settings
	Plan     planfile.Plan
	Left     bool
}

// Table lists the kinds of decisions: what layouts decide, then what makes variants of the graph, in the order in which it is made.
func Table() []Kind {
	return []Kind{
		{Name: layouts.Tensors, Doc: "how a tensor between operations is kept on the mesh", On: "each tensor that an operation makes", Fuel: "keep, rest, recut, spread",
			Priced: "by tables of moves and bytes", Field: "tensors", Else: "as it is made, with partial results summed"},
		{Name: layouts.Leaves, Doc: "how an input or a constant is kept on the mesh", On: "each of them", Fuel: "keep, rest, recut, spread",
			Priced: "by tables of moves and bytes", Field: "tensors", Else: "as its first reader needs it"},
		{Name: layouts.Reduced, Doc: "whether an operation is cut along what it reduces", On: "each operation with partial results that combine", Fuel: "fit, recut, carry",
			Needs: permission.Reassociate, Priced: "by tables of operations and of the moves that combine results", Field: "tensors, cuts", Else: "it is not"},
		choices(), pipelines(), recomputation(),
	}
}

// Words are the names of the rows.
var Words = func() (words []string) {
	for _, k := range Table() {
		words = append(words, k.Name)
	}
	return words
}()

// decision is a point that is searched, with the row that it is of.
type decision struct {
	Point
	kind int
}

// decide makes decisions of the points of a kind: one of each or, where that gives too many variants, one of those that are alike, as in layers that repeat. What is
// too many then takes the first alternative; how many these are is given.
func (x *Space) decide(kind int, all []Point) (left int) {
	most, product, own := cmp.Or(x.kinds[kind].Most, Most), 1, 1
	for _, p := range all {
		product = min(product*len(p.Values), most+1)
	}
	groups := map[string]int{}
	for _, p := range all {
		if i, ok := groups[p.Alike]; ok && product > most {
			x.decisions[i].Labels = append(x.decisions[i].Labels, p.Labels...)
			continue
		}
		if own*len(p.Values) > most || x.combinations()*len(p.Values) > Most {
			left++
			continue
		}
		own *= len(p.Values)
		groups[p.Alike] = len(x.decisions)
		p.Labels = slices.Clone(p.Labels)
		x.decisions = append(x.decisions, decision{p, kind})
	}
	return left
}

// combinations is how many variants the decisions make.
func (x *Space) combinations() int {
	n := 1
	for i := range x.decisions {
		n *= len(x.decisions[i].Values)
	}
	return n
}

// taken gives the points of a kind with what a variant takes of each.
func (x *Space) taken(kind, variant int) (list []Taken) {
	for i := len(x.decisions) - 1; i >= 0; i-- {
		d := &x.decisions[i]
		if d.kind == kind {
			list = append(list, Taken{d.Point, variant % len(d.Values)})
		}
		variant /= len(d.Values)
	}
	slices.Reverse(list)
	return list
}
