package apply_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/standard"
)

const net = `tapc 1
%x = tensor float32 [0:8, 0:12]
%w = tensor float32 [0:12, 0:8]
%h = tensor float32 [0:8, 0:8]
%a = tensor float32 [0:8, 0:8]
%s = tensor float32 [0:8, 0:8]
%up = operation op:matmul (X: %x, Y: %w) -> (Z: %h)
%act = operation op:relu (tensor: %h) -> (result: %a)
%soft = operation op:softmax {dims: [1]} (tensor: %h) -> (result: %s)
`

// spread cuts the product along what it reduces, its readers as asked for, and spreads all over devices. It gives the shards that combine, and where each is.
func spread(t *testing.T, act, soft cut.Cut, devices int64) (g *ir.Graph, boxes []zspace.Range, on []int64) {
	t.Helper()
	g, err := text.Read([]byte(net), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	lib := kernels.Builtin()
	labels := map[string]*ir.Node{}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			labels[op.Kernel] = n
		}
	}
	up := labels["op:matmul"]
	var sum ir.NodeID // the tensor
	up.Body.(*tensorops.Operation).Outputs.All(func(_, _ int, s *ir.Selection) { sum = s.Tensor })
	parts, _, err := split.One(g, lib, permission.Reassociate, up, cut.Cut{Levels: []cut.Level{{Names: []string{"k"}, Parts: []cut.Part{{Count: 3}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for kernel, c := range map[string]cut.Cut{"op:relu": act, "op:softmax": soft} {
		if _, err := cut.Operation(g, lib, labels[kernel], "test", c); err != nil {
			t.Fatal(err)
		}
	}
	apply.Run(g)
	var list []ir.NodeID // of the parts, as the pass shard spreads them
	for _, p := range parts {
		list = append(list, application.ByOperation(g)[p.ID]...)
	}
	if devices > 1 {
		application.Spread(g, list, devices)
	}
	if err := apply.Spread(g, lib, devices); err != nil {
		t.Fatal(err)
	}
	env := application.Environment()
	if err := env.Verify(context.Background(), g); err != nil {
		t.Fatal(err)
	}
	for n := range g.Nodes() {
		if a, ok := n.Body.(*application.Application); ok {
			a.Outputs.All(func(_, _ int, s *ir.Selection) {
				if s.Tensor == sum {
					boxes, on = append(boxes, s.Range()), append(on, application.PlacementOf(n)...)
				}
			})
		}
	}
	return g, boxes, on
}

// What devices read of a sum in parts of their own, each combines itself; what one of them reads whole, or two in part, the least of them combines for all.
func TestCombined(t *testing.T) {
	for _, c := range []struct {
		act, soft cut.Cut
		devices   int64
		want      string
	}{
		{cut.Grid(2, 1), cut.Grid(2), 2, "[zr[0:4, 0:8] zr[4:8, 0:8]] [0 1]"},
		{cut.Grid(4, 1), cut.Grid(2), 2, "[zr[0:4, 0:8] zr[4:8, 0:8]] [0 1]"}, // two shards of a reader on each
		{cut.Grid(4, 1), cut.Grid(4), 4, "[zr[0:2, 0:8] zr[2:4, 0:8] zr[4:6, 0:8] zr[6:8, 0:8]] [0 1 2 3]"},
		{cut.Grid(1, 1), cut.Grid(2), 2, "[zr[0:8, 0:8]] [0]"}, // device 0 reads all of it
		{cut.Grid(1, 2), cut.Grid(2), 2, "[zr[0:8, 0:8]] [0]"}, // columns and rows
		{cut.Grid(2, 2), cut.Grid(4), 4, "[zr[0:8, 0:8]] [0]"},
		{cut.Grid(2, 1), cut.Grid(2), 1, "[zr[0:8, 0:8]] [0]"},
	} {
		if _, boxes, on := spread(t, c.act, c.soft, c.devices); fmt.Sprint(boxes, on) != c.want {
			t.Errorf("%v and %v on %d devices: %v %v, expected %s", c.act, c.soft, c.devices, boxes, on, c.want)
		}
	}
}

// values gives the outputs of the schedule of a graph, by the reference evaluator, and how many bytes of float32 its transfers bring of what is not an input.
func values(t *testing.T, g *ir.Graph, inputs map[string]tensorfile.Tensor) (out map[string]tensorfile.Tensor, bytes int64) {
	t.Helper()
	lib := kernels.Builtin()
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	given := ir.NodeSet{}
	for _, in := range program.Inputs {
		given.Add(in.Tensor)
	}
	if err := standard.Run(g, lib, lower.Options{Target: schedule.Host, Allow: permission.Reassociate}); err != nil {
		t.Fatal(err)
	}
	for n := range g.Nodes() {
		if x, ok := n.Body.(*schedule.Transfer); ok {
			from := schedule.BufferOf(g, x.From)
			if size, err := x.Box(from).Size(); err == nil && !given.Has(from.Tensor) {
				bytes += 4 * size
			}
		}
	}
	ev := reference.Evaluator{Library: lib}
	out, err = ev.Evaluate(context.Background(), g, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return out, bytes
}

// However readers are cut, the shards that combine are the whole sum, no two on one device, and where there are several each is what its device reads: no byte of the sum is sent, and of the three partial
// results only what devices lack. Values are those on one device, to the bit.
func TestCombinedAtRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 45))
	several := 0
	inputs := map[string]tensorfile.Tensor{}
	for name, shape := range map[string][]int64{"x": {8, 12}, "w": {12, 8}} {
		x := tensorfile.Tensor{DType: scalar.Float32, Shape: shape}
		for range shape[0] * shape[1] {
			x.Data = binary.LittleEndian.AppendUint32(x.Data, math.Float32bits(rnd.Float32()-0.5))
		}
		inputs[name] = x
	}
	alone, _, _ := spread(t, cut.Grid(1, 1), cut.Grid(1), 1)
	want, _ := values(t, alone, inputs)
	for range 200 {
		rows, devices := 1+rnd.Int64N(8), 2+rnd.Int64N(4)
		act, soft := cut.Grid(rows, 1), cut.Grid(rows)
		if rnd.IntN(2) == 0 {
			act = cut.Grid(1+rnd.Int64N(8), 1+rnd.Int64N(2))
		}
		g, boxes, on := spread(t, act, soft, devices)
		cells := int64(0)
		for _, b := range boxes {
			n, _ := b.Size()
			cells += n
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(on))); cells != 64 || len(sorted) != len(boxes) {
			t.Fatalf("%v, %v: %v on %v", act, soft, boxes, on)
		}
		if len(boxes) == 1 {
			continue
		}
		several++
		out, bytes := values(t, g.Clone(), inputs)
		for name, x := range want {
			if !slices.Equal(x.Data, out[name].Data) {
				t.Fatalf("%v, %v on %d devices: another %s", act, soft, devices, name)
			}
		}
		if lacks := 4 * lacking(boxes, on, devices); bytes-4*results(g) != lacks {
			t.Errorf("%v, %v on %d devices: %d bytes of partial results are sent, expected %d", act, soft, devices, bytes-4*results(g), lacks)
		}
		for n := range g.Nodes() {
			a, ok := n.Body.(*application.Application)
			if k := ""; ok {
				if k = tensorops.OperationOf(g, a.Operation).Kernel; k != "op:relu" && k != "op:softmax" {
					continue
				}
				here := boxes[slices.Index(on, application.PlacementOf(n)[0])]
				a.Inputs.All(func(_, _ int, s *ir.Selection) {
					if !here.Contains(s.Range()) {
						t.Errorf("%v, %v: %v reads %v and combines %v", act, soft, k, s.Range(), here)
					}
				})
			}
		}
	}
	if several < 50 || several == 200 {
		t.Errorf("%d of 200 sums in shards", several)
	}
}

// lacking counts the cells of the three partial results, which are spread in their order, that devices combine and did not compute.
func lacking(boxes []zspace.Range, on []int64, devices int64) (cells int64) {
	for part := range int64(3) {
		for i, b := range boxes {
			if n, _ := b.Size(); on[i] != part*devices/3 {
				cells += n
			}
		}
	}
	return cells
}

// results counts the cells of outputs that are computed on other devices than the first, which has the caller's memory.
func results(g *ir.Graph) (cells int64) {
	for n := range g.Nodes() {
		a, ok := n.Body.(*application.Application)
		if !ok || application.PlacementOf(n)[0] == 0 {
			continue
		}
		if k := tensorops.OperationOf(g, a.Operation).Kernel; k == "op:relu" || k == "op:softmax" {
			a.Outputs.All(func(_, _ int, s *ir.Selection) {
				n, _ := s.Range().Size()
				cells += n
			})
		}
	}
	return cells
}
