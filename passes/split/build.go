package split

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// cutter cuts the operations of a graph.
type cutter struct {
	g        *ir.Graph
	lib      *kernels.Library
	allow    permission.Set
	apps     map[ir.NodeID][]ir.NodeID
	parts    int                    // operations with partial results that were made
	last     *ir.Node               // of them
	asked    Cut                    // that is carried out
	whose    string                 // operation it is
	why      string                 // the kernel of the last operation that was refused can not be cut
	ordered  ir.NodeSet             // operations that sequence points name
	widening map[ir.NodeID]*ir.Node // conversions to the type in which narrow floats are summed that one step alone reads, by their results
	moved    map[ir.NodeID]int      // by how many coordinates what parts of steps reduce is behind where the operation has it
	may      func(rule string, operation ir.NodeID) bool
}

// unmake removes an operation that was made, and what it gives.
func (c *cutter) unmake(m *ir.Node) {
	m.Body.(*tensorops.Operation).Outputs.All(func(_, _ int, sel *ir.Selection) { c.g.Remove(sel.Tensor) })
	c.g.Remove(m.ID)
}

// tensor adds a tensor in place of a node.
func (c *cutter) tensor(n *ir.Node, dtype string, shape []int64) *ir.Node {
	t := c.g.Add(&tensorops.Tensor{DType: dtype, Range: zspace.MustShape(shape...)}, "")
	t.Pos = n.Pos
	t.SetTag(&parts.Part{})
	return t
}

// operation adds an operation in place of a node; it is carried out when that would be.
func (c *cutter) operation(n *ir.Node, kernel string, params ir.Attrs, inputs, outputs ir.Ports) *ir.Node {
	m := c.g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: inputs, Outputs: outputs}, "")
	m.Pos = n.Pos
	m.SetTag(&parts.Part{})
	m.SetOrigin(&ir.Origin{Rule: "split", From: []ir.Pos{n.Pos}})
	if tensorops.IsPrecomputed(n) {
		m.SetTag(&tensorops.Precomputed{})
	}
	return m
}

// steps adds operations in place of one, with what it may need of that.
type steps struct {
	c    *cutter
	n    *ir.Node
	in   *instance.Instance
	made []*ir.Node
	give map[string]ir.Selection // what is meant for which result, where that is not the last step's
	err  error                   // the first one

	before int      // dimensions that are put before those that are reduced
	whole  *ir.Node // a step that reads no input, which is not cut
}

// arg is a port with selections.
type arg = ir.Port

func one(name string, sel ...ir.Selection) arg { return arg{Name: name, Sel: sel} }

// add adds an operation of a kernel with one result, whose shape and type follow from its inputs.
func (s *steps) add(kernel string, params ir.Attrs, args ...arg) ir.Selection {
	return s.addAll(kernel, params, resultsOf(s.kernel(kernel))[:1], args...)[0]
}

func (s *steps) kernel(name string) *declaration.Kernel {
	decl, ok := s.c.lib.Find(name)
	if !ok {
		panic("a step of kernel " + name + ", which there is not")
	}
	return decl
}

// addAll adds one with some of its kernel's results.
func (s *steps) addAll(kernel string, params ir.Attrs, results []string, args ...arg) (out []ir.Selection) {
	decl := s.kernel(kernel)
	slices.SortFunc(args, func(a, b arg) int { return strings.Compare(a.Name, b.Name) })
	inputs := ir.PortsOf(args)
	shapes, types, err := infer.Outputs(decl, infer.CallOf(s.c.g, params, inputs, ir.Ports{}))
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("%s: %w", kernel, err)
		}
		return slices.Repeat([]ir.Selection{s.in.Operands[0].Sel}, len(results))
	}
	var ports []ir.Port
	for _, name := range results {
		i := slices.Index(resultsOf(decl), name)
		t := s.c.tensor(s.n, types[i].String(), shapes[i])
		out = append(out, ir.Select(t.ID, t.Body.(*tensorops.Tensor).Range))
		ports = append(ports, one(name, out[len(out)-1]))
	}
	slices.SortFunc(ports, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
	s.made = append(s.made, s.c.operation(s.n, kernel, params, inputs, ir.PortsOf(ports)))
	return out
}

// resultsOf are the names of a kernel's results.
func resultsOf(d *declaration.Kernel) (names []string) {
	for i := range d.Operands {
		if d.Operands[i].Out {
			names = append(names, d.Operands[i].Name())
		}
	}
	return names
}

// declared is the first name of a result in the kernel's declaration.
func (s *steps) declared(port string) string {
	for _, o := range s.in.Operands {
		if o.Decl.Out && o.Port == port {
			return o.Decl.Name()
		}
	}
	return ""
}

// meant says what is meant for a result, if that is asked for.
func (s *steps) meant(result string, x ir.Selection) {
	if s.give == nil {
		s.give = map[string]ir.Selection{}
	}
	for _, p := range s.n.Body.(*tensorops.Operation).Outputs.Each() {
		if s.declared(p.Name) == result {
			s.give[p.Name] = x
		}
	}
}

// finish makes the steps give the results of the operation that they are for: each what is meant for it, and the only one what the last step gives.
func (s *steps) finish() {
	last := s.made[len(s.made)-1]
	for _, p := range s.n.Body.(*tensorops.Operation).Outputs.Each() {
		from, ok := s.give[p.Name]
		if !ok {
			from = last.Body.(*tensorops.Operation).Outputs.At(0).Sel[0]
		}
		for _, m := range s.made {
			op := m.Body.(*tensorops.Operation)
			for _, ports := range []ir.Ports{op.Inputs, op.Outputs} {
				ports.All(func(_, _ int, sel *ir.Selection) {
					if sel.Tensor == from.Tensor {
						*sel = p.Sel[0]
					}
				})
			}
		}
		s.c.g.Remove(from.Tensor)
	}
	s.c.replace(s.n, last)
}

// replace takes an operation out, whose results another gives now.
func (c *cutter) replace(n, by *ir.Node) {
	by.Label = n.Label
	if io := n.Tag(tensorops.IOSequencePointKind); io != nil {
		by.SetTag(io)
	}
	cut.Replaced(c.g, n)
}

func (c *cutter) typeOf(t ir.NodeID) scalar.DType {
	if body := tensorops.TensorOf(c.g, t); body != nil {
		return body.Type()
	}
	return scalar.Invalid
}

func (c *cutter) rangeOf(t ir.NodeID) zspace.Range { return tensorops.TensorOf(c.g, t).Range }
