package cpu

import (
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule"
)

// staged writes a kernel of which some folds have a form in which all of their values are computed together: a function for one
// point of the loops that stay free, and the loop over those points, in shares with scratch memory of their own.
type staged struct {
	*cnest.Nest
	e      *emitter
	number int
	points int64 // of the free loops
	shares int64
	bytes  int64 // of the scratch memory of a share
	slot   int
}

const (
	maxStage  = 1 << 31  // bytes of scratch memory for one point
	maxStages = 64 << 20 // bytes of scratch memory for several at a time
	maxShares = 64       // into which the points are divided
)

// newStaged prepares a kernel; nil if it is none of this kind.
func newStaged(k *schedule.Kernel, number int, e *emitter) *staged {
	n := cnest.NewStaged(k, e.buffers, e.w, new(cnest.Text))
	if n == nil {
		return nil
	}
	s := &staged{Nest: n, e: e, number: number, points: 1}
	for _, l := range n.Free {
		s.points *= k.Loops[l].Extent()
	}
	for _, a := range n.Arrays() {
		if a.Count > maxStage/a.Bytes {
			return nil
		}
		s.bytes += roundUp(a.Count*a.Bytes, 64)
	}
	if s.bytes > maxStage {
		return nil
	}
	s.shares = min(maxShares, s.points, max(1, maxStages/max(1, s.bytes)))
	if s.bytes > 0 {
		s.slot = e.needScratch(s.shares * s.bytes)
	}
	return s
}

// write writes the whole kernel.
func (s *staged) write() string {
	s.point()
	s.Line("")
	s.Open("static void k%d_task(void *ctx, int64_t begin, int64_t end, int worker) {", s.number)
	s.Line("void *const *b = ctx;")
	s.Line("(void)worker;")
	s.Open("for (int64_t share = begin; share < end; share++) {")
	memory := "0"
	if s.bytes > 0 {
		s.Line("char *const memory = (char *)b[%d] + share * %d;", s.slot, s.bytes)
		memory = "memory"
	}
	s.Open("for (int64_t point = share * %d / %d; point < (share + 1) * %d / %d; point++) {", s.points, s.shares, s.points, s.shares)
	args := "b, " + memory
	rest := s.points
	for _, l := range s.Free {
		loop := s.Kernel.Loops[l]
		rest /= loop.Extent()
		s.Line("const int64_t %s = point / %d %% %d + %d;", cnest.Variable(l), rest, loop.Extent(), loop.Start)
		args += ", " + cnest.Variable(l)
	}
	s.Line("k%d_point(%s);", s.number, args)
	s.Close()
	s.Close()
	s.Close()
	s.Line("")
	s.e.open(s.Text, s.number)
	bytes := s.e.operandBytes(s.Kernel) + float64(s.points)*float64(s.bytes)
	s.Line("tapc_parallel(pool, %d, %s, k%d_task, (void *)b);", s.shares, each(bytes/stagedRate, s.shares), s.number)
	s.Close()
	return s.String()
}

// point writes the function of one point of the free loops.
func (s *staged) point() {
	params := ""
	for _, l := range s.Free {
		params += ", int64_t " + cnest.Variable(l)
	}
	s.Open("static void k%d_point(void *const *b, char *memory%s) {", s.number, params)
	all := make([]int, len(s.Kernel.Operands))
	for i := range all {
		all[i] = i
	}
	pointers(s.Text, s.e, s.Kernel, all)
	for i := range all {
		s.Line("(void)p%d;", i)
	}
	s.Line("(void)b, (void)memory;")
	for _, l := range s.Free {
		s.Line("(void)%s;", cnest.Variable(l))
	}
	at := int64(0)
	for _, a := range s.Arrays() {
		s.Line("%s *restrict %s = (%s *)(memory + %d);", a.Type, a.Name, a.Type, at)
		at += roundUp(a.Count*a.Bytes, 64)
	}
	s.Statements()
	s.Close()
}
