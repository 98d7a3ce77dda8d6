package ir

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/zspace"
)

// Intern is what a reader of a form keeps small graphs with: it shares names and ranges that many nodes have in common, which
// is safe as neither is ever changed in place, and cuts small slices from larger ones. The zero Intern is ready. Its own size
// is bounded.
type Intern struct {
	names      map[string]string
	boxes      [1 << internBits]*zspace.Range
	ints       []int64
	selections []Selection
	layouts    [1 << internBits]*layout
	scratch    []Selection // of the ports that are read
	texts      *strings.Builder
	shared     [1 << internBits]Shared
	spare      Shared // a body to fill again
}

// New makes a body to be filled by a reader and then given to Body.
func (p *Intern) New(k *Kind) Body {
	if b := p.spare; b != nil && b.Kind() == k {
		p.spare = nil
		return b
	}
	return k.New()
}

// Body gives a body that says what b says, mostly one for all that do if they are Shared, else b. The caller forgets b.
func (p *Intern) Body(b Body) Body {
	s, ok := b.(Shared)
	if !ok {
		return b
	}
	slot := &p.shared[s.Hash()>>(64-internBits)]
	if *slot != nil && (*slot).Kind() == s.Kind() && s.Same(*slot) {
		s.Clear()
		p.spare = s
		return *slot
	}
	*slot = s
	return b
}

const (
	internBits  = 10
	internNames = 1 << 14
	internChunk = 256
	internTexts = 1 << 12
)

// Text gives a text that is not likely to come again, such as a label, as a string; it does not keep text.
func (p *Intern) Text(text []byte) string {
	n := len(text)
	if n == 0 || n > internTexts/8 {
		return string(text)
	}
	if p.texts == nil || p.texts.Cap()-p.texts.Len() < n {
		p.texts = &strings.Builder{}
		p.texts.Grow(internTexts)
	}
	p.texts.Write(text)
	all := p.texts.String() // stays as it is: the builder never outgrows its room
	return all[len(all)-n:]
}

// Name gives a text as a string, mostly the same one for the same text; it does not keep text.
func (p *Intern) Name(text []byte) string {
	if s, ok := p.names[string(text)]; ok {
		return s
	}
	s := string(text)
	if p.names == nil {
		p.names = map[string]string{}
	}
	if len(p.names) < internNames {
		p.names[s] = s
	}
	return s
}

// Range gives a range with these bounds, of the same length, mostly the same one for the same bounds; it does not keep the
// slices.
func (p *Intern) Range(start, end []int64) zspace.Range { return *p.box(start, end) }

// Select gives the selection of a box of a tensor, mostly with the same box in memory for the same bounds.
func (p *Intern) Select(tensor NodeID, box zspace.Range) Selection {
	if len(box.Start) != len(box.End) {
		return Select(tensor, box)
	}
	return Selection{tensor, p.box(box.Start, box.End)}
}

func (p *Intern) box(start, end []int64) *zspace.Range {
	h := uint64(len(start))
	for i := range start {
		h = (h ^ uint64(start[i])) * 0x9e3779b97f4a7c15
		h = (h ^ h>>29 ^ uint64(end[i])) * 0xbf58476d1ce4e5b9
	}
	slot := &p.boxes[h>>(64-internBits)]
	if *slot == nil || !slices.Equal((*slot).Start, start) || !slices.Equal((*slot).End, end) {
		*slot = &zspace.Range{Start: p.Vector(start), End: p.Vector(end)}
	}
	return *slot
}

// Vector copies integers; the result is never nil.
func (p *Intern) Vector(v []int64) []int64 {
	if len(v) == 0 {
		return []int64{}
	}
	out := carve(&p.ints, len(v))
	copy(out, v)
	return out
}

// Selections copies selections, until Ports is called.
func (p *Intern) Selections(v []Selection) []Selection {
	from := len(p.scratch)
	p.scratch = append(p.scratch, v...)
	return p.scratch[from:len(p.scratch):len(p.scratch)]
}

// Ports makes ports of a list that is sorted by name; it does not keep the list. Ports of the same names, and as many selections each,
// mostly have one layout.
func (p *Intern) Ports(v []Port) Ports {
	p.scratch = p.scratch[:0]
	if len(v) == 0 {
		return Ports{}
	}
	h := uint64(len(v))
	for i := range v {
		h = (h ^ uint64(len(v[i].Sel))) * 0x9e3779b97f4a7c15
		for j := range len(v[i].Name) {
			h = h*31 + uint64(v[i].Name[j])
		}
	}
	slot := &p.layouts[h*0x9e3779b97f4a7c15>>(64-internBits)]
	if *slot == nil || !(*slot).is(v) {
		*slot = layoutOf(v)
	}
	return (*slot).fill(v, carve(&p.selections, (*slot).total()))
}

// is says whether it is the layout of a list.
func (l *layout) is(list []Port) bool {
	if len(l.names) != len(list) {
		return false
	}
	n := 0
	for i := range list {
		n += len(list[i].Sel)
		if l.ends[i] != n || l.names[i] != list[i].Name {
			return false
		}
	}
	return true
}

// carve gives n items from a reserve that is renewed when used up.
func carve[T any](reserve *[]T, n int) []T {
	if n > internChunk/4 {
		return make([]T, n)
	}
	if len(*reserve) < n {
		*reserve = make([]T, internChunk)
	}
	out := (*reserve)[:n:n]
	*reserve = (*reserve)[n:]
	return out
}
