package modelflags

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func model() *foreign.Graph {
	return &foreign.Graph{Inputs: []foreign.Port{
		{Name: "open", DType: scalar.Float32},
		{Name: "x", DType: scalar.Float32, Ranked: true, Shape: []foreign.Size{{Name: "batch"}, {Value: 3}, {Value: -1}}},
		{Name: "n", DType: scalar.Int64, Ranked: true, Shape: []foreign.Size{}},
	}}
}

func TestShape(t *testing.T) {
	for _, c := range []struct{ flags, err string }{
		{"open=2x3 x=8x3x4 n=", ""},
		{"x=8x3x0", ""}, // sizes that are open may have any
		{"x=8x4x4", "--shape x=8x4x4: the graph itself says another shape of this input: expected batchx3x?"},
		{"x=8x3", "expected batchx3x?"},
		{"n=1", "expected a number"},
		{"x=8x3x+4", "expected sizes of at least 0"},
		{"x=8x3x-4", "expected sizes of at least 0"},
		{"x=8x", "expected sizes of at least 0"},
		{"x=99999999999999999999", "expected sizes of at least 0"},
		{"open=2 open=2", "given twice"},
		{"opem=2", `did you mean "open"?`},
		{"open", "expected NAME=SIZExSIZE"},
	} {
		err := Shape(model(), strings.Fields(c.flags))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || diag.ExitStatus(err) != diag.ExitUsage) {
			t.Errorf("%s: found %v, want %q", c.flags, err, c.err)
		}
	}
}

// FuzzFlags: what flags say of a model's inputs is taken or is an error of the command line.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{"open=2x3", "x=8x3x4", "n=", "n=1", "open=1,2.5", "x=true", "=", "open=99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := strings.Split(text, "\n")
		g := model()
		if err := Shape(g, list); err != nil && diag.ExitStatus(err) != diag.ExitUsage {
			t.Errorf("--shape: %v", err)
		}
		_, err := Known(model(), list, func(path string) (tensorfile.Tensor, error) {
			return tensorfile.Tensor{}, diag.Usage("no file %q", path)
		})
		if err != nil && diag.ExitStatus(err) != diag.ExitUsage {
			t.Errorf("--known: %v", err)
		}
	})
}
