package cut

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// Space is what is cut: an index, and the names of its dimensions. Others are the dimensions of the kernel that the index does not have, with
// the reason.
type Space struct {
	Index  zspace.Range
	Names  []string
	Others map[string]string
}

// Misfit says that a cut does not fit an index, with what was expected and what was found.
type Misfit struct{ Code, Message, Expected, Found string }

// Error gives it as one line.
func (m *Misfit) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s", m.Message, m.Expected, m.Found)
}

// Blocks cuts an index. The blocks tile it; those of one block of a level are neighbours, in row-major order, and boxes in the order in which they
// are said. The error is a *Misfit or says that there are too many.
func (c Cut) Blocks(s Space) ([]zspace.Range, error) {
	blocks := []zspace.Range{s.Index}
	for _, l := range c.Levels {
		var next []zspace.Range
		for _, b := range blocks {
			cut, err := l.blocks(s, b)
			if err != nil {
				return nil, err
			}
			if next = append(next, cut...); len(next) > MaxBlocks {
				return nil, tooMany()
			}
		}
		blocks = next
	}
	return blocks, nil
}

func tooMany() error { return fmt.Errorf("more than %d shards", MaxBlocks) }

// blocks cuts one box.
func (l Level) blocks(s Space, box zspace.Range) ([]zspace.Range, error) {
	if l.Boxes != nil {
		return l.boxes(box)
	}
	parts, err := l.along(s)
	if err != nil {
		return nil, err
	}
	blocks := []zspace.Range{box}
	for d, p := range parts {
		if n, err := p.number(s, box, d); err != nil {
			return nil, err
		} else if int64(len(blocks))*n > MaxBlocks {
			return nil, tooMany()
		}
		next := make([]zspace.Range, 0, len(blocks))
		for _, b := range blocks {
			cut, err := p.split(b, d)
			if err != nil {
				return nil, err
			}
			next = append(next, cut...)
		}
		blocks = next
	}
	return blocks, nil
}

// boxes checks that the boxes of a level tile a box.
func (l Level) boxes(box zspace.Range) ([]zspace.Range, error) {
	for _, b := range l.Boxes {
		if b.Rank() != box.Rank() {
			return nil, &Misfit{"TAP0801", "a box has another number of dimensions", fmt.Sprintf("boxes inside %v", box), b.String()}
		}
	}
	fault, err := tiling.Check(box, l.Boxes)
	if err != nil {
		return nil, err
	}
	if fault != nil {
		return nil, &Misfit{"TAP0821", "the boxes do not tile the index", fmt.Sprintf("each point of %v in one box", box), fault.String()}
	}
	return slices.Clone(l.Boxes), nil
}

// along gives the part for each dimension of an index.
func (l Level) along(s Space) ([]Part, error) {
	rank := s.Index.Rank()
	if l.Names == nil {
		if len(l.Parts) != rank {
			return nil, &Misfit{"TAP0801", "", fmt.Sprintf("%d counts, for the index %s", rank, s.Index), fmt.Sprintf("%d counts", len(l.Parts))}
		}
		return l.Parts, nil
	}
	parts := slices.Repeat([]Part{{Count: 1}}, rank)
	for i, name := range l.Names {
		d := s.find(name)
		if d < 0 {
			return nil, s.unknown(name)
		}
		parts[d] = l.Parts[i]
	}
	return parts, nil
}

// find gives the dimension of a name: the kernel's, or else d0, d1, … as signatures have them.
func (s Space) find(name string) int {
	if d := slices.Index(s.Names, name); d >= 0 {
		return d
	}
	for d := range s.Index.Start {
		if name == fmt.Sprintf("d%d", d) {
			return d
		}
	}
	return -1
}

func (s Space) unknown(name string) error {
	if why, ok := s.Others[name]; ok {
		return &Misfit{"TAP0823", "dimension " + name + " can not be cut: " + why, "a dimension of the index: " + s.list(), name}
	}
	return &Misfit{"TAP0822", "there is no dimension " + name, "a dimension of the index: " + s.list(), name}
}

func (s Space) list() string {
	if len(s.Names) == 0 {
		return "none"
	}
	return strings.Join(s.Names, ", ")
}

// number gives how many parts there are of a dimension of a box, if they fit it.
func (p Part) number(s Space, box zspace.Range, d int) (int64, error) {
	extent := box.End[d] - box.Start[d]
	switch {
	case p.Sizes != nil:
		var sum int64
		for _, n := range p.Sizes {
			if sum += n; sum < 0 || sum > extent {
				break
			}
		}
		if sum != extent {
			return 0, &Misfit{"TAP0824", fmt.Sprintf("the sizes of dimension %s are not its extent", s.name(d)), fmt.Sprintf("sizes whose sum is %d", extent), p.String()}
		}
		return int64(len(p.Sizes)), nil
	case p.Size > 0:
		return max(1, extent/p.Size+min(1, extent%p.Size)), nil
	case p.Count > max(extent, 1):
		return 0, &Misfit{"TAP0802", fmt.Sprintf("dimension %s is cut too finely", s.name(d)), fmt.Sprintf("at most %d parts", max(extent, 1)), fmt.Sprint(p.Count)}
	}
	return p.Count, nil
}

func (s Space) name(d int) string {
	if d < len(s.Names) && s.Names[d] != "" {
		return s.Names[d]
	}
	return fmt.Sprintf("d%d", d)
}

// split cuts a box along a dimension that the part fits.
func (p Part) split(box zspace.Range, d int) ([]zspace.Range, error) {
	switch {
	case p.Sizes != nil:
		return box.SplitSizes(d, p.Sizes)
	case p.Size > 0:
		return box.Split(d, p.Size)
	case p.Count < 1:
		return nil, errors.New("a part says nothing")
	}
	return box.SplitCount(d, p.Count)
}
