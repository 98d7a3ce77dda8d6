// Package scans writes kernels in stages, of which all values of a reduction are computed together. It must not import backends/cpu. Read next: staged.go,
// dialects/schedule/nest/scan.
package scans

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
)

// Staged writes a kernel of which some folds have a form in which all of their values are computed together: a function for one
// point of the loops that stay free, and the loop over those points, in shares with scratch memory of their own.
type Staged struct {
	*cnest.Text
	nest   *Nest
	e      *unit.Unit
	name   string
	points int64 // of the free loops
	shares int64
	bytes  int64 // of the scratch memory of a share
	slot   int
}

const (
	maxStage  = 1 << 31  // bytes of scratch memory for one point
	maxStages = 64 << 20 // bytes of scratch memory for several at a time
	maxShares = 64       // into which the points are divided
	strip     = 64       // values side by side that are one thread's at least; divides every tile of them
)

// CheckStaged says what a kernel that is written so has for itself, or why there is no such kernel: one point needs too much.
func CheckStaged(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *scan.Scans) ([]schedule.Workspace, error) {
	s, err := shared(newStages(k, buffers, cexpr.NewWriter(), new(cnest.Text), found))
	return schedule.WorkspacesOf(s.shares*s.bytes, 0), err
}

// stageBytes is the scratch memory that points need, one at a time.
func stageBytes(n *Nest) (bytes int64, err error) {
	for _, a := range n.Arrays() {
		if a.Count > maxStage/a.Bytes {
			return 0, fmt.Errorf("%d values of %s for one point: expected %d bytes at most", a.Count, a.Name, maxStage)
		}
		bytes += isa.Align(a.Count*a.Bytes, 64)
	}
	if bytes > maxStage {
		return 0, fmt.Errorf("%d bytes for one point: expected %d at most", bytes, maxStage)
	}
	return bytes, nil
}

// NewStaged prepares a kernel that passes CheckStaged.
func NewStaged(k *schedule.Kernel, name string, e *unit.Unit, found *scan.Scans) *Staged {
	s, _ := shared(newStages(k, e.Buffers, e.W, new(cnest.Text), found))
	s.e, s.name = e, name
	if s.bytes > 0 {
		s.slot = e.Scratch(s.shares * s.bytes)
	}
	return s
}

// shared divides the points of a kernel.
func shared(n *Nest) (*Staged, error) {
	s, err := &Staged{Text: n.Text, nest: n, points: 1}, error(nil)
	for _, l := range n.Free {
		s.points *= s.places(l)
	}
	s.bytes, err = stageBytes(n)
	s.shares = min(maxShares, s.points, max(1, maxStages/max(1, s.bytes)))
	return s, err
}

// places is the number of points along a free loop, or of strips if its values are computed side by side.
func (s *Staged) places(loop int) int64 {
	if len(s.nest.Lanes) > 0 && s.nest.Lanes[0].Loop == loop {
		return (s.nest.Kernel.Loops[loop].Extent() + strip - 1) / strip
	}
	return s.nest.Kernel.Loops[loop].Extent()
}

// Write writes the whole kernel.
func (s *Staged) Write() string {
	s.point()
	unit.Task(s.Text, "", fmt.Sprintf("%s_task", s.name), "")
	if len(s.nest.Lanes) > 0 {
		s.strips(s.nest.Lanes[0])
	} else {
		s.eachPoint()
	}
	s.Close()
	s.Line("")
	s.e.Open(s.Text, s.name)
	bytes := s.e.OperandBytes(s.nest.Kernel) + float64(s.points)*float64(s.bytes)
	s.Line("tapc_parallel(pool, %d, %s, %s_task, (void *)b);", s.shares, unit.Each(bytes/unit.StagedRate, s.shares), s.name)
	s.Close()
	return s.String()
}

// eachPoint writes the calls of a task for the points of its shares.
func (s *Staged) eachPoint() {
	s.Open("for (int64_t share = begin; share < end; share++) {")
	memory := "0"
	if s.bytes > 0 {
		s.Line("char *const memory = (char *)b[%d] + share * %d;", s.slot, s.bytes)
		memory = "memory"
	}
	s.Open("for (int64_t point = share * %d / %d; point < (share + 1) * %d / %d; point++) {", s.points, s.shares, s.points, s.shares)
	s.Line("%s_point(b, %s%s);", s.name, memory, s.variables())
	s.Close(2)
}

// strips writes the calls of a task whose values are computed side by side: for as many strips of neighbours together as it has.
func (s *Staged) strips(x Lane) {
	v, places, end := Variable(x.Loop), s.places(x.Loop), s.nest.Kernel.Loops[x.Loop].End
	s.Line("const int64_t last = end * %d / %d;", s.points, s.shares)
	s.Open("for (int64_t point = begin * %d / %d, count; point < last; point += count) {", s.points, s.shares)
	s.Line("count = %d - point %% %d;", places, places)
	s.Line("if (count > last - point) count = last - point;")
	s.Line("if (count > %d) count = %d;", x.Tile/strip, x.Tile/strip)
	variables := s.variables()
	s.Line("const int n%d = (int)(%d - %s < count * %d ? %d - %s : count * %d);", x.Loop, end, v, strip, end, v, strip)
	s.Line("%s_point(b, 0%s, n%d);", s.name, variables, x.Loop)
	s.Close()
}

// variables writes where the free loops are at a point, and gives the arguments that say so.
func (s *Staged) variables() string {
	args, rest := "", s.points
	for _, l := range s.nest.Free {
		step := ""
		if len(s.nest.Lanes) > 0 && s.nest.Lanes[0].Loop == l {
			step = fmt.Sprintf(" * %d", strip)
		}
		rest /= s.places(l)
		s.Line("const int64_t %s = point / %d %% %d%s + %d;", Variable(l), rest, s.places(l), step, s.nest.Kernel.Loops[l].Start)
		args += ", " + Variable(l)
	}
	return args
}

// point writes the function of one point of the free loops.
func (s *Staged) point() {
	s.Open("static void %s_point(void *const *b, char *memory%s) {", s.name, parameters(s.nest))
	pointers(s.nest, s.e)
	s.Line("(void)b, (void)memory;")
	for _, l := range s.nest.Free {
		s.Line("(void)%s;", Variable(l))
	}
	at := int64(0)
	for _, a := range s.nest.Arrays() {
		s.Line("%s *restrict %s = (%s *)(memory + %d);", a.Type, a.Name, a.Type, at)
		at += isa.Align(a.Count*a.Bytes, 64)
	}
	s.nest.Statements()
	s.Close()
}

// parameters lists the variables of the free loops, and how many lanes there are, as parameters.
func parameters(n *Nest) string {
	text := ""
	for _, l := range n.Free {
		text += ", int64_t " + Variable(l)
	}
	for _, x := range n.Lanes {
		text += fmt.Sprintf(", int n%d", x.Loop)
	}
	return text
}

// pointers declares the pointers of all operands.
func pointers(n *Nest, e *unit.Unit) {
	for i := range n.Kernel.Operands {
		point.Pointers(n.Text, e, n.Kernel, []int{i})
		n.Line("(void)p%d;", i)
	}
}
