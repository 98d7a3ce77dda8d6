package layered

import (
	"cmp"
	"slices"
)

const (
	gapX   = 30 // between layers
	gapY   = 10 // between boxes of a layer
	gapRow = 6  // between lines that pass a layer
	sweeps = 6
)

// placing is a structure while its boxes get their places. What stands in layers is a box, a reference, or the place where an edge passes
// a layer; all edges from one box share the places where they pass.
type placing struct {
	*local
	layer    []int   // of each thing
	layers   [][]int // things from the top
	near     [2][][]int
	position []int   // in its layer
	y        []int   // of its middle
	passes   [][]int // for each box or reference, what stands in the layers behind it for its edges
}

func newPlacing(l *local) *placing {
	p := &placing{local: l, layer: make([]int, len(l.size)), passes: make([][]int, len(l.size))}
	p.assign()
	p.addPasses()
	p.fillLayers()
	return p
}

// assign puts each box one layer behind the last of those that its edges come from, and what nothing leads to right before its readers.
func (p *placing) assign() {
	starts := make([]bool, len(p.layer))
	for i := range starts {
		starts[i] = true
	}
	for _, e := range p.edges { // in the order of their ends
		starts[e.To] = false
		p.layer[e.To] = max(p.layer[e.To], p.layer[e.From]+1)
	}
	first := make([]int, len(p.layer))
	for _, e := range p.edges {
		if first[e.From] == 0 || p.layer[e.To] < first[e.From] {
			first[e.From] = p.layer[e.To]
		}
	}
	for i, s := range starts {
		if s && first[i] > 0 {
			p.layer[i] = first[i] - 1
		}
	}
}

// addPasses makes the places where edges pass layers, and joins everything to its neighbours.
func (p *placing) addPasses() {
	boxes := len(p.layer)
	for _, e := range p.edges {
		for at := p.layer[e.From] + 1 + len(p.passes[e.From]); at < p.layer[e.To]; at++ {
			p.passes[e.From] = append(p.passes[e.From], len(p.layer))
			p.layer = append(p.layer, at)
		}
	}
	p.near[0], p.near[1] = make([][]int, len(p.layer)), make([][]int, len(p.layer))
	join := func(a, b int) { p.near[1][a], p.near[0][b] = append(p.near[1][a], b), append(p.near[0][b], a) }
	for i := range boxes {
		last := i
		for _, pass := range p.passes[i] {
			join(last, pass)
			last = pass
		}
	}
	for _, e := range p.edges {
		join(p.along(e), e.To)
	}
}

// along gives what an edge leads from into the layer of its end.
func (p *placing) along(e Edge) int {
	if n := p.layer[e.To] - p.layer[e.From] - 1; n > 0 {
		return p.passes[e.From][n-1]
	}
	return e.From
}

// fillLayers puts everything into layers, in an order that few edges cross, and gives it its height there.
func (p *placing) fillLayers() {
	p.position, p.y = make([]int, len(p.layer)), make([]int, len(p.layer))
	for i, at := range p.layer {
		for len(p.layers) <= at {
			p.layers = append(p.layers, nil)
		}
		p.position[i] = len(p.layers[at])
		p.layers[at] = append(p.layers[at], i)
	}
	for sweep := range sweeps {
		p.each(sweep, p.reorder)
	}
	for sweep := range sweeps {
		p.each(sweep, p.align)
	}
}

// each runs over the layers, from the left and from the right in turn; side is that of the neighbours which have their places.
func (p *placing) each(sweep int, f func(layer []int, side int)) {
	for i := range p.layers {
		if side := sweep % 2; side == 0 {
			f(p.layers[i], side)
		} else {
			f(p.layers[len(p.layers)-1-i], side)
		}
	}
}

// reorder sorts a layer by the middle of the neighbours on one side.
func (p *placing) reorder(layer []int, side int) {
	key := map[int]int{}
	for _, x := range layer {
		sum, n := 0, 0
		for _, y := range p.near[side][x] {
			sum, n = sum+p.position[y]<<10, n+1
		}
		if key[x] = p.position[x] << 10; n > 0 {
			key[x] = sum / n
		}
	}
	slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	for i, x := range layer {
		p.position[x] = i
	}
}

// height is that of a box, a reference or a line.
func (p *placing) height(x int) int {
	if x < len(p.size) {
		return p.size[x].Y
	}
	return 1
}

// align moves what stands in a layer as near as possible to the middle of its neighbours, without changing the order. That is a regression
// under the condition that what is below stays below: neighbours that would overlap move together.
func (p *placing) align(layer []int, side int) {
	type group struct{ wish, weight, first int }
	offset, groups := make([]int, len(layer)), []group{}
	for i, x := range layer {
		if i > 0 {
			gap := gapY
			if x >= len(p.size) || layer[i-1] >= len(p.size) {
				gap = gapRow
			}
			offset[i] = offset[i-1] + (p.height(layer[i-1])+p.height(x))/2 + gap
		}
		wish, weight := p.wish(x, side)
		g := group{weight * (wish - offset[i]), weight, i}
		for n := len(groups); n > 0 && floor(groups[n-1].wish, groups[n-1].weight) > floor(g.wish, g.weight); n-- {
			g = group{g.wish + groups[n-1].wish, g.weight + groups[n-1].weight, groups[n-1].first}
			groups = groups[:n-1]
		}
		groups = append(groups, g)
	}
	for i, g := range groups {
		end := len(layer)
		if i+1 < len(groups) {
			end = groups[i+1].first
		}
		for j := g.first; j < end; j++ {
			p.y[layer[j]] = floor(g.wish, g.weight) + offset[j]
		}
	}
}

// wish is where something wants to be, and how much. What nothing leads to hangs on its readers and does not pull them.
func (p *placing) wish(x, side int) (y, weight int) {
	near := p.near[side][x]
	if side == 0 {
		if led := p.led(near); len(led) > 0 {
			near = led
		}
	}
	weight = 24
	if len(p.near[0][x]) == 0 {
		weight = 1
	}
	if len(near) == 0 {
		return p.y[x], weight
	}
	for _, n := range near {
		y += p.y[n]
	}
	return floor(y, len(near)), weight
}

// led gives those that something leads to: here or, if there are none, in another segment.
func (p *placing) led(things []int) (here []int) {
	var elsewhere []int
	for _, x := range things {
		if len(p.near[0][x]) > 0 {
			here = append(here, x)
		} else if x >= p.boxes {
			elsewhere = append(elsewhere, x)
		}
	}
	if len(here) == 0 {
		return elsewhere
	}
	return here
}

func floor(a, b int) int {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// shape writes down where everything is.
func (p *placing) shape() *Shape {
	s := &Shape{At: make([]Point, len(p.size)), Size: p.size}
	left, width := make([]int, len(p.layers)), make([]int, len(p.layers))
	for i, layer := range p.layers {
		for _, x := range layer {
			if x < len(p.size) {
				width[i] = max(width[i], p.size[x].X)
			}
		}
		if left[i] = s.Width; i > 0 {
			left[i] += gapX
		}
		s.Width = left[i] + width[i]
	}
	top := 0
	for i := range p.y {
		top = min(top, p.y[i]-p.height(i)/2)
	}
	for i, size := range p.size {
		at := p.layer[i]
		s.At[i] = Point{left[at] + (width[at]-size.X)/2, p.y[i] - size.Y/2 - top}
		s.Height = max(s.Height, s.At[i].Y+size.Y)
	}
	p.lines(s, left, width, top)
	return s
}

// lines writes down the edges: from the right side of a box, level through the layers that they pass, to the left side of another.
func (p *placing) lines(s *Shape, left, width []int, top int) {
	for _, e := range p.edges {
		from, to := s.At[e.From], s.At[e.To]
		points := []Point{{from.X + s.Size[e.From].X, p.y[e.From] - top}}
		for _, pass := range p.passes[e.From][:max(0, p.layer[e.To]-p.layer[e.From]-1)] {
			at := p.layer[pass]
			points = append(points, Point{left[at], p.y[pass] - top}, Point{left[at] + width[at], p.y[pass] - top})
			s.Height = max(s.Height, p.y[pass]-top)
		}
		s.Lines = append(s.Lines, Line{e.From, e.To, append(points, Point{to.X, p.y[e.To] - top})})
	}
}
