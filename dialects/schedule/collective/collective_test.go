package collective

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// sample is devices that have a buffer of all of each tensor, or of a part, and send each other boxes.
type sample struct {
	*ir.Graph
	devices []ir.NodeID
	buffers map[[2]ir.NodeID]ir.NodeID // by tensor and device
	sent    []ir.NodeID
}

func newSample(devices int) *sample {
	s := &sample{Graph: ir.New(), buffers: map[[2]ir.NodeID]ir.NodeID{}}
	for i := range devices {
		s.devices = append(s.devices, s.Add(&schedule.Device{Number: int64(i)}, fmt.Sprint("cpu", i)).ID)
	}
	return s
}

func rows(start, end int64) zspace.Range {
	return zspace.Range{Start: zspace.Point{start}, End: zspace.Point{end}}
}

func (s *sample) tensor(name string) ir.NodeID {
	return s.Add(&tensorops.Tensor{DType: "float32", Range: rows(0, 16)}, name).ID
}

func (s *sample) buffer(tensor ir.NodeID, device int, box zspace.Range) ir.NodeID {
	at := [2]ir.NodeID{tensor, s.devices[device]}
	if _, ok := s.buffers[at]; !ok {
		b := &schedule.Buffer{Tensor: tensor, Device: s.devices[device], DType: "float32", Range: box, Strides: []int64{1}, Space: schedule.Arena, Over: ir.NoNode}
		s.buffers[at] = s.Add(b, "").ID
	}
	return s.buffers[at]
}

func (s *sample) send(tensor ir.NodeID, from, to int, box zspace.Range, after ...ir.NodeID) ir.NodeID {
	t := &schedule.Transfer{From: s.buffer(tensor, from, rows(0, 16)), To: s.buffer(tensor, to, rows(0, 16)), Range: box, After: after}
	id := s.Add(t, "").ID
	s.sent = append(s.sent, id)
	return id
}

// kernel combines the rows of tensors on a device.
func (s *sample) kernel(device int, op string, box zspace.Range, result ir.NodeID, terms []ir.NodeID, after ...ir.NodeID) ir.NodeID {
	loop := schedule.Loop{Name: "i", Start: box.Start[0], End: box.End[0], Levels: []schedule.Level{{Tile: 1}}}
	k := &schedule.Kernel{Device: s.devices[device], Loops: []schedule.Loop{loop}, After: after}
	access := zspace.AffineMap{Projection: [][]int64{{1}}, Offset: []int64{0}}
	names := []string{}
	for i, t := range terms {
		names = append(names, fmt.Sprint("t", i))
		k.Operands = append(k.Operands, schedule.Operand{Name: names[i], Buffer: s.buffer(t, device, rows(0, 16)), DType: "float32", Access: access})
	}
	k.Operands = append(k.Operands, schedule.Operand{Name: "r", Buffer: s.buffer(result, device, rows(0, 16)), DType: "float32", Mode: schedule.Write, Access: access})
	value := &scalar.Expr{Op: scalar.Load, Type: scalar.Float32}
	for i := 1; i < len(terms); i++ {
		value = &scalar.Expr{Op: map[string]scalar.Op{"+": scalar.Add, "-": scalar.Sub}[op], Type: scalar.Float32, Args: []*scalar.Expr{value, {Op: scalar.Load, Ref: i, Type: scalar.Float32}}}
	}
	k.Statements = []schedule.Statement{{Name: "v", Over: []int64{0}, Store: int64(len(terms)), Value: value}}
	return s.Add(k, "").ID
}

// part gives the rows of one of some members.
func part(i, n int) zspace.Range { return rows(int64(16*i/n), int64(16*(i+1)/n)) }

// reduce adds a reduction among n devices, and a gathering of its results behind it.
func (s *sample) reduce(n int, op string, gather bool) (terms, kernels []ir.NodeID) {
	for i := range n {
		terms = append(terms, s.tensor(fmt.Sprint("term", i)))
	}
	result := s.tensor("result")
	for d := range n {
		var got []ir.NodeID
		for i := range n {
			if i != d {
				got = append(got, s.send(terms[i], i, d, part(d, n)))
			}
		}
		kernels = append(kernels, s.kernel(d, op, part(d, n), result, terms, got...))
	}
	for d := range n {
		for i := range n {
			if gather && i != d {
				s.send(result, i, d, part(i, n), kernels[i])
			}
		}
	}
	return terms, kernels
}

func found(s *sample) string {
	var words []string
	for _, c := range Find(s.Graph) {
		words = append(words, fmt.Sprintf("%v of %d, %d transfers, %d kernels", c.Does, len(c.Devices), len(c.Transfers), len(c.Kernels)))
	}
	return strings.Join(words, "; ")
}

// Each kind is found among up to five devices, from the boxes that are sent; and it is not, if a box is another, is missing, or is sent by the wrong device.
func TestFind(t *testing.T) {
	for n := 2; n <= 5; n++ {
		pairs := func(s *sample, box func(from, to int) zspace.Range) {
			x := s.tensor("x")
			for from := range n {
				for to := range n {
					if from != to {
						s.send(x, from, to, box(from, to))
					}
				}
			}
		}
		for _, c := range []struct {
			want    string
			kernels int
			build   func(s *sample)
		}{
			{"all-gather", 0, func(s *sample) { pairs(s, func(from, _ int) zspace.Range { return part(from, n) }) }},
			{"all-to-all", 0, func(s *sample) {
				x := s.tensor("x")
				for d := range n {
					s.buffer(x, d, part(d, n)) // what it gets, without what it sends
				}
				for from := range n {
					for to := range n {
						if from != to {
							s.send(x, from, to, rows(part(to, n).Start[0], part(to, n).End[0]))
						}
					}
				}
			}},
			{"broadcast", 0, func(s *sample) {
				x := s.tensor("x")
				for to := 1; to < n; to++ {
					s.send(x, 0, to, rows(2, 9))
				}
			}},
			{"reduce-scatter", n, func(s *sample) { s.reduce(n, "+", false) }},
			{"all-reduce", n, func(s *sample) { s.reduce(n, "+", true) }},
		} {
			s := newSample(n)
			c.build(s)
			want := fmt.Sprintf("%s of %d, %d transfers, %d kernels", c.want, n, len(s.sent), c.kernels)
			if n == 2 && c.want == "broadcast" {
				want = "" // one transfer is one
			}
			if got := found(s); got != want {
				t.Errorf("%d devices: %q, expected %q", n, got, want)
			}
			for range 8 {
				s := newSample(n)
				c.build(s)
				i := rand.IntN(len(s.sent))
				x := s.Node(s.sent[i]).Body.(*schedule.Transfer)
				if x.Range.End[0]-x.Range.Start[0] > 1 {
					x.Range = rows(x.Range.Start[0], x.Range.End[0]-1)
				}
				if got := found(s); len(s.sent) > 2 && strings.Contains(got, fmt.Sprintf("%s of %d, %d ", c.want, n, len(s.sent))) && c.want != "all-to-all" {
					t.Errorf("%d devices: %q with a box that is smaller", n, got)
				}
				s.Remove(s.sent[i])
				if got := found(s); strings.Contains(got, fmt.Sprintf("%s of %d", c.want, n)) && c.want != "broadcast" {
					t.Errorf("%d devices: %q without a transfer", n, got)
				}
			}
		}
	}
}

// What only looks like a collective is none, and groups beside each other are several.
func TestFindNot(t *testing.T) {
	s := newSample(3)
	s.reduce(3, "-", true)
	if got := found(s); !strings.Contains(got, "all-gather") || strings.Contains(got, "reduce") {
		t.Errorf("differences: %q", got)
	}
	s = newSample(4)
	x := s.tensor("x")
	for d := range 4 { // halos
		s.send(x, d, (d+1)%4, rows(int64(4*d+3), int64(4*d+4)))
	}
	if got := found(s); got != "" {
		t.Errorf("halos: %q", got)
	}
	s = newSample(4)
	x = s.tensor("x")
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {2, 3}, {3, 2}} {
		s.send(x, pair[0], pair[1], part(pair[0], 4))
	}
	if got := found(s); got != "all-gather of 2, 2 transfers, 0 kernels; all-gather of 2, 2 transfers, 0 kernels" {
		t.Errorf("two groups: %q", got)
	}
	s = newSample(3)
	x = s.tensor("x")
	first := s.send(x, 0, 1, rows(0, 4))
	k := s.kernel(1, "+", rows(0, 4), s.tensor("y"), []ir.NodeID{x}, first)
	s.send(x, 0, 2, rows(0, 4), k) // only when the first has used it
	if got := found(s); got != "" {
		t.Errorf("one waits for another: %q", got)
	}
}

// verified gives the codes of what is wrong with the collectives of a graph.
func verified(s *sample) (codes []string, text string) {
	e := Environment()
	alone := constraint
	alone.Requires = nil
	e.Constraints = []check.Constraint{alone}
	list := e.Verify(context.Background(), s.Graph)
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	return codes, list.Error()
}

func TestConstraint(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(s *sample, c *Collective)
		want []string
		text string
	}{
		{"as it is", func(*sample, *Collective) {}, nil, ""},
		{"the other order of transfers", func(_ *sample, c *Collective) { slices.Reverse(c.Transfers) }, nil, ""},
		{"no such node", func(_ *sample, c *Collective) { c.Transfers[0] = 9999 }, []string{"TAP0309"}, ""},
		{"a kernel as a device", func(_ *sample, c *Collective) { c.Devices[0] = c.Kernels[0] }, []string{"TAP0309"}, ""},
		{"another kind", func(_ *sample, c *Collective) { c.Does, c.Kernels = AllGather, nil }, []string{"TAP0385"}, "are no all-gather"},
		{"half of it", func(_ *sample, c *Collective) { c.Does = ReduceScatter }, []string{"TAP0385"}, "are no reduce-scatter: what device"},
		{"a smaller box", func(s *sample, c *Collective) { s.Node(c.Transfers[0]).Body.(*schedule.Transfer).Range = rows(1, 2) }, []string{"TAP0385"}, "found zr[1:2]"},
		{"a transfer less", func(_ *sample, c *Collective) { c.Transfers = c.Transfers[1:] }, []string{"TAP0385"}, "found nothing"},
		{"a member less", func(_ *sample, c *Collective) { c.Devices, c.Kernels = c.Devices[:2], c.Kernels[:2] }, slices.Repeat([]string{"TAP0386"}, 8), "no member"},
		{"a member more", func(s *sample, c *Collective) { c.Devices = append(c.Devices, s.devices[3]) }, []string{"TAP0386"}, "takes no part"},
		{"a member twice", func(_ *sample, c *Collective) { c.Devices = append(c.Devices, c.Devices[0]) }, []string{"TAP0386"}, "twice"},
		{"a transfer twice", func(_ *sample, c *Collective) { c.Transfers = append(c.Transfers, c.Transfers[0]) }, []string{"TAP0388"}, ""},
		{"kernels in another order", func(_ *sample, c *Collective) { slices.Reverse(c.Kernels) }, []string{"TAP0389"}, ""},
		{"members in another order", func(_ *sample, c *Collective) { slices.Reverse(c.Devices); slices.Reverse(c.Kernels) }, []string{"TAP0385"}, "a tensor of the sender"},
		{"a kernel less", func(_ *sample, c *Collective) { c.Kernels = c.Kernels[1:] }, []string{"TAP0389"}, "2 kernels"},
		{"a step between", func(s *sample, c *Collective) {
			k := s.kernel(3, "+", rows(0, 1), s.tensor("more"), []ir.NodeID{s.tensor("less")}, c.Transfers[0])
			x := s.Node(c.Transfers[1]).Body.(*schedule.Transfer)
			x.After = append(x.After, k)
		}, []string{"TAP0387"}, "waits for kernel"},
		{"near miss: a step behind", func(s *sample, c *Collective) {
			s.kernel(3, "+", rows(0, 1), s.tensor("more"), []ir.NodeID{s.tensor("less")}, c.Transfers[0])
		}, nil, ""},
		{"two that hold each other up", func(s *sample, c *Collective) {
			x := s.tensor("x")
			a := s.send(x, 0, 1, rows(0, 2), c.Transfers[0])
			b := s.send(x, 0, 2, rows(0, 2))
			s.Add(&Collective{Does: Broadcast, Devices: s.devices[:3], Transfers: []ir.NodeID{a, b}}, "")
			y := s.Node(c.Transfers[1]).Body.(*schedule.Transfer)
			y.After = append(y.After, b)
		}, []string{"TAP0387"}, "can not be carried out as one step"},
	} {
		s := newSample(4)
		s.reduce(3, "+", true)
		all := Find(s.Graph)
		if len(all) != 1 || all[0].Does != AllReduce {
			t.Fatal(all)
		}
		x := all[0].clone()
		s.Add(x, "all")
		c.edit(s, x)
		if codes, text := verified(s); !slices.Equal(codes, c.want) || !strings.Contains(text, c.text) {
			t.Errorf("%s: %v, expected %v with %q\n%s", c.name, codes, c.want, c.text, text)
		}
	}
}

func (c *Collective) clone() *Collective {
	return &Collective{c.Does, slices.Clone(c.Devices), slices.Clone(c.Transfers), slices.Clone(c.Kernels), c.Algorithm}
}
