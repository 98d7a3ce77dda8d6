// Package template makes programs for many sizes of one text: functions of C that differ in numbers alone become one, which reads these from a row of a table.
//
// The kernels of each size are written and checked as if there were no other. The text of a function is cut into tokens; functions whose tokens are the same,
// but for numbers of the same types and the names of the functions that they call, are one template. A number that is the same for all sizes stays where it is;
// others are columns of a table with a row for each size. So what a program computes at a size is, token for token, what the program of this size computes, and
// a size for which a kernel is written in another way has templates of its own.
//
// Trees could not say this: what they have as numbers (factors of indices, strides of memories, steps of loops) would have to be symbolic, while what is made and printed of them asks
// for these numbers (whether a quotient vanishes, a vector is whole, a loop has one round), and register tiles are no statements of theirs.
//
// It knows C and no kernel. Read next: family.go, column.go, write.go.
package template

import (
	"fmt"
	"slices"
	"strings"
)

// Family is the texts of one kernel at several sizes.
type Family struct {
	Name      string // what the names of its functions begin with
	templates []*template
	known     map[string]int // templates by their keys
	rows      []row
	texts     map[string]string // of values, each once
}

// template is a definition, with slots for what differs.
type template struct {
	item
	values []kind // of the slots, in order
	slots  []int  // which tokens these are
	calls  []int  // of slots of functions: the template that was called first
	entry  bool
}

// row is what one text has in the slots of templates.
type row struct {
	templates []int            // of its definitions, in order
	values    map[int][]string // of templates, in the order of their slots
	entry     int              // the template of the function that is called from outside
}

// value gives what a slot has; "" if the text does not have its template.
func (r row) value(p slot) string {
	if list := r.values[p.template]; list != nil {
		return list[p.number]
	}
	return ""
}

// slot is a slot of a template.
type slot struct{ template, number int }

// New begins a family.
func New(name string) *Family {
	return &Family{Name: name, known: map[string]int{}, texts: map[string]string{}}
}

// Outside is a name that a text uses and others define: an expression of the address of a function or of data.
type Outside struct {
	Function bool
	Text     string
}

// Add takes a text, whose function entry is called from outside, and gives its number.
func (f *Family) Add(text, entry string, outside map[string]Outside) (int, error) {
	list, err := items(text)
	if err != nil {
		return 0, err
	}
	a := adding{Family: f, row: row{values: map[int][]string{}, entry: -1}, known: map[string]int{}, times: map[string]int{}, outside: outside}
	for _, x := range list {
		at := a.item(x)
		if x.name != "" {
			a.known[x.name] = at
		}
		if x.name == entry {
			a.row.entry = at
			f.templates[at].entry = true
		}
	}
	if a.row.entry < 0 {
		return 0, fmt.Errorf("template: no function %s", entry)
	}
	f.rows = append(f.rows, a.row)
	return len(f.rows) - 1, nil
}

// adding is a text that is taken.
type adding struct {
	*Family
	row     row
	known   map[string]int // templates by the names of the text
	times   map[string]int // how often the text has a template
	outside map[string]Outside
}

// item takes a definition and gives its template.
func (a *adding) item(x item) int {
	if x.body > 0 {
		x.tokens = append(slices.Clip(words(x.tokens[:x.body])), fix(unwrapped(x.tokens[x.body:]))...)
	} else {
		x.tokens = words(x.tokens)
	}
	t := &template{item: x}
	var key strings.Builder
	var values []string
	for i := range x.tokens {
		tok := &x.tokens[i]
		value := a.name(x, tok)
		if tok.kind == word || x.table == "" {
			key.WriteString(tok.text + " ")
			if tok.at > 0 {
				fmt.Fprintf(&key, "%d ", tok.at)
			}
			continue
		}
		if value == "" {
			value = tok.text
		}
		fmt.Fprintf(&key, "\x00%d ", tok.kind)
		if tok.kind == function && tok.at > 0 {
			key.WriteString(a.templates[tok.at-1].result + a.templates[tok.at-1].params)
		}
		t.values, t.slots, t.calls = append(t.values, tok.kind), append(t.slots, i), append(t.calls, tok.at-1)
		values = append(values, a.intern(value))
	}
	a.times[key.String()]++
	full := fmt.Sprintf("%d %s", a.times[key.String()], key.String())
	at, ok := a.Family.known[full]
	if !ok {
		at = len(a.templates)
		a.Family.known[full] = at
		a.templates = append(a.templates, t)
	}
	if len(values) > 0 {
		a.row.values[at] = values
	}
	a.row.templates = append(a.row.templates, at)
	return at
}

// name resolves a name: a function that is called by its address is a value, and all else that the text declares a template.
func (a *adding) name(x item, tok *token) string {
	if tok.kind != word || !isLetter(tok.text[0]) {
		return ""
	}
	if tok.text == x.name {
		tok.text = "\x01"
		return ""
	}
	if o, ok := a.outside[tok.text]; ok {
		tok.kind = address
		if o.Function {
			tok.kind = function
		}
		tok.text = "\x02"
		return o.Text
	}
	at, ok := a.known[tok.text]
	if !ok {
		return ""
	}
	tok.text, tok.at = "\x03", at+1
	if callee := a.templates[at]; callee.body > 0 && !callee.inline && x.table != "" {
		tok.kind = function
		return a.called(at)
	}
	return ""
}

// words makes all numbers words.
func words(tokens []token) []token {
	out := slices.Clone(tokens)
	for i := range out {
		out[i].kind = word
	}
	return out
}

func (f *Family) called(template int) string { return fmt.Sprintf("%s_%d", f.Name, template) }

// intern gives a text that no other holds in memory.
func (f *Family) intern(text string) string {
	if known, ok := f.texts[text]; ok {
		return known
	}
	text = strings.Clone(text)
	f.texts[text] = text
	return text
}
