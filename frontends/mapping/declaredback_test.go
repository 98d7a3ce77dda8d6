package mapping

import (
	"bytes"
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/mapping/declared"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

var update = flag.Bool("update", false, "write the golden list of kernels that go back")

// TestDeclaredCasesGoBack writes each case of the library's declarations as ONNX has it, maps what was written again, and compares the
// values bit for bit. Which cases go back by which operators, and why the others do not, is a golden list: a rule that begins to refuse
// shows there.
func TestDeclaredCasesGoBack(t *testing.T) {
	const golden = "testdata/back_onnx_21.txt"
	var lines []string
	cases, err := declared.Cases(kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		lines = append(lines, c.Name+" "+thereAndBack(t, c.Name, c.Graph, c.Inputs))
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
