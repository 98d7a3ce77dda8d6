package lowprecision

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// strip is how many panels are packed side by side: of lanes that are neighbours in memory, as many as share a cache line.
func (n *Kernel) strip(o *narrowOperand) int64 {
	if !n.across(o) {
		return 1
	}
	return int64(64 / (tile.NarrowPanel * o.layout.Size))
}

// pack writes the packing of an operand by all threads.
func (n *Kernel) pack(o *narrowOperand) {
	wide := n.strip(o) * tile.NarrowPanel
	n.Parallel(fmt.Sprintf("%s * ((part.%s + %d) / %d)", point.Number(panels.Extents(o.layout.Groups)), o.side.count, wide-1, wide), "pack_"+o.side.name,
		unit.Each(float64(n.strip(o)*o.panel())/unit.PackRate, 1))
}

// packTask writes the function with which a thread packs some strips of panels of an operand.
func (n *Kernel) packTask(o *narrowOperand) {
	p, l := n.Product, o.layout
	operand := p.K.Operands[o.operand]
	view := p.C.Views[o.operand]
	stored := p.E.W.Stored(operand.Type())
	p.E.Raw(operand.Buffer)
	p.Line("\n// %s in panels of %d %s.", operand.Name, tile.NarrowPanel, o.side.count)
	p.Open("static void %s_pack_%s(void *ctx, int64_t begin, int64_t end, int worker) {", p.Name, o.side.name)
	p.Line("const tapc_narrow_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	p.Line("const %s *all = b[%d];", stored, p.E.Slot(operand.Buffer))
	wide := n.strip(o) * tile.NarrowPanel
	p.Line("const int64_t across = (part->%s + %d) / %d, panels = (part->%s + %d) / %d, last = part->%s + part->%s;", o.side.count, wide-1, wide,
		o.side.count, tile.NarrowPanel-1, tile.NarrowPanel, o.side.first, o.side.count)
	per := int64(tile.NarrowBlock) / l.Blocked.Size()
	blocks := func() {
		p.Open("for (int64_t k = 0; k < %d; k += %d) {", p.Length, per)
		p.Line("const int count = %d - k < %d ? (int)(%d - k) : %d;", p.Length, per, p.Length, per)
	}
	rowWise := n.across(o)
	if rowWise { // what is near in memory comes one after the other
		blocks()
	}
	n.strips(o)
	if !rowWise {
		blocks()
	}
	p.Line("uint8_t *to = first + k / %d * %d;", per, panels.BlockBytes)
	p.Open("for (int lane = 0; lane < lanes; lane += %d, to += %d) {", tile.NarrowPanel, o.panel())
	p.Line("const int live = lanes - lane < %d ? lanes - lane : %d;", tile.NarrowPanel, tile.NarrowPanel)
	step := p.C.Reduction[0].Step(view)
	p.Line("%s", n.packBlock(o, fmt.Sprintf("from + k * %s + lane * %s", point.Number(step), point.Number(l.Step)), l.Step, step, "to"))
	p.Close(3)
	if n.needsSums(o) {
		n.defineFile("sums.c")
		sums := map[panels.BlockForm]string{panels.Lines: "tapc_line_sums", panels.Across: "tapc_across_sums"}[l.Blocked.Form]
		n.strips(o)
		p.Line("(void)from;")
		p.Line("for (int lane = 0; lane < lanes; lane += %d) %s(first + lane / %d * %d, %d);", tile.NarrowPanel, sums, tile.NarrowPanel, o.panel(), o.blocks())
		p.Close()
	}
	p.Close()
}

// across says whether an operand is packed group by group: lanes are neighbours in memory, and the fold's values are not.
func (n *Kernel) across(o *narrowOperand) bool {
	return o.layout.Step == 1 && n.C.Reduction[0].Step(n.C.Views[o.operand]) != 1
}

// strips opens a loop over strips: first is a strip's first panel, from its first element, and lanes how many there are.
func (n *Kernel) strips(o *narrowOperand) {
	p, view := n.Product, n.C.Views[o.operand]
	wide, v := n.strip(o)*tile.NarrowPanel, o.along.Variable
	p.Open("for (int64_t strip = begin; strip < end; strip++) {")
	p.Line("const int64_t %s = part->%s + strip %% across * %d;", v, o.side.first, wide)
	p.Line("int64_t rest = strip / across;")
	p.Line("uint8_t *first = (uint8_t *)b[%d] + %d + (rest * panels + strip %% across * %d) * %d;", o.place.Slot, o.place.At, n.strip(o), o.panel())
	groups := point.Follows(p.Batch, view)
	point.PlaceOf(p.Text, groups)
	p.Line("const int lanes = last - %s < %d ? (int)(last - %s) : %d;", v, wide, v, wide)
	p.Line("const %s *from = all + %s;", p.E.W.Stored(p.K.Operands[o.operand].Type()), point.OffsetText(point.Start(p.K, view), append(groups, o.along), view))
}

// packBlock writes the packing of one block: lanes stand step apart, and the fold's values foldStep.
func (n *Kernel) packBlock(o *narrowOperand, from string, step, foldStep int64, to string) string {
	form, pack, l := panels.Lines, n.linesFunction, o.layout.Blocked
	if n.across(o) {
		form, pack = panels.Across, n.acrossFunction
	}
	if form == l.Form {
		return fmt.Sprintf("%s(%s, %s, %s, live, count, %s);", pack(l), from, point.Number(step), point.Number(foldStep), to)
	}
	return fmt.Sprintf("{ _Alignas(64) uint8_t turned[%d]; %s(%s, %s, %s, live, count, turned); %s(turned, %s); }", panels.BlockBytes,
		pack(l), from, point.Number(step), point.Number(foldStep), n.turnFunction(), to)
}

// turnFunction names the function that turns a block on its diagonal: 16 by 16 groups of four bytes.
func (n *Kernel) turnFunction() string {
	lanes := n.Product.N
	square := n.E.V.Of(scalar.UInt32, lanes).Transpose(lanes, "from + y * 16 + x", "16", "to + x * 16 + y", "16")
	name := fmt.Sprintf("tapc_turn_block_x%d", lanes)
	n.define(name, fmt.Sprintf("TAPC_FN void %s(const void *block, void *turned) {\n  const uint32_t *from = block;\n  uint32_t *to = turned;\n"+
		"  for (int y = 0; y < 16; y += %d) {\n    for (int x = 0; x < 16; x += %d) %s;\n  }\n}\n", name, lanes, lanes, square))
	return name
}

// linesFunction names the function that packs a block lane by lane.
func (n *Kernel) linesFunction(l panels.Blocked) string {
	v, lanes := n.E.V, n.Product.N
	stored := n.E.W.Stored(l.From)
	var quick, element string
	kept := "uint16_t"
	switch l.From {
	case scalar.Float32:
		u32, u16 := v.Type(scalar.UInt32, lanes), v.Type(scalar.UInt16, lanes)
		quick = fmt.Sprintf("for (; k + %d <= count; k += %d) *(%su *)(row + k) = __builtin_convertvector(%s(*(const %su *)(line + k)), %s);",
			lanes, lanes, u16, v.ToBF16(lanes), u32, u16)
		element = n.oneToBF16() + "(line[k * fold])"
	case scalar.BFloat16:
		quick = "for (; k < count; k++) row[k] = line[k];"
		element = "line[k * fold]"
	default:
		kept = "uint8_t"
		quick = fmt.Sprintf("for (; k < count; k++) row[k] = (uint8_t)line[k] ^ %d;", l.Flip())
		element = fmt.Sprintf("(uint8_t)line[k * fold] ^ %d", l.Flip())
	}
	name := fmt.Sprintf("tapc_lines_%s_%d", vector.ElementName(l.From), l.Flip())
	n.define(name, fmt.Sprintf(`TAPC_FN void %s(const %s *from, int64_t step, int64_t fold, int live, int count, void *to) {
  if (live < 16 || count < %d) __builtin_memset(to, 0, %d);
  for (int lane = 0; lane < live; lane++) {
    const %s *line = from + lane * step;
    %s *row = (%s *)((uint8_t *)to + lane * 64);
    int k = 0;
    if (fold == 1) {
      %s
    }
    for (; k < count; k++) row[k] = %s;
  }
}
`, name, stored, tile.NarrowBlock/l.Size(), panels.BlockBytes, stored, kept, kept, quick, element))
	return name
}

// oneToBF16 names the function that rounds one number to the bits of bfloat16.
func (n *Kernel) oneToBF16() string {
	n.defineFile("tobf16.c")
	return "tapc_to_bf16"
}

// acrossFunction names the function that packs a block group by group: lanes are neighbours in memory.
func (n *Kernel) acrossFunction(l panels.Blocked) string {
	v, lanes := n.E.V, n.Product.N
	stored := n.E.W.Stored(l.From)
	u32 := v.Type(scalar.UInt32, lanes)
	element := l.From
	if l.IsBytes() {
		element = scalar.UInt8
	}
	group := int(4 / l.Size())
	words, whole := make([]string, group), make([]string, group)
	for i := range words {
		row := v.Of(element, lanes).Load(fmt.Sprintf("(const %s *)row + %d * fold + x", n.E.W.Stored(element), i), "$n")
		switch {
		case l.From == scalar.Float32:
			row = fmt.Sprintf("%s((%s)%s)", v.ToBF16(lanes), u32, row)
		case l.IsBytes(): // in two steps, which GCC 12 has instructions for
			row = fmt.Sprintf("__builtin_convertvector(__builtin_convertvector(%s, %s), %s)", row, v.Type(scalar.UInt16, lanes), u32)
		default:
			row = fmt.Sprintf("__builtin_convertvector(%s, %s)", row, u32)
		}
		shift := i * int(l.Size()) * 8
		words[i] = fmt.Sprintf("(i + %d < count ? (%s ^ flip) << %d : (%s){0})", i, strings.ReplaceAll(row, "$n", "n"), shift, u32)
		whole[i] = fmt.Sprintf("(%s ^ %du) << %d", strings.ReplaceAll(row, "$n", fmt.Sprint(lanes)), l.Flip(), shift)
	}
	quick := fmt.Sprintf("for (int x = 0; x < 16; x += %d) *(%su *)((uint8_t *)to + i / %d * 64 + x * 4) = %s;", lanes, u32, group, strings.Join(whole, " | "))
	if l.IsBytes() {
		v.Type(scalar.UInt8, 16) // that it has, beside the next
		v.Type(scalar.UInt16, 8)
		n.defineFile("weave.c")
		quick = fmt.Sprintf("tapc_weave(row, fold * (int64_t)sizeof *row, (uint8_t *)to + i / 4 * 64, %d);", l.Flip())
	}
	name := fmt.Sprintf("tapc_across_%s_%d", vector.ElementName(l.From), l.Flip())
	n.define(name, fmt.Sprintf(`TAPC_FN void %s(const %s *from, int64_t step, int64_t fold, int live, int count, void *to) {
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
		panels.BlockBytes, group, stored, lanes, lanes, lanes, u32, n.flipMask(l, u32), u32, group, strings.Join(words, " | ")))
	return name
}

// flipMask is what the lanes that are there are changed by, as a vector; n of them are.
func (n *Kernel) flipMask(l panels.Blocked, u32 string) string {
	if l.Flip() == 0 {
		return "(" + u32 + "){0}"
	}
	lanes := n.Product.N
	mask := n.E.V.Only(n.E.V.Splat(vector.Value{Text: fmt.Sprintf("%du", l.Flip()), Type: scalar.UInt32, Uniform: true}, lanes), lanes, "n",
		scalar.IntValue(scalar.UInt32, 0))
	return mask.Text
}
