package tensorops

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/dialects/tensorops/view"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// Program is a graph seen from outside: what it takes, what it gives, and the constants it holds.
type Program struct {
	Inputs    []Named
	Outputs   []Named
	Constants []Const
	Checks    []Check          // what its runs are held to
	Sources   map[int]Resource // the files that inputs are read from, by number; the other inputs are given
	Sinks     map[int]Resource // those that outputs are written to
	Shared    []Shared         // which outputs have the memory of inputs
	Compute   []ir.NodeID      // the operations that compute, without sources and sinks, in graph order
}

// Shared is an alias of a program: the numbers of the input and the output.
type Shared struct {
	Input, Output int
	Room          []int64
}

// Const is a tensor whose value is given by an operation: an inline value, a tensor Key of a data file, or, with Raw, the
// tensor's own dense little-endian bytes: those of a file from Offset on or, without a file, Bytes in base64. File is as the
// graph has it, relative to the graph's file. View, if it is there, says how the tensor reads what is stored. A Computed one
// has none of these: Op, a Precomputed operation, gives its value.
type Const struct {
	Op, Tensor ir.NodeID
	File, Key  string
	Value      *ir.AttrValue
	Raw        bool
	Offset     int64
	Bytes      string
	View       *view.View
	Computed   bool
}

// base gives a kernel's name without its namespace; that of a composite is whole, as its definition may be called anything.
func base(kernel string) string {
	if space, rest, ok := strings.Cut(kernel, ":"); ok && space+":" != definition.Space {
		return rest
	}
	return kernel
}

// IsSource says whether an operation brings a tensor into the graph: an import, or a constant.
func (o *Operation) IsSource() bool {
	return o.IsImport() || base(o.Kernel) == "constant"
}

// IsImport says whether an operation brings tensors in that the program takes.
func (o *Operation) IsImport() bool { return base(o.Kernel) == "import" }

// IsSink says whether an operation only takes tensors out of the graph: an export, or a check.
func (o *Operation) IsSink() bool { return o.IsExport() || o.IsCheck() }

// IsExport says whether an operation takes tensors out that the program gives.
func (o *Operation) IsExport() bool { return base(o.Kernel) == "export" }

// ProgramOf finds a graph's inputs, outputs and constants. Inputs and outputs are those that an import and an export with names
// list, in order. Where there is no such import, they are the tensors that nobody produces and somebody uses, and the results of
// imports; where there is no such export, what exports take, the results of operations with an IOSequencePoint and of those right before
// a sequence point, and in a graph without sequence points the tensors that nobody consumes: in graph order, under the names of labels. Odd characters in names are replaced, and names are made
// unique. Behind them are those that are read from files and written to files. Computed constants come after the stored ones. A malformed constant, import or export is an error with its place.
func ProgramOf(g *ir.Graph) (*Program, error) {
	p := &Program{Sources: map[int]Resource{}, Sinks: map[int]Resource{}}
	o := &outside{flow: ir.NewFlow(g, OperationKind)}
	var bad diag.List
	var files []ir.NodeID
	for _, id := range o.flow.Ops {
		op := OperationOf(g, id)
		switch {
		case op.HasResource():
			files = append(files, id)
			o.given.AddPorts(op.Outputs)
			o.consumed.AddPorts(op.Inputs)
		case base(op.Kernel) == "constant":
			bad = append(bad, p.addConst(g, id)...)
		case op.StatesInterface():
			bad = append(bad, o.state(g, id)...)
		case op.IsSource():
			o.imported.AddPorts(op.Outputs)
		case op.IsCheck():
			c, wrong := checkOf(g, id)
			p.Checks, bad = append(p.Checks, c), append(bad, wrong...)
			o.consumed.AddPorts(op.Inputs)
		case op.IsSink():
			o.observed.AddPorts(op.Inputs)
		case IsPrecomputed(g.Node(id)):
			o.consumed.AddPorts(op.Inputs)
		default:
			p.Compute = append(p.Compute, id)
			o.consumed.AddPorts(op.Inputs)
			if g.Node(id).Tag(IOSequencePointKind) != nil {
				o.observed.AddPorts(op.Outputs)
			}
		}
	}
	o.derive(g, p)
	bad = append(bad, p.resources(g, files)...)
	p.addComputed(g, o.flow)
	bad = append(bad, p.overlay(g)...)
	return p, bad.Err()
}

// addComputed adds the results of precomputed operations that others read or nobody does.
func (p *Program) addComputed(g *ir.Graph, flow *ir.Flow) {
	for _, id := range flow.Ops {
		if !IsPrecomputed(g.Node(id)) {
			continue
		}
		OperationOf(g, id).Outputs.All(func(_, _ int, s *ir.Selection) {
			readers := flow.Consumers(s.Tensor)
			if len(readers) == 0 || slices.ContainsFunc(readers, func(r ir.NodeID) bool { return !IsPrecomputed(g.Node(r)) }) {
				p.Constants = append(p.Constants, Const{Op: id, Tensor: s.Tensor, Computed: true})
			}
		})
	}
}

// outside gathers what says which tensors a program takes and gives.
type outside struct {
	flow                         *ir.Flow
	inputs, outputs              []Named // that are stated
	statesInputs, statesOutputs  bool
	imported, consumed, observed ir.NodeSet
	given                        ir.NodeSet // that are read from files
}

// state reads an import or export that states the interface.
func (o *outside) state(g *ir.Graph, id ir.NodeID) diag.List {
	list, bad := faces(g, id)
	names := namer{}
	for i := range list {
		list[i].Own = list[i].Name
		list[i].Name = names.unique(list[i].Name, i)
	}
	op := OperationOf(g, id)
	o.imported.AddPorts(op.Outputs)
	o.consumed.AddPorts(op.Inputs)
	if op.IsImport() {
		o.inputs, o.statesInputs = list, true
	} else {
		o.outputs, o.statesOutputs = list, true
	}
	return bad
}

// derive gives a program its inputs and outputs: as they are stated or, where they are not, as the graph's edges and labels have
// them. A tensor that is an input and an output has one name on both sides then.
func (o *outside) derive(g *ir.Graph, p *Program) {
	p.Inputs, p.Outputs = o.inputs, o.outputs
	if o.statesInputs && o.statesOutputs {
		return
	}
	var constant ir.NodeSet
	for _, c := range p.Constants {
		constant.Add(c.Tensor)
	}
	names, rooted := namer{}, o.root(g)
	for n := range g.Nodes() {
		if n.Body.Kind() != TensorKind || o.given.Has(n.ID) && !o.observed.Has(n.ID) {
			continue
		}
		made := (len(o.flow.Producers(n.ID)) > 0 || o.given.Has(n.ID)) && !o.imported.Has(n.ID)
		used := o.consumed.Has(n.ID) || o.observed.Has(n.ID)
		if !o.statesInputs && !made && (used || o.imported.Has(n.ID)) {
			p.Inputs = append(p.Inputs, Named{Name: names.of(n), Tensor: n.ID, Own: n.Label})
		}
		if !o.statesOutputs && (o.observed.Has(n.ID) || made && !used && !rooted && !constant.Has(n.ID)) {
			p.Outputs = append(p.Outputs, Named{Name: names.of(n), Tensor: n.ID, Own: n.Label})
		}
	}
}

// root adds what sequence points observe, and says whether there are any: then nothing is observed because nobody reads it.
func (o *outside) root(g *ir.Graph) (rooted bool) {
	for n := range g.Nodes() {
		p, ok := n.Body.(*sequence.Point)
		if !ok {
			continue
		}
		rooted = true
		for _, id := range p.After {
			if op := OperationOf(g, id); op != nil && !op.IsSource() {
				o.observed.AddPorts(op.Outputs)
			}
		}
	}
	return rooted
}

// Held gives the tensors that are still there when a run is over: those of the outputs, in order, and then two for each check.
func (p *Program) Held() []ir.NodeID {
	var out []ir.NodeID
	for _, x := range p.Outputs {
		out = append(out, x.Tensor)
	}
	for _, c := range p.Checks {
		out = append(out, c.Place, c.Index)
	}
	return out
}

// namer gives names that differ from each other.
type namer map[string]int

// of gives a tensor the name that it has on the command line: that of its label, or "t" and its number.
func (m namer) of(n *ir.Node) string {
	if n.Label == "" {
		return m.unique(fmt.Sprintf("t%d", n.ID), int(n.ID))
	}
	return m.unique(n.Label, int(n.ID))
}

// unique gives a name as it can stand on a command line: odd characters are replaced, and a name that another owner has already
// gets a number behind it.
func (m namer) unique(name string, owner int) string {
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r == '=' || r == 0x7f || r == '/' {
			return '_'
		}
		return r
	}, name)
	for try := name; ; try = fmt.Sprintf("%s_%d", name, m[name]) {
		if other, ok := m["\x00"+try]; !ok || other == owner {
			m["\x00"+try] = owner
			return try
		}
		m[name]++
	}
}

func (p *Program) addConst(g *ir.Graph, id ir.NodeID) diag.List {
	c, bad := ConstOf(g, id)
	if bad == nil {
		p.Constants = append(p.Constants, c)
	}
	return bad
}

// ConstOf reads the constant that an operation gives; the diagnostics say what is wrong with one that is malformed.
func ConstOf(g *ir.Graph, id ir.NodeID) (Const, diag.List) {
	n, op := g.Node(id), OperationOf(g, id)
	c := Const{Op: id}
	bad := func(field, expected, found string) (Const, diag.List) {
		d := diag.Errorf("TAP0701", InterfaceConstraint, g.At(n, field), "constant %s is malformed", g.Name(id))
		return c, diag.List{d.Want(expected, found)}
	}
	result := op.Outputs.Get("result")
	if op.Outputs.Len() != 1 || result == nil || len(result.Sel) != 1 || op.Inputs.Len() != 0 {
		return bad("/body/outputs", `one output "result" and no inputs`, fmt.Sprintf("%d outputs, %d inputs", op.Outputs.Len(), op.Inputs.Len()))
	}
	c.Tensor = result.Sel[0].Tensor
	file, hasFile := op.Params.Get("file")
	key, hasKey := op.Params.Get("key")
	value, hasValue := op.Params.Get("value")
	offset, hasOffset := op.Params.Get("offset")
	raw, hasRaw := op.Params.Get("bytes")
	n0 := len(op.Params)
	if stored, ok := op.Params.Get("view"); ok {
		var err error
		t := TensorOf(g, c.Tensor)
		if c.View, err = view.Of(stored); err == nil && t != nil {
			err = c.View.Check(t.Range.Shape())
			if err == nil && c.View.Scaling != nil && t.Type() != scalar.Float32 {
				err = fmt.Errorf("a view that dequantizes to float32, not to %s", t.DType)
			}
		}
		if err != nil || hasValue {
			return bad("/body/params/view", `a "view" of stored elements, with "dtype", "shape", "start" and "strides"`, fmt.Sprint(err))
		}
		n0--
	}
	switch {
	case hasRaw && n0 == 1 && raw.Kind == ir.AttrString:
		c.Raw, c.Bytes = true, raw.Str
	case hasOffset && hasFile && n0 == 2 && file.Kind == ir.AttrString && offset.Kind == ir.AttrInt && offset.Int >= 0:
		c.Raw, c.File, c.Offset = true, file.Str, offset.Int
	case hasValue && n0 == 1:
		c.Value = &value
	case hasFile && hasKey && n0 == 2 && file.Kind == ir.AttrString && key.Kind == ir.AttrString:
		c.File, c.Key = file.Str, key.Str
	default:
		return bad("/body/params", `"value", the strings "file" and "key", the string "file" and an "offset", or "bytes"`, fmt.Sprintf("%d parameters", len(op.Params)))
	}
	return c, nil
}

// overlay finds the inputs and outputs of the aliases that a graph states, and holds them to their types.
func (p *Program) overlay(g *ir.Graph) diag.List {
	list, bad := AliasesOf(g)
	_, id := Interface(g)
	for i, a := range list {
		s := Shared{named(p.Inputs, a.Input), named(p.Outputs, a.Output), a.Room}
		if what := p.misfit(g, a, s); what[0] != "" {
			bad = append(bad, diag.Errorf("TAP0166", InterfaceConstraint, g.At(g.Node(id), fmt.Sprintf("/body/params/%s/%d", aliasesParam, i)),
				"output %q can not have the memory of input %q", a.Output, a.Input).Want(what[0], what[1]))
			continue
		}
		p.Shared = append(p.Shared, s)
	}
	return bad
}

// misfit says what was expected of an alias and what was found; nothing if it is well-formed.
func (p *Program) misfit(g *ir.Graph, a Alias, s Shared) [2]string {
	if s.Input < 0 || s.Output < 0 {
		return [2]string{"names of an input and an output", fmt.Sprintf("inputs %s; outputs %s", namesOf(p.Inputs), namesOf(p.Outputs))}
	}
	in, out := p.Inputs[s.Input].Tensor, p.Outputs[s.Output].Tensor
	from, to := TensorOf(g, in), TensorOf(g, out)
	times := 0
	for _, x := range slices.Concat(p.Inputs, p.Outputs) {
		if x.Tensor == in || x.Tensor == out {
			times++
		}
	}
	switch {
	case slices.ContainsFunc(p.Shared, func(o Shared) bool { return o.Input == s.Input || o.Output == s.Output }):
		return [2]string{"memory that two share", "one of them shares its memory already"}
	case in == out || times > 2 || slices.ContainsFunc(p.Constants, func(c Const) bool { return c.Tensor == out }):
		return [2]string{"an output that is computed and is there once, and an input that is no output", "one that is given as it is, or twice"}
	case from.DType != to.DType:
		return [2]string{"one element type", from.DType + " and " + to.DType}
	case from.Range.Rank() != to.Range.Rank() || len(a.Room) != to.Range.Rank():
		return [2]string{"one rank", fmt.Sprintf("shapes %v and %v in room %v", from.Range.Shape(), to.Range.Shape(), a.Room)}
	case !from.Range.Start.Equal(to.Range.Start):
		return [2]string{"ranges that begin at one point", fmt.Sprintf("%v and %v", from.Range, to.Range)}
	}
	for d, n := range a.Room {
		if most := max(from.Range.Shape()[d], to.Range.Shape()[d]); n < most {
			return [2]string{fmt.Sprintf("room for %d in dimension %d", most, d), fmt.Sprint(n)}
		}
	}
	return [2]string{}
}

func namesOf(list []Named) string {
	var out []string
	for _, x := range list[:min(len(list), 12)] {
		out = append(out, x.Name)
	}
	if len(list) > len(out) {
		out = append(out, "…")
	}
	return fmt.Sprintf("%q", out)
}

// SharedAs gives the alias that a tensor is the input or the output of, if there is one.
func (p *Program) SharedAs(tensor ir.NodeID) (Shared, bool) {
	for _, s := range p.Shared {
		if p.Inputs[s.Input].Tensor == tensor || p.Outputs[s.Output].Tensor == tensor {
			return s, true
		}
	}
	return Shared{}, false
}
