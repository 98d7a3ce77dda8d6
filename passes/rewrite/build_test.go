package rewrite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// builder makes graphs from lines such as "y = relu(x)" for tests: all tensors are float32 of shape 4, ports are named as
// the kernels need them, and names that nothing defines are inputs.
type builder struct {
	t   *testing.T
	g   *ir.Graph
	ids map[string]ir.NodeID
}

// graph reads lines "a [b …] = kernel(x, y, …)"; a "!" before the kernel adds the tag IOSequencePoint.
func graph(t *testing.T, text string) *builder {
	t.Helper()
	b := &builder{t: t, g: ir.New(), ids: map[string]ir.NodeID{}}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		left, right, ok := strings.Cut(strings.TrimSpace(line), "=")
		kernel, args, ok2 := strings.Cut(strings.TrimSuffix(strings.TrimSpace(right), ")"), "(")
		if !ok || !ok2 {
			t.Fatalf("bad line %q", line)
		}
		b.line(strings.Fields(left), kernel, args, int32(i+1))
	}
	return b
}

func (b *builder) line(results []string, kernel, args string, line int32) {
	op := &tensorops.Operation{}
	op.Kernel, _ = strings.CutPrefix(kernel, "!")
	for i, a := range strings.FieldsFunc(args, func(r rune) bool { return r == ',' || r == ' ' }) {
		sel := b.sel(a)
		port := map[string]string{"relu": "tensor", "neg": "tensor", "exp": "tensor", "add": "tensors", "mul": "tensors"}[op.Kernel]
		if port == "" {
			port = string(rune('a' + i))
		}
		if p := op.Inputs.Get(port); p != nil {
			op.Inputs = op.Inputs.With(ir.Port{Name: port, Sel: append(p.Sel, sel)})
		} else {
			op.Inputs = op.Inputs.With(ir.Port{Name: port, Sel: []ir.Selection{sel}})
		}
	}
	for i, r := range results {
		port := "result"
		if len(results) > 1 {
			port = fmt.Sprintf("result%d", i)
		}
		op.Outputs = op.Outputs.With(ir.Port{Name: port, Sel: []ir.Selection{b.sel(r)}})
	}
	n := b.g.Add(op, "")
	n.Pos.Line = line
	if strings.HasPrefix(kernel, "!") {
		n.SetTag(&tensorops.IOSequencePoint{})
	}
}

func (b *builder) sel(name string) ir.Selection {
	id, ok := b.ids[name]
	if !ok {
		id = b.g.Add(&tensorops.Tensor{DType: "float32", Range: zspace.MustShape(4)}, name).ID
		b.ids[name] = id
	}
	return ir.Select(id, zspace.MustShape(4))
}

// text writes the operations of a graph in the builder's form, producers in graph order.
func (b *builder) text() string {
	var lines []string
	for n := range b.g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		names := func(ports ir.Ports, sep string) string {
			var out []string
			ports.All(func(_, _ int, s *ir.Selection) {
				name := fmt.Sprintf("%%%d", s.Tensor)
				if t := b.g.Node(s.Tensor); t == nil {
					name = "GONE"
				} else if t.Label != "" {
					name = t.Label
				}
				out = append(out, name)
			})
			return strings.Join(out, sep)
		}
		lines = append(lines, fmt.Sprintf("%s = %s(%s)", names(op.Outputs, " "), op.Kernel, names(op.Inputs, ", ")))
	}
	return strings.Join(lines, "\n")
}

func rules(t *testing.T, text string) []rewrite.Rule {
	t.Helper()
	rs, err := rewrite.Parse("test.rules", text, kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func run(t *testing.T, b *builder, rs []rewrite.Rule, opt rewrite.Options) rewrite.Stats {
	t.Helper()
	s, err := rewrite.Run(context.Background(), b.g, rs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func want(t *testing.T, b *builder, text string) {
	t.Helper()
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimSpace(l))
	}
	if got := b.text(); got != strings.Join(lines, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
}
