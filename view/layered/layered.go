// Package layered lays out directed graphs of boxes in layers, from left to right, in time that grows with the graph alone.
//
// Boxes are put into a topological order, which is cut into segments: short graphs that are laid out by themselves and follow each other as
// words in lines. An edge that comes from another segment begins at a reference, a small box that stands for the other one. Segments of the
// same structure, as the layers of a network are, have one shape, which is laid out once; those that follow each other are the instances of a
// block, which can be drawn folded. All numbers are integers, so that a layout is the same on every machine.
//
// It knows neither graphs of tapc nor what boxes are. Read next: order.go, then blocks.go, segments.go and shape.go.
package layered

// Box is what is laid out, in pixels. Boxes of one class look alike but for their names.
type Box struct {
	Width, Height int
	Brief         int    // width of a reference to it
	Class         uint64 // equal for boxes that may take each other's place in a repeated block
	Apart         int    // how unwelcome it is to end a segment between the box and what its edges lead to: 0 not at all
	Late          bool   // it stands where it is needed, and so does what depends on such boxes alone
}

// Edge joins two boxes, by their numbers.
type Edge struct{ From, To int }

// Graph is what is laid out. The order of the boxes is that in which they stand where edges do not say another.
type Graph struct {
	Boxes []Box
	Edges []Edge
}

// Segment is a part of the graph that is laid out by itself: its boxes and references take the places that a shape has.
type Segment struct {
	Shape int   // number of the shape
	Boxes []int // of the graph
	Refs  []int // boxes of other segments that edges into this one come from
	Block Block
}

// Block says which repeated block a segment is of. Segments that are of none have Instances 0.
type Block struct {
	Number    int // of the block, from 1
	Instance  int // from 0
	Instances int
	Piece     int // of the instance, from 0
	Pieces    int
}

// Point is a place, in pixels right of and below a corner.
type Point struct{ X, Y int }

// Line is an edge in a shape: from a box or reference, by its number in the shape, to a box, with its places from end to end.
type Line struct {
	From, To int
	Points   []Point
}

// Shape is the layout of all segments of one structure. Places are those of the upper left corners of boxes and, behind them, references.
type Shape struct {
	Width, Height int
	At            []Point
	Size          []Point
	Lines         []Line
}

// Layout is a graph that is laid out: segments in their order, and the shapes that they have.
type Layout struct {
	Segments []Segment
	Shapes   []*Shape
}

// RefHeight is the height of a reference.
const RefHeight = 18

// Of lays out a graph. Edges to or from numbers that no box has do not count.
func Of(g *Graph) *Layout {
	w := newWork(g)
	w.sort()
	w.countCrossings()
	l := &Layout{}
	shapes := newShapes(w)
	for _, s := range w.segments() {
		shapes.add(l, s)
	}
	shapes.place(l)
	return l
}

// work is a graph while it is laid out.
type work struct {
	*Graph
	before, after lists
	order         []int // boxes, in topological order
	place         []int // of each box in the order
	crossing      []int // for each place in the order, what it costs to cut before it
}

// lists has a list of numbers for each box, in one array.
type lists struct {
	start []int32
	all   []int32
}

func (l *lists) of(box int) []int32 { return l.all[l.start[box]:l.start[box+1]] }

func newWork(g *Graph) *work {
	return &work{Graph: g, before: listsOf(g, func(e Edge) (int, int) { return e.To, e.From }),
		after: listsOf(g, func(e Edge) (int, int) { return e.From, e.To })}
}

// listsOf lists the other ends of the edges of each box.
func listsOf(g *Graph, ends func(Edge) (at, other int)) lists {
	n := len(g.Boxes)
	l := lists{start: make([]int32, n+1)}
	each := func(f func(at, other int)) {
		for _, e := range g.Edges {
			if e.From >= 0 && e.From < n && e.To >= 0 && e.To < n && e.From != e.To {
				f(ends(e))
			}
		}
	}
	each(func(at, _ int) { l.start[at+1]++ })
	for i := range n {
		l.start[i+1] += l.start[i]
	}
	l.all = make([]int32, l.start[n])
	next := append([]int32(nil), l.start...)
	each(func(at, other int) {
		l.all[next[at]] = int32(other)
		next[at]++
	})
	return l
}
