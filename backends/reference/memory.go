package reference

import (
	"math"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/memory"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// CheckMemory is an error of the machine if it has no room for the values of a graph, inputs included: Evaluate holds all of them until
// it ends. It is for those who make the inputs; Evaluate asks itself.
func CheckMemory(g *ir.Graph) error {
	const always = 64 << 20 // what any machine has, so that small graphs do not ask the system
	need := bytesOf(g)
	if need <= always {
		return nil
	}
	if have := memory.Available(); need > have {
		return diag.Fault("the reference evaluator needs %d bytes for the values of this graph, and %d can be had", need, have)
	}
	return nil
}

// bytesOf adds up what the evaluator holds: tensors, or the buffers and arenas of a schedule. math.MaxInt64 stands for more than that.
func bytesOf(g *ir.Graph) int64 {
	tensors, buffers, scheduled := total(0), total(0), false
	arenas := map[ir.NodeID]int64{}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *tensorops.Tensor:
			tensors.add(sizeOf(b))
		case *schedule.Buffer:
			scheduled = true
			if b.InArena() {
				arenas[b.Device] = max(arenas[b.Device], b.Offset+b.Bytes)
			} else if b.Space != schedule.Arena {
				buffers.add(b.Bytes)
			}
		}
	}
	if !scheduled {
		return int64(tensors)
	}
	for _, bytes := range arenas {
		buffers.add(bytes)
	}
	return int64(buffers)
}

// total is a sum of bytes that stops at the greatest number.
type total int64

func (t *total) add(n int64) { *t = min(*t, math.MaxInt64-total(n)) + total(n) }

func sizeOf(t *tensorops.Tensor) int64 {
	n, err := t.Range.Size()
	size := int64(max(1, t.Type().Size()))
	if err != nil || n > math.MaxInt64/size {
		return math.MaxInt64
	}
	return n * size
}
