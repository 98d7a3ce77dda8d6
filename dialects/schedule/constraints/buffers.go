package constraints

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
)

var bufferLayout = check.Constraint{
	ID: "BufferLayoutConstraint",
	Doc: "Every buffer has a known element type, that of its tensor, and a range inside its tensor's. It has one stride for each " +
		"dimension, and every element of the range lies within its bytes. Its alignment is a power of two that suits the element " +
		"type, its offset is a multiple of that, and neither offset nor bytes are negative. If something writes the buffer, no two " +
		"cells share an element. The elements of a constant stand in some order of its dimensions without gaps.",
	Requires: []string{"ScheduleReferenceConstraint", "TensorDTypesAreValidConstraint"},
	Codes: []check.Code{
		{ID: "TAP0321", Meaning: "a buffer's element type is unknown, or not its tensor's"},
		{ID: "TAP0322", Meaning: "a buffer's range is not inside its tensor's"},
		{ID: "TAP0323", Meaning: "a buffer has another number of strides than dimensions"},
		{ID: "TAP0324", Meaning: "an element of a buffer lies outside its bytes"},
		{ID: "TAP0325", Meaning: "a buffer's alignment, offset or size makes no sense"},
		{ID: "TAP0326", Meaning: "two cells of a buffer that is written share an element"},
		{ID: "TAP0327", Meaning: "a warning: whether two cells of a written buffer share an element could not be decided"},
		{ID: "TAP0328", Meaning: "the elements of a constant do not stand in an order of its dimensions without gaps"},
	},
	Check: func(c *check.Context) {
		written := writtenBuffers(c)
		for n, b := range check.Each[*schedule.Buffer](c) {
			checkBuffer(c, n, b, written[n.ID])
		}
	},
}

// writtenBuffers says of each node whether it is a buffer that a kernel or a transfer writes.
func writtenBuffers(c *check.Context) []bool {
	written := make([]bool, c.Graph().Bound())
	for n := range c.Graph().Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Transfer:
			written[b.To] = true
		case *schedule.Kernel:
			for i := range b.Operands {
				if b.Operands[i].Mode == schedule.Write {
					written[b.Operands[i].Buffer] = true
				}
			}
		}
	}
	return written
}

func checkBuffer(c *check.Context, n *ir.Node, b *schedule.Buffer, written bool) {
	typed := checkBufferType(c, n, b)
	checkBufferRange(c, n, b)
	checkPlace(c, n, b)
	if len(b.Strides) != b.Range.Rank() {
		c.Report(c.Error("TAP0323", n, "/body/strides", "%s has the wrong number of strides", c.Graph().Name(n.ID)).
			Want(fmt.Sprintf("%d, one for each dimension of %v", b.Range.Rank(), b.Range), fmt.Sprint(len(b.Strides))))
		return
	}
	if !typed || !checkExtent(c, n, b) {
		return
	}
	if written {
		checkAliases(c, n, b)
	}
	if _, ok := b.Order(); !ok && b.Space == schedule.Constant {
		c.Report(c.Error("TAP0328", n, "/body/strides", "the elements of %s have gaps", c.Graph().Name(n.ID)).
			Want(fmt.Sprintf("strides of an order of the dimensions, such as %v", zspace.RowMajor(b.Range.Shape())), fmt.Sprint(b.Strides)))
	}
}

func checkBufferType(c *check.Context, n *ir.Node, b *schedule.Buffer) bool {
	if b.Type() == scalar.Invalid {
		c.Report(c.Error("TAP0321", n, "/body/dtype", "%s has an unknown element type", c.Graph().Name(n.ID)).
			Want("an element type of tapc", strconv.Quote(b.DType)))
		return false
	}
	if t := tensorops.TensorOf(c.Graph(), b.Tensor); t != nil && t.DType != b.DType {
		c.Report(c.Error("TAP0321", n, "/body/dtype", "%s and its tensor have different element types", c.Graph().Name(n.ID)).
			Want(t.DType, b.DType).WithNote(c.At(c.Graph().Node(b.Tensor), "/body/dtype"), "the tensor"))
	}
	return true
}

func checkBufferRange(c *check.Context, n *ir.Node, b *schedule.Buffer) {
	t := tensorops.TensorOf(c.Graph(), b.Tensor)
	if t == nil || t.Range.Contains(b.Range) {
		return
	}
	found := b.Range.String()
	if b.Range.Rank() == t.Range.Rank() {
		found = check.Beyond(t.Range, b.Range)
	}
	c.Report(c.Error("TAP0322", n, "/body/range", "%s holds cells that its tensor does not have", c.Graph().Name(n.ID)).
		Want(fmt.Sprintf("a box inside %v", t.Range), found).WithNote(c.At(c.Graph().Node(b.Tensor), "/body/range"), "the tensor"))
}

// checkPlace checks alignment, offset and size.
func checkPlace(c *check.Context, n *ir.Node, b *schedule.Buffer) {
	natural := int64(max(1, b.Type().Size()))
	if b.Type().IsComplex() {
		natural /= 2
	}
	bad := func(field, what, expected string, found int64) {
		c.Report(c.Error("TAP0325", n, "/body/"+field, "%s: %s", c.Graph().Name(n.ID), what).Want(expected, fmt.Sprint(found)))
	}
	if b.Bytes < 0 {
		bad("bytes", "a size is not negative", "0 bytes or more", b.Bytes)
	}
	switch {
	case b.Align < 1 || bits.OnesCount64(uint64(b.Align)) != 1 || b.Align%natural != 0:
		bad("align", "an alignment is a power of two that suits the element type", fmt.Sprintf("a power of two, at least %d", natural), b.Align)
	case b.Offset < 0 || b.Offset%b.Align != 0:
		bad("offset", "an offset is a multiple of the alignment", fmt.Sprintf("a multiple of %d", b.Align), b.Offset)
	case b.Offset > math.MaxInt64-max(0, b.Bytes):
		bad("offset", "the end lies beyond 64 bits", fmt.Sprintf("at most %d", math.MaxInt64-b.Bytes), b.Offset)
	}
}

// checkExtent checks that every element of the range lies within the buffer's bytes.
func checkExtent(c *check.Context, n *ir.Node, b *schedule.Buffer) bool {
	if b.Range.Empty() {
		return true
	}
	low, high := new(big.Int), new(big.Int)
	for d, stride := range b.Strides {
		reach := big.NewInt(b.Range.End[d] - b.Range.Start[d] - 1)
		reach.Mul(reach, big.NewInt(stride))
		if stride < 0 {
			low.Add(low, reach)
		} else {
			high.Add(high, reach)
		}
	}
	size := big.NewInt(int64(b.Type().Size()))
	low.Mul(low, size)
	high.Add(high.Mul(high, size), size)
	if low.Sign() >= 0 && high.Cmp(big.NewInt(b.Bytes)) <= 0 {
		return true
	}
	c.Report(c.Error("TAP0324", n, "/body/bytes", "elements of %s lie outside its bytes", c.Graph().Name(n.ID)).
		Want(fmt.Sprintf("elements within bytes 0 to %d", b.Bytes),
			fmt.Sprintf("bytes %v to %v for %v with strides %v", low, high, b.Range, b.Strides)))
	return false
}

// checkAliases checks that no two cells of a buffer share an element.
func checkAliases(c *check.Context, n *ir.Node, b *schedule.Buffer) {
	if b.Nested() {
		return
	}
	m := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{b.Strides}, Offset: zspace.Point{0}}, Shape: zspace.Point{1}}
	hit, found, decided, err := m.FindCollision(b.Range, images.Budget)
	switch {
	case found:
		c.Report(c.Error("TAP0326", n, "/body/strides", "two cells of %s share an element", c.Graph().Name(n.ID)).
			Want("an element for every cell of a buffer that is written",
				fmt.Sprintf("cells %v and %v of %v with strides %v", hit.A, hit.B, b.Range, b.Strides)))
	case err != nil || !decided:
		c.Report(c.Warning("TAP0327", n, "/body/strides", "whether two cells of %s share an element is not known", c.Graph().Name(n.ID)).
			Want("strides that can be decided", fmt.Sprintf("%v over %v", b.Strides, b.Range)))
	}
}
