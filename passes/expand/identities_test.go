package expand_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

var update = flag.Bool("update", false, "write the lit tests of identities")

// family is a list of rules, a run of all of them that gives how often each is applied, and the lit test that has a graph for each rule where it is applied
// and one where it nearly is.
type family struct {
	file, command string
	rules         []rewrite.Rule
	run           func(t *testing.T, g *ir.Graph) map[string]int // the rules that are applied, at what nobody consumes
}

func families() []family {
	return []family{
		{"../../lit-tests/passes/simplify/identities.lit", "simplify", writtenRules(simplify.Rules()), func(t *testing.T, g *ir.Graph) map[string]int {
			applied := map[string]int{}
			opt := rewrite.Options{Verify: true, Trace: func(c rewrite.Change) { applied[c.Rule]++ }}
			if _, err := simplify.Run(t.Context(), g, nil, opt); err != nil {
				t.Fatalf("%v\n%s", err, dump(g))
			}
			return applied
		}},
		{"../../lit-tests/passes/expand/identities.lit", "expand{allow=reassociate,at=\"%s\"}", expand.Rules(), func(t *testing.T, g *ir.Graph) map[string]int {
			applied := map[string]int{}
			opt := rewrite.Options{Verify: true, Allow: permission.Reassociate, Trace: func(c rewrite.Change) { applied[c.Rule]++ }}
			set := expand.Settings{At: unread(g), Depth: 1, Limit: 1000, Offered: func(rule string) { applied[rule]++ }}
			if _, err := expand.Run(t.Context(), g, expand.Rules(), set, opt); err != nil {
				t.Fatalf("%v\n%s", err, dump(g))
			}
			return applied
		}},
	}
}

// unread gives the labels of the tensors that nobody consumes; without labels, nothing, which is all of them.
func unread(g *ir.Graph) (out []string) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil
	}
	for _, x := range p.Outputs {
		if g.Node(x.Tensor).Label == "" {
			return nil
		}
		out = append(out, g.Node(x.Tensor).Label)
	}
	return out
}

// writtenRules gives the rules that have a text; those in Go have lit tests by hand.
func writtenRules(rules []rewrite.Rule) []rewrite.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r rewrite.Rule) bool { return r.Source == "Go" })
}

// part is graphs behind each other, with the rules that are applied in it and those that nearly are.
type part struct {
	g             *ir.Graph
	applied, near []string
}

// TestIdentities writes, with -update, the lit tests of rules: a graph for each on which it is applied, and one that differs from that in an element type, a
// constant, a parameter, an order or a kernel, on which it is not.
func TestIdentities(t *testing.T) {
	if !*update {
		t.Skip("-update writes the lit tests of identities")
	}
	for _, f := range families() {
		fires, misses := &part{g: ir.New()}, []*part{}
		for i, r := range f.rules {
			all := f.fires(t, r, uint64(i))
			if len(all) == 0 {
				t.Errorf("%s is never applied", r.Name)
				continue
			}
			add(fires.g, all[0], r.Name)
			var near *ir.Graph
			for _, one := range all[:min(len(all), 8)] {
				if near = f.misses(t, r, one, uint64(i)); near != nil {
					break
				}
			}
			if near == nil {
				t.Logf("%s: no near miss was found", r.Name)
			}
			misses = f.place(t, misses, near, r.Name)
		}
		for name := range f.run(t, fires.g.Clone()) {
			fires.applied = append(fires.applied, name)
		}
		f.write(t, fires, misses)
	}
}

// fires gives some instances on which a rule is applied, the smallest first.
func (f family) fires(t *testing.T, r rewrite.Rule, salt uint64) (all []*ir.Graph) {
	t.Helper()
	for seed := uint64(0); seed < 20000 && len(all) < 30; seed++ {
		i, ok := instance(t, r, rand.New(rand.NewPCG(seed, salt)))
		if !ok {
			continue
		}
		g := ir.New()
		if add(g, i, r.Name); f.run(t, g.Clone())[r.Name] > 0 {
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b *ir.Graph) int { return cmp.Compare(size(a), size(b)) })
	return all
}

// size prefers few operations, then few cells, but no empty tensors.
func size(g *ir.Graph) int64 {
	n := int64(0)
	for x := range g.Nodes() {
		n += 1000
		if b, ok := x.Body.(*tensorops.Tensor); ok {
			cells, _ := b.Range.Size()
			n += cells
			if cells == 0 {
				n += 1 << 20
			}
		}
	}
	return n
}

// misses changes a graph in one place until a rule is not applied any more, with as few others as there may be.
func (f family) misses(t *testing.T, r rewrite.Rule, one *ir.Graph, salt uint64) *ir.Graph {
	t.Helper()
	var best *ir.Graph
	least := 1 << 30
	for seed := range uint64(600) {
		g := one.Clone()
		rnd := rand.New(rand.NewPCG(seed, salt))
		if !change(g, rnd) || !inferred(g) || kernels.Builtin().CheckOperations(g, false).HasErrors() || text.Write(new(bytes.Buffer), g, text.Options{}) != nil || tensorops.Environment().Verify(t.Context(), g).HasErrors() {
			continue
		}
		hits := f.run(t, g.Clone())
		n := len(hits) * 100
		if hits[r.Name] == 0 && n < least {
			best, least = g, n
		}
		if best != nil && len(hits) == 0 {
			break
		}
	}
	return best
}

// inferred gives the results of operations, first to last, the shapes and types that follow from their inputs.
func inferred(g *ir.Graph) bool {
	order := ir.NewFlow(g, tensorops.OperationKind).Order(g)
	if order == nil {
		return false
	}
	for _, id := range order {
		op := tensorops.OperationOf(g, id)
		if op.Kernel == "op:constant" {
			continue
		}
		d, ok := kernels.Builtin().Find(op.Kernel)
		if !ok {
			return false
		}
		own := g.Node(id).Own().(*tensorops.Operation)
		whole := func(ports ir.Ports) ir.Ports {
			ports = ports.Clone()
			ports.All(func(_, _ int, s *ir.Selection) { *s = ir.Select(s.Tensor, tensorops.TensorOf(g, s.Tensor).Range) })
			return ports
		}
		own.Inputs = whole(own.Inputs)
		shapes, types, err := infer.Outputs(d, infer.CallOf(g, own.Params, own.Inputs, own.Outputs))
		if err != nil {
			return false
		}
		k := -1
		for _, o := range d.Operands {
			if !o.Out {
				continue
			}
			k++
			for _, p := range own.Outputs.Each() {
				if !slices.Contains(o.Names, p.Name) {
					continue
				}
				if o.Variadic || len(p.Sel) != 1 || k >= len(shapes) {
					return false
				}
				n := g.Node(p.Sel[0].Tensor).Own().(*tensorops.Tensor)
				if n.Range = zspace.MustShape(shapes[k]...); types[k] != scalar.Invalid {
					n.DType = types[k].String()
				}
			}
		}
		own.Outputs = whole(own.Outputs)
	}
	return true
}

// change makes one change to a graph.
func change(g *ir.Graph, rnd *rand.Rand) bool {
	var ops []ir.NodeID
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); ok {
			ops = append(ops, n.ID)
		}
	}
	op := g.Node(ops[rnd.IntN(len(ops))]).Own().(*tensorops.Operation)
	switch rnd.IntN(6) {
	case 5: // another shape of an input
		for n := range g.Nodes() {
			if b, ok := n.Body.(*tensorops.Tensor); ok && rnd.IntN(2) == 0 && b.Range.Rank() > 0 {
				shape := slices.Clone(b.Range.Shape())
				if rnd.IntN(2) == 0 {
					shape = shape[1:]
				} else {
					shape[rnd.IntN(len(shape))] = int64(1 + rnd.IntN(3))
				}
				n.Own().(*tensorops.Tensor).Range = zspace.MustShape(shape...)
				return true
			}
		}
	case 0: // another element type everywhere
		from := tensorops.TensorOf(g, firstTensor(g)).DType
		to := []string{"float32", "int32", "float16"}[rnd.IntN(3)]
		for n := range g.Nodes() {
			if x, ok := n.Body.(*tensorops.Tensor); ok && x.DType == from {
				x = n.Own().(*tensorops.Tensor)
				x.DType = to
			}
		}
		return from != to
	case 1: // another number of a constant
		if v, ok := op.Params.Get("value"); ok && v.Kind != ir.AttrList {
			op.Params = op.Params.With("value", []ir.AttrValue{ir.IntAttr(0), ir.IntAttr(1), ir.IntAttr(2), ir.FloatAttr(0.5)}[rnd.IntN(4)])
			return true
		}
	case 2: // another parameter
		if len(op.Params) > 0 {
			a := op.Params[rnd.IntN(len(op.Params))]
			switch {
			case a.Value.Kind == ir.AttrInt:
				op.Params = op.Params.With(a.Name, ir.IntAttr(a.Value.Int+int64(rnd.IntN(3)-1)))
			case a.Value.Kind == ir.AttrString:
				to := [][]string{{"dtype", "float32", "int32", "float64"}, {"activation", "none", "relu"}, {"mode", "edge", "constant"}}
				for _, list := range to {
					if list[0] == a.Name {
						op.Params = op.Params.With(a.Name, ir.StringAttr(list[1+rnd.IntN(len(list)-1)]))
						return true
					}
				}
				return false
			case a.Value.Kind == ir.AttrBool:
				op.Params = op.Params.With(a.Name, ir.BoolAttr(a.Value.Int == 0))
			case a.Value.Kind == ir.AttrList && len(a.Value.List) > 0:
				list := slices.Clone(a.Value.List)
				if rnd.IntN(3) == 0 {
					list = list[:len(list)-1]
					op.Params = op.Params.With(a.Name, ir.AttrValue{Kind: ir.AttrList, List: list})
					return true
				}
				rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				if k := rnd.IntN(len(list)); list[k].Kind == ir.AttrInt && rnd.IntN(2) == 0 {
					list[k] = ir.IntAttr(list[k].Int + int64(rnd.IntN(3)-1))
				}
				op.Params = op.Params.With(a.Name, ir.AttrValue{Kind: ir.AttrList, List: list})
			default:
				return false
			}
			return true
		}
	case 3: // another order of inputs
		ports := op.Inputs.Clone()
		if ports.Len() > 1 {
			a, b := ports.At(0), ports.At(1)
			a.Sel[0], b.Sel[0] = b.Sel[0], a.Sel[0]
			op.Inputs = ports
			return true
		} else if ports.Len() == 1 && len(ports.At(0).Sel) > 1 {
			sel := ports.At(0).Sel
			sel[0], sel[1] = sel[1], sel[0]
			op.Inputs = ports
			return true
		}
	case 4: // another kernel with the same ports
		for _, pair := range [][]string{{"op:neg", "op:abs", "op:exp", "op:relu", "op:sqrt"}, {"op:add", "op:mul", "op:max", "op:min"}, {"op:sub", "op:div", "op:pow"}, {"op:sum", "op:reduce_max", "op:prod", "op:mean"}} {
			if slices.Contains(pair, op.Kernel) {
				to := pair[rnd.IntN(len(pair))]
				same := to == op.Kernel
				op.Kernel = to
				return !same
			}
		}
	}
	return false
}

func firstTensor(g *ir.Graph) ir.NodeID {
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Tensor); ok {
			return n.ID
		}
	}
	return ir.NoNode
}

// place puts a near miss into the first part where no rule is applied that is to be missed.
func (f family) place(t *testing.T, parts []*part, near *ir.Graph, rule string) []*part {
	if near == nil {
		return parts
	}
	for _, p := range append(parts, &part{g: ir.New()}) {
		g := p.g.Clone()
		add(g, near, rule)
		hits, missed := f.run(t, g.Clone()), append(slices.Clone(p.near), rule)
		if slices.ContainsFunc(missed, func(name string) bool { return hits[name] > 0 }) {
			continue
		}
		p.g, p.near, p.applied = g, missed, slices.Sorted(maps.Keys(hits))
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
		break
	}
	return parts
}

// add copies a graph into another, with a label for each tensor and operation.
func add(to, from *ir.Graph, rule string) {
	base, tensors := strings.ReplaceAll(rule, "-", "_"), map[ir.NodeID]ir.NodeID{}
	for n := range from.Nodes() {
		if b, ok := n.Body.(*tensorops.Tensor); ok {
			tensors[n.ID] = to.Add(&tensorops.Tensor{DType: b.DType, Range: b.Range}, fmt.Sprintf("%s_%d", base, len(tensors))).ID
		}
	}
	moved := func(ports ir.Ports) ir.Ports {
		var out []ir.Port
		for _, p := range ports.Each() {
			port := ir.Port{Name: p.Name}
			for _, s := range p.Sel {
				port.Sel = append(port.Sel, ir.Select(tensors[s.Tensor], s.Range()))
			}
			out = append(out, port)
		}
		return ir.PortsOf(out)
	}
	for n := range from.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			to.Add(&tensorops.Operation{Kernel: op.Kernel, Params: op.Params, Inputs: moved(op.Inputs), Outputs: moved(op.Outputs)}, "")
		}
	}
}

func (f family) write(t *testing.T, fires *part, misses []*part) {
	t.Helper()
	var b strings.Builder
	b.WriteString("Every rule on a graph of its own, and on one that differs from that in one place. go test ./passes/expand -run TestIdentities -update writes this file.\n\n" +
		"RUN: split-file %s %t\n")
	all := append([]*part{fires}, misses...)
	for i := range all {
		command := f.command
		if strings.Contains(command, "%s") {
			command = fmt.Sprintf(command, strings.Join(unread(all[i].g), ","))
		}
		fmt.Fprintf(&b, "RUN: tapc opt --passes='%s' --expect-rules=%%t/%d.tap %%t/%d.tap -o %%t/out.tap\n", command, i, i)
	}
	for i, p := range all {
		fmt.Fprintf(&b, "\n//--- %d.tap\n", i)
		slices.Sort(p.applied)
		for _, name := range p.applied {
			fmt.Fprintf(&b, "// EXPECT-RULE: %s\n", name)
		}
		if len(p.applied) == 0 {
			b.WriteString("// EXPECT-RULE: none\n")
		}
		for _, name := range p.near {
			fmt.Fprintf(&b, "// NEAR-MISS: %s\n", name)
		}
		var graph bytes.Buffer
		if err := text.Write(&graph, p.g, text.Options{}); err != nil {
			t.Fatal(err)
		}
		b.Write(graph.Bytes())
	}
	if err := os.WriteFile(f.file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
