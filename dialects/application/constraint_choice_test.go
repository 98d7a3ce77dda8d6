package application

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// chosen is a choice between x and itself, cut into one application if applied.
func chosen(kernel string, applied bool) *ir.Graph {
	return graph(func(b builder) {
		x, y := b.tensor("x", "[0:4]"), b.tensor("y", "[0:4]")
		ports := func() (in, out ir.Ports) {
			return ir.PortsOf([]ir.Port{Port("branches", Sel(x, "[0:4]"), Sel(x, "[0:4]"))}), ir.PortsOf([]ir.Port{Port("result", Sel(y, "[0:4]"))})
		}
		in, out := ports()
		op := b.op("c", in, out)
		body := op.Body.(*tensorops.Operation)
		body.Kernel, body.Params = kernel, tensorops.ChoiceParams([]string{"a", "b"})
		if in, out = ports(); applied {
			b.app("all", op, in, out)
		}
	})
}

func choiceCases() []Case {
	return []Case{
		Of("choice: open, in a graph with applications", chosen("op:choice", false), []string{"TAP0203"}, nil),
		Of("choice near miss: another kernel", chosen("test:other", true), nil, nil),
		Of("choice: open and cut", chosen("op:choice", true), []string{"TAP0231"}, []string{`operation "c" is still open`}),
	}
}

func TestLoomHasNoChoices(t *testing.T) {
	g := chosen("op:choice", false)
	Expect(t, Loom(g).Verify(t.Context(), g), []string{"TAP0232"}, []string{`operation "c" holds alternatives open`})
	g = chosen("test:other", false)
	Expect(t, Loom(g).Verify(t.Context(), g), nil, nil)
}
