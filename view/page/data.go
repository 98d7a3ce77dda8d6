package page

import (
	"encoding/json"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/view/figure"
	"tensortapestry.org/tapc/view/layered"
	"tensortapestry.org/tapc/view/svg"
)

// The data of a page. Names are short where there are many of them; assets/state.js says what they are.
type (
	pageData struct {
		Title    string          `json:"title"`
		Version  string          `json:"version"`
		Palette  []string        `json:"palette"`
		Stages   []stageData     `json:"stages"`
		Programs []programData   `json:"programs"`
		Code     []codeData      `json:"code"`
		Steps    []stepData      `json:"steps"`
		Machine  string          `json:"machine"`
		Blocks   []blockData     `json:"blocks"`
		Plans    json.RawMessage `json:"plans,omitempty"`
	}
	programData struct {
		File  string         `json:"file"`
		Lines map[int]string `json:"lines"`
	}
	codeData struct {
		Code
		Program int `json:"q,omitempty"`
	}
	stepData struct {
		Step
		Node int `json:"n"`
	}
	blockData struct {
		Block
		Node int `json:"n"`
	}
	stageData struct {
		Name     string        `json:"name"`
		Items    []itemData    `json:"items"`
		Joins    [][]any       `json:"joins"`
		Segments []segmentData `json:"segments"`
		Shapes   []shapeData   `json:"shapes"`
		Columns  []columnData  `json:"columns,omitempty"`
	}
	columnData struct {
		Name     string `json:"name"`
		Segments int    `json:"segments"`
	}
	itemData struct {
		Node     int             `json:"n"`
		Kind     figure.Kind     `json:"k"`
		Title    string          `json:"t"`
		Lines    []string        `json:"l,omitempty"` // as they are drawn
		Color    int             `json:"c"`
		Marks    figure.Mark     `json:"m,omitempty"`
		Cut      []int           `json:"cut,omitempty"` // dimensions that parts are drawn along: down, across
		Whole    [2][]int64      `json:"w,omitzero"`
		Parts    [][]any         `json:"p,omitempty"`
		Matrices []figure.Matrix `json:"x,omitempty"`
		Facts    [][2]string     `json:"f,omitempty"`
		At       []int32         `json:"at,omitempty"` // lines
		Of       []int           `json:"of,omitempty"`
		Bytes    int64           `json:"z,omitempty"`
		Twins    []int           `json:"b,omitempty"`
	}
	segmentData struct {
		Shape int    `json:"s"`
		Boxes []int  `json:"b"`
		Refs  []int  `json:"r,omitempty"`
		Block [5]int `json:"k,omitzero"`
	}
	shapeData struct {
		Width  int     `json:"w"`
		Height int     `json:"h"`
		Boxes  [][]int `json:"b"` // x, y, width, height
		Lines  [][]int `json:"l"` // from, to, then x and y of each place
	}
)

// key is a node's number in a page, which that of no node of another program is.
func key(program int, id ir.NodeID) int { return program<<32 | int(id) }

func encode(p *Page) *pageData {
	d := &pageData{Title: p.Title, Version: p.Version, Palette: svg.Palette, Stages: []stageData{}, Code: []codeData{}, Steps: []stepData{}, Machine: p.Machine, Programs: []programData{},
		Blocks: []blockData{}, Plans: p.Plans}
	for i, x := range p.Programs {
		d.Programs = append(d.Programs, programData{x.File, x.Lines})
		for _, c := range x.Code {
			d.Code = append(d.Code, codeData{c, i})
		}
		for _, s := range x.Steps {
			d.Steps = append(d.Steps, stepData{s, key(i, s.Node)})
		}
		for _, b := range x.Blocks {
			d.Blocks = append(d.Blocks, blockData{b, key(i, b.Node)})
		}
	}
	for _, f := range p.Stages {
		d.Stages = append(d.Stages, encodeStage(f))
	}
	return d
}

func encodeStage(f *figure.Figure) stageData {
	s := stageData{Name: f.Name, Items: []itemData{}, Joins: [][]any{}, Segments: []segmentData{}, Shapes: []shapeData{}}
	for i := range f.Items {
		s.Items = append(s.Items, encodeItem(&f.Items[i]))
	}
	for _, j := range f.Joins {
		join := []any{j.From, j.To, j.Port}
		if j.Range != "" {
			join = append(join, j.Range)
		}
		s.Joins = append(s.Joins, join)
	}
	if len(f.Columns) == 0 {
		s.place(f, 0)
	}
	for c, x := range f.Columns {
		one, first := f.Program(c)
		s.place(one, first)
		s.Columns = append(s.Columns, columnData{x.Name, len(s.Segments)})
	}
	return s
}

// place lays out the figure of a program whose items have numbers from first.
func (s *stageData) place(f *figure.Figure, first int) {
	numbers := func(list []int) []int {
		out := make([]int, len(list))
		for i, x := range list {
			out[i] = x + first
		}
		return out
	}
	l, shapes := layered.Of(svg.Measured(f)), len(s.Shapes)
	for _, x := range l.Segments {
		b := x.Block
		s.Segments = append(s.Segments, segmentData{x.Shape + shapes, numbers(x.Boxes), numbers(x.Refs), [5]int{b.Number, b.Instance, b.Instances, b.Piece, b.Pieces}})
	}
	for _, x := range l.Shapes {
		s.Shapes = append(s.Shapes, encodeShape(x))
	}
}

func encodeShape(x *layered.Shape) shapeData {
	s := shapeData{Width: x.Width, Height: x.Height, Boxes: [][]int{}, Lines: [][]int{}}
	for i, at := range x.At {
		s.Boxes = append(s.Boxes, []int{at.X, at.Y, x.Size[i].X, x.Size[i].Y})
	}
	for _, l := range x.Lines {
		line := []int{l.From, l.To}
		for _, p := range l.Points {
			line = append(line, p.X, p.Y)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

func encodeItem(it *figure.Item) itemData {
	d := itemData{Node: key(it.Column, it.Node), Kind: it.Kind, Title: it.Title, Lines: svg.Lines(it), Color: it.Color, Marks: it.Marks, Matrices: it.Matrices,
		Bytes: max(it.Bytes, 0), Twins: it.Twins}
	if svg.Cells(it) {
		down, across := svg.CutDims(it)
		d.Cut, d.Whole = []int{down, across}, [2][]int64{it.Whole.Start, it.Whole.End}
		for _, p := range it.Parts {
			d.Parts = append(d.Parts, []any{p.Range.Start, p.Range.End, key(it.Column, p.Of), p.Color, p.Write})
		}
	}
	for _, f := range it.Facts {
		d.Facts = append(d.Facts, [2]string{f.Name, f.Value})
	}
	for _, at := range it.At {
		d.At = append(d.At, at.Line)
	}
	for _, id := range it.Of {
		d.Of = append(d.Of, key(it.Column, id))
	}
	return d
}
