package cut

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/zspace"
)

// MaxBlocks bounds the blocks that one cut makes of one index.
const MaxBlocks = 1 << 20

// Grammar is what Parse reads, for messages.
const Grammar = "2x1, by16x1, 3+5x1, batch:2,out:by16, [0:2, 0:4][2:4, 0:4], or levels of these with / between"

// Parse reads a cut: levels with "/" between. A level is a list of parts with "x" between, one for each dimension; or parts with the names of
// their dimensions, "m:2,n:3+5"; or boxes, "[0:2, 0:4][2:4, 0:4]". A part is a number of parts, "by16" for parts of a size, or sizes with
// "+" between. What it asks for is checked against an index by Blocks.
func Parse(text string) (Cut, error) {
	var c Cut
	for _, t := range strings.Split(text, "/") {
		l, err := parseLevel(strings.TrimSpace(t))
		if err != nil {
			return Cut{}, err
		}
		if l.Boxes != nil && len(c.Levels) > 0 {
			return Cut{}, errors.New("boxes are the first level of a cut, since they cut one box")
		}
		c.Levels = append(c.Levels, l)
	}
	return c, c.bound()
}

func parseLevel(text string) (Level, error) {
	switch {
	case text == "":
		return Level{}, fmt.Errorf("a level says nothing: expected %s", Grammar)
	case text[0] == '[':
		return parseBoxes(text)
	case strings.Contains(text, ":"):
		return parseNamed(text)
	}
	var l Level
	for _, t := range strings.Split(text, "x") {
		p, err := parsePart(t)
		if err != nil {
			return l, err
		}
		l.Parts = append(l.Parts, p)
	}
	return l, nil
}

func parseNamed(text string) (l Level, err error) {
	for _, t := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(t, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return l, fmt.Errorf("%q is not a dimension with its parts, such as m:2", t)
		}
		if slices.Contains(l.Names, name) {
			return l, fmt.Errorf("dimension %s is there twice", name)
		}
		p, err := parsePart(value)
		if err != nil {
			return l, err
		}
		l.Names, l.Parts = append(l.Names, name), append(l.Parts, p)
	}
	return l, nil
}

func parseBoxes(text string) (l Level, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := strings.IndexByte(text, ']') + 1
		if end == 0 {
			return l, fmt.Errorf("%q is not a box, such as [0:2, 0:4]", text)
		}
		b, err := zspace.ParseRange(text[:end])
		if err != nil {
			return l, fmt.Errorf("%q is not a box, such as [0:2, 0:4]: %w", text[:end], err)
		}
		l.Boxes, text = append(l.Boxes, b), text[end:]
	}
	return l, nil
}

func parsePart(text string) (Part, error) {
	text = strings.TrimSpace(text)
	if size, ok := strings.CutPrefix(text, "by"); ok {
		n, err := number(size)
		return Part{Size: n}, err
	}
	terms := strings.Split(text, "+")
	if len(terms) == 1 {
		n, err := number(text)
		return Part{Count: n}, err
	}
	var p Part
	for _, t := range terms {
		n, err := number(t)
		if err != nil {
			return p, err
		}
		p.Sizes = append(p.Sizes, n)
	}
	return p, nil
}

// number reads a number of parts or cells, which is at least 1.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s does not fit in 64 bits", text)
	case err != nil || n < 1:
		return 0, fmt.Errorf("%s is not a number of parts: expected 1 or more", strconv.Quote(text))
	}
	return n, nil
}

// bound refuses cuts into too many blocks, as far as they say how many.
func (c Cut) bound() error {
	total := int64(1)
	for _, l := range c.Levels {
		total *= int64(max(1, len(l.Boxes)))
		for _, p := range l.Parts {
			n := max(p.Count, int64(len(p.Sizes)), 1)
			if n > MaxBlocks || total*n > MaxBlocks {
				return fmt.Errorf("more than %d shards", MaxBlocks)
			}
			total *= n
		}
	}
	if total > MaxBlocks {
		return fmt.Errorf("more than %d shards", MaxBlocks)
	}
	return nil
}
