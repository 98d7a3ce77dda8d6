package into

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/survey"
	"tensortapestry.org/tapc/ir/diag"
)

// CodeOpen is the code of a size that can not stay open, as the graph of one size is not that of another.
const CodeOpen = "TAP1436"

// runs is for how many sizes a graph is made where sizes stay open, and mostOpen how many may.
const runs, mostOpen = 3, 16

// Sizes gives the sizes that open ones are taken to be, in each of several runs: primes, all of them different, so that what is the same in every run depends on
// none, and sums of these for names that are sums.
func Sizes(open []survey.Dim) ([]map[string]int64, error) {
	if len(open) > mostOpen {
		return nil, diag.Usage("%d sizes are open, of which %d can stay so: --dim gives the others", len(open), mostOpen)
	}
	list := make([]map[string]int64, runs)
	prime := int64(5)
	for i := range list {
		list[i] = map[string]int64{}
		for _, d := range open {
			if !strings.Contains(d.Name, "+") {
				list[i][d.Key()], prime = prime, nextPrime(prime)
			}
		}
		for _, d := range open {
			if n, ok := foreign.SumOf(d.Name, list[i]); ok {
				list[i][d.Key()] = n
			} else if list[i][d.Key()] == 0 {
				list[i][d.Key()], prime = prime, nextPrime(prime)
			}
		}
	}
	return list, nil
}

func nextPrime(n int64) int64 {
	for n += 2; ; n += 2 {
		d := int64(3)
		for ; d*d <= n && n%d != 0; d += 2 {
		}
		if d*d > n {
			return n
		}
	}
}

// Open writes a foreign graph in a vocabulary where nothing gives some of its sizes: they stay open, if what is written is the same for several. The graph is
// nil if none is open.
func Open(ctx context.Context, fg *foreign.Graph, from mapping.Options, n namespace.Namespace, to Options) (*foreign.Graph, error) {
	open := slices.DeleteFunc(survey.Dims(fg), func(d survey.Dim) bool {
		_, given := from.Dims[d.Key()]
		_, sum := foreign.SumOf(d.Name, from.Dims)
		return given || sum
	})
	if len(open) == 0 {
		return nil, nil
	}
	if err := survey.CheckNames(fg, from.Dims); err != nil {
		return nil, err
	}
	sizes, err := Sizes(open)
	if err != nil {
		return nil, err
	}
	given := from.Dims
	var graphs []*foreign.Graph
	for _, run := range sizes {
		from.Dims = maps.Clone(run)
		maps.Copy(from.Dims, given)
		g, _, err := mapping.Map(ctx, fg, from)
		if err != nil {
			return nil, err
		}
		out, err := Graph(ctx, g, n, to)
		if err != nil {
			return nil, err
		}
		graphs = append(graphs, out)
	}
	return joined(graphs, sizes)
}

// joined makes one graph of those that were made for several sizes: the first, whose ports have names where sizes differ. An error says which operation
// or constant is another with another size.
func joined(graphs []*foreign.Graph, sizes []map[string]int64) (*foreign.Graph, error) {
	first := graphs[0]
	for _, g := range graphs[1:] {
		if what, err := difference(first, g); err != nil || what != "" {
			if err != nil {
				return nil, err
			}
			d := diag.Errorf(CodeOpen, "mapping", diag.Location{File: first.File}, "%s depends on sizes that are open: %s", what,
				strings.Join(slices.Sorted(maps.Keys(sizes[0])), ", "))
			d.Hint = "--dim gives a size, for which the graph is written"
			return nil, d
		}
	}
	for side, list := range [][]foreign.Port{first.Inputs, first.Outputs} {
		for i := range list {
			for j := range list[i].Shape {
				all := make([]int64, len(graphs))
				for k, g := range graphs {
					all[k] = [][]foreign.Port{g.Inputs, g.Outputs}[side][i].Shape[j].Value
				}
				list[i].Shape[j] = sizeOf(all, sizes)
			}
		}
	}
	return first, nil
}

// sizeOf gives a size by its values in each run: a number, an open size, or one that is not known.
func sizeOf(all []int64, sizes []map[string]int64) foreign.Size {
	if !slices.ContainsFunc(all, func(n int64) bool { return n != all[0] }) {
		return foreign.Size{Value: all[0]}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes[0])) {
		same := true
		for k, n := range all {
			same = same && sizes[k][name] == n
		}
		if same && !strings.Contains(name, ":") { // which is a place, not a name
			return foreign.Size{Value: -1, Name: name}
		}
	}
	return foreign.Size{Value: -1}
}

// difference says what of two graphs is not the same but for the shapes of ports; "" for nothing.
func difference(a, b *foreign.Graph) (string, error) {
	if len(a.Ops) != len(b.Ops) || len(a.Consts) != len(b.Consts) || len(a.Inputs) != len(b.Inputs) || len(a.Outputs) != len(b.Outputs) {
		return "the list of operations", nil
	}
	for i, x := range a.Ops {
		y := b.Ops[i]
		if x.Type != y.Type || x.Domain != y.Domain || !slices.Equal(x.In, y.In) || !slices.Equal(x.Out, y.Out) || !slices.EqualFunc(x.Attrs, y.Attrs, sameAttr) {
			return x.Title(), nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Consts)) {
		x, y := a.Consts[name], b.Consts[name]
		if y == nil || x.DType != y.DType || !slices.Equal(x.Shape, y.Shape) {
			return fmt.Sprintf("the constant %q", name), nil
		}
		if x.File != "" && x.File == y.File && x.Offset == y.Offset {
			continue
		}
		p, err := x.Read()
		if err != nil {
			return "", err
		}
		q, err := y.Read()
		if err != nil {
			return "", err
		}
		if !bytes.Equal(p, q) {
			return fmt.Sprintf("the constant %q", name), nil
		}
	}
	for _, list := range [][2][]foreign.Port{{a.Inputs, b.Inputs}, {a.Outputs, b.Outputs}} {
		for i, p := range list[0] {
			if q := list[1][i]; p.Name != q.Name || len(p.Shape) != len(q.Shape) {
				return fmt.Sprintf("the shape of %q", p.Name), nil
			}
		}
	}
	return "", nil
}

func sameAttr(a, b foreign.Attr) bool {
	if x, y := a.Value.Data, b.Value.Data; a.Value.Kind == foreign.DataKind && b.Value.Kind == foreign.DataKind {
		return a.Name == b.Name && x.DType == y.DType && slices.Equal(x.Shape, y.Shape) && bytes.Equal(x.Bytes, y.Bytes)
	}
	return a.Name == b.Name && a.Value.Equal(b.Value)
}
