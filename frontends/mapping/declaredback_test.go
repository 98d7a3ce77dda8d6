package mapping

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

var update = flag.Bool("update", false, "write the golden list of kernels that go back")

// programOf makes a program of one call of a kernel, and gives its inputs the values of an example.
func programOf(name string, x *kernels.Example) (*ir.Graph, map[string]tensorfile.Tensor, error) {
	g, in := ir.New(), map[string]tensorfile.Tensor{}
	side := func(list []kernels.PortSel, data [][]byte) []ir.Port {
		var out []ir.Port
		n := 0
		for _, p := range list {
			port := ir.Port{Name: p.Name}
			for j, s := range p.Sel {
				r, label := s.Sel.Range(), fmt.Sprintf("%s%d", p.Name, j)
				port.Sel = append(port.Sel, ir.Select(g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: r}, label).ID, r))
				if data != nil {
					in[label] = tensorfile.Tensor{DType: s.Type, Shape: r.Shape(), Data: data[n]}
					n++
				}
			}
			out = append(out, port)
		}
		slices.SortFunc(out, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
	op := &tensorops.Operation{Kernel: kernels.ID(name), Params: x.Call.Params}
	op.Inputs = ir.PortsOf(side(x.Call.Inputs, x.Inputs))
	op.Outputs = ir.PortsOf(side(x.Call.Outputs, nil))
	g.Add(op, name)
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, nil, err
	}
	tensorops.StateInputs(g, p.Inputs)
	tensorops.StateOutputs(g, p.Outputs)
	return g, in, nil
}

// TestDeclaredCasesGoBack writes each case of the library's declarations as ONNX has it, maps what was written again, and compares the
// values bit for bit. Which cases go back by which operators, and why the others do not, is a golden list: a rule that begins to refuse
// shows there.
func TestDeclaredCasesGoBack(t *testing.T) {
	const golden = "testdata/back_onnx_21.txt"
	var lines []string
	for _, name := range kernels.Builtin().Names() {
		d, _ := kernels.Builtin().Find(name)
		for i, c := range d.Cases {
			x, err := d.Example(c)
			if err != nil {
				t.Fatal(err)
			}
			g, in, err := programOf(name, x)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s/%d %s", name, i, thereAndBack(t, fmt.Sprintf("%s/%d", name, i), g, in)))
		}
	}
	found := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(found), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), found); diff != "" {
		t.Errorf("what goes back has changed; go test ./frontends/mapping -run DeclaredCasesGoBack -update writes %s:\n%s", golden, diff)
	}
}

// thereAndBack gives the operators of a program, or why none do.
func thereAndBack(t *testing.T, name string, g *ir.Graph, in map[string]tensorfile.Tensor) string {
	fg, report, err := back(g, 21)
	switch {
	case err != nil && (report == nil || len(report.Unmapped) == 0):
		t.Errorf("%s: %v", name, err)
		return "-"
	case err != nil:
		return "- " + report.Unmapped[0].Reason
	}
	again, _, err := Map(context.Background(), fg, Options{Tables: TablesFor("onnx", nil), Unchecked: true})
	if err != nil {
		t.Errorf("%s: what was written can not be mapped: %v", name, err)
		return "-"
	}
	e := &reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	before, err := e.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatal(name, err)
	}
	after, err := e.Evaluate(context.Background(), again, in)
	if err != nil {
		t.Fatal(name, err)
	}
	for label, x := range before {
		if y := after[label]; y.DType != x.DType || !slices.Equal(y.Shape, x.Shape) || !bytes.Equal(y.Data, x.Data) {
			t.Errorf("%s: %s: expected %v, found %v", name, label, x, y)
		}
	}
	var ops []string
	for _, op := range fg.Ops {
		ops = append(ops, op.Type)
	}
	return strings.Join(ops, " ")
}
