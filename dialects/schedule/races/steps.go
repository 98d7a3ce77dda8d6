// Package races is the constraints on the order of a schedule's steps: kernels and transfers that are not ordered may run at the same time, so whoever
// reads waits for whoever writes (Order), across sequence points (Sequence), where a buffer lies over another (SharedMemory), and where buffers have
// the bytes of others before them (Arena).
//
// It compares the cells that steps touch, which dialects/schedule/uses finds, and must not import the constraints on one kernel or buffer alone, which
// have passed when it runs. Read next: ir/waits, which decides who waits for whom, then dialects/schedule/constraints, which lists all constraints.
package races

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/waits"
)

// steps are the kernels and transfers of a graph whose order has no cycle, numbered as in Order.
type steps struct {
	ids    []ir.NodeID // by number
	number []int32     // by node id; -1 for other nodes
	after  [][]int32   // by number: what the step waits for directly, ascending
	order  *waits.Order
}

// stepsOf numbers the steps of a graph.
func stepsOf(c *check.Context) *steps {
	return check.Cached(c, "schedule.steps", func() *steps {
		g := c.Graph()
		s := &steps{number: make([]int32, g.Bound())}
		s.ids, _ = schedule.Order(g) // ScheduleOrderConstraint has found no cycle
		for i := range s.number {
			s.number[i] = -1
		}
		for i, id := range s.ids {
			s.number[id] = int32(i)
		}
		s.after = make([][]int32, len(s.ids))
		for i, id := range s.ids {
			after, _ := schedule.After(g.Node(id))
			for _, a := range after {
				s.after[i] = append(s.after[i], s.number[a])
			}
			slices.Sort(s.after[i])
		}
		s.order = waits.New(s.after)
		return s
	})
}
