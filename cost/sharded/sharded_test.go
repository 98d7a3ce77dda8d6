package sharded

import (
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/standard"
)

// layer is the feed-forward half of a layer: two products with an activation between them.
const layer = `tapc 1
%x = tensor float32 [0:64, 0:256]
%w1 = tensor float32 [0:256, 0:1024]
%w2 = tensor float32 [0:1024, 0:256]
%h = tensor float32 [0:64, 0:1024]
%a = tensor float32 [0:64, 0:1024]
%y = tensor float32 [0:64, 0:256]
%up = operation op:matmul (X: %x, Y: %w1) -> (Z: %h)
%act = operation op:gelu (tensor: %h) -> (result: %a)
%down = operation op:matmul (X: %a, Y: %w2) -> (Z: %y)
`

// priced lays the layer over 4 devices of a node of H100s.
func priced(t *testing.T, tensors string, allow permission.Set) (*Report, []price.Kernel, *reshard.Place) {
	t.Helper()
	g, err := text.Read([]byte(layer), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planfile.Parse("p.json", []byte(`{"version": 1, "mesh": [{"axis": "t", "size": 4}], "tensors": [`+tensors+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Preset("8xh100")
	if err != nil {
		t.Fatal(err)
	}
	lib := kernels.Builtin()
	_, r, err := propagate.Run(g, plan, propagate.Settings{Library: lib, Allow: allow, Split: split.One, Machine: m, Kind: "cuda"})
	if err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	if err := standard.Run(g, lib, lower.Options{Target: schedule.CUDA, Allow: allow}); err != nil {
		t.Fatal(err)
	}
	list, err := price.Program(g, m, price.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	place, err := reshard.On(m, "cuda", plan.Mesh)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Of(m.Name, g, r, list, place)
	if err != nil {
		t.Fatal(err)
	}
	return out, list, place
}

// sum adds the kernels of which one device has a part.
func sum(list []price.Kernel, of int) (seconds float64) {
	for _, k := range list {
		seconds += k.Time.Value / float64(of)
	}
	return seconds
}

// Columns, then rows, as tensor-parallel layers have it: kernels at a quarter, and one all-reduce of the result behind them, of 64 by 256 float32.
func TestTensorParallel(t *testing.T) {
	r, list, place := priced(t, `{"tensor": "w1", "dims": ["", "t"]}`, permission.Reassociate)
	ring, err := collective.Of(place.Layout, collective.AllReduce, []int64{0, 1, 2, 3}, 64*256*4)
	if err != nil {
		t.Fatal(err)
	}
	// one of the products has the combination fused with it, and so reads a little more than a quarter
	if want := sum(list, 4) + ring[0].Seconds.Value; r.Result.Seconds < want || r.Result.Seconds > 1.01*want {
		t.Errorf("%v s, expected %v", r.Result.Seconds, want)
	}
	if len(r.Transfers) != 1 || r.Transfers[0].Bytes.Int64() != 2*3*64*256*4 || math.Abs(r.Result.Links["nvlink"]-4*ring[0].Bytes) > 1e-6 {
		t.Errorf("%+v, %v", r.Transfers, r.Result.Links)
	}
	// x, and a quarter of both matrices and of what is between them, and the result
	if least := 4.0 * (64*256 + 2*256*256 + 64*256); r.Peak() < least || r.Peak() > least+4*2*64*256 {
		t.Errorf("%v bytes, expected %v and a quarter of the activations", r.Peak(), least)
	}
	if r.Joules <= 0 || r.Result.Idle() <= 0 || r.Result.Idle() >= 1 || r.Kernels < 2 || r.Time.Low > r.Time.Value || r.Time.High < r.Time.Value {
		t.Errorf("%+v", r)
	}
}

// Without the permission the second product is done by all devices, on what is gathered; rows need nothing at all.
func TestOtherLayouts(t *testing.T) {
	whole, _, _ := priced(t, `{"tensor": "w1", "dims": ["", "t"]}`, 0)
	parts, _, _ := priced(t, `{"tensor": "w1", "dims": ["", "t"]}`, permission.Reassociate)
	rows, _, _ := priced(t, `{"tensor": "x", "dims": ["t", ""]}`, 0)
	if whole.Operations <= parts.Operations || len(whole.Result.Links) != 1 || !strings.Contains(strings.Join(whole.Names, " "), "all-gather") {
		t.Errorf("gathered: %+v", whole.Result)
	}
	if len(rows.Result.Links) != 0 || rows.Result.Idle() > 1e-9 {
		t.Errorf("rows: %+v", rows.Result)
	}
}

// The terms of each way add up to its time, and what the ways that are taken send is what passes links, whichever algorithms they are.
func TestTerms(t *testing.T) {
	ways := 0
	for _, allow := range []permission.Set{0, permission.Reassociate} {
		r, _, _ := priced(t, `{"tensor": "w1", "dims": ["", "t"]}, {"tensor": "w2", "dims": ["", "t"]}, {"tensor": "y", "dims": ["t", ""]}`, allow)
		sent, links := 0.0, 0.0
		for _, x := range r.Transfers {
			sent += x.Ways[0].Sent.Bytes()
			for _, way := range x.Ways {
				sum := 0.0
				for _, term := range way.Terms {
					sum += term.Seconds
				}
				if ways++; math.Abs(sum-way.Seconds.Value) > 1e-9*way.Seconds.Value {
					t.Errorf("%s: terms of %v, and %v", way.Words, sum, way.Seconds.Value)
				}
			}
		}
		for _, bytes := range r.Result.Links {
			links += bytes
		}
		if sent == 0 || math.Abs(sent-links) > 1e-9*links {
			t.Errorf("transfers send %v bytes, and %v pass links", sent, links)
		}
	}
	if ways < 6 {
		t.Errorf("only %d ways", ways)
	}
}
