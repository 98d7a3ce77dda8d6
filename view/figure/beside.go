package figure

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// Column is one of several programs side by side: its items follow those of the one before.
type Column struct {
	Name  string
	Items int
}

// positions are the facts that follow from others, or from everything else in a program, as numbers of nodes do: that they are not the same is no
// difference of its own.
var positions = map[string]bool{"place": true, "alive": true, "over": true, "carries out": true, "made by": true, "device": true, "size": true, "strides": true}

// Beside puts the figures of one stage of several programs side by side, each with the name of its program, and marks what differs from the first.
// Items stand for the same if they and what is around them are the same; else, of those that are left, in their order, if they themselves are; else
// if they are of one kind and have one title.
func Beside(names []string, figures []*Figure) *Figure {
	out := &Figure{Name: figures[0].Name}
	first := make([]int, len(figures))
	for c, f := range figures {
		first[c] = len(out.Items)
		out.Columns = append(out.Columns, Column{names[c], len(f.Items)})
		classes := out.classes(f)
		for _, it := range f.Items {
			it.Column, it.Facts = c, slices.Clone(it.Facts)
			if it.Color >= 0 {
				it.Color = classes[it.Color]
			}
			it.Parts = slices.Clone(it.Parts)
			for i := range it.Parts {
				if it.Parts[i].Color >= 0 {
					it.Parts[i].Color = classes[it.Parts[i].Color]
				}
			}
			out.Items = append(out.Items, it)
		}
		for _, j := range f.Joins {
			j.From, j.To = j.From+first[c], j.To+first[c]
			out.Joins = append(out.Joins, j)
		}
	}
	for c := 1; c < len(figures); c++ {
		for a, b := range pairs(figures[0], figures[c]) {
			if b >= 0 {
				x, y := first[0]+a, first[c]+b
				out.Items[x].Twins = append(out.Items[x].Twins, y)
				out.Items[y].Twins = append(out.Items[y].Twins, x)
				out.compare(x, y)
			}
		}
	}
	for i := range out.Items {
		if it := &out.Items[i]; len(it.Twins) == 0 {
			it.Marks |= Alone
			it.Facts = append(it.Facts, Fact{"only in", names[it.Column]})
		}
	}
	return out
}

// classes gives the number that each class of another figure has here.
func (f *Figure) classes(from *Figure) []int {
	out := make([]int, len(from.Classes))
	for i, name := range from.Classes {
		at := slices.Index(f.Classes, name)
		if at < 0 {
			at = len(f.Classes)
			f.Classes = append(f.Classes, name)
		}
		out[i] = at
	}
	return out
}

// compare says of two items that stand for the same where they differ.
func (f *Figure) compare(x, y int) {
	a, b := &f.Items[x], &f.Items[y]
	before := [2]int{len(a.Facts), len(b.Facts)}
	say := func(what, here, there string) {
		if here != there && len(a.Facts) < before[0]+mostDifferences {
			a.Facts = append(a.Facts, Fact{"differs", fmt.Sprintf("%s: %s in %s", what, orNone(there), f.Columns[b.Column].Name)})
			b.Facts = append(b.Facts, Fact{"differs", fmt.Sprintf("%s: %s in %s", what, orNone(here), f.Columns[a.Column].Name)})
		}
	}
	var names []string
	for _, list := range [][]Fact{a.Facts, b.Facts} {
		for _, x := range list {
			if !positions[x.Name] && x.Name != "differs" && !slices.Contains(names, x.Name) {
				names = append(names, x.Name)
			}
		}
	}
	for _, name := range names {
		if name == "range" && slices.Contains(names, "shape") && a.facts("shape") != b.facts("shape") {
			continue // the shape says it
		}
		say(name, a.facts(name), b.facts(name))
	}
	say("parts", a.partsText(), b.partsText())
	if len(a.Facts) > before[0] {
		a.Marks |= Differs
		b.Marks |= Differs
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// partsText writes what an item is cut into, the first few parts with their ranges.
func (it *Item) partsText() string {
	text := fmt.Sprint(len(it.Parts))
	for _, p := range it.Parts[:min(len(it.Parts), 4)] {
		text += " " + p.Range.Text()
	}
	return text
}

// mostDifferences is how many differences are said of an item.
const mostDifferences = 12

// facts gives all that an item says under a name.
func (it *Item) facts(name string) string {
	text := ""
	for _, f := range it.Facts {
		if f.Name == name {
			if text != "" {
				text += "; "
			}
			text += f.Value
		}
	}
	return text
}

// around is how many edges away what counts as around an item may be.
const around = 3

// pairs gives for each item of a the one of b that stands for the same, or -1.
func pairs(a, b *Figure) []int {
	seed := maphash.MakeSeed()
	of := func(f *Figure, brief bool) []uint64 {
		out := make([]uint64, len(f.Items))
		for i := range f.Items {
			it := &f.Items[i]
			var h maphash.Hash
			h.SetSeed(seed)
			h.WriteString(string(it.Kind))
			if !strings.HasPrefix(it.Title, "#") { // the number of a node without a name
				h.WriteString("\x00" + it.Title)
			}
			if !brief {
				fmt.Fprintf(&h, "\x00%q", it.Lines)
			}
			out[i] = h.Sum64()
		}
		return out
	}
	levels := [][2][]uint64{{of(a, true), of(b, true)}, {of(a, false), of(b, false)}}
	for range around {
		last := levels[len(levels)-1]
		levels = append(levels, [2][]uint64{a.widen(last[0]), b.widen(last[1])})
	}
	out, taken := make([]int, len(a.Items)), make([]bool, len(b.Items))
	for i := range out {
		out[i] = -1
	}
	for _, l := range slices.Backward(levels) {
		free := map[uint64][]int{}
		for i, h := range l[1] {
			if !taken[i] {
				free[h] = append(free[h], i)
			}
		}
		for i, h := range l[0] {
			if list := free[h]; out[i] < 0 && len(list) > 0 {
				out[i], free[h] = list[0], list[1:]
				taken[list[0]] = true
			}
		}
	}
	return out
}

// widen makes of the hash of each item one of the item and its neighbours.
func (f *Figure) widen(of []uint64) []uint64 {
	out := make([]uint64, len(of))
	for i, h := range of {
		out[i] = h * 0x9e3779b97f4a7c15
	}
	for _, j := range f.Joins { // sums do not depend on the order of edges
		out[j.To] += mixed(of[j.From] ^ 0x517cc1b727220a95)
		out[j.From] += mixed(of[j.To] ^ 0x2545f4914f6cdd1d)
	}
	for i := range out {
		out[i] = mixed(out[i])
	}
	return out
}

// mixed is the finalizer of MurmurHash3.
func mixed(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Program gives the figure of one of several programs side by side, with items numbered from 0, and the number of its first.
func (f *Figure) Program(column int) (one *Figure, first int) {
	for _, c := range f.Columns[:column] {
		first += c.Items
	}
	end := first + f.Columns[column].Items
	one = &Figure{Name: f.Name, Items: f.Items[first:end], Classes: f.Classes}
	for _, j := range f.Joins {
		if j.From >= first && j.From < end {
			j.From, j.To = j.From-first, j.To-first
			one.Joins = append(one.Joins, j)
		}
	}
	return one, first
}
