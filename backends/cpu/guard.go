package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// guarded writes a load under a guard that lanes differ in. The places where a guard holds have none between them where it does
// not, so the lanes that are read are neighbours: those from low on, up to high.
func (p *point) guarded(e *scalar.Expr) (value, bool) {
	if p.along < 0 || e.Type == scalar.Bool {
		return value{}, false
	}
	if x, ok := p.chosen(e); ok {
		return x, true
	}
	if e.Op == scalar.Where && !usesAny(p.axes[p.along].Loops, e.Args[0]) {
		return p.steady(e)
	}
	sums, ok := nest.Guards(e)
	if !ok {
		return value{}, false
	}
	ref, lane := e.Args[1].Ref, p.axes[p.along].Inner()
	if p.axes[p.along].Step(p.views[ref]) != 1 || slices.ContainsFunc(sums, func(a nest.Affine) bool { return abs(a.Factor(lane)) > 1 }) {
		return p.laneByLane(e), true
	}
	var same []nest.Affine
	low, high := "0", p.count
	for _, a := range sums {
		switch text := p.affine(a); a.Factor(lane) {
		case 1:
			low = p.v.extent("most", low, "-("+text+")")
		case -1:
			high = p.v.extent("least", high, text+" + 1")
		default:
			same = append(same, a)
		}
	}
	fill := p.v.w.Const(e.Args[2].Value)
	all := p.v.splat(value{text: fill, typ: e.Type, uniform: true}, p.n).text
	text := p.v.part(e.Type, p.n, p.address(ref), low, high, all)
	if p.inside != "" {
		text = fmt.Sprintf("(%s ? %s : %s)", p.inside, p.load(ref).text, text)
	}
	if len(same) > 0 {
		text = fmt.Sprintf("(%s ? %s : %s)", p.hold(same), text, all)
	}
	if len(same) > 0 && p.spanned != nil {
		text = fmt.Sprintf("(%s == %s ? %s : %s)", p.inside, allInside, p.load(ref).text, text)
	}
	return value{text: text, typ: e.Type}, true
}

// hold writes the condition that sums are at least 0, some of which may be known of all places of a span.
func (p *point) hold(sums []nest.Affine) string {
	var along, across []string
	for _, a := range sums {
		text := fmt.Sprintf("%s >= 0", p.affine(a))
		if p.spanned != nil && a.Factor(p.spanned.Inner()) != 0 {
			along = append(along, text)
		} else {
			across = append(across, text)
		}
	}
	if len(along) > 0 {
		across = append(across, fmt.Sprintf("(%s == %s || (%s))", p.inside, alongInside, strings.Join(along, " && ")))
	}
	return strings.Join(across, " && ")
}

// chosen writes what a choice chooses in the part of a row that the code is for, if that is known.
func (p *point) chosen(e *scalar.Expr) (value, bool) {
	if p.part == nil || e.Op != scalar.Where {
		return value{}, false
	}
	from, to, ok := nest.Interval(p.k, p.axes[p.along].Inner(), e.Args[0])
	switch {
	case !ok:
	case from <= p.part.from && p.part.to <= to:
		return p.v.expr(e.Args[1], p.n, p), true
	case to <= p.part.from || p.part.to <= from:
		return p.v.expr(e.Args[2], p.n, p), true
	}
	return value{}, false
}

// steady writes a choice whose condition is the same for all lanes, if it may be known elsewhere that it holds.
func (p *point) steady(e *scalar.Expr) (value, bool) {
	sums, ok := nest.Borders(e.Args[0])
	if !ok || p.spanned == nil {
		return value{}, false
	}
	args, uniform := make([]value, len(e.Args)), true
	for i, a := range e.Args {
		args[i] = p.v.expr(a, p.n, p)
		uniform = uniform && args[i].uniform
	}
	args[0].text = fmt.Sprintf("(%s == %s || (%s))", p.inside, allInside, p.hold(sums))
	return p.v.apply(scalar.Where, e.Type, p.n, args, uniform), true
}

func abs(n int64) int64 { return max(n, -n) }

// affine writes the value of a sum of loop values at the first lane.
func (p *point) affine(a nest.Affine) string {
	constant := a.Constant
	var terms []string
	for l, f := range a.Factors {
		if f == 0 {
			continue
		}
		constant += f * p.k.Loops[l].Start
		for _, x := range p.axes {
			switch {
			case x.Inner() != l:
			case f == 1:
				terms = append(terms, x.variable)
			default:
				terms = append(terms, fmt.Sprintf("%s * %s", x.variable, number(f)))
			}
		}
	}
	return strings.Join(append(terms, number(constant)), " + ")
}

// laneByLane writes a guarded load whose lanes are not neighbours: if the guard holds for the first lane and the last it holds for
// all, and they are gathered; else each is asked.
func (p *point) laneByLane(e *scalar.Expr) value {
	ref := e.Args[1].Ref
	d, step := e.Type, p.axes[p.along].Step(p.views[ref])
	lane := *p
	lane.axes, lane.here = slices.Clone(p.axes), 0
	at := func(offset string) string {
		lane.axes[p.along].variable = fmt.Sprintf("(%s + %s)", p.axes[p.along].variable, offset)
		lane.along = -1
		return p.v.expr(e.Args[0], p.n, &lane).text
	}
	t := p.v.typ(d, p.n)
	whole := p.load(ref)
	first, last := at("0"), at(fmt.Sprintf("(%s) - 1", p.count))
	inside := at("l")
	element := lane.load(ref).text
	if step == 0 {
		whole = p.v.splat(whole, p.n)
	}
	text := fmt.Sprintf("((%s & %s) ? %s : ({ %s r = {0}; for (int l = 0; l < %s; l++) r[l] = %s ? %s : %s; r; }))",
		first, last, whole.text, t, p.count, inside, element, p.v.w.Const(e.Args[2].Value))
	return value{text: text, typ: d}
}

// extent writes the lesser or greater of two numbers.
func (v *vectors) extent(which, a, b string) string {
	sign := map[string]string{"least": "<", "most": ">"}[which]
	name := v.define("tapc_"+which, func() string {
		return fmt.Sprintf("TAPC_FN int64_t tapc_%s(int64_t a, int64_t b) { return a %s b ? a : b; }\n", which, sign)
	})
	return fmt.Sprintf("%s(%s, %s)", name, a, b)
}

// part reads the lanes from low up to high, and takes the others from a vector; all lanes if low and high are outside of them.
// high may be at most n.
func (v *vectors) part(d scalar.DType, n int, address, low, high, others string) string {
	t := v.typ(d, n)
	name := v.define(fmt.Sprintf("tapc_part_%sx%d", elementName(d), n), func() string {
		c, bytes := cexpr.CType(d), n*d.Size()
		text := fmt.Sprintf("TAPC_FN %s tapc_part_%sx%d(const %s *p, int64_t low, int64_t high, %s v) {\n"+
			"  if (low <= 0 && high == %d) return *(const %su *)p;\n", t, elementName(d), n, c, t, n, t)
		if letter := map[scalar.DType]string{scalar.Float32: "s", scalar.Float64: "d"}[d]; letter != "" && bytes == 64 {
			mask := fmt.Sprintf("(uint%d_t)", max(8, n))
			text += fmt.Sprintf("#if defined(__AVX512F__)\n  if (high <= low) return v;\n"+
				"  const %s m = %s((1u << high) - (1u << (low > 0 ? low : 0)));\n"+
				"  return (%s)__builtin_ia32_loadup%s512_mask((const %s *)p, v, m);\n#else\n", strings.Trim(mask, "()"), mask, t, letter, c)
			return text + v.lanes(t, c, n) + "#endif\n}\n"
		}
		return text + v.lanes(t, c, n) + "}\n"
	})
	return fmt.Sprintf("%s(%s, %s, %s, %s)", name, address, low, high, others)
}

// lanes writes what part does without an instruction for it. The lanes go through an array: GCC 12 fails on some vectors that
// are set lane by lane.
func (v *vectors) lanes(t, element string, n int) string {
	return fmt.Sprintf("  %s x[%d];\n  __builtin_memcpy(x, &v, sizeof x);\n  for (int64_t l = low > 0 ? low : 0; l < high; l++) x[l] = p[l];\n"+
		"  __builtin_memcpy(&v, x, sizeof x);\n  return v;\n", element, n)
}
