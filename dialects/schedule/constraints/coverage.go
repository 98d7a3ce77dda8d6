package constraints

import (
	"fmt"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

var kernelLoopCoverage = check.Constraint{
	ID: "KernelLoopCoverageConstraint",
	Doc: "The loops of a kernel's stored statements cover exactly the output boxes of its applications: every cell that is stored to a " +
		"tensor's buffer belongs to an output box of that tensor (a sink's kernel may store the tensor that it takes), none is stored " +
		"twice to a buffer, and a box is stored whole or not at all. A box that is not stored is a value inside kernels: every kernel " +
		"that carries out a consumer is the same kernel, or reads the tensor from elsewhere, or reads all that the application reads " +
		"and computes it again; and there is a consumer.",
	Requires: []string{"OperandViewContainmentConstraint", "KernelApplicationAgreementConstraint", "ApplicationOutputRangeCoverageIsExactConstraint"},
	Codes: []check.Code{
		{ID: "TAP0371", Meaning: "a kernel stores cells that are no output of its applications"},
		{ID: "TAP0372", Meaning: "a kernel stores a cell of a buffer twice"},
		{ID: "TAP0373", Meaning: "a kernel leaves a part of an output box unstored"},
		{ID: "TAP0374", Meaning: "an output box is not stored, but needed elsewhere, or an output of the program"},
		{ID: "TAP0375", Meaning: "a warning: whether a kernel stores its output boxes exactly could not be decided"},
	},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			s := &storeCheck{c: c, n: n, k: k, needs: map[ir.NodeID]*need{}}
			s.run()
		}
	},
}

// storeCheck compares what a kernel stores with what its applications put out.
type storeCheck struct {
	c       *check.Context
	n       *ir.Node
	k       *schedule.Kernel
	tensors []ir.NodeID // the keys of needs, in the order in which they are met
	needs   map[ir.NodeID]*need
}

// need is what a kernel must and may store of one tensor.
type need struct {
	boxes  []zspace.Range // output boxes with cells
	apps   []*ir.Node     // whose they are
	taken  []zspace.Range // boxes that sinks take
	stores []store
}

// store is one stored statement.
type store struct {
	use    uses.Use
	buffer ir.NodeID
	image  images.Image
}

func (s *storeCheck) of(tensor ir.NodeID) *need {
	n := s.needs[tensor]
	if n == nil {
		n = &need{}
		s.needs[tensor] = n
		s.tensors = append(s.tensors, tensor)
	}
	return n
}

func (s *storeCheck) run() {
	g := s.c.Graph()
	for _, id := range s.k.Applications {
		app := application.ApplicationOf(g, id)
		app.Outputs.All(func(_, _ int, sel *ir.Selection) {
			if n := s.of(sel.Tensor); !sel.Range().Empty() {
				n.boxes, n.apps = append(n.boxes, sel.Range()), append(n.apps, g.Node(id))
			}
		})
		if tensorops.OperationOf(g, app.Operation).IsSink() {
			app.Inputs.All(func(_, _ int, sel *ir.Selection) {
				n := s.of(sel.Tensor)
				n.taken = append(n.taken, sel.Range())
			})
		}
	}
	for _, u := range uses.In(s.c)[s.n.ID] {
		if id := s.k.Operands[u.Operand].Buffer; u.Write && !u.Never && schedule.BufferOf(s.c.Graph(), id).Tensor != ir.NoNode {
			n := s.of(schedule.BufferOf(s.c.Graph(), id).Tensor)
			n.stores = append(n.stores, store{u, id, u.Image(s.k)})
		}
	}
	for _, t := range s.tensors {
		s.tensor(t, s.needs[t])
	}
}

func (s *storeCheck) tensor(t ir.NodeID, n *need) {
	good := true
	for _, st := range n.stores {
		good = s.inside(t, n, st) && good
	}
	good = s.once(n) && good
	switch {
	case len(n.boxes) == 0 || !good:
	case len(n.stores) == 0:
		s.local(t, n)
	default:
		s.whole(t, n)
	}
}

func (s *storeCheck) at(st store) string { return fmt.Sprint("/body/statements/", st.use.Statement) }

func (s *storeCheck) name(st store) string { return s.k.Statements[st.use.Statement].Name }

// unsure reports that a store could not be judged.
func (s *storeCheck) unsure(st store) {
	s.c.Report(s.c.Warning("TAP0375", s.n, s.at(st), "whether statement %s of %s stores exactly its outputs is not known", s.name(st), s.c.Graph().Name(s.n.ID)).
		Want("an access that can be decided", s.k.Operands[st.use.Operand].Access.String()))
}

// inside checks that a store stays inside the boxes of its tensor.
func (s *storeCheck) inside(t ir.NodeID, n *need, st store) bool {
	g := s.c.Graph()
	beyond := func(found string) {
		d := s.c.Error("TAP0371", s.n, s.at(st), "statement %s of %s stores cells of %s that are no output of its applications", s.name(st), g.Name(s.n.ID), g.Name(t)).
			Want(boxesText(n), found)
		for _, a := range n.apps[:min(len(n.apps), 3)] {
			d = d.WithNote(s.c.At(a, "/body/outputs"), "%s is one of its applications", g.Name(a.ID))
		}
		s.c.Report(d)
	}
	rest, all := tiling.Subtract(st.image.Hull, slices.Concat(n.boxes, n.taken), 64)
	if len(rest) == 0 {
		return true
	}
	if st.image.Dense {
		beyond(fmt.Sprintf("%v, of which %v is none", st.image.Hull, rest[0]))
		return false
	}
	for _, r := range rest {
		cell, found, decided := st.image.Meet(images.Box(r))
		if found {
			beyond(fmt.Sprintf("cell %v among them", cell))
			return false
		}
		all = all && decided
	}
	if !all {
		s.unsure(st)
	}
	return true
}

func boxesText(n *need) string {
	if len(n.boxes) == 0 && len(n.taken) == 0 {
		return "none of its cells"
	}
	text := "cells inside"
	for i, r := range slices.Concat(n.boxes, n.taken) {
		if i == 4 {
			return text + ", …"
		}
		if i > 0 {
			text += ","
		}
		text += " " + r.String()
	}
	return text
}

// once checks that no two statements store the same cell of a buffer.
func (s *storeCheck) once(n *need) bool {
	good := true
	for i, a := range n.stores {
		for _, b := range n.stores[i+1:] {
			if a.buffer != b.buffer {
				continue
			}
			cell, found, decided := a.image.Meet(b.image)
			switch {
			case found:
				good = false
				s.c.Report(s.c.Error("TAP0372", s.n, s.at(b), "%s stores a cell of %s twice", s.c.Graph().Name(s.n.ID), s.c.Graph().Name(a.buffer)).
					Want("every cell stored once", fmt.Sprintf("cell %v by statements %s and %s", cell, s.name(a), s.name(b))))
			case !decided:
				s.unsure(b)
			}
		}
	}
	return good
}

// whole checks that the stores, which lie inside the boxes and share no cells of a buffer, hold every cell of every box.
func (s *storeCheck) whole(t ir.NodeID, n *need) {
	required := new(big.Int)
	for _, r := range n.boxes {
		required.Add(required, r.BigSize())
	}
	stored := map[ir.NodeID]*big.Int{}
	for _, st := range n.stores {
		sum := stored[st.buffer]
		if sum == nil {
			sum = new(big.Int)
			stored[st.buffer] = sum
		}
		if sum.Add(sum, st.image.Points); len(n.taken) == 0 && sum.Cmp(required) >= 0 {
			return // one buffer has them all
		}
	}
	list := make([]images.Image, len(n.stores))
	for i, st := range n.stores {
		list[i] = st.image
	}
	for i, box := range n.boxes {
		v, rest := images.Cover(box, list)
		if len(stored) > 1 { // cells may be stored to several buffers: counting them proves nothing
			var found bool
			if rest, found = images.Missing(box, list); found {
				v = images.Uncovered
			} else if v = images.Covered; slices.ContainsFunc(list, func(m images.Image) bool { return !m.Dense }) {
				v = images.Undecided
			}
		}
		switch v {
		case images.Uncovered:
			s.gap(t, n, i, rest)
		case images.Undecided:
			s.unsure(n.stores[0])
		}
	}
}

func (s *storeCheck) gap(t ir.NodeID, n *need, i int, rest zspace.Range) {
	g, found := s.c.Graph(), "fewer cells"
	if rest.Rank() == n.boxes[i].Rank() && rest.Validate() == nil && !rest.Empty() {
		found = fmt.Sprintf("%v unstored", rest)
	}
	s.c.Report(s.c.Error("TAP0373", s.n, s.at(n.stores[0]), "%s leaves a part of %s unstored", g.Name(s.n.ID), g.Name(t)).
		Want(fmt.Sprintf("all of %v", n.boxes[i]), found).
		WithNote(s.c.At(n.apps[i], "/body/outputs"), "%s puts out %v", g.Name(n.apps[i].ID), n.boxes[i]))
}

// local checks that boxes that are not stored are values inside kernels.
func (s *storeCheck) local(t ir.NodeID, n *need) {
	g := s.c.Graph()
	for i, box := range n.boxes {
		used := false
		for _, id := range takersOf(s.c, t).of(box) {
			used = true
			by, found := s.lacking(id, t, n.apps[i])
			if !found {
				continue // a sink's buffers are checked where results are
			}
			s.c.Report(s.c.Error("TAP0374", s.n, "/body/operands", "%s does not store %v of %s, but another kernel needs it", g.Name(s.n.ID), box, g.Name(t)).
				Want("a stored statement, or a value that the kernel computes again",
					fmt.Sprintf("%s of %s, which reads neither it nor what it is computed from", g.Name(id), g.Name(by))).
				WithNote(s.c.At(g.Node(by), ""), "the other kernel"))
			return
		}
		program := check.Cached(s.c, "schedule.program", func() *tensorops.Program { p, _ := tensorops.ProgramOf(g); return p })
		if !used && (program == nil || slices.Contains(program.Held(), t)) { // what nobody sees need not be computed
			s.c.Report(s.c.Error("TAP0374", s.n, "/body/operands", "%s does not store %v of %s, and nothing uses it", g.Name(s.n.ID), box, g.Name(t)).
				Want("a stored statement", "none").WithNote(s.c.At(n.apps[i], "/body/outputs"), "%s puts it out", g.Name(n.apps[i].ID)))
		}
	}
}

// lacking finds a kernel that carries out an application and neither puts out a tensor itself, as another application does, nor reads it, nor can
// compute it. One that has some results of the application and not others may have no use for the tensor: what it leaves out is needed on no device of its own.
func (s *storeCheck) lacking(taker, t ir.NodeID, from *ir.Node) (ir.NodeID, bool) {
	for _, by := range kernelsOf(s.c)[taker] {
		n := s.c.Graph().Node(by)
		if by != s.n.ID && !slices.Contains(n.Body.(*schedule.Kernel).Applications, from.ID) && !s.reaches(n, t, from, taker) {
			return by, true
		}
	}
	return ir.NoNode, false
}

// takers are the applications that select parts of a tensor.
type takers struct {
	boxes *zspace.Index
	by    []ir.NodeID // by number of the box
}

// takersOf gives those of a tensor, indexed once.
func takersOf(c *check.Context, tensor ir.NodeID) *takers {
	all := check.Cached(c, "schedule.takers", func() map[ir.NodeID]*takers { return map[ir.NodeID]*takers{} })
	if all[tensor] == nil {
		x, boxes := &takers{}, []zspace.Range(nil)
		for _, id := range c.Flow(application.ApplicationKind).Consumers(tensor) {
			application.ApplicationOf(c.Graph(), id).Inputs.All(func(_, _ int, sel *ir.Selection) {
				if sel.Tensor == tensor {
					boxes, x.by = append(boxes, sel.Range()), append(x.by, id)
				}
			})
		}
		x.boxes = zspace.NewIndex(boxes)
		all[tensor] = x
	}
	return all[tensor]
}

// of gives those that select a cell of a box, in graph order, each once.
func (t *takers) of(box zspace.Range) []ir.NodeID {
	var ids []ir.NodeID
	for _, i := range t.boxes.Query(box) {
		ids = append(ids, t.by[i])
	}
	return slices.Compact(ids)
}

// reaches says whether a kernel reads a tensor, or can compute what an application puts out from what it reads, or has some results of the taker and not others: it stores them, or another of its applications takes them.
func (s *storeCheck) reaches(kernel *ir.Node, t ir.NodeID, from *ir.Node, taker ir.NodeID) bool {
	known, has := map[ir.NodeID]bool{}, map[ir.NodeID]bool{}
	for _, o := range kernel.Body.(*schedule.Kernel).Operands {
		if tensor := schedule.BufferOf(s.c.Graph(), o.Buffer).Tensor; o.Mode == schedule.Read {
			known[tensor] = true
		} else {
			has[tensor] = true
		}
	}
	for _, id := range kernel.Body.(*schedule.Kernel).Applications {
		application.ApplicationOf(s.c.Graph(), id).Inputs.All(func(_, _ int, sel *ir.Selection) { has[sel.Tensor] = has[sel.Tensor] || !sel.Range().Empty() })
	}
	results := map[bool]bool{} // of the taker, whether the kernel has them
	application.ApplicationOf(s.c.Graph(), taker).Outputs.All(func(_, _ int, sel *ir.Selection) { results[has[sel.Tensor]] = true })
	return len(results) == 2 || known[t] || s.computable(from.Body.(*application.Application), known)
}

// computable says whether all inputs of an application are known, or computable from what is. It adds its answers to known.
func (s *storeCheck) computable(a *application.Application, known map[ir.NodeID]bool) bool {
	all := true
	a.Inputs.All(func(_, _ int, sel *ir.Selection) {
		answer, asked := known[sel.Tensor]
		if !asked && all && !sel.Range().Empty() {
			known[sel.Tensor] = false
			makers := s.c.Flow(application.ApplicationKind).Producers(sel.Tensor)
			answer = len(makers) > 0 && !slices.ContainsFunc(makers, func(id ir.NodeID) bool {
				maker := application.ApplicationOf(s.c.Graph(), id)
				op := s.c.Graph().Node(maker.Operation)
				return op.Body.(*tensorops.Operation).IsSource() || tensorops.IsPrecomputed(op) || !s.computable(maker, known)
			})
			known[sel.Tensor] = answer
		}
		all = all && (answer || sel.Range().Empty())
	})
	return all
}
