package races

import (
	"fmt"
	"math/big"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/waits"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
)

// Order is the constraint that no race is possible.
var Order = check.Constraint{
	ID: "ScheduleOrderConstraint",
	Doc: "The order between kernels and transfers has no cycle, and no race is possible: steps that are not ordered may run at the same " +
		"time. Every cell of a buffer, and of all that alias it, is written at most once, and none of those that the program is given (inputs and constants). " +
		"Whoever reads a cell of any other buffer waits, directly or through others, for whoever writes it; nobody reads a cell that " +
		"nothing writes, or that the same kernel writes. Output buffers are written wholly, and of what a transfer brings elsewhere some " +
		"step reads a cell.",
	Requires: []string{"OperandViewContainmentConstraint", "TransferConstraint"},
	Codes: []check.Code{
		{ID: schedule.WaitsForItself, Meaning: "a kernel or a transfer waits for itself"},
		{ID: "TAP0301", Meaning: "something writes a buffer that the program is given"},
		{ID: "TAP0302", Meaning: "a cell of a buffer is written twice"},
		{ID: "TAP0303", Meaning: "a step reads cells that nothing writes"},
		{ID: "TAP0304", Meaning: "a kernel reads cells that it writes itself"},
		{ID: "TAP0305", Meaning: "a step reads cells and does not wait for the step that writes them"},
		{ID: "TAP0306", Meaning: "nothing writes some cells of an output buffer"},
		{ID: "TAP0307", Meaning: "a warning: whether all cells that are needed are written could not be decided"},
		{ID: "TAP0308", Meaning: "a transfer brings cells of which nobody reads any"},
	},
	Check: checkOrder,
}

func checkOrder(c *check.Context) {
	g := c.Graph()
	next := func(id ir.NodeID) []ir.NodeID {
		if n := g.Node(id); n != nil {
			after, _ := schedule.After(n)
			return after
		}
		return nil
	}
	cycles := check.Cycles(g.Bound(), next)
	for _, cycle := range cycles {
		reportWait(c, cycle)
	}
	if len(cycles) > 0 {
		return
	}
	t := trafficOf(c)
	for _, id := range t.buffers {
		if !c.Go() {
			return
		}
		(&bufferCheck{c: c, id: id, b: schedule.BufferOf(c.Graph(), id), touches: t.of[id], s: stepsOf(c)}).run()
	}
	checkUnderlying(c, t)
}

// checkUnderlying checks that a cell of buffers of one memory is written once, and none that the program is given. A transfer between them writes nothing.
func checkUnderlying(c *check.Context, t *traffic) {
	g := c.Graph()
	over := map[ir.NodeID][]ir.NodeID{}
	for _, id := range t.buffers {
		if b := schedule.BufferOf(g, id); b.Aliases() && b.Tensor == schedule.BufferOf(g, b.Over).Tensor {
			over[b.Over] = append(over[b.Over], id)
		}
	}
	for n, b := range check.Each[*schedule.Buffer](c) {
		if len(over[n.ID]) == 0 {
			continue
		}
		k := &bufferCheck{c: c, id: n.ID, b: b, s: stepsOf(c)}
		for _, id := range append([]ir.NodeID{n.ID}, over[n.ID]...) {
			for _, x := range t.of[id] {
				if moved, ok := g.Node(x.step).Body.(*schedule.Transfer); x.write && !(ok && moved.Aliased(g)) {
					k.writers = append(k.writers, x)
				}
			}
		}
		if !k.given() {
			k.once()
		}
	}
}

func reportWait(c *check.Context, cycle check.Cycle) {
	g := c.Graph()
	var names []string
	for _, id := range cycle.Nodes[:min(len(cycle.Nodes), 12)] {
		names = append(names, g.Name(id))
	}
	if len(cycle.Nodes) > len(names) {
		names = append(names, "…")
	}
	names = append(names, g.Name(cycle.Nodes[0]))
	c.Report(c.Error(schedule.WaitsForItself, g.Node(cycle.Nodes[0]), "/body/after", "%s waits for itself", names[0]).
		Want("an order", fmt.Sprintf("a cycle of %s: %s", check.Count(len(cycle.Nodes), "step"), strings.Join(names, " waits for "))))
}

// touch is one way in which a step uses a buffer.
type touch struct {
	step  ir.NodeID
	what  string // for messages: operand and statement; "" for a transfer
	write bool
	image images.Image
}

// traffic lists the touches of every buffer that is touched, in graph order.
type traffic struct {
	buffers []ir.NodeID
	of      map[ir.NodeID][]touch
}

func trafficOf(c *check.Context) *traffic {
	return check.Cached(c, "schedule.traffic", func() *traffic {
		t := &traffic{of: map[ir.NodeID][]touch{}}
		for n := range c.Graph().Nodes() {
			switch b := n.Body.(type) {
			case *schedule.Transfer:
				t.of[b.From] = append(t.of[b.From], touch{step: n.ID, image: images.Box(b.Box(schedule.BufferOf(c.Graph(), b.From)))})
				t.of[b.To] = append(t.of[b.To], touch{step: n.ID, write: true, image: images.Box(b.Box(schedule.BufferOf(c.Graph(), b.From)))})
			case *schedule.Kernel:
				t.kernel(n.ID, b, uses.In(c)[n.ID])
			}
		}
		for n := range c.Graph().Nodes() {
			if b, ok := n.Body.(*schedule.Buffer); ok && (len(t.of[n.ID]) > 0 || b.Space == schedule.Output) {
				t.buffers = append(t.buffers, n.ID)
			}
		}
		return t
	})
}

func (t *traffic) kernel(id ir.NodeID, k *schedule.Kernel, list []uses.Use) {
	for _, u := range list {
		if u.Never {
			continue
		}
		o := &k.Operands[u.Operand]
		what := fmt.Sprintf(" (operand %s, statement %s)", o.Name, k.Statements[u.Statement].Name)
		t.of[o.Buffer] = append(t.of[o.Buffer], touch{step: id, what: what, write: u.Write, image: u.Image(k)})
	}
}

// bufferCheck checks the steps that touch one buffer.
type bufferCheck struct {
	c       *check.Context
	id      ir.NodeID
	b       *schedule.Buffer
	touches []touch
	s       *steps
	writers []touch
	index   *zspace.Index
	full    bool         // every cell of the range is written
	read    map[int]bool // writers of whose cells some are read, or may be
}

func (k *bufferCheck) run() {
	for _, t := range k.touches {
		if t.write {
			k.writers = append(k.writers, t)
		}
	}
	if k.given() || !k.once() {
		return
	}
	total := new(big.Int)
	for _, w := range k.writers {
		total.Add(total, w.image.Points)
	}
	k.full = total.Cmp(k.b.Range.BigSize()) >= 0
	if k.b.Space == schedule.Output && !k.full {
		k.outputs()
	}
	k.read = map[int]bool{}
	k.reads()
	k.unread()
}

// given says whether the program is given the buffer, which nothing writes then.
func (k *bufferCheck) given() bool {
	if k.b.Space != schedule.Input && k.b.Space != schedule.Constant {
		return false
	}
	for _, w := range k.writers {
		k.c.Report(k.error("TAP0301", w, "%s writes %s, which the program is given", k.name(w), k.c.Graph().Name(k.id)).
			Want("a buffer of the arena or of the outputs", fmt.Sprintf("one of the %ss", k.b.Space)))
	}
	return true
}

// unread reports the transfers of whose cells nobody reads any. What is in an output the caller reads.
func (k *bufferCheck) unread() {
	for i, w := range k.writers {
		if _, transfer := k.c.Graph().Node(w.step).Body.(*schedule.Transfer); transfer && k.b.Space == schedule.Arena && !k.read[i] && !w.image.Hull.Empty() {
			k.c.Report(k.error("TAP0308", w, "%s brings cells to %s that nobody reads", k.name(w), k.c.Graph().Name(k.id)).
				Want("a step that reads some of them", fmt.Sprintf("%v unread", w.image.Hull)).
				WithNote(k.c.At(k.c.Graph().Node(k.id), ""), "the buffer").WithHint("take the transfer away"))
		}
	}
}

func (k *bufferCheck) name(t touch) string { return k.c.Graph().Name(t.step) + t.what }

func (k *bufferCheck) error(code string, t touch, format string, args ...any) diag.Diagnostic {
	return k.c.Error(code, k.c.Graph().Node(t.step), "", format, args...)
}

// once checks that no two touches write the same cell.
func (k *bufferCheck) once() bool {
	good, boxes := true, make([]zspace.Range, len(k.writers))
	for i, w := range k.writers {
		boxes[i] = w.image.Hull
	}
	k.index = zspace.NewIndex(boxes)
	for i, w := range k.writers {
		for _, j := range k.index.Query(w.image.Hull) {
			if j >= i {
				break
			}
			v := k.writers[j]
			cell, found, decided := w.image.Meet(v.image)
			switch {
			case found:
				good = false
				k.c.Report(k.error("TAP0302", w, "%s and %s write the same cell of %s", k.name(v), k.name(w), k.c.Graph().Name(k.id)).
					Want("every cell written once", fmt.Sprintf("cell %v written twice", cell)).
					WithNote(k.c.At(k.c.Graph().Node(v.step), ""), "the other writer"))
			case !decided:
				k.unsure(w, "writes a cell that "+k.name(v)+" writes")
			}
		}
		if !k.c.Go() {
			return false
		}
	}
	return good
}

func (k *bufferCheck) unsure(t touch, what string) {
	d := k.error("TAP0307", t, "whether %s %s is not known", k.name(t), what)
	d.Severity = diag.Warning
	k.c.Report(d.Want("accesses that can be decided", t.image.Hull.String()))
}

// images gives what some of the writers write.
func (k *bufferCheck) images(which []int) []images.Image {
	out := make([]images.Image, len(which))
	for i, w := range which {
		out[i] = k.writers[w].image
	}
	return out
}

func (k *bufferCheck) outputs() {
	n := k.c.Graph().Node(k.id)
	v, rest := images.Cover(k.b.Range, k.images(k.index.Query(k.b.Range)))
	switch v {
	case images.Uncovered:
		k.c.Report(k.c.Error("TAP0306", n, "/body/range", "nothing writes a part of %s, an output", k.c.Graph().Name(k.id)).
			Want(fmt.Sprintf("all of %v written", k.b.Range), restText(rest, k.b.Range)))
	case images.Undecided:
		k.c.Report(k.c.Warning("TAP0307", n, "/body/range", "whether all of %s, an output, is written is not known", k.c.Graph().Name(k.id)).
			Want(fmt.Sprintf("all of %v written", k.b.Range), "writers that can not be counted"))
	}
}

// restText says what is not written: a box of it, if one was found.
func restText(rest, whole zspace.Range) string {
	if rest.Validate() != nil || rest.Rank() != whole.Rank() || rest.Empty() {
		return "fewer cells"
	}
	return fmt.Sprintf("%v unwritten", rest)
}

// reads checks that every read cell is written, before it is read and by another step.
func (k *bufferCheck) reads() {
	var pairs []waits.Pair
	var between [][2]int // reader among the touches, writer
	for i, r := range k.touches {
		if r.write {
			continue
		}
		from := k.index.Query(r.image.Hull)
		if !k.full {
			k.written(r, from)
		}
		for _, w := range from {
			if _, found, decided := r.image.Meet(k.writers[w].image); found || !decided {
				k.read[w] = true
				pairs = append(pairs, waits.Pair{A: k.s.number[k.writers[w].step], B: k.s.number[r.step]})
				between = append(between, [2]int{i, w})
			}
		}
		if len(pairs) >= maxPairs {
			k.ordered(pairs, between)
			pairs, between = pairs[:0], between[:0]
		}
		if !k.c.Go() {
			return
		}
	}
	k.ordered(pairs, between)
}

// maxPairs bounds how many pairs of steps are judged at once.
const maxPairs = 1 << 20

// written checks that a reader reads only cells that some of the writers write.
func (k *bufferCheck) written(r touch, from []int) {
	list := k.images(from)
	v, rest := images.Cover(r.image.Hull, list)
	if v != images.Covered && !r.image.Dense {
		v, rest = r.image.Amid(list, v, rest)
	}
	switch v {
	case images.Uncovered:
		k.c.Report(k.error("TAP0303", r, "%s reads cells of %s that nothing writes", k.name(r), k.c.Graph().Name(k.id)).
			Want(fmt.Sprintf("all cells that it reads of %v written", r.image.Hull), restText(rest, r.image.Hull)).
			WithNote(k.c.At(k.c.Graph().Node(k.id), ""), "the buffer"))
	case images.Undecided:
		k.unsure(r, "reads only cells that are written")
	}
}

// ordered reports the reads that do not wait for their writers.
func (k *bufferCheck) ordered(pairs []waits.Pair, between [][2]int) {
	reported := map[waits.Pair]bool{}
	for _, i := range k.s.order.Unordered(pairs, k.c.Go) {
		if reported[pairs[i]] {
			continue
		}
		reported[pairs[i]] = true
		k.early(pairs[i], k.touches[between[i][0]], k.writers[between[i][1]])
	}
}

func (k *bufferCheck) early(p waits.Pair, r, w touch) {
	g := k.c.Graph()
	cell, _, _ := r.image.Meet(w.image)
	if p.A == p.B {
		k.c.Report(k.error("TAP0304", r, "%s reads cells of %s that it writes%s", k.name(r), g.Name(k.id), w.what).
			Want("cells that earlier steps write", fmt.Sprintf("cell %v", cell)))
		return
	}
	found := "they may run at the same time"
	if p.B < p.A && len(k.s.order.Unordered([]waits.Pair{{A: p.B, B: p.A}}, k.c.Go)) == 0 {
		found = "it runs before"
	}
	k.c.Report(k.error("TAP0305", r, "%s reads cells of %s and does not wait for %s, which writes them", k.name(r), g.Name(k.id), k.name(w)).
		Want(g.Name(r.step)+" after "+g.Name(w.step), fmt.Sprintf("%s; cell %v", found, cell)).
		WithNote(k.c.At(g.Node(w.step), ""), "the writer"))
}
