package rows

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
)

// deciding is a kernel whose config is made or read: nothing of it is written.
type deciding struct {
	t       isa.Target
	k       *schedule.Kernel
	buffers map[ir.NodeID]*schedule.Buffer
	found   *nest.Rows
	few     bool
}

func newDeciding(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows) *deciding {
	x := &deciding{t: t, k: k, buffers: buffers, found: found}
	if lanes, ok := fewElements(t, k, buffers, found); ok {
		x.found, x.few = lanes, true
	}
	return x
}

// of gives the kernel with some lanes.
func (x *deciding) of(lanes int64) *Kernel {
	r := Of(x.t, x.k, x.buffers, x.found, lanes)
	r.few = x.few
	return r
}

// Complete adds to a stage what is decided beside the cuts of the loops, which a kernel has already.
func Complete(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) {
	x := newDeciding(t, k, buffers, found)
	CompleteLanes(t, k, buffers, x.found, s)
	r := x.of(s.Lanes)
	if r.span = r.findSpan(spanCells); r.span != nil {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleLine, Sizes: []int64{r.span.cells}})
	} else if r.decided.jam = usualJam(r); r.decided.jam != nil {
		r.decided.jam.write(s, r)
	}
	if part := usualPart(r); part > 0 {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleK, Sizes: []int64{part}})
	}
	for i, o := range k.Operands {
		if canStream(r, i) && x.streams(buffers[o.Buffer]) {
			s.Stream = append(s.Stream, o.Name)
		}
	}
}

// CompleteLanes adds to a stage how many lanes vectors have, where these are fewer than those of the target.
func CompleteLanes(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) {
	r := Of(t, k, buffers, found, 0)
	if n := r.fullLanes(int(r.n)); n < int(r.n) {
		s.Lanes = int64(n)
	}
}

// Read reads a stage, for vectors of a target. The error says why the kernel cannot be carried out so.
func Read(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, s *schedule.Stage) (Decided, error) {
	x, d := newDeciding(t, k, buffers, found), Decided{lines: 1, lanes: s.Lanes, stream: s.Stream}
	if err := CheckLanes(t, k, x.found, s); err != nil {
		return d, err
	}
	r := x.of(d.lanes)
	if line := s.Tile(schedule.RoleLine); line != nil {
		if err := d.readLines(r, line); err != nil {
			return d, err
		}
	}
	if element := s.Tile(schedule.RoleElement); len(element) == 2 {
		if err := d.readVectors(r, element[1]); err != nil {
			return d, err
		}
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

// readLines reads how many lines are computed together: neighbours of a span, or jammed ones.
func (d *Decided) readLines(r *Kernel, line []int64) error {
	most := int64(1)
	if r.span = r.findSpan(spanCells); r.span != nil {
		most = r.span.cells
	} else if d.jam = findJam(r); d.jam != nil {
		most = d.jam.cells
	}
	switch {
	case len(line) != 1 || line[0] < 2 || line[0] > most:
		return fmt.Errorf("line is cut into %v: expected one size from 2 to %d, of lines that are computed together", line, most)
	case r.span != nil:
		d.lines = line[0]
	default:
		d.jam.cells = line[0]
		r.decided.jam = d.jam
	}
	return nil
}

// readVectors reads how many elements of a row are in vectors that are jammed.
func (d *Decided) readVectors(r *Kernel, elements int64) error {
	j := findVectors(r)
	switch {
	case j == nil || d.jam != nil:
		return fmt.Errorf("element is cut twice: expected one size, but of long reductions beside rows, of which no lines are computed together")
	case elements%r.n != 0 || elements < 2*r.n || elements > j.cells*r.n:
		return fmt.Errorf("%d elements are computed together: expected a multiple of the %d of a vector, from %d to %d", elements, r.n, 2*r.n, j.cells*r.n)
	}
	j.cells = elements / r.n
	d.jam, r.decided.jam = j, j
	return nil
}

// write adds a jam of a kernel to a stage.
func (j *jam) write(s *schedule.Stage, r *Kernel) {
	if !j.vectors() {
		s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleLine, Sizes: []int64{j.cells}})
		return
	}
	group := j.cells * r.n
	i := slices.IndexFunc(s.Tiles, func(t schedule.Tiling) bool { return t.Role == schedule.RoleElement })
	if s.Tiles[i].Sizes = []int64{isa.Align(min(s.Tiles[i].Sizes[0], r.Lane.Extent), group), group}; j.cells == 1 {
		s.Tiles[i].Sizes = s.Tiles[i].Sizes[:1]
	}
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
		add("lines read some of the same elements", without(schedule.RoleLine))
	}
	r := newDeciding(t, k, buffers, found).of(s.Lanes)
	if j := findJam(r); j != nil && r.findSpan(spanCells) == nil {
		for cells := j.cells; cells > 1; cells /= 2 {
			if line := s.Tile(schedule.RoleLine); line == nil || line[0] != cells {
				add("lines in the same loops have little work in common, or threads would have too few of them", func(y *schedule.Stage) {
					without(schedule.RoleLine)(y)
					y.Tiles = append(y.Tiles, schedule.Tiling{Role: schedule.RoleLine, Sizes: []int64{cells}})
				})
			}
		}
	}
	if j := findVectors(r); j != nil && s.Tile(schedule.RoleLine) == nil {
		for cells := j.cells; cells > 0; cells /= 2 {
			if len(s.Tile(schedule.RoleElement)) < 2 || s.Tile(schedule.RoleElement)[1] != cells*r.n {
				add("sums of few vectors wait for each other", func(y *schedule.Stage) {
					(&jam{axis: beside, cells: cells}).write(y, r)
				})
			}
		}
	}
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
		case canStream(r, i) && nest.OperandBytes(k, buffers) >= leastStream:
			add("whoever reads the result finds it in a cache", func(y *schedule.Stage) { y.Stream = append(y.Stream, o.Name) })
		}
	}
	return out, why
}

// streams says whether a result goes past the caches if those of the machine keep nothing of it: of what another kernel may read, second caches keep a part that the measure of the program's
// threads does not know of.
func (x *deciding) streams(result *schedule.Buffer) bool {
	bytes := nest.OperandBytes(x.k, x.buffers)
	return bytes >= streamBytes || bytes >= leastStream && result.Space == schedule.Output
}
