package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// textOf gives a config as a line of JSON, whose names are those of its fields: equal for equal configs alone. Fields that say nothing are left out.
func textOf(c *schedule.Config) string {
	var b strings.Builder
	writeFields(&b, valuesOf(c))
	return b.String()
}

func writeFields(b *strings.Builder, fields []value) {
	before := "{"
	for i := range fields {
		f := &fields[i]
		if f.empty() {
			continue
		}
		fmt.Fprintf(b, "%s%q:", before, f.name)
		before = ","
		f.write(b)
	}
	if before == "{" {
		b.WriteString(before)
	}
	b.WriteString("}")
}

// empty says whether a field is as it is in an empty config.
func (f *value) empty() bool {
	return f.text == "" && !f.truth && len(f.items) == 0 && (len(f.ints) == 0 || f.kind == number && f.ints[0] == 0)
}

func (f *value) write(b *strings.Builder) {
	var x any
	switch f.kind {
	case number:
		x = f.ints[0]
	case numbers:
		x = f.ints
	case truth:
		x = f.truth
	case text_:
		x = f.text
	case list:
		before := "["
		for _, item := range f.items {
			b.WriteString(before)
			writeFields(b, item)
			before = ","
		}
		b.WriteString("]")
		return
	}
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // numbers, truths and strings: a fault of this program
	}
	b.Write(text)
}

// readConfig reads what textOf wrote. A text that it did not write is an error.
func readConfig(text string) (*schedule.Config, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("a config is no JSON: %w", err)
	}
	c, p := &schedule.Config{}, &parsing{fields: fields}
	c.Fields(p)
	if p.wrong == "" && textOf(c) != text {
		p.wrong = "it has other fields than configs have"
	}
	if p.wrong != "" {
		return nil, fmt.Errorf("a config is malformed: %s", p.wrong)
	}
	return c, nil
}

// parsing sets fields from JSON.
type parsing struct {
	unused
	fields map[string]any
	wrong  string
}

func (p *parsing) Fail(f ir.Field, expected, found string) {
	p.wrong = fmt.Sprintf("%s is %s, expected %s", f.Name, found, expected)
}

// Bool, Int, Ints and String set nothing where there is nothing of the kind: readConfig finds that when it writes the config again.
func (p *parsing) Bool(f ir.Field, v *bool)     { *v, _ = p.fields[f.Name].(bool) }
func (p *parsing) Int(f ir.Field, v *int64)     { *v = integer(p.fields[f.Name]) }
func (p *parsing) String(f ir.Field, v *string) { *v, _ = p.fields[f.Name].(string) }

// Ints sets numbers.
func (p *parsing) Ints(f ir.Field, v *[]int64) {
	all, _ := p.fields[f.Name].([]any)
	*v = nil
	for _, x := range all {
		*v = append(*v, integer(x))
	}
}

// List reads a list of records.
func (p *parsing) List(f ir.Field, _ int, grow func(n int), each func(i int, item ir.Fields)) {
	all, _ := p.fields[f.Name].([]any)
	if len(all) > 0 {
		grow(len(all))
	}
	for i, x := range all {
		fields, _ := x.(map[string]any)
		item := &parsing{fields: fields}
		each(i, item)
		if item.wrong != "" {
			p.wrong = item.wrong
		}
	}
}

// integer reads a number, 0 if it is none.
func integer(x any) int64 {
	n, _ := x.(json.Number)
	i, _ := n.Int64()
	return i
}
