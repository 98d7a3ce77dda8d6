// Package rewritetest makes small graphs from lines such as "y = relu(x)" and runs rules of the language on them, for tests alone.
package rewritetest

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
	"tensortapestry.org/tapc/passes/rewrite/language"
)

// Graph is a graph of lines such as "y = relu(x)": all tensors are float32 of shape 4, ports are named as
// the kernels need them, and names that nothing defines are inputs.
type Graph struct {
	G   *ir.Graph
	IDs map[string]ir.NodeID
}

// Of reads lines "a [b …] = kernel(x, y, …)"; a "!" before the kernel adds the tag IOSequencePoint.
func Of(t *testing.T, text string) *Graph {
	t.Helper()
	b := &Graph{G: ir.New(), IDs: map[string]ir.NodeID{}}
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

func (b *Graph) line(results []string, kernel, args string, line int32) {
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
	n := b.G.Add(op, "")
	n.Pos.Line = line
	if strings.HasPrefix(kernel, "!") {
		n.SetTag(&tensorops.IOSequencePoint{})
	}
}

func (b *Graph) sel(name string) ir.Selection {
	id, ok := b.IDs[name]
	if !ok {
		id = b.G.Add(&tensorops.Tensor{DType: "float32", Range: zspace.MustShape(4)}, name).ID
		b.IDs[name] = id
	}
	return ir.Select(id, zspace.MustShape(4))
}

// String writes the operations of a graph as lines, producers in graph order.
func (b *Graph) String() string {
	var lines []string
	for n := range b.G.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		names := func(ports ir.Ports, sep string) string {
			var out []string
			ports.All(func(_, _ int, s *ir.Selection) {
				name := fmt.Sprintf("%%%d", s.Tensor)
				if t := b.G.Node(s.Tensor); t == nil {
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

// Rules reads rules of the built-in kernels.
func Rules(t *testing.T, text string) []rewrite.Rule {
	t.Helper()
	rs, err := language.Parse("test.rules", text, kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// Run applies rules to a graph.
func Run(t *testing.T, b *Graph, rs []rewrite.Rule, opt rewrite.Options) rewrite.Stats {
	t.Helper()
	s, err := rewrite.Run(context.Background(), b.G, rs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Want compares a graph with lines.
func Want(t *testing.T, b *Graph, text string) {
	t.Helper()
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimSpace(l))
	}
	if got := b.String(); got != strings.Join(lines, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
}
