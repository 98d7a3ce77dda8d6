package tune

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
)

// neighbours gives the configs that differ from one in a field: another truth, another word, a number doubled, halved or one step away, sizes cut otherwise,
// an item of a list left out or added. Tiles stay multiples of those within, so that sizes around one that is edited are rounded up. Many of them no back end
// can write; its check says so, and what workspaces they need, of which they state none. The order depends on the config and the kernel alone.
func neighbours(c *schedule.Config, k *schedule.Kernel) []*schedule.Config {
	without := *c
	without.Workspaces = nil
	e := &editor{root: valuesOf(&without), empty: emptyItems()}
	for _, l := range k.Loops {
		if !slices.Contains(e.extents, l.Extent()) {
			e.extents = append(e.extents, l.Extent())
		}
	}
	for _, o := range k.Operands {
		e.operands = append(e.operands, o.Name)
	}
	e.edit(e.root)
	return e.out
}

// editor edits the fields of a config in place, one at a time, and collects what comes of it.
type editor struct {
	root     []value
	extents  []int64            // of the kernel's loops: sizes that tiles may have
	operands []string           // names that texts may be
	empty    map[string][]value // an item of each list
	out      []*schedule.Config
}

// found collects the config as it is now.
func (e *editor) found() { e.out = append(e.out, configOf(e.root)) }

// edit edits each of some fields.
func (e *editor) edit(fields []value) {
	for i := range fields {
		f, was := &fields[i], fields[i]
		switch f.kind {
		case truth:
			f.truth = !f.truth
			e.found()
		case text_:
			for _, w := range f.words {
				if w != was.text {
					f.text = w
					e.found()
				}
			}
		case number:
			for _, n := range steps(was.ints[0], 1) {
				f.ints = []int64{n}
				e.found()
			}
		case numbers:
			e.sizes(f)
		case list:
			e.list(f)
		}
		*f = was
	}
}

// steps are the numbers beside one: doubled, halved, and a step of some size up and down.
func steps(n, step int64) []int64 {
	return slices.DeleteFunc([]int64{2 * n, n / 2 / step * step, n + step, n - step}, func(m int64) bool { return m < 0 || m == n })
}

// sizes edits each of the sizes of a dimension's tiles.
func (e *editor) sizes(f *value) {
	was := f.ints
	var tried [][]int64
	for i := range was {
		within := int64(1)
		if i+1 < len(was) {
			within = max(1, was[i+1])
		}
		tries := steps(was[i], within)
		for _, n := range e.extents {
			tries = append(tries, (n+within-1)/within*within)
		}
		for _, n := range tries {
			f.ints = rounded(was, i, n)
			if n < 1 || slices.Equal(f.ints, was) || slices.ContainsFunc(tried, func(t []int64) bool { return slices.Equal(t, f.ints) }) {
				continue
			}
			tried = append(tried, f.ints)
			e.found()
		}
	}
	f.ints = was
}

// rounded gives sizes with another at a place, and those around it rounded up to multiples.
func rounded(sizes []int64, at int, size int64) []int64 {
	out := slices.Clone(sizes)
	out[at] = size
	for i := at - 1; i >= 0; i-- {
		within := max(1, out[i+1])
		out[i] = (max(out[i], 1) + within - 1) / within * within
	}
	return out
}

// list edits the items of a list, leaves each out, and adds one for each operand where items name operands.
func (e *editor) list(f *value) {
	was := f.items
	for _, item := range was {
		e.edit(item)
	}
	for i := range was {
		f.items = slices.Delete(slices.Clone(was), i, i+1)
		e.found()
	}
	like := e.empty[f.name]
	if len(was) > 0 {
		like = was[0]
	}
	for _, item := range e.more(like, len(was) == 0) {
		f.items = append(slices.Clone(was), item)
		e.found()
	}
	f.items = was
}

// more gives items like one of a list for each operand and word, and if that is the first, with each number 0 or 1; none where items do not name operands.
func (e *editor) more(like []value, first bool) [][]value {
	named := func(v value) bool {
		return v.kind == text_ && v.words == nil && (first || slices.Contains(e.operands, v.text))
	}
	if !slices.ContainsFunc(like, named) {
		return nil
	}
	out := [][]value{nil}
	for _, v := range like {
		choices := []value{v}
		switch {
		case named(v):
			choices = texts(v, e.operands)
		case v.words != nil:
			choices = texts(v, v.words)
		case v.kind == number && first:
			one := v
			one.ints = []int64{1}
			choices = append(choices, one)
		}
		var longer [][]value
		for _, item := range out {
			for _, c := range choices {
				longer = append(longer, append(slices.Clone(item), c))
			}
		}
		out = longer
	}
	return out
}

// texts gives a field with each of some texts.
func texts(v value, words []string) (out []value) {
	for _, w := range words {
		v.text = w
		out = append(out, v)
	}
	return out
}

// shape is what decides about the inner loops of a config: algorithms, texts, and of sizes all but the outermost.
func shape(c *schedule.Config) string {
	var b strings.Builder
	for _, s := range c.Stages {
		b.WriteString(s.Algorithm.String())
		for _, t := range s.Tiles {
			b.WriteString(" " + t.Role.String())
			for _, n := range t.Sizes[min(1, len(t.Sizes)):] {
				b.WriteString("/" + strconv.FormatInt(n, 10))
			}
		}
		b.WriteString(";")
	}
	return b.String()
}
