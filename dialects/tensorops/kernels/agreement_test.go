package kernels

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

func projection(t *testing.T, text string) ir.NamedMaps {
	t.Helper()
	name, text, _ := strings.Cut(text, ": ")
	m, err := zspace.ParseProjectionMap(text)
	if err != nil {
		t.Fatal(err)
	}
	return ir.NamedMaps{Name: name, Maps: []zspace.ProjectionMap{m}}
}

// signed makes a graph of one operation on vectors of 6 cells with a signature over an index.
func signed(t *testing.T, kernel string, params ir.Attrs, index, in, out string) *ir.Graph {
	t.Helper()
	g := ir.New()
	box := zspace.MustShape(6)
	x := g.Add(&tensorops.Tensor{DType: "float32", Range: box}, "x").ID
	y := g.Add(&tensorops.Tensor{DType: "float32", Range: box}, "y").ID
	n := g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: ir.NewPorts(map[string]ir.Selection{"tensor": ir.Select(x, box)}),
		Outputs: ir.NewPorts(map[string]ir.Selection{"result": ir.Select(y, box)})}, "op")
	r, err := zspace.ParseRange(index)
	if err != nil {
		t.Fatal(err)
	}
	n.SetTag(&tensorops.Signature{Inputs: ir.PortMaps{projection(t, in)}, Outputs: ir.PortMaps{projection(t, out)}})
	n.SetTag(&tensorops.Index{Range: r})
	return g
}

func TestCheckSignature(t *testing.T) {
	dims := func(n int64) ir.Attrs { return ir.Attrs{}.With("dims", ir.IntsAttr(n)) }
	shifts := ir.Attrs{}.With("shifts", ir.IntsAttr(1))
	for _, c := range []struct {
		name, kernel   string
		params         ir.Attrs
		index, in, out string
		witness        string
	}{
		{"the derived one", "op:exp", nil, "[0:6]", "tensor: (d0) -> [d0] + [1]", "result: (d0) -> [d0] + [1]", ""},
		{"one that reads more", "op:exp", nil, "[0:6]", "tensor: (d0) -> [0] + [6]", "result: (d0) -> [d0] + [1]", ""},
		{"another index", "op:exp", nil, "[-2:1]", "tensor: (d0) -> [2*d0 + 4] + [2]", "result: (d0) -> [2*d0 + 4] + [2]", ""},
		{"the wrong way round", "op:exp", nil, "[0:6]", "tensor: (d0) -> [-d0 + 5] + [1]", "result: (d0) -> [d0] + [1]", "element [0], which the kernel reads at [0]"},
		{"one off at the end", "op:exp", nil, "[-2:1]", "tensor: (d0) -> [2*d0 + 4] + [1]", "result: (d0) -> [2*d0 + 4] + [2]", "element [1], which the kernel reads at [-2]"},
		{"a kernel that turns round", "op:reverse", dims(0), "[0:6]", "tensor: (d0) -> [-d0 + 5] + [1]", "result: (d0) -> [d0] + [1]", ""},
		{"and does not", "op:reverse", dims(0), "[0:6]", "tensor: (d0) -> [d0] + [1]", "result: (d0) -> [d0] + [1]", "element [5], which the kernel reads at [0]"},
		{"an opaque kernel", "op:cumsum", nil, "[0:6]", "tensor: (d0) -> [0] + [6]", "result: (d0) -> [d0] + [1]", ""},
		{"a window that is too small", "op:softmax", nil, "[0:1]", "tensor: (d0) -> [0] + [5]", "result: (d0) -> [0] + [6]", "element [5], which the kernel reads at [0]"},
		{"a kernel that is not known", "op:nothing", nil, "[0:6]", "tensor: (d0) -> [0] + [1]", "result: (d0) -> [d0] + [1]", ""},
		{"rolled", "op:roll", shifts, "[0:1]", "tensor: (d0) -> [0] + [6]", "result: (d0) -> [0] + [6]", ""},
	} {
		found := Builtin().CheckOperations(signed(t, c.kernel, c.params, c.index, c.in, c.out), true)
		switch {
		case c.witness == "" && len(found) > 0:
			t.Errorf("%s: %v", c.name, found)
		case c.witness != "" && (len(found) != 1 || found[0].Code != "TAP0604" || !strings.HasPrefix(found[0].Expected, c.witness)):
			t.Errorf("%s: %v, expected the witness %s", c.name, found, c.witness)
		}
	}
}

// Signatures that kernels derive for all cases of all declarations agree with them.
func TestDerivedSignaturesAgree(t *testing.T) {
	for _, name := range Builtin().Names() {
		d, _ := Builtin().Find(name)
		for _, c := range d.Cases {
			x, err := example.Of(d, c)
			if err != nil {
				t.Fatal(err)
			}
			in, err := bind.Instance(d, x.Call)
			if err != nil {
				t.Fatal(err)
			}
			inputs, outputs, err := in.Signature()
			if err != nil {
				t.Fatal(err)
			}
			g := ir.New()
			n := g.Add(&tensorops.Operation{Kernel: name}, "op")
			n.SetTag(&tensorops.Signature{Inputs: inputs, Outputs: outputs})
			n.SetTag(&tensorops.Index{Range: in.Index()})
			if err := CheckSignature(in, g, n); err != nil {
				t.Errorf("%s, case %s: %v", name, c.Text, err)
			}
		}
	}
}

// Pieces that leave out a point in the middle of the index read less than the kernel does; those that it derives do not.
func TestCheckPieces(t *testing.T) {
	g := signed(t, "op:roll", ir.Attrs{}.With("shifts", ir.IntsAttr(2)), "[0:6]", "tensor: (d0) -> [0] + [6]", "result: (d0) -> [d0] + [1]")
	var n *ir.Node
	for x := range g.Nodes() {
		if x.Label == "op" {
			n = x
		}
	}
	in, err := Builtin().BindOperation(g, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	tag := in.Pieces(tensorops.SignatureOf(n).Inputs)
	if len(tag.Selections) != 1 || len(tag.Selections[0].Pieces) != 1 {
		t.Fatalf("%v is derived", tag)
	}
	n.SetTag(&tag)
	if found := Builtin().CheckOperations(g, true); len(found) > 0 {
		t.Error(found)
	}
	less := tag.Selections[0].Pieces[0].Clone()
	less.Window = less.Window[:0:0]
	for _, rows := range []zspace.Matrix{less.Guards.Projection, less.Cells.Projection} { // without the quotient, nothing comes in again
		for i := range rows {
			rows[i] = rows[i][:1]
		}
	}
	n.SetTag(&tensorops.Reads{Selections: []tensorops.SelectionReads{{Port: "tensor", Pieces: []pieces.Piece{less}}}})
	found := Builtin().CheckOperations(g, true)
	if len(found) != 1 || found[0].Code != "TAP0604" || !strings.HasPrefix(found[0].Expected, "element [0], which the kernel reads at [2]") {
		t.Errorf("%v for %v", found, &less)
	}
}
