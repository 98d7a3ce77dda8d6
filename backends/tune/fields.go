package tune

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// value is a field of a config: one of a number, numbers, a truth, a text, one of some words, and a list of records. What configs are made of, they say
// themselves (ir.Fields), so a field that is added to them is one here.
type value struct {
	name  string
	kind  kind
	ints  []int64 // of a number, one
	truth bool
	text  string
	words []string // of an enumeration: text is one of them
	items [][]value
}

type kind uint8

const (
	number kind = iota
	numbers
	truth
	text_
	list
)

// valuesOf reads the fields of a config.
func valuesOf(c *schedule.Config) []value {
	r := &reading{}
	c.Fields(r)
	return r.out
}

// emptyItems gives what the items of lists have, by the name of the list.
func emptyItems() map[string][]value {
	r, out := &reading{grows: true}, map[string][]value{}
	(&schedule.Config{}).Fields(r)
	var note func(fields []value)
	note = func(fields []value) {
		for _, f := range fields {
			if f.kind == list {
				out[f.name] = f.items[0]
				note(f.items[0])
			}
		}
	}
	note(r.out)
	return out
}

// configOf makes a config of fields that valuesOf gave, with other values.
func configOf(fields []value) *schedule.Config {
	c := &schedule.Config{}
	c.Fields(&writing{fields: fields})
	return c
}

// renamed gives a config with other names of operands.
func renamed(c *schedule.Config, names map[string]string) *schedule.Config {
	fields := valuesOf(c)
	rename(fields, names)
	return configOf(fields)
}

func rename(fields []value, names map[string]string) {
	for i := range fields {
		f := &fields[i]
		if to, ok := names[f.text]; ok && f.kind == text_ && f.words == nil {
			f.text = to
		}
		for _, item := range f.items {
			rename(item, names)
		}
	}
}

// unused are kinds of fields that configs have none of. One that had would change nothing when it is read or written here, and TestRoundTrip would show it.
type unused struct{}

func (unused) Ref(ir.Field, *ir.NodeID)            {}
func (unused) Refs(ir.Field, *[]ir.NodeID)         {}
func (unused) Range(ir.Field, *zspace.Range)       {}
func (unused) Affine(ir.Field, *zspace.AffineMap)  {}
func (unused) Attrs(ir.Field, *ir.Attrs)           {}
func (unused) Ports(ir.Field, *ir.Ports)           {}
func (unused) PortMaps(ir.Field, *ir.PortMaps)     {}
func (unused) Fail(_ ir.Field, _ string, _ string) {}

// reading collects fields.
type reading struct {
	unused
	out   []value
	grows bool // every list gets an item
}

func (r *reading) add(v value) { r.out = append(r.out, v) }

func (r *reading) Bool(f ir.Field, v *bool) { r.add(value{name: f.Name, kind: truth, truth: *v}) }
func (r *reading) Int(f ir.Field, v *int64) {
	r.add(value{name: f.Name, kind: number, ints: []int64{*v}})
}
func (r *reading) Ints(f ir.Field, v *[]int64) {
	r.add(value{name: f.Name, kind: numbers, ints: append([]int64(nil), *v...)})
}
func (r *reading) String(f ir.Field, v *string) { r.add(value{name: f.Name, kind: text_, text: *v}) }

// Word reads a field that is one of some words.
func (r *reading) Word(f ir.Field, words []string, v *string) {
	r.add(value{name: f.Name, kind: text_, text: *v, words: words})
}

func (r *reading) List(f ir.Field, length int, grow func(n int), each func(i int, item ir.Fields)) {
	if r.grows {
		length = 1
		grow(length)
	}
	out := value{name: f.Name, kind: list, items: make([][]value, length)}
	for i := range length {
		item := &reading{grows: r.grows}
		each(i, item)
		out.items[i] = item.out
	}
	r.add(out)
}

// writing sets fields, in the order in which reading collects them.
type writing struct {
	unused
	fields []value
}

func (w *writing) next() value {
	v := w.fields[0]
	w.fields = w.fields[1:]
	return v
}

func (w *writing) Bool(_ ir.Field, v *bool)     { *v = w.next().truth }
func (w *writing) Int(_ ir.Field, v *int64)     { *v = w.next().ints[0] }
func (w *writing) Ints(_ ir.Field, v *[]int64)  { *v = append([]int64(nil), w.next().ints...) }
func (w *writing) String(_ ir.Field, v *string) { *v = w.next().text }

func (w *writing) List(_ ir.Field, _ int, grow func(n int), each func(i int, item ir.Fields)) {
	items := w.next().items
	if len(items) > 0 {
		grow(len(items))
	}
	for i, item := range items {
		each(i, &writing{fields: item})
	}
}
