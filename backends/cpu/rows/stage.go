package rows

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
)

// Decided is what a config says of rows beside the cuts of their loops.
type Decided struct {
	lanes  int64    // of a vector, 0 for as many as the target has
	lines  int64    // that are computed together
	part   int64    // of the outermost dimension that is reduced, which a task has; 0 for all
	stream []string // results that go past the caches
}

// What pays.
const (
	streamBytes        = 32 << 20 // of results, from which they go past the caches: nothing of them would be left there for whoever reads them
	partialNanoseconds = 50000    // that a kernel takes on one thread, from which its reduction is split
	fewTasks           = 16       // from so many on, there are tasks enough for threads
	partialBlocks      = 32       // that there are at least, where the tree has as many
)

// deciding is a kernel whose config is made or read: nothing of it is written.
type deciding struct {
	t       isa.Target
	k       *schedule.Kernel
	buffers map[ir.NodeID]*schedule.Buffer
	found   *nest.Rows
}

// of gives the kernel with some lanes.
func (x *deciding) of(lanes int64) *Kernel {
	return Of(unit.New(&unit.Memory{Buffers: x.buffers}, x.t, ""), "", x.k, x.found, lanes)
}

// Fits says whether there are vectors for what a kernel computes.
func Fits(k *schedule.Kernel) bool {
	return !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool { return !vector.CanVectorize(s.Value) })
}

// Complete adds to a stage what is decided beside the cuts of the loops, which a kernel has already.
func Complete(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) {
	x := deciding{t, k, buffers, found}
	CompleteLanes(t, k, buffers, found, s)
	r := x.of(s.Lanes)
	if r.span = r.findSpan(spanCells); r.span != nil {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleLine, Sizes: []int64{r.span.cells}})
	}
	if part := usualPart(r); part > 0 {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleK, Sizes: []int64{part}})
	}
	for i, o := range k.Operands {
		if canStream(r, i) && buffers[o.Buffer].Bytes >= streamBytes {
			s.Stream = append(s.Stream, o.Name)
		}
	}
}

// CompleteLanes adds to a stage how many lanes vectors have, where these are fewer than those of the target.
func CompleteLanes(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) {
	r := (&deciding{t, k, buffers, found}).of(0)
	if n := r.fullLanes(r.p.N); n < r.p.N {
		s.Lanes = int64(n)
	}
}

// usualPart is the part of a reduction that a task has where it pays to split it, 0 elsewhere: the largest that makes tasks enough.
func usualPart(r *Kernel) (part int64) {
	p := partialOf(r)
	if p == nil || tasks(r) >= fewTasks || r.e.Nanoseconds(r.k, unit.VectorRate*float64(r.p.N)) < partialNanoseconds {
		return 0
	}
	for i, size := range p.sizes() {
		if i == 0 || (p.extent+size-1)/size >= partialBlocks {
			part = size
		}
	}
	return part
}

// Read reads a stage, for vectors of a target. The error says why the kernel cannot be carried out so.
func Read(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) (Decided, error) {
	x, d := deciding{t, k, buffers, found}, Decided{lines: 1, lanes: s.Lanes, stream: s.Stream}
	if err := CheckLanes(t, k, found, s); err != nil {
		return d, err
	}
	r := x.of(d.lanes)
	if line := s.Tile(schedule.RoleLine); line != nil {
		most := int64(1)
		if r.span = r.findSpan(spanCells); r.span != nil {
			most = r.span.cells
		}
		if len(line) != 1 || line[0] < 2 || line[0] > most {
			return d, fmt.Errorf("line is cut into %v: expected one size from 2 to %d, of lines that read some of the same elements", line, most)
		}
		d.lines = line[0]
	}
	if part := s.Tile(schedule.RoleK); part != nil {
		var sizes []int64
		if p := partialOf(r); p != nil {
			sizes = p.sizes()
		}
		if len(part) != 1 || !slices.Contains(sizes, part[0]) {
			return d, fmt.Errorf("k is cut into %v: expected one size of %v, where parts of the reduction begin that threads can have", part, sizes)
		}
		d.part = part[0]
	}
	for i, name := range s.Stream {
		operand := slices.IndexFunc(k.Operands, func(o schedule.Operand) bool { return o.Name == name && o.Mode == schedule.Write })
		if operand < 0 || slices.Contains(s.Stream[:i], name) || !canStream(r, operand) {
			return d, fmt.Errorf("%s does not go past the caches: expected results, each once, of whole vectors that a single sweep writes", name)
		}
	}
	return d, nil
}

// CheckLanes says why vectors cannot have as many lanes as a stage says.
func CheckLanes(t isa.Target, k *schedule.Kernel, found *nest.Rows, s *schedule.Stage) error {
	size := widest(k, found)
	full := t.Lanes(size)
	if n := s.Lanes; n != 0 && (!found.Free || n < 1 || n >= int64(full) || n&(n-1) != 0 || int(n)*size < vector.LeastBytes) {
		return fmt.Errorf("vectors of %d lanes: expected a power of two below %d, of %d bytes at least, where results lie along lanes; or nothing about them", n, full, vector.LeastBytes)
	}
	return nil
}

// Workspaces says what a kernel has for itself: accumulators of the parts of its reduction.
func Workspaces(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, d Decided) []schedule.Workspace {
	if d.part == 0 {
		return nil
	}
	r := New(unit.New(&unit.Memory{Buffers: buffers}, t, ""), "", k, found, d)
	return schedule.WorkspacesOf(partialOf(r).of(d.part).bytes(), 0)
}

// Others gives the stages that differ from what Complete made in one choice, with why that does not pay.
func Others(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) (out []schedule.Stage, why []error) {
	add := func(reason string, edit func(y *schedule.Stage)) {
		y := *s
		y.Tiles, y.Stream = slices.Clone(s.Tiles), slices.Clone(s.Stream)
		edit(&y)
		out, why = append(out, y), append(why, fmt.Errorf("%s", reason))
	}
	without := func(role schedule.Role) func(y *schedule.Stage) {
		return func(y *schedule.Stage) {
			y.Tiles = slices.DeleteFunc(y.Tiles, func(t schedule.Tiling) bool { return t.Role == role })
		}
	}
	if s.Tile(schedule.RoleLine) != nil {
		add("neighbouring lines read some of the same elements", without(schedule.RoleLine))
	}
	x := deciding{t, k, buffers, found}
	r := x.of(s.Lanes)
	if part := s.Tile(schedule.RoleK); part != nil {
		add("tasks of rows alone are too few for threads", without(schedule.RoleK))
		for _, size := range partialOf(r).sizes() {
			if size != part[0] {
				add("parts of another size are fewer than threads want, or more than they need", func(y *schedule.Stage) {
					without(schedule.RoleK)(y)
					y.Tiles = append(y.Tiles, schedule.Tiling{Role: schedule.RoleK, Sizes: []int64{size}})
				})
			}
		}
	}
	if s.Lanes > 0 {
		add("whole vectors would be partly empty", func(y *schedule.Stage) { y.Lanes = 0 })
	}
	for i, o := range k.Operands {
		switch at := slices.Index(s.Stream, o.Name); {
		case at >= 0:
			add("nothing of the result would be left in a cache", func(y *schedule.Stage) { y.Stream = slices.Delete(y.Stream, at, at+1) })
		case canStream(r, i):
			add("whoever reads the result finds it in a cache", func(y *schedule.Stage) { y.Stream = append(y.Stream, o.Name) })
		}
	}
	return out, why
}
