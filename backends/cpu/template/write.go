package template

import (
	"fmt"
	"strings"
)

// Type is the C type of what a table has: numbers, and addresses of functions and of data.
const Type = `// A number, or an address, that depends on the sizes of a run.
typedef union tapc_number {
  int64_t i;
  double f;
  const void *at;
  void (*call)(void);
} tapc_number;

`

// Written is a family in C.
type Written struct {
	Text    string // definitions: functions, and the table of their numbers
	Declare string // declarations of what is called from outside
	family  *Family
	rows    []int // of the table, by text
	columns int
}

// Write gives the C of a family.
func (f *Family) Write() *Written {
	columns, of := f.columns()
	w := &Written{family: f, columns: max(1, len(columns))}
	var b strings.Builder
	for i, t := range f.templates {
		f.write(&b, i, t, columns, of)
		if t.entry {
			w.Declare += "HIDDEN " + t.result + f.called(i) + t.params + ";\n"
		}
	}
	var lines []string
	known := map[string]int{}
	for i := range f.rows {
		line := rowText(columns, i)
		at, ok := known[line]
		if !ok {
			at = len(lines)
			known[line] = at
			lines = append(lines, line)
		}
		w.rows = append(w.rows, at)
	}
	fmt.Fprintf(&b, "\n\nHIDDEN const tapc_number %s_rows[%d][%d] = {\n%s};\n", f.Name, len(lines), w.columns, strings.Join(lines, ""))
	w.Declare += fmt.Sprintf("extern HIDDEN const tapc_number %s_rows[%d][%d];\n", f.Name, len(lines), w.columns)
	w.Text = w.Declare + b.String()
	return w
}

// Entry gives the name of the function that carries out a text, Row the expression of its numbers.
func (w *Written) Entry(text int) string { return w.family.called(w.family.rows[text].entry) }

// Row is what the function that carries out a text finds first in its table of addresses.
func (w *Written) Row(text int) string {
	return fmt.Sprintf("%s_rows[%d]", w.family.Name, w.rows[text])
}

// Count is how many functions there are, and how many of these one text alone has.
func (w *Written) Count() (functions, once int) {
	users := make([]int, len(w.family.templates))
	for _, r := range w.family.rows {
		for _, t := range r.templates {
			users[t]++
		}
	}
	for i, t := range w.family.templates {
		if t.body > 0 {
			functions++
			if users[i] == 1 {
				once++
			}
		}
	}
	return functions, once
}

// rowText writes a row of the table.
func rowText(columns []column, row int) string {
	words := make([]string, len(columns))
	for i, c := range columns {
		v := c.values[row]
		switch {
		case v == "":
			words[i] = "{0}"
		case c.kind == function:
			words[i] = "{.call = (void (*)(void))" + v + "}"
		case c.kind == address:
			words[i] = "{.at = " + v + "}"
		case c.kind == single:
			words[i] = "{.f = " + strings.TrimSuffix(v, "f") + "}"
		case c.kind == fraction:
			words[i] = "{.f = " + v + "}"
		default:
			words[i] = "{" + v + "}"
		}
	}
	if len(words) == 0 {
		words = []string{"{0}"}
	}
	return "  {" + strings.Join(words, ", ") + "},\n"
}

// write writes a template.
func (f *Family) write(b *strings.Builder, number int, t *template, columns []column, of map[slot]int) {
	used, order := map[int]string{}, []int{}
	at := map[int]string{} // texts of the slots, by token
	for n, i := range t.slots {
		p := slot{number, n}
		c, ok := of[p]
		if !ok {
			at[i] = literal(t.values[n], f.constantOf(p))
			continue
		}
		name := fmt.Sprintf("tapc_n%d", c)
		if _, ok := used[c]; !ok {
			order = append(order, c)
			used[c] = f.declaration(t, n, name, c)
		}
		at[i] = name
	}
	b.WriteByte('\n')
	for i, tok := range t.tokens {
		text, ok := at[i]
		switch {
		case ok:
		case tok.text == "\x01":
			text = f.called(number)
		case tok.text == "\x03":
			text = f.called(tok.at - 1)
		case i == 0 && tok.text == "static" && t.entry:
			text = "HIDDEN"
		default:
			text = tok.text
		}
		b.WriteString(tok.space + text)
		if i == t.body && t.body > 0 && len(order) > 0 {
			fmt.Fprintf(b, "\n  const tapc_number *const tapc_n = %s;", t.table)
			for _, c := range order {
				b.WriteString("\n  " + used[c])
			}
		}
	}
	b.WriteByte('\n')
}

// constantOf gives what a slot has in all rows.
func (f *Family) constantOf(p slot) string {
	for _, r := range f.rows {
		if v := r.value(p); v != "" {
			return v
		}
	}
	return ""
}

// literal writes what a slot has as C.
func literal(k kind, v string) string {
	if k == long {
		return "INT64_C(" + v + ")"
	}
	return v
}

// declaration writes the variable of a column that a slot reads.
func (f *Family) declaration(t *template, n int, name string, c int) string {
	switch t.values[n] {
	case whole:
		return fmt.Sprintf("const int %s = (int)tapc_n[%d].i;", name, c)
	case long:
		return fmt.Sprintf("const int64_t %s = tapc_n[%d].i;", name, c)
	case single:
		return fmt.Sprintf("const float %s = (float)tapc_n[%d].f;", name, c)
	case fraction:
		return fmt.Sprintf("const double %s = tapc_n[%d].f;", name, c)
	case address:
		return fmt.Sprintf("const void *const %s = tapc_n[%d].at;", name, c)
	}
	result, params := "void ", "(void *const *b, tapc_pool *pool)" // of a kernel
	if t.calls[n] >= 0 {
		result, params = f.templates[t.calls[n]].result, f.templates[t.calls[n]].params
	}
	return fmt.Sprintf("%s(*const %s)%s = (%s(*)%s)tapc_n[%d].call;", result, name, params, result, params, c)
}
