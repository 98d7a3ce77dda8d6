package lowprecision

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// placeImage finds where the left operand is read if it stands: in its buffer, or in a copy in scratch memory, of which it gives the
// size.
func (n *Kernel) placeImage() int64 {
	buffer := n.K.Operands[n.left.operand].Buffer
	if n.C.Padded == nil {
		n.E.Raw(buffer)
		n.left.place.Slot = n.E.Slot(buffer)
		return 0
	}
	bytes := isa.Align(n.C.Padded.Elements()*n.left.layout.Blocked.Size(), tile.PanelBytes)
	n.left.place.Slot = n.E.NeedScratch(bytes)
	return bytes
}

// imageTask writes the function with which a thread copies some rows of the left operand: as the instructions take its elements,
// with its zero point around.
func (n *Kernel) imageTask() {
	kept := map[bool]string{true: "uint8_t", false: "uint16_t"}[n.left.layout.Blocked.IsBytes()]
	c := &product.PaddedCopy{Text: n.Text, E: n.E, Operand: n.K.Operands[n.left.operand], Dims: n.C.Padded.Dims, Kept: kept, Fill: n.fill, Place: n.left.place, Row: n.imageRow}
	c.Write("as the instructions take it, with its zero point", fmt.Sprintf("%s_image", n.Name), "tapc_narrow_part")
}

// fill is the text of the byte that stands for nothing: the zero point in the signs that the copy has. Numbers of bfloat16 that are 0 have
// such bytes too.
func (n *Kernel) fill() string {
	e, plus := n.zero(&n.left)
	if e == nil {
		return fmt.Sprint(plus)
	}
	n.zeroPointers(e)
	at := &point.Point{V: n.E.V, K: n.K, Views: n.C.Views, Along: -1, N: 1, Count: "1", Locals: map[int]vector.Value{}}
	return fmt.Sprintf("(int)(%s) + %d", n.E.V.Expr(e, 1, at).Text, plus)
}

// zeroPointers declares the pointers of what zero points are read from.
func (n *Kernel) zeroPointers(zeros ...*scalar.Expr) {
	var used []int
	for _, z := range zeros {
		if z == nil {
			continue
		}
		z.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load {
				used = append(used, e.Ref)
			}
			return true
		})
	}
	point.Pointers(n.Text, n.E, n.K, used)
}

// imageRow writes the copying of the elements of a row that are there: live places of m neighbours in the copy.
func (n *Kernel) imageRow(to string, live, m, stepAcross, stepInner int64) {
	l := n.left.layout.Blocked
	switch {
	case stepInner == 1 && stepAcross == m:
		n.Line("%s(from, %s, %d);", n.imageLine(l), to, live*m)
	case stepInner == 1:
		n.Line("for (int64_t x = 0; x < %d; x++) %s(from + x * %s, %s + x * %d, %d);", live, n.imageLine(l), point.Number(stepAcross), to, m, m)
	case stepAcross == 1:
		n.Line("%s(from, %s, %s, %d, %d);", n.imageTurn(l), point.Number(stepInner), to, live, m)
	default:
		n.Open("for (int64_t x = 0; x < %d; x++) {", live)
		n.Line("for (int64_t y = 0; y < %d; y++) (%s)[x * %d + y] = %s;", m, to, m,
			n.imageOne(l, fmt.Sprintf("from[x * %s + y * %s]", point.Number(stepAcross), point.Number(stepInner))))
		n.Close()
	}
}

// imageOne writes an element as the instructions take it.
func (n *Kernel) imageOne(l panels.Blocked, element string) string {
	switch {
	case l.From == scalar.Float32:
		return n.oneToBF16() + "(" + element + ")"
	case l.IsBytes():
		return fmt.Sprintf("(uint8_t)%s ^ %d", element, l.Flip())
	}
	return element
}

// imageLine names the function that copies neighbours that stay neighbours.
func (n *Kernel) imageLine(l panels.Blocked) string {
	lanes := n.Product.N
	kept, quick := "uint8_t", ""
	switch {
	case l.From == scalar.Float32:
		kept = "uint16_t"
		u32, u16 := n.E.V.Type(scalar.UInt32, lanes), n.E.V.Type(scalar.UInt16, lanes)
		quick = fmt.Sprintf("  for (; x + %d <= n; x += %d) *(%su *)(to + x) = __builtin_convertvector(%s(*(const %su *)(from + x)), %s);\n",
			lanes, lanes, u16, n.E.V.ToBF16(lanes), u32, u16)
	case !l.IsBytes():
		kept = "uint16_t"
	default:
		u8 := n.E.V.Type(scalar.UInt8, 16)
		quick = fmt.Sprintf("  for (; x + 16 <= n; x += 16) *(%su *)(to + x) = *(const %su *)(from + x) ^ %d;\n", u8, u8, l.Flip())
	}
	name := fmt.Sprintf("tapc_image_line_%s_%d", vector.ElementName(l.From), l.Flip())
	n.define(name, fmt.Sprintf("TAPC_FN void %s(const %s *from, %s *to, int64_t n) {\n  int64_t x = 0;\n%s  for (; x < n; x++) to[x] = %s;\n}\n",
		name, n.E.W.Stored(l.From), kept, quick, n.imageOne(l, "from[x]")))
	return name
}

// imageTurn names the function that copies places which are neighbours, the values of each of them step apart, so that the values are
// neighbours: squares of 16 by 16 are turned.
func (n *Kernel) imageTurn(l panels.Blocked) string {
	kept, d := "uint8_t", scalar.UInt8
	if !l.IsBytes() {
		kept, d = "uint16_t", scalar.UInt16
	}
	stored, line := n.E.W.Stored(l.From), n.imageLine(l)
	rows := fmt.Sprintf("%s square[256];\n        for (int v = 0; v < 16; v++) %s(from + (y + v) * step + x, square + v * 16, 16);\n        %s", kept, line,
		n.E.V.Of(d, 16).Transpose(16, "square", "16", "to + x * values + y", "values"))
	if l.From != scalar.Float32 && l.Flip() == 0 {
		rows = n.E.V.Of(d, 16).Transpose(16, fmt.Sprintf("(const %s *)from + y * step + x", kept), "step", "to + x * values + y", "values")
	}
	return vector.TransposePlaces(n.E.V, fmt.Sprintf("tapc_image_turn_%s_%d", vector.ElementName(l.From), l.Flip()), stored, kept, rows, n.imageOne(l, "from[y * step + x]"), 16)
}
