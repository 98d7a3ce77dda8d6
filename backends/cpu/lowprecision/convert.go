package lowprecision

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// converter defines C functions that copy elements of an operand in the form in which the instructions take them: numbers of float32 rounded
// to bfloat16, bytes with the sign that they have in panels.
type converter struct {
	v     *vector.Printer
	lanes int // of the target's vectors of four bytes
	l     panels.Blocked
}

// define defines a function, named for what it converts, whose text is made with that name, and gives the name.
func (c *converter) define(name string, text func(name string) string) string {
	name = fmt.Sprintf("tapc_%s_%s_%d", name, vector.ElementName(c.l.From), c.l.Flip())
	return c.v.Define(name, func() string { return text(name) })
}

// one writes an element as the instructions take it.
func (c *converter) one(element string) string {
	switch {
	case c.l.From == scalar.Float32:
		c.v.Define("tobf16.c", func() string { return micro.Text("tobf16.c") })
		return "tapc_to_bf16(" + element + ")"
	case c.l.IsBytes():
		return fmt.Sprintf("(uint8_t)%s ^ %d", element, c.l.Flip())
	}
	return element
}

// line names the function that copies neighbours that stay neighbours.
func (c *converter) line() string {
	quick := ""
	switch {
	case c.l.From == scalar.Float32:
		u32, u16 := c.v.Type(scalar.UInt32, c.lanes), c.v.Type(scalar.UInt16, c.lanes)
		quick = fmt.Sprintf("  for (; x + %d <= n; x += %d) *(%su *)(to + x) = __builtin_convertvector(%s(*(const %su *)(from + x)), %s);\n",
			c.lanes, c.lanes, u16, c.v.ToBF16(c.lanes), u32, u16)
	case c.l.IsBytes():
		u8 := c.v.Type(scalar.UInt8, 16)
		quick = fmt.Sprintf("  for (; x + 16 <= n; x += 16) *(%su *)(to + x) = *(const %su *)(from + x) ^ %d;\n", u8, u8, c.l.Flip())
	}
	return c.define("image_line", func(name string) string {
		return fmt.Sprintf("TAPC_FN void %s(const %s *from, %s *to, int64_t n) {\n  int64_t x = 0;\n%s  for (; x < n; x++) to[x] = %s;\n}\n",
			name, c.v.W.Stored(c.l.From), c.v.W.Type(kept(c.l)), quick, c.one("from[x]"))
	})
}

// places names the function that copies places which are neighbours, the values of each of them step apart, so that the values are
// neighbours: squares of 16 by 16 are transposed.
func (c *converter) places() string {
	kept, d := c.v.W.Type(kept(c.l)), c.v.Of(kept(c.l), 16)
	square := fmt.Sprintf("%s square[256];\n        for (int v = 0; v < 16; v++) %s(from + (y + v) * step + x, square + v * 16, 16);\n        %s", kept, c.line(),
		d.Transpose(16, "square", "16", "to + x * values + y", "values"))
	if c.l.From != scalar.Float32 && c.l.Flip() == 0 {
		square = d.Transpose(16, fmt.Sprintf("(const %s *)from + y * step + x", kept), "step", "to + x * values + y", "values")
	}
	name := fmt.Sprintf("tapc_image_turn_%s_%d", vector.ElementName(c.l.From), c.l.Flip())
	return vector.TransposePlaces(c.v, name, c.v.W.Stored(c.l.From), kept, square, c.one("from[y * step + x]"), 16)
}

// transposed names the function that transposes a block: 16 by 16 groups of four bytes.
func (c *converter) transposed() string {
	square := c.v.Of(scalar.UInt32, c.lanes).Transpose(c.lanes, "from + y * 16 + x", "16", "to + x * 16 + y", "16")
	name := fmt.Sprintf("tapc_turn_block_x%d", c.lanes)
	return c.v.Define(name, func() string {
		return fmt.Sprintf("TAPC_FN void %s(const void *block, void *turned) {\n  const uint32_t *from = block;\n  uint32_t *to = turned;\n"+
			"  for (int y = 0; y < 16; y += %d) {\n    for (int x = 0; x < 16; x += %d) %s;\n  }\n}\n", name, c.lanes, c.lanes, square)
	})
}

// lines names the function that packs a block lane by lane.
func (c *converter) lines() string {
	stored, kept, line := c.v.W.Stored(c.l.From), c.v.W.Type(kept(c.l)), c.line()
	return c.define("lines", func(name string) string {
		return fmt.Sprintf(`TAPC_FN void %s(const %s *from, int64_t step, int64_t fold, int live, int count, void *to) {
  if (live < 16 || count < %d) __builtin_memset(to, 0, %d);
  for (int lane = 0; lane < live; lane++) {
    const %s *line = from + lane * step;
    %s *row = (%s *)((uint8_t *)to + lane * 64);
    if (fold == 1) %s(line, row, count);
    else
      for (int k = 0; k < count; k++) row[k] = %s;
  }
}
`, name, stored, tile.NarrowBlock/c.l.Size(), panels.BlockBytes, stored, kept, kept, line, c.one("line[k * fold]"))
	})
}

// across names the function that packs a block group by group: lanes are neighbours in memory.
func (c *converter) across() string {
	v, l, lanes, stored := c.v, c.l, c.lanes, c.v.W.Stored(c.l.From)
	u32, element := v.Type(scalar.UInt32, lanes), l.From
	if l.IsBytes() {
		element = scalar.UInt8
	}
	group := int(4 / l.Size())
	words, whole := make([]string, group), make([]string, group)
	for i := range words {
		row := func(n string) string {
			row := v.Of(element, lanes).Load(fmt.Sprintf("(const %s *)row + %d * fold + x", v.W.Stored(element), i), n)
			switch {
			case l.From == scalar.Float32:
				return fmt.Sprintf("%s((%s)%s)", v.ToBF16(lanes), u32, row)
			case l.IsBytes(): // in two steps, which GCC 12 has instructions for
				return fmt.Sprintf("__builtin_convertvector(__builtin_convertvector(%s, %s), %s)", row, v.Type(scalar.UInt16, lanes), u32)
			}
			return fmt.Sprintf("__builtin_convertvector(%s, %s)", row, u32)
		}
		shift := i * int(l.Size()) * 8
		words[i] = fmt.Sprintf("(i + %d < count ? (%s ^ flip) << %d : (%s){0})", i, row("n"), shift, u32)
		whole[i] = fmt.Sprintf("(%s ^ %du) << %d", row(fmt.Sprint(lanes)), l.Flip(), shift)
	}
	quick := fmt.Sprintf("for (int x = 0; x < 16; x += %d) *(%su *)((uint8_t *)to + i / %d * 64 + x * 4) = %s;", lanes, u32, group, strings.Join(whole, " | "))
	if l.IsBytes() {
		v.Type(scalar.UInt8, 16) // that it has, beside the next
		v.Type(scalar.UInt16, 8)
		v.Define("weave.c", func() string { return micro.Text("weave.c") })
		quick = fmt.Sprintf("tapc_weave(row, fold * (int64_t)sizeof *row, (uint8_t *)to + i / 4 * 64, %d);", l.Flip())
	}
	flip := "(" + u32 + "){0}" // of the lanes that are there
	if l.Flip() != 0 {
		flip = v.Only(v.Splat(vector.Value{Text: fmt.Sprintf("%du", l.Flip()), Type: scalar.UInt32, Uniform: true}, lanes), lanes, "n", scalar.IntValue(scalar.UInt32, 0)).Text
	}
	return c.define("across", func(name string) string {
		return fmt.Sprintf(`TAPC_FN void %s(const %s *from, int64_t step, int64_t fold, int live, int count, void *to) {
  (void)step;
  if (live == 16 && count == %d) {
    for (int i = 0; i < %d; i += %d) {
      const %s *row = from + i * fold;
      %s
    }
    return;
  }
  __builtin_memset(to, 0, %d);
  for (int i = 0; i < count; i += %d) {
    const %s *row = from + i * fold;
    for (int x = 0; x < live; x += %d) {
      const int n = live - x < %d ? live - x : %d;
      const %s flip = %s;
      *(%su *)((uint8_t *)to + i / %d * 64 + x * 4) = %s;
    }
  }
}
`, name, stored, tile.NarrowBlock/l.Size(), tile.NarrowBlock/l.Size(), group, stored, quick,
			panels.BlockBytes, group, stored, lanes, lanes, lanes, u32, flip, u32, group, strings.Join(words, " | "))
	})
}
