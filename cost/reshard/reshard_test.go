package reshard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
)

var mesh = planfile.Mesh{{Name: "s", Size: 2}, {Name: "t", Size: 4}}

// parse reads "s*t,- +t": the axes of each dimension, and those along which it is partial.
func parse(text string) (l Layout) {
	dims, partial, _ := strings.Cut(text, " +")
	read := func(names string) (axes planfile.Axes) {
		for _, name := range strings.Split(names, "*") {
			if i := mesh.Find(name); i >= 0 {
				axes = append(axes, i)
			}
		}
		return axes
	}
	for _, d := range strings.Split(dims, ",") {
		l.Dims = append(l.Dims, read(d))
	}
	l.Partial = read(partial)
	return l
}

func write(steps []Step) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprintf("%s %s %d of %g", s.Kind, mesh.Names(s.Axes), s.Dim, s.Bytes))
	}
	return strings.Join(words, "; ")
}

// Steps between layouts of a tensor of 6,400 bytes on 8 devices, and the bytes that arrive, counted by hand.
// What is wider until it is combined is sent so by the reduce-scatter, and behind it by an all-gather as it is.
func TestWide(t *testing.T) {
	mesh := planfile.Mesh{{Name: "t", Size: 4}}
	whole, cut := Layout{Dims: []planfile.Axes{nil, nil}}, Layout{Dims: []planfile.Axes{{0}, nil}}
	for _, c := range []struct {
		wide  int
		to    Layout
		kinds []collective.Kind
		bytes float64
	}{
		{0, whole, []collective.Kind{collective.AllReduce}, 2 * 3 * 100},
		{1, whole, []collective.Kind{collective.AllReduce}, 2 * 3 * 100},
		{2, whole, []collective.Kind{collective.ReduceScatter, collective.AllGather}, (2 + 1) * 3 * 100},
		{2, cut, []collective.Kind{collective.ReduceScatter}, 2 * 3 * 100},
	} {
		steps := Ways(mesh, 100, Layout{Dims: whole.Dims, Partial: planfile.Axes{0}, Wide: c.wide}, c.to)[0]
		var kinds []collective.Kind
		for _, s := range steps {
			kinds = append(kinds, s.Kind)
		}
		if !slices.Equal(kinds, c.kinds) || Arrive(mesh, steps) != c.bytes {
			t.Errorf("%d times as wide, to %v: %v, %v bytes arrive; expected %v, %v", c.wide, c.to.Dims, kinds, Arrive(mesh, steps), c.kinds, c.bytes)
		}
	}
}

func TestWays(t *testing.T) {
	for _, c := range []struct {
		from, to, steps string
		arrives         float64
		other           string
	}{
		{"t,-", "t,-", "", 0, ""},
		{"t,-", "-,-", "all-gather t 0 of 6400", 8 * 4800, ""},
		{"s*t,-", "-,-", "all-gather s*t 0 of 6400", 8 * 5600, ""},
		{"s*t,-", "s,-", "all-gather t 0 of 3200", 8 * 2400, ""},
		{"s,t", "s,-", "all-gather t 1 of 3200", 8 * 2400, ""},
		{"t,-", "-,t", "all-to-all t 1 of 1600", 8 * 1200, "all-gather t 0 of 6400; slice t 1 of 6400"},
		{"s*t,-", "s,t", "all-to-all t 1 of 800", 8 * 600, "all-gather t 0 of 3200; slice t 1 of 3200"},
		{"s*t,-", "-,s*t", "all-to-all s*t 1 of 800", 8 * 700, "all-gather s*t 0 of 6400; slice s*t 1 of 6400"},
		{"-,-", "-,t", "slice t 1 of 6400", 0, ""},
		{"t,-", "s,-", "all-gather t 0 of 6400; slice s 0 of 6400", 8 * 4800, ""},
		{"-,- +t", "-,-", "all-reduce t -1 of 6400", 8 * 9600, ""},
		{"-,- +t", "t,-", "reduce-scatter t 0 of 6400", 8 * 4800, "all-reduce t -1 of 6400; slice t 0 of 6400"},
		{"s,- +t", "s*t,-", "reduce-scatter t 0 of 3200", 8 * 2400, "all-reduce t -1 of 3200; slice t 0 of 3200"},
		{"-,- +s*t", "-,-", "all-reduce s*t -1 of 6400", 8 * 11200, ""},
		{"-,- +s*t", "-,s", "reduce-scatter s 1 of 6400; all-reduce t -1 of 3200", 8 * (3200 + 4800), "all-reduce s*t -1 of 6400; slice s 1 of 6400"},
		{"s,- +t", "s,- +t", "", 0, ""},
	} {
		ways := Ways(mesh, 6400, parse(c.from), parse(c.to))
		got, other := "", ""
		arrives := 0.0
		if len(ways) > 0 {
			got, arrives = write(ways[0]), Arrive(mesh, ways[0])
		}
		if len(ways) > 1 {
			other = write(ways[1])
		}
		if got != c.steps || other != c.other || arrives != c.arrives {
			t.Errorf("%s → %s: %s (%g) or %s; expected %s (%g) or %s", c.from, c.to, got, arrives, other, c.steps, c.arrives, c.other)
		}
	}
}

// random gives a layout of two dimensions, in which each axis is at one place at most.
func random(rnd *rand.Rand, partial bool) Layout {
	l := Layout{Dims: make([]planfile.Axes, 2)}
	for _, a := range rnd.Perm(2) {
		switch k := rnd.IntN(4); {
		case k < 2:
			l.Dims[k] = append(l.Dims[k], a)
		case k == 2 && partial:
			l.Partial = append(l.Partial, a)
		}
	}
	return l
}

// Every way gets from any layout to any other, by steps of which each is possible; and the first brings no device less than what it lacks.
func TestWaysArrive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 2))
	for range 2000 {
		from, to := random(rnd, true), random(rnd, false)
		for _, steps := range Ways(mesh, 64*64*4, from, to) {
			at := from.clone()
			for _, s := range steps {
				follow(t, &at, s)
			}
			if len(at.Partial) > 0 || !slices.EqualFunc(at.Dims, to.Dims, slices.Equal[planfile.Axes]) {
				t.Fatalf("%v → %v: %s arrives at %v", from, to, write(steps), at)
			}
		}
		if w := Ways(mesh, 64*64*4, from, to); len(from.Partial) == 0 && len(w) > 0 {
			if least := 4 * lacking(from, to); Arrive(mesh, w[0]) < least-1e-6 {
				t.Fatalf("%v → %v: %s brings %v bytes, but %v lack", from, to, write(w[0]), Arrive(mesh, w[0]), least)
			}
		}
	}
}

// follow carries a step out on a layout.
func follow(t *testing.T, at *Layout, s Step) {
	t.Helper()
	end := func(k int) bool {
		axes := at.Dims[k]
		return len(axes) >= len(s.Axes) && slices.Equal(axes[len(axes)-len(s.Axes):], s.Axes)
	}
	for _, a := range s.Axes {
		switch s.Kind {
		case "all-reduce", "reduce-scatter":
			if !slices.Contains(at.Partial, a) {
				t.Fatalf("%s of what is not partial", write([]Step{s}))
			}
		}
	}
	switch s.Kind {
	case "all-reduce", "reduce-scatter":
		at.Partial = without(at.Partial, s.Axes)
	case "all-gather":
		if !end(s.Dim) {
			t.Fatalf("%s of %v", write([]Step{s}), at)
		}
		at.Dims[s.Dim] = at.Dims[s.Dim][:len(at.Dims[s.Dim])-len(s.Axes)]
	case "all-to-all":
		k := slices.IndexFunc(at.Dims, func(x planfile.Axes) bool { return slices.Contains(x, s.Axes[0]) })
		if !end(k) {
			t.Fatalf("%s of %v", write([]Step{s}), at)
		}
		at.Dims[k] = at.Dims[k][:len(at.Dims[k])-len(s.Axes)]
	}
	if s.Kind == "slice" || s.Kind == "reduce-scatter" || s.Kind == "all-to-all" {
		at.Dims[s.Dim] = slices.Concat(at.Dims[s.Dim], s.Axes)
	}
}

// lacking counts the elements of 64 by 64 that devices are to have and do not.
func lacking(from, to Layout) (sum float64) {
	for d := range mesh.Devices() {
		have, want := box(from, d), box(to, d)
		inside := 1.0
		for k := range have {
			inside *= max(0, min(have[k][1], want[k][1])-max(have[k][0], want[k][0]))
		}
		sum += (want[0][1]-want[0][0])*(want[1][1]-want[1][0]) - inside
	}
	return sum
}

func box(l Layout, d int64) (b [2][2]float64) {
	at := []int64{d / 4, d % 4}
	for k, axes := range l.Dims {
		b[k] = [2]float64{0, 64}
		for _, a := range axes {
			size := (b[k][1] - b[k][0]) / float64(mesh[a].Size)
			b[k][0] += size * float64(at[a])
			b[k][1] = b[k][0] + size
		}
	}
	return b
}

// Groups of two nodes of four devices; the axis between nodes shares their ports among four groups, that inside has links of its own.
func TestPlace(t *testing.T) {
	const nodes = `tapc: machine/1
name: nodes
devices:
  - {name: d, kind: cuda, units: 1, memory: 1 GB, bandwidth: 1 GB/s, launch: 1 us, rates: [{type: float32, row: fma, rate: 1 Gop/s}]}
links:
  - {name: near, latency: 1 us, bandwidth: 100 GB/s}
  - {name: far, latency: 10 us, bandwidth: 10 GB/s}
localities:
  - {name: all, link: far, members: [{of: node, count: 2}]}
  - {name: node, link: near, members: [{of: d, count: 4}]}
`
	m, err := machine.Read([]byte(nodes), "nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := On(m, "", mesh)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Groups(planfile.Axes{1}), p.Groups(planfile.Axes{0})); got != "[[0 1 2 3] [4 5 6 7]] [[0 4] [1 5] [2 6] [3 7]]" {
		t.Error(got)
	}
	for axis, want := range map[string]float64{"t": 1e-6 + 6e6/100e9, "s": 10e-6 + 4*4e6/10e9} {
		x, err := p.Cheapest(8e6, parse(axis+",-"), parse("-,-"))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(x[0].Seconds.Value/want-1) > 1e-9 {
			t.Errorf("along %s: %v, expected %v: %v", axis, x[0].Seconds, want, x[0])
		}
	}
	x, err := p.Cheapest(8e6, parse("t,-"), parse("-,t"))
	if err != nil || len(x) != 2 || x[0].String() != "all-to-all (direct)" || x[1].String() != "all-gather (direct)" {
		t.Errorf("%v %v", x, err)
	}
	if _, err := On(m, "", planfile.Mesh{{Name: "x", Size: 9}}); err == nil || !strings.Contains(err.Error(), CodePlace) {
		t.Error(err)
	}
}
