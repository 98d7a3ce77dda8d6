package tree

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// String writes the tree for readers, a statement a line.
func (f *Func) String() string {
	p := &printer{}
	f.print(p)
	return p.b.String()
}

func (f *Func) print(p *printer) {
	p.line("func %s {", f.Name)
	p.depth++
	for _, m := range f.Operands {
		p.line("%s %s", map[bool]string{false: "reads", true: "writes"}[m.Written], p.memory(m))
	}
	for _, x := range f.Params {
		x.print(p)
	}
	for _, x := range f.Functions {
		x.print(p)
	}
	p.list(f.Body)
	if f.Result != nil {
		p.line("result %s", f.Result)
	}
	p.depth--
	p.line("}")
}

func (s Param) print(p *printer) {
	if s.Memory != nil {
		p.line("given %s%s", map[bool]string{true: "the value of "}[s.Value], p.memory(s.Memory))
	} else {
		p.line("given %s in %s .. %s", s.Var.Name, s.From, s.To)
	}
}

type printer struct {
	b     strings.Builder
	depth int
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) list(body []Stmt) {
	for _, s := range body {
		s.print(p)
	}
}

func (p *printer) block(body []Stmt, format string, args ...any) {
	p.line(format+" {", args...)
	p.depth++
	p.list(body)
	p.depth--
	p.line("}")
}

func (p *printer) memory(m *Memory) string {
	var dims []string
	for _, d := range m.Dims {
		text := fmt.Sprintf("%d:%d", d.Start, d.End)
		if d.Start == 0 {
			text = fmt.Sprint(d.End)
		}
		if m.Scope == Global || m.Scope == Shared || m.Of != nil {
			text += fmt.Sprintf(" by %d", d.Stride)
		}
		dims = append(dims, text)
	}
	kind := ""
	if m.Acc {
		kind = " sums"
	}
	if m.Of != nil {
		kind += " of " + m.Of.Name
	}
	return fmt.Sprintf("%s: %s%s in %s [%s]", m.Name, m.Type, kind, m.Scope, strings.Join(dims, ", "))
}

func (a Access) String() string {
	var at []string
	for i, x := range a.At {
		if a.Memory.Dims[i].Stride == 0 || x == nil {
			at = append(at, "·")
			continue
		}
		at = append(at, x.String())
	}
	return fmt.Sprintf("%s[%s]", a.Memory.Name, strings.Join(at, ", "))
}

func (s *For) print(p *printer) {
	lanes, more := "", ""
	if s.Bind == Vector {
		lanes = fmt.Sprintf(" of %d", s.Lanes)
	}
	if s.Step != 1 {
		more = fmt.Sprintf(" step %d", s.Step)
	}
	if s.Together {
		more += " together"
	}
	p.block(s.Body, "%s%s %s in %s .. %s%s", s.Bind, lanes, s.Var.Name, s.From, s.To, more)
}

func (s *Let) print(p *printer) { p.line("let %s = %s", s.Var.Name, s.Value) }

func (s *If) print(p *printer) {
	var conds []string
	for _, c := range s.Conds {
		conds = append(conds, c.String())
	}
	p.block(s.Then, "if %s", strings.Join(conds, " and "))
	if len(s.Else) > 0 {
		p.block(s.Else, "else")
	}
}

func (s *Once) print(p *printer) { p.block(s.Body, "once for %s", s.Key) }

// String writes the condition as C does.
func (c Cond) String() string {
	var parts []string
	if c.From != nil {
		parts = append(parts, fmt.Sprintf("%s >= %s", c.Var.Name, c.From))
	}
	if c.Limit != nil {
		parts = append(parts, fmt.Sprintf("%s < %s", c.Var.Name, c.Limit))
	}
	return strings.Join(parts, " && ")
}

func (s *At) print(p *printer) {
	p.block(s.Body, "at %s = %s in %d .. %d", s.Var.Name, s.Computed, s.From, s.To)
}

func (s *Branch) print(p *printer) {
	p.block(s.Then, "if %s", s.Computed)
	if len(s.Else) > 0 {
		p.block(s.Else, "else")
	}
}

func (s *Declare) print(p *printer) { p.line("declare %s", p.memory(s.Memory)) }

func (s *Map) print(p *printer) {
	sign, past := "=", ""
	if s.Monoid != NoMonoid {
		sign = scalar.MonoidName(s.Monoid) + "="
	}
	if s.Stream > 0 {
		past = fmt.Sprintf(", past caches that do not keep %d bytes", s.Stream)
	}
	p.line("%s %s %s%s", s.Dst, sign, s.Computed, past)
}

func (s *Sort) print(p *printer) {
	first := ""
	if s.First > 0 {
		first = fmt.Sprintf(" first %d of", s.First)
	}
	p.line("sort %s <-%s %d .. %d, %s before %s if %s", s.Order, first, s.From, s.To, s.Right.Name, s.Left.Name, s.Before)
}

func (s *Dot) print(p *printer) {
	p.line("dot[%s] %s[%s, %s] += %s * %s for %s in %s .. %s", s.Micro, s.Acc.Name, s.R.Name, s.C.Name, s.A, s.B, s.K.Name, s.From, s.To)
}

func (s *Leaf) print(p *printer) {
	list := func(boxes []Box) string {
		var text []string
		for _, b := range boxes {
			text = append(text, b.String())
		}
		return strings.Join(text, ", ")
	}
	text := fmt.Sprintf("leaf %s: %s", s.Template, list(s.Writes))
	if len(s.Reads) > 0 {
		text += " <- " + list(s.Reads)
	}
	for _, a := range s.Args {
		if x := a.Ahead; x != nil {
			text += fmt.Sprintf(", ahead the next %s: %s + %s", x.About, x.Memory.Name, x.From.Add(x.More))
			if x.When != nil {
				text += " if " + x.When.String()
			}
		}
	}
	p.line("%s", text)
}

func (s *Hold) print(p *printer) { p.line("hold %s", s.Access) }

func (s *Choose) print(p *printer) {
	for _, c := range s.Cases {
		around := ""
		if c.Begin != "" {
			around = fmt.Sprintf(", between %s and %s", c.Begin, c.End)
		}
		p.block(c.Body, "on %s%s", c.Name, around)
	}
}

// String writes a box as what is printed of a tree has it.
func (b Box) String() string {
	var at []string
	for i, x := range b.From {
		switch {
		case x == nil:
			at = append(at, "·")
		case distance(b.To[i], x) == 1:
			at = append(at, x.String())
		default:
			at = append(at, fmt.Sprintf("%s .. %s", x, b.To[i]))
		}
	}
	return fmt.Sprintf("%s[%s]", b.Memory.Name, strings.Join(at, ", "))
}

func (s *Combine) print(p *printer) {
	p.line("combine %s %s across %d lanes", s.Value, scalar.MonoidName(s.Monoid), s.Lanes)
}

func (s *Copy) print(p *printer) {
	p.line("copy%s %s <- %s, %d", map[bool]string{true: " async"}[s.Async], s.Dst, s.Src, s.Count)
}

func (s *Prefetch) print(p *printer) {
	p.line("prefetch %s[%s] to be %s", s.Memory.Name, s.At, map[bool]string{true: "written", false: "read"}[s.Write])
}

func (Commit) print(p *printer)  { p.line("commit") }
func (s Wait) print(p *printer)  { p.line("wait %d", s.Pending) }
func (Barrier) print(p *printer) { p.line("barrier") }

// String writes the expression with its arguments.
func (c Computed) String() string { return c.Value.Format(names(c)) }

// names are those of what stands in an expression.
type names Computed

// OperandName gives the text of an argument.
func (n names) OperandName(ref int) string { return n.Args[ref].String() }

// LocalName is not asked for: there are none.
func (names) LocalName(ref int) string { return fmt.Sprintf("local%d", ref) }

// LoopName gives the text of a loop's value.
func (n names) LoopName(ref int) string { return n.Loops[ref].String() }
