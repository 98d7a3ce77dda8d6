package lowprecision

import (
	"embed"
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

//go:embed c/*.c
var files embed.FS

// Converter defines C functions that copy elements of an operand in the form in which the instructions take them: numbers of float32 rounded
// to bfloat16, bytes with the sign that they have in panels.
type Converter struct {
	V     *vector.Printer
	Lanes int // of the target's vectors of four bytes
	Form  panels.Blocked
}

// file defines the functions of a C file for its elements.
func (c *Converter) file(file string, macros ...string) func(function string) string {
	return c.V.Of(c.Form.From, c.Lanes).File(files, file, fmt.Sprintf("_%d", c.Form.Flip()), append(c.elements(), macros...)...)
}

// elements are the macros of single elements.
func (c *Converter) elements() []string {
	return []string{"TAPC_KEPT " + c.V.W.Type(kept(c.Form)), "TAPC_ONE(x) " + c.One("x")}
}

// One writes an element as the instructions take it.
func (c *Converter) One(element string) string {
	switch {
	case c.Form.From == scalar.Float32:
		c.V.Define("tobf16.c", func() string { return micro.Text("tobf16.c") })
		return "tapc_to_bf16(" + element + ")"
	case c.Form.IsBytes():
		return fmt.Sprintf("(uint8_t)%s ^ %d", element, c.Form.Flip())
	}
	return element
}

// Line names the function that copies neighbours that stay neighbours.
func (c *Converter) Line() string {
	d, n := kept(c.Form), c.Lanes
	if c.Form.IsBytes() {
		n = 16
	}
	t, some := c.V.Type(d, n), ""
	switch some = fmt.Sprintf("*(const %su *)(p)", t); {
	case c.Form.From == scalar.Float32:
		some = fmt.Sprintf("__builtin_convertvector(%s(*(const %su *)(p)), %s)", c.V.ToBF16(n), c.V.Type(scalar.UInt32, n), t)
	case c.Form.Flip() != 0:
		some += fmt.Sprintf(" ^ %d", c.Form.Flip())
	}
	return c.file("line.c", fmt.Sprintf("TAPC_AT_ONCE %d", n), "TAPC_TO "+t+"u", "TAPC_SOME(p) "+some)("tapc_image_line")
}

// Places defines the functions that copy places so that their values are neighbours, and fill what is around them: squares of 16 by 16 are transposed.
func (c *Converter) Places() func(function string) string {
	d, line := kept(c.Form), c.Line()
	transpose := c.V.Of(d, 16).Transpose(16, fmt.Sprintf("(const %s *)(from)", c.V.W.Type(d)), "step", "to", "apart")
	if c.Form.From == scalar.Float32 || c.Form.Flip() != 0 {
		transpose = c.file("square.c", "TAPC_TRANSPOSE(from, step, to, apart) "+transpose)("tapc_image_square") + "(from, step, to, apart)"
	}
	return product.Places(c.V.Of(c.Form.From, 16), fmt.Sprintf("_%d", c.Form.Flip()), append(c.elements(), "TAPC_LINE "+line, "TAPC_TRANSPOSE(from, step, to, apart) "+transpose)...)
}

// Transposed names the function that transposes a block: 16 by 16 groups of four bytes.
func (c *Converter) Transposed() string {
	x := c.V.Of(scalar.UInt32, c.Lanes)
	return x.File(files, "block.c", "", "TAPC_TRANSPOSE(from, step, to, apart) "+x.Transpose(c.Lanes, "from", "step", "to", "apart"))("tapc_transpose_block")
}

// Lines names the function that packs a block lane by lane.
func (c *Converter) Lines() string {
	c.Line()
	return c.file("lanes.c")("tapc_lines")
}

// Across names the function that packs a block group by group: lanes are neighbours in memory.
func (c *Converter) Across() string {
	v, words, element, all := c.V, c.V.Type(scalar.UInt32, c.Lanes), c.Form.From, "TAPC_NAME(tapc_groups_of)(p, fold, to)"
	if c.Form.IsBytes() {
		element = scalar.UInt8
		v.Type(scalar.UInt8, 16) // that it has, beside the next
		v.Type(scalar.UInt16, 8)
		v.Define("weave.c", func() string { return micro.Text("weave.c") })
		all = fmt.Sprintf("tapc_weave(p, fold * (int64_t)sizeof *from, to, %d)", c.Form.Flip())
	}
	wide := v.Of(element, c.Lanes).Load(fmt.Sprintf("(const %s *)(p)", v.W.Stored(element)), "n")
	switch {
	case c.Form.From == scalar.Float32:
		wide = fmt.Sprintf("%s((%s)%s)", v.ToBF16(c.Lanes), words, wide)
	case c.Form.IsBytes(): // in two steps, which GCC 12 has instructions for
		wide = fmt.Sprintf("__builtin_convertvector(__builtin_convertvector(%s, %s), %s)", wide, v.Type(scalar.UInt16, c.Lanes), words)
	default:
		wide = fmt.Sprintf("__builtin_convertvector(%s, %s)", wide, words)
	}
	flips := "(" + words + "){0}" // of the lanes that are there
	if c.Form.Flip() != 0 {
		flips = v.Only(v.Splat(vector.Value{Text: fmt.Sprintf("%du", c.Form.Flip()), Type: scalar.UInt32, Uniform: true}, c.Lanes), c.Lanes, "n", scalar.IntValue(scalar.UInt32, 0)).Text
	}
	return c.file("groups.c", "TAPC_WORDS "+words, "TAPC_WORDS_AT "+words+"u", "TAPC_WIDE(p, n) "+wide, "TAPC_FLIPS(n) "+flips, "TAPC_ALL(p, fold, to) "+all)("tapc_across")
}
