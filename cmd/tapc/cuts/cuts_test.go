package cuts

import (
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// graph makes a graph of one call.
func graph(d *declaration.Kernel, c *infer.Call) (*ir.Graph, *ir.Node) {
	g := ir.New()
	side := func(ports []infer.Port) ir.Ports {
		var list []ir.Port
		for _, p := range ports {
			port := ir.Port{Name: p.Name}
			for _, s := range p.Sel {
				t := g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: s.Sel.Range()}, "")
				port.Sel = append(port.Sel, ir.Select(t.ID, s.Sel.Range()))
			}
			list = append(list, port)
		}
		return ir.PortsOf(list)
	}
	return g, g.Add(&tensorops.Operation{Kernel: d.Name, Params: c.Params, Inputs: side(c.Inputs), Outputs: side(c.Outputs)}, "op")
}

// The halo that is stated of a dimension is the one that two neighbouring shards have, wherever an operation is cut; where it is free
// there is none. Of random calls of all kernels.
func TestHalosAreThoseOfShards(t *testing.T) {
	lib, rnd := kernels.Builtin(), rand.New(rand.NewPCG(18, 1))
	compared := 0
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		for range 3 {
			c, err := sample.Call(d, rnd, scalar.Float32)
			if err != nil || c == nil {
				continue
			}
			g, n := graph(d, c)
			list, err := Of(g, lib, "op")
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %v", name, list, err)
			}
			in, err := lib.BindOperation(g, n.ID)
			if err != nil {
				t.Fatal(err)
			}
			inputs, _, err := in.Signature()
			if err != nil {
				t.Fatal(err)
			}
			reads := in.Pieces(inputs)
			for j := range in.Index().Start {
				compared += check(t, name, list[0].Dimensions[j], inputs, &reads, in.Index(), j)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d cuts were compared", compared)
	}
}

// check cuts along dimension j at every place, and gives the number of cuts.
func check(t *testing.T, name string, d Dimension, inputs ir.PortMaps, reads *tensorops.Reads, index zspace.Range, j int) (cuts int) {
	t.Helper()
	for at := index.Start[j] + 1; at < index.End[j]; at++ {
		low, high := index.Clone(), index.Clone()
		low.End[j], high.Start[j] = at, at
		cuts++
		for _, p := range inputs {
			for entry, m := range p.Maps {
				a, errA := reads.Selects(p.Name, entry, m, low)
				b, errB := reads.Selects(p.Name, entry, m, high)
				if errA != nil || errB != nil || a.Empty() || b.Empty() || a.Equal(b) {
					continue
				}
				for k := range a.Start {
					both := min(a.End[k], b.End[k]) - max(a.Start[k], b.Start[k])
					if a.Start[k] == b.Start[k] && a.End[k] == b.End[k] || both <= 0 || d.Extent > maxPlaces {
						continue
					}
					stated := int64(-1)
					for _, x := range d.Inputs {
						if x.Port == p.Name && x.Entry == entry && x.Dimension == k {
							stated = x.Halo
						}
					}
					if stated < both || d.Cut != Halo {
						t.Errorf("%s: dimension %s is %s with a halo of %d of %s[%d] along %d; cut at %d, parts share %d", name, d.Name, d.Cut, stated, p.Name, entry, k, at, both)
					}
				}
			}
		}
	}
	return cuts
}
