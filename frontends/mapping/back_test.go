package mapping

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
)

func tap(t interface {
	Helper()
	Fatal(...any)
}, source string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+source), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func shown(t interface{ Fatal(...any) }, g *ir.Graph) string {
	var b bytes.Buffer
	if err := text.Write(&b, g, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func back(g *ir.Graph, version int64, user ...*rules.Table) (*foreign.Graph, *Report, error) {
	return Back(context.Background(), g, BackOptions{Namespace: "onnx", Version: version, Tables: rules.For("onnx", user), Constants: (&constants.Loader{}).Load})
}

// drawProgram draws a program of kernels that one operator of ONNX stands for, on square matrices.
func drawProgram(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("%x = tensor float32 [0:3, 0:3]\n%y = tensor float32 [0:3, 0:3]\n%c = tensor float32 [0:3]\noperation op:constant {value: [1.5, -2.0, 0.25]} -> (result: %c)\n")
	values := []string{"%x", "%y"}
	for i := range rapid.IntRange(1, 8).Draw(t, "operations") {
		v := func() string { return rapid.SampledFrom(values).Draw(t, "value") }
		out := fmt.Sprintf("%%v%d", i)
		call := ""
		switch rapid.IntRange(0, 8).Draw(t, "kernel") {
		case 0:
			call = fmt.Sprintf("op:relu (tensor: %s) -> (result: %s)", v(), out)
		case 1:
			call = fmt.Sprintf("op:add (tensors: [%s, %s]) -> (result: %s)", v(), v(), out)
		case 2:
			call = fmt.Sprintf("op:mul (tensors: [%s, %%c]) -> (result: %s)", v(), out)
		case 3:
			call = fmt.Sprintf("op:matmul (X: %s, Y: %s) -> (Z: %s)", v(), v(), out)
		case 4:
			call = fmt.Sprintf("op:softmax {dims: [%d]} (tensor: %s) -> (result: %s)", rapid.IntRange(0, 1).Draw(t, "dim"), v(), out)
		case 5:
			call = fmt.Sprintf("op:leaky_relu {slope: %v} (tensor: %s) -> (result: %s)", rapid.SampledFrom([]float64{0.125, 0.5}).Draw(t, "slope"), v(), out)
		case 6:
			call = fmt.Sprintf("op:permute {perm: [1, 0]} (tensor: %s) -> (result: %s)", v(), out)
		case 7:
			call = fmt.Sprintf("op:sub (a: %s, b: %s) -> (result: %s)", v(), v(), out)
		case 8:
			call = fmt.Sprintf("op:clip (tensor: %s) -> (result: %s)", v(), out)
		}
		if strings.HasPrefix(call, "op:clip") {
			call = strings.Replace(call, "op:clip", "op:tanh", 1)
		}
		fmt.Fprintf(&b, "%s = tensor float32 [0:3, 0:3]\noperation %s\n", out, call)
		values = append(values, out)
	}
	return b.String()
}

// What is mapped back and mapped again is the program that it was.
func TestBackAndForth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := tap(t, drawProgram(t))
		p, err := tensorops.ProgramOf(g)
		if err != nil {
			t.Fatal(err)
		}
		tensorops.StateInputs(g, p.Inputs)
		tensorops.StateOutputs(g, p.Outputs)
		fg, report, err := back(g, 13)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Unmapped) > 0 || report.Total != len(fg.Ops) {
			t.Fatalf("%+v", report)
		}
		again, _, err := Map(context.Background(), fg, Options{Tables: plainTables()})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := canonical(shown(t, g)), canonical(shown(t, again)); a != b {
			t.Fatalf("expected\n%s\nfound\n%s", a, b)
		}
	})
}

// canonical leaves out what the trip may change: constants that nothing uses, and the order of lines.
func canonical(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, " = tensor ") || strings.Contains(line, "op:constant") || strings.TrimSpace(line) == "" {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Everything that no operator stands for is reported at once, with the nearest rule's reason.
func TestBackRefuses(t *testing.T) {
	g := tap(t, `%x = tensor float32 [0:4, 0:3]
%a = tensor float32 [0:2, 0:3]
operation op:exp2 (tensor: %x[0:2, 0:3]) -> (result: %a)
%b = tensor float32 [0:2, 0:3]
operation op:gelu {approximate: "tanh"} (tensor: %a) -> (result: %b)
%d = tensor float32 [0:2, 0:3]
operation op:cbrt (tensor: %b) -> (result: %d)
`)
	_, report, err := back(g, 13)
	if err == nil || report == nil || len(report.Unmapped) != 2 {
		t.Fatalf("expected two operations that can not be mapped, found %+v, %v", report, err)
	}
	for _, want := range []string{"exp2 can not be mapped: a power of 2 is rounded otherwise", "cbrt can not be mapped: ONNX has no cube root", "g.tap:8:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q in %v", want, err)
		}
	}
	table, err := rules.Parse("mine", "table mine : onnx\nrule \"mine:Root3\" (x) -> (y)\n  let y = cbrt(x)\nrule \"mine:Cube\" (x) -> (y)\n  let y = x * x * x\n")
	if err != nil {
		t.Fatal(err)
	}
	fg, _, err := back(tap(t, "%x = tensor float32 [0:2]\n%y = tensor float32 [0:2]\noperation op:cbrt (tensor: %x) -> (result: %y)\n"), 13, table)
	if err != nil || len(fg.Ops) != 1 || fg.Ops[0].Domain != "mine" || fg.Ops[0].Type != "Root3" {
		t.Errorf("expected the user's operator, found %+v, %v", fg, err)
	}
}
