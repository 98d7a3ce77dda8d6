package tensorops

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
)

// Resource is a file that a run reads an input from when it begins, or writes an output to when all is computed.
type Resource struct {
	File   string // a path with slashes, inside of the folder that the run is told
	Key    string // the entry of an .npz or .safetensors file; "" is the only one of a file that is read, and the output's name in one that is written
	Raw    bool   // the tensor's own dense little-endian bytes, from Offset on
	Offset int64
}

// The parameters by which an import or an export of one tensor names a resource.
const (
	uriParam    = "uri"
	keyParam    = "key"
	offsetParam = "offset"
)

// Suffixes are how the files end that hold tensors with their types and shapes.
var Suffixes = []string{".npy", ".npz", ".safetensors"}

// HasResource says whether an operation reads an input of the program from a file when it runs, or writes an output to one.
func (o *Operation) HasResource() bool {
	_, ok := o.Params.Get(uriParam)
	return ok && (o.IsImport() || o.IsExport()) && !o.StatesInterface()
}

// ResourceOf reads the tensor and the file of an operation that has a resource; the diagnostics say what is wrong with one that is malformed.
func ResourceOf(g *ir.Graph, id ir.NodeID) (tensor ir.NodeID, r Resource, bad diag.List) {
	n, op := g.Node(id), OperationOf(g, id)
	ports, other, port, side := op.Inputs, op.Outputs, exportPort, "inputs"
	if op.IsImport() {
		ports, other, port, side = op.Outputs, op.Inputs, importPort, "outputs"
	}
	fault := func(field, expected, found string) {
		bad = append(bad, diag.Errorf("TAP0168", InterfaceConstraint, g.At(n, field), "%s names no file that a run could read or write", g.Name(id)).Want(expected, found))
	}
	tensor = ir.NoNode
	p := ports.Get(port)
	if p == nil || ports.Len() != 1 || len(p.Sel) != 1 || other.Len() != 0 {
		fault("/body", fmt.Sprintf("the port %q with one tensor, and no other", port), fmt.Sprintf("%d inputs, %d outputs", op.Inputs.Len(), op.Outputs.Len()))
	} else if t := TensorOf(g, p.Sel[0].Tensor); t == nil || !t.Range.Equal(p.Sel[0].Range()) {
		fault(check.PortField(side, port, 0), "the whole of a tensor", p.Sel[0].Range().String())
	} else {
		tensor = p.Sel[0].Tensor
	}
	for _, a := range op.Params {
		switch field := "/body/params/" + a.Name; {
		case a.Name == uriParam && a.Value.Kind == ir.AttrString:
			r.File = a.Value.Str
		case a.Name == keyParam && a.Value.Kind == ir.AttrString && a.Value.Str != "":
			r.Key = a.Value.Str
		case a.Name == offsetParam && a.Value.Kind == ir.AttrInt && a.Value.Int >= 0 && op.IsImport():
			r.Raw, r.Offset = true, a.Value.Int
		case slices.Contains([]string{uriParam, keyParam, offsetParam}, a.Name):
			fault(field, `strings "uri" and "key", and an "offset" of an import, which is not negative`, fmt.Sprintf("%q of kind %v", a.Name, a.Value.Kind))
		default:
			bad = append(bad, meaningless(g, n, a.Name))
		}
	}
	if want := r.misfit(); want != "" && bad == nil {
		fault("/body/params/"+uriParam, want, strconv.Quote(r.File))
	}
	return tensor, r, bad
}

// misfit says what was expected of a file, "" if it is one.
func (r Resource) misfit() string {
	ending := path.Ext(r.File)
	switch {
	case !filepath.IsLocal(filepath.FromSlash(r.File)) || path.Clean(r.File) != r.File || strings.ContainsAny(r.File, ":\\\x00") || r.File == ".":
		return "the path of a file, relative and without .. or a scheme"
	case r.Raw && r.Key != "":
		return "a file without entries, as it has an offset"
	case r.Raw:
		return ""
	case !slices.Contains(Suffixes, ending):
		return "a file that ends in " + strings.Join(Suffixes, ", ") + `, or an "offset" into any other`
	case ending == ".npy" && r.Key != "":
		return "a file with entries, as it has a key"
	}
	return ""
}

// meaningless reports a parameter that nothing would look at.
func meaningless(g *ir.Graph, n *ir.Node, param string) diag.Diagnostic {
	d := diag.Errorf("TAP0167", InterfaceConstraint, g.At(n, "/body/params/"+param), "%s has a parameter that means nothing", g.Name(n.ID)).
		Want(fmt.Sprintf("%q, %q with a %q or an %q, or no parameter", namesParam, uriParam, keyParam, offsetParam), strconv.Quote(param))
	d.Hint = "a run takes what it reads and writes besides from --input NAME=FILE and --output NAME=FILE"
	return d
}

// resources adds the inputs that are read from files and the outputs that are written to some, each side in the order that sequence points ask for and
// else in that of the graph, behind all others.
func (p *Program) resources(g *ir.Graph, ops []ir.NodeID) (bad diag.List) {
	names := [2]namer{{}, {}}
	for side, list := range [][]Named{p.Inputs, p.Outputs} {
		for i, x := range list {
			names[side].unique(x.Name, -1-i)
		}
	}
	for _, id := range inSequence(g, ops) {
		tensor, r, wrong := ResourceOf(g, id)
		if bad = append(bad, wrong...); wrong != nil {
			continue
		}
		n := g.Node(tensor)
		if OperationOf(g, id).IsImport() {
			p.Sources[len(p.Inputs)] = r
			p.Inputs = append(p.Inputs, Named{Name: names[0].of(n), Tensor: tensor, Own: n.Label})
			continue
		}
		name := g.Node(id).Label
		if name == "" {
			name = n.Label
		}
		if name == "" {
			name = fmt.Sprintf("t%d", tensor)
		}
		p.Sinks[len(p.Outputs)] = r
		p.Outputs = append(p.Outputs, Named{Name: names[1].unique(name, int(id)), Tensor: tensor, Own: name})
	}
	return bad
}

// inSequence puts operations into the order that sequence points ask for; among others the order is kept.
func inSequence(g *ir.Graph, ops []ir.NodeID) (out []ir.NodeID) {
	if len(ops) < 2 {
		return ops
	}
	var asked, done ir.NodeSet
	for _, id := range ops {
		asked.Add(id)
	}
	earlier, _ := sequence.Edges(g)
	var visit func(id ir.NodeID)
	visit = func(id ir.NodeID) {
		if done.Has(id) {
			return
		}
		done.Add(id)
		for _, e := range earlier[id] {
			visit(e)
		}
		if asked.Has(id) {
			out = append(out, id)
		}
	}
	for _, id := range ops {
		visit(id)
	}
	return out
}
