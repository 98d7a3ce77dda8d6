package cputest_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule/moves"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// selector is a kernel that only moves, and its parameters on a tensor of a shape; several tensors of that shape where it reads more than one.
type selector struct {
	name, kernel string
	params       func(shape []int64) ir.Attrs
	tensors      int
}

func along(name string, f func(shape []int64) ir.AttrValue) func([]int64) ir.Attrs {
	return func(shape []int64) ir.Attrs { return ir.Attrs{}.With(name, f(shape)) }
}

// each gives one number for each dimension, and others for those counted from the last.
func each(shape []int64, all int64, from ...int64) []int64 {
	out := slices.Repeat([]int64{all}, len(shape))
	for i, n := range from {
		out[len(out)-1-i] = n
	}
	return out
}

// number counts a dimension from the last.
func number(behind int) func([]int64) ir.AttrValue {
	return func(shape []int64) ir.AttrValue { return ir.IntAttr(int64(len(shape) - 1 - behind)) }
}

var selectors = []selector{
	{"permute", "permute", along("perm", func(s []int64) ir.AttrValue {
		n := int64(len(s))
		perm := each(s, 0, n-2, n-1)
		for i := range perm[:n-2] {
			perm[i] = int64(i)
		}
		return ir.IntsAttr(perm...)
	}), 1},
	{"reverse", "reverse", along("dims", func(s []int64) ir.AttrValue { return ir.IntsAttr(int64(len(s) - 2)) }), 1},
	{"slice", "slice", func(s []int64) ir.Attrs {
		lengths := slices.Clone(s)
		lengths[len(s)-2] -= 2
		return ir.Attrs{}.With("starts", ir.IntsAttr(each(s, 0, 0, 1)...)).With("lengths", ir.IntsAttr(lengths...))
	}, 1},
	{"stride", "slice", func(s []int64) ir.Attrs {
		lengths := slices.Clone(s)
		lengths[len(s)-2] /= 2
		return ir.Attrs{}.With("steps", ir.IntsAttr(each(s, 1, 1, 2)...)).With("lengths", ir.IntsAttr(lengths...))
	}, 1},
	{"select", "select", func(s []int64) ir.Attrs {
		return ir.Attrs{}.With("axis", ir.IntAttr(int64(len(s)-3))).With("index", ir.IntAttr(1))
	}, 1},
	{"squeeze", "squeeze", along("dims", func([]int64) ir.AttrValue { return ir.IntsAttr(0) }), 1},
	{"unsqueeze", "unsqueeze", along("dims", func([]int64) ir.AttrValue { return ir.IntsAttr(1) }), 1},
	{"broadcast", "broadcast", along("shape", func(s []int64) ir.AttrValue { return ir.IntsAttr(append([]int64{3}, s[1:]...)...) }), 1},
	{"merge", "reshape", along("shape", func(s []int64) ir.AttrValue {
		n := len(s)
		return ir.IntsAttr(append(slices.Clone(s[:n-2]), s[n-2]*s[n-1])...)
	}), 1},
	{"divide", "reshape", along("shape", func(s []int64) ir.AttrValue {
		n := len(s)
		return ir.IntsAttr(append(slices.Clone(s[:n-2]), s[n-2]/2, 2, s[n-1])...)
	}), 1},
	{"split", "split", func(s []int64) ir.Attrs {
		n := s[len(s)-2]
		return ir.Attrs{}.With("axis", ir.IntAttr(int64(len(s)-2))).With("sizes", ir.IntsAttr(n-n/2, n/2))
	}, 1},
	{"concat", "concat", along("axis", number(1)), 2},
	{"interleave", "interleave", along("axis", number(1)), 2},
	{"repeat", "repeat", along("repeats", func(s []int64) ir.AttrValue { return ir.IntsAttr(each(s, 1, 1, 2)...) }), 1},
	{"pad", "pad", along("pads", func(s []int64) ir.AttrValue { return ir.IntsAttr(each(s, 0, 0, 1)...) }), 1},
	{"roll", "roll", along("shifts", func(s []int64) ir.AttrValue { return ir.IntsAttr(each(s, 0, 0, 1)...) }), 1},
	{"where", "where", func([]int64) ir.Attrs { return nil }, 3},
}

// A sequence is selectors one behind the other.
type sequence []selector

func (c sequence) String() string {
	var names []string
	for _, s := range c {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// builder adds operations to a graph.
type builder struct {
	t *testing.T
	g *ir.Graph
}

func (b *builder) tensor(label, dtype string, shape ...int64) ir.Selection {
	box := zspace.MustShape(shape...)
	return ir.Select(b.g.Add(&tensorops.Tensor{DType: dtype, Range: box}, label).ID, box)
}

// op adds an operation whose inputs are in the order of its declaration, and gives its results; ok is false for inputs that do not fit.
func (b *builder) op(kernel string, params ir.Attrs, inputs ...[]ir.Selection) (out []ir.Selection, ok bool) {
	d, found := kernels.Builtin().Find("op:" + kernel)
	if !found {
		b.t.Fatalf("no kernel %q", kernel)
	}
	var in []ir.Port
	var result string
	for _, o := range d.Operands {
		switch {
		case o.Out && result == "":
			result = o.Name()
		case !o.Out && len(inputs) > 0:
			in, inputs = append(in, ir.Port{Name: o.Name(), Sel: inputs[0]}), inputs[1:]
		}
	}
	op := &tensorops.Operation{Kernel: "op:" + kernel, Params: params, Inputs: ir.PortsOf(sorted(in))}
	var results ir.Ports
	if sizes, ok := params.Get("sizes"); ok { // as many as the parts of a split
		results = ir.PortsOf([]ir.Port{{Name: result, Sel: slices.Repeat(in[0].Sel, len(sizes.List))}})
	}
	call := infer.CallOf(b.g, params, op.Inputs, results)
	shapes, types, err := infer.Outputs(d, call)
	if err != nil {
		return nil, false
	}
	for i, shape := range shapes {
		out = append(out, b.tensor("", types[min(i, len(types)-1)].String(), shape...))
	}
	op.Outputs = ir.PortsOf([]ir.Port{{Name: result, Sel: out}})
	b.g.Add(op, "")
	return out, true
}

func sorted(ports []ir.Port) []ir.Port {
	slices.SortFunc(ports, func(a, b ir.Port) int { return cmp.Compare(a.Name, b.Name) })
	return ports
}

// apply gives what a sequence gives of a tensor. Tensors that it reads besides are inputs, and the parts of a split that it does not go on with are read by others.
func (b *builder) apply(c sequence, x ir.Selection) (ir.Selection, bool) {
	for _, s := range c {
		shape := x.Range().Shape()
		if s.kernel == "slice" && shape[len(shape)-2] < 3 || len(shape) < 3 && s.kernel != "where" && s.kernel != "unsqueeze" {
			return x, false
		}
		more := func(dtype string) ir.Selection { return b.tensor("", dtype, shape...) }
		in := [][]ir.Selection{{x}}
		switch s.tensors {
		case 2:
			in = [][]ir.Selection{{x, more("float32")}}
		case 3:
			in = [][]ir.Selection{{more("boolean")}, {x}, {more("float32")}}
		}
		out, ok := b.op(s.kernel, s.params(shape), in...)
		if !ok {
			return x, false
		}
		for _, other := range out[1:] {
			b.op("neg", nil, []ir.Selection{other})
		}
		x = out[0]
	}
	return x, true
}

// consumers read what a sequence gives.
var consumers = []struct {
	name string
	read func(b *builder, x ir.Selection) bool
}{
	{"relu", func(b *builder, x ir.Selection) bool { _, ok := b.op("relu", nil, []ir.Selection{x}); return ok }},
	{"sum", func(b *builder, x ir.Selection) bool {
		_, ok := b.op("sum", ir.Attrs{}.With("dims", ir.IntsAttr(-1)), []ir.Selection{x})
		return ok
	}},
	{"product, left", func(b *builder, x ir.Selection) bool {
		s := x.Range().Shape()
		_, ok := b.op("matmul", nil, []ir.Selection{x}, []ir.Selection{b.tensor("", "float32", s[len(s)-1], 40)})
		return ok
	}},
	{"product, right", func(b *builder, x ir.Selection) bool {
		s := x.Range().Shape()
		_, ok := b.op("matmul", nil, []ir.Selection{b.tensor("", "float32", 40, s[len(s)-2])}, []ir.Selection{x})
		return ok
	}},
	{"convolution", func(b *builder, x ir.Selection) bool {
		s := x.Range().Shape()
		w := slices.Repeat([]int64{3}, len(s))
		w[0], w[1] = 8, s[1]
		if slices.ContainsFunc(s[2:], func(n int64) bool { return n < 3 }) {
			return false
		}
		_, ok := b.op("conv", nil, []ir.Selection{x}, []ir.Selection{b.tensor("", "float32", w...)})
		return ok
	}},
}

// pairs gives every selector by itself and before every other.
func pairs() (list []sequence) {
	for _, a := range selectors {
		list = append(list, sequence{a})
	}
	for _, a := range selectors {
		for _, b := range selectors {
			list = append(list, sequence{a, b})
		}
	}
	return list
}

// triples gives those of which the first and the last make one coordinate of several loops, and the one between does not.
func triples() (list []sequence) {
	for _, a := range selectors {
		for _, b := range selectors {
			for _, c := range selectors {
				if joins(a) && joins(c) && !joins(b) {
					list = append(list, sequence{a, b, c})
				}
			}
		}
	}
	return list
}

// joins says whether several loops make one coordinate of what a selector gives.
func joins(s selector) bool {
	return slices.Contains([]string{"merge", "interleave", "repeat", "concat"}, s.name)
}

// graphOf gives the graph of a sequence before a consumer; ok is false if they do not fit.
func graphOf(t *testing.T, c sequence, read func(b *builder, x ir.Selection) bool, shape ...int64) (g *ir.Graph, ok bool) {
	t.Helper()
	b := &builder{t, ir.New()}
	x, ok := b.apply(c, b.tensor("x", "float32", shape...))
	return b.g, ok && read(b, x)
}

func textOf(t *testing.T, g *ir.Graph) string {
	t.Helper()
	var graph strings.Builder
	if err := text.Write(&graph, g, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(graph.String(), "tapc 1\n")
}

// scheduled takes a graph to Scheduled Kernels as tapc build does.
func scheduled(t *testing.T, g *ir.Graph) *ir.Graph {
	t.Helper()
	table := standard.Table(kernels.Builtin())
	p, err := pipeline.ParsePipeline(table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true,
		Facts: map[pipeline.Fact][]string{pipeline.Target: {"cpu"}}}), table)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&pipeline.Runner{}).Run(context.Background(), p, g)
	if err != nil {
		t.Fatalf("%v\n%s", err, textOf(t, g))
	}
	return r.Graph
}

var update = flag.Bool("update", false, "write testdata/sequences.txt anew")

// TestSequences holds what every selector, and every pair of them, copies before each kind of consumer to a table.
func TestSequences(t *testing.T) {
	const path = "testdata/sequences.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(file), "\n\n")
	var rows strings.Builder
	copies, all := make([]int, len(consumers)), make([]int, len(consumers))
	for _, c := range pairs() {
		fmt.Fprintf(&rows, "%-24s", c)
		for i, to := range consumers {
			g, ok := graphOf(t, c, to.read, 1, 8, 24, 32)
			if !ok {
				rows.WriteString("              -")
				continue
			}
			bytes := moves.Bytes(scheduled(t, g))
			if all[i]++; bytes > 0 {
				copies[i]++
			}
			fmt.Fprintf(&rows, "%15d", bytes)
		}
		rows.WriteString("\n")
	}
	title, some := fmt.Sprintf("%-24s", ""), fmt.Sprintf("%-24s", "with a copy")
	for i, to := range consumers {
		title, some = title+fmt.Sprintf("%15s", to.name), some+fmt.Sprintf("%15s", fmt.Sprintf("%d of %d", copies[i], all[i]))
	}
	got := title + "\n" + some + "\n" + rows.String()
	if *update {
		if err := os.WriteFile(path, []byte(head+"\n\n"+got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was := strings.Split(rest, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(was) || was[i] != line {
			t.Errorf("expected %q, found %q", was[min(i, len(was)-1)], line)
		}
	}
}

// Sequences of selectors before each kind of consumer keep their values when they are scheduled. They are whole numbers, so that sums have no order.
func TestSequencesScheduled(t *testing.T) {
	runs := testkit.Turns(t, 8)
	for _, c := range append(pairs(), triples()...) {
		for _, to := range consumers {
			if !runs() {
				continue
			}
			g, ok := graphOf(t, c, to.read, 1, 4, 6, 16)
			if !ok {
				continue
			}
			in, program := cputest.RandomInputs(t, g), textOf(t, g)
			for _, x := range in {
				for i := 0; i < len(x.Data) && x.DType == scalar.Float32; i += 4 {
					scalar.FloatValue(x.DType, math.Round(4*scalar.Decode(x.DType, x.Data[i:]).F)).Encode(x.Data[i:])
				}
			}
			want := cputest.Evaluate(t, g, in)
			got := cputest.Evaluate(t, scheduled(t, g), in)
			for name, w := range want {
				if err := reference.Compare(name, w, got[name]); err != nil {
					t.Errorf("%s before %s: %v\n%s", c, to.name, err, program)
				}
			}
		}
	}
}

// Compiled, they are those of the reference evaluator.
func TestSequencesCompiled(t *testing.T) {
	runs := testkit.Turns(t, 40)
	list := append(pairs(), triples()...)
	for from := 0; from < len(list); from += 12 {
		for _, to := range consumers {
			if !runs() {
				continue
			}
			var graphs []string
			for _, c := range list[from:min(from+12, len(list))] {
				if g, ok := graphOf(t, c, to.read, 1, 4, 6, 32); ok {
					graphs = append(graphs, textOf(t, g))
				}
			}
			t.Run(fmt.Sprintf("%s/%d", to.name, from), func(t *testing.T) {
				t.Parallel()
				conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, nil, cputest.Strictly(cputest.Compiler(t))(nil))
			})
		}
	}
}
