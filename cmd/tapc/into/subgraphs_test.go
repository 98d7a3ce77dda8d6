package into

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// drawn draws Amanda graphs with subgraphs in subgraphs.
type drawn struct {
	*rand.Rand
	unary, binary [3]string // operators, and the names of their input ports
	types         []string
	made          int
}

var frameworks = map[string]*drawn{
	"onnx/17":           {unary: [3]string{"Neg", "X"}, binary: [3]string{"Sub", "A", "B"}, types: []string{"Layer", "my:Block", "a b", "Neg", ""}},
	"tensorflow/1.13.1": {unary: [3]string{"Neg", "x"}, binary: [3]string{"Sub", "x", "y"}, types: []string{"Layer", "my:Block", "a/b", "Neg", ""}},
}

func named(op, port string) amanda.End {
	return amanda.End{Op: amanda.Ref{Name: op}, Port: amanda.Ref{Name: port}}
}

// late picks a value, one of the last more often than others.
func (d *drawn) late(values []amanda.End) amanda.End {
	return values[len(values)-1-d.IntN(d.IntN(len(values))+1)]
}

// inside draws ops that take some values, and gives what they and their edges are, and the values that there are then.
func (d *drawn) inside(depth int, values []amanda.End) (ops []*amanda.Op, edges []amanda.Edge, _ []amanda.End) {
	take := func(op *amanda.Op, port string) {
		op.Inputs = append(op.Inputs, amanda.Port{Name: port})
		to := named(op.Name, port)
		if d.IntN(3) == 0 { // by number
			to = amanda.End{Op: amanda.Ref{Index: len(ops)}, Port: amanda.Ref{Index: len(op.Inputs) - 1}}
		}
		edges = append(edges, amanda.Edge{From: d.late(values), To: to})
	}
	for range depth + 1 + d.IntN(3) {
		d.made++
		op := &amanda.Op{Name: fmt.Sprintf("o%d", d.made)}
		outputs := []string{"0"}
		switch kind := d.IntN(7); {
		case kind > 3 && depth > 0:
			op.Sub, op.Type = true, d.types[d.IntN(len(d.types))]
			var given []amanda.End
			for i := range 1 + d.IntN(3) {
				take(op, fmt.Sprintf("i%d", i))
				given = append(given, named([]string{op.Name, amanda.Self}[d.IntN(2)], fmt.Sprintf("i%d", i)))
			}
			op.Ops, op.Edges, given = d.inside(depth-1, given)
			outputs = nil
			for i := range 1 + d.IntN(3) {
				outputs = append(outputs, fmt.Sprintf("r%d", i))
				op.Edges = append(op.Edges, amanda.Edge{From: d.late(given), To: named(amanda.Self, outputs[i])})
			}
		case kind == 1:
			op.Type = d.unary[0]
			take(op, d.unary[1])
		case kind == 2:
			op.Type = "Initializer"
			op.Attrs = ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("shape", ir.IntsAttr(2)).With("value", ir.IntsAttr(int64(d.IntN(3)), 2))
		default:
			op.Type = d.binary[0]
			take(op, d.binary[1])
			take(op, d.binary[2])
		}
		for _, name := range outputs {
			op.Outputs = append(op.Outputs, amanda.Port{Name: name})
			values = append(values, named(op.Name, name))
		}
		ops = append(ops, op)
	}
	return ops, edges, values
}

// program draws a graph of two inputs and two outputs.
func (d *drawn) program(space string) *amanda.Graph {
	attrs := ir.Attrs{}.With("dtype", ir.StringAttr("float32")).With("shape", ir.IntsAttr(2))
	root := &amanda.Op{Name: "net", Type: "Graph", Sub: true, Inputs: []amanda.Port{{Name: "x", Attrs: attrs}, {Name: "w", Attrs: attrs}}, Outputs: []amanda.Port{{Name: "y"}, {Name: "z"}}}
	var values []amanda.End
	root.Ops, root.Edges, values = d.inside(3, []amanda.End{named(amanda.Self, "x"), named(amanda.Self, "w")})
	for _, port := range []string{"y", "z"} {
		root.Edges = append(root.Edges, amanda.Edge{From: d.late(values), To: named(amanda.Self, port)})
	}
	return &amanda.Graph{Namespace: space, Ops: []*amanda.Op{root}}
}

// mapped reads a graph, with subgraphs as definitions or taken apart.
func mapped(t *testing.T, g *amanda.Graph, functions bool) *ir.Graph {
	t.Helper()
	if err := amanda.Check(g).Err(); err != nil {
		t.Fatalf("%v\n%s", err, written(t, g))
	}
	fg, bodies, err := closed.Lower(g, "", namespace.All(), functions)
	if err != nil {
		t.Fatalf("%v\n%s", err, written(t, g))
	}
	if err := bodies.Check(namespace.All(), fg).Err(); err != nil {
		t.Fatal(err)
	}
	out, _, err := mapping.Map(context.Background(), fg, mapping.Options{Tables: rules.For(fg.Namespace, nil), Natives: amanda.Natives(), Bodies: bodies.Function, Functions: functions})
	if err != nil {
		t.Fatalf("%v\n%s", err, written(t, g))
	}
	if bad := append(tensorops.Environment().Verify(context.Background(), out), composite.CheckOperations(out, kernels.Builtin(), false)...); len(bad) > 0 {
		t.Fatal(bad)
	}
	return out
}

func written(t *testing.T, g *amanda.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := amanda.Write(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// values computes a program on fixed inputs.
func values(t *testing.T, g *ir.Graph) map[string][]byte {
	t.Helper()
	in := map[string]tensorfile.Tensor{}
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range p.Inputs {
		data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(3*i)-1.5))
		in[x.Name] = tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{2}, Data: binary.LittleEndian.AppendUint32(data, math.Float32bits(0.25))}
	}
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	made, err := ev.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for name, x := range made {
		out[name] = x.Data
	}
	return out
}

// Subgraphs of graphs in foreign vocabularies are definitions that compute the same, and go back as subgraphs of their types; what is written is read and written as it is.
func TestSubgraphsThereAndBack(t *testing.T) {
	for space, d := range frameworks {
		kept := 0
		for seed := range uint64(60) {
			d.Rand = rand.New(rand.NewPCG(seed, 17))
			g := d.program(space)
			want := values(t, mapped(t, g, false))
			there := mapped(t, g, true)
			if composite.Used(there) {
				kept++
			}
			if diff := cmp.Diff(want, values(t, there)); diff != "" {
				t.Fatalf("%s, seed %d: definitions: %s\n%s", space, seed, diff, written(t, g))
			}
			n, err := namespace.All().Find(space)
			if err != nil {
				t.Fatal(err)
			}
			options := Options{Dictionaries: namespace.All(), Constants: (&constants.Loader{}).Load}
			var texts []string
			for range 3 {
				back, err := Amanda(context.Background(), there, n, options)
				if err != nil {
					t.Fatalf("%s, seed %d: %v", space, seed, err)
				}
				texts = append(texts, written(t, back))
				if types(back.Ops[0]) != len(composite.Reached(there)) {
					t.Fatalf("%s, seed %d: %d definitions\n%s", space, seed, len(composite.Reached(there)), texts[0])
				}
				if there = mapped(t, back, true); !cmp.Equal(want, values(t, there)) {
					t.Fatalf("%s, seed %d: subgraphs compute something else\n%s\n%s", space, seed, written(t, g), texts[0])
				}
			}
			if diff := cmp.Diff(texts[1], texts[2]); diff != "" {
				t.Fatalf("%s, seed %d: %s", space, seed, diff)
			}
		}
		if kept < 30 {
			t.Errorf("%s: only %d graphs of 60 have definitions", space, kept)
		}
	}
}

// types counts the types of the subgraphs of a graph.
func types(root *amanda.Op) int {
	var list []string
	var visit func(op *amanda.Op)
	visit = func(op *amanda.Op) {
		for _, x := range op.Ops {
			if x.Sub {
				list = append(list, x.Type)
				visit(x)
			}
		}
	}
	visit(root)
	slices.Sort(list)
	return len(slices.Compact(list))
}
