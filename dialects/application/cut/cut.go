// Package cut says how the index of an operation is cut into blocks: the grammar that --shard and plan files share, the blocks that a cut
// gives, and the application of each block. It must not import a pass. Read next: passes/shard, which carries cuts out.
package cut

import (
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/zspace"
)

// Cut is how an index is cut: the first level cuts it, each further one all blocks of the level before.
type Cut struct{ Levels []Level }

// Level cuts a box along its dimensions, or says the blocks. Parts are for all dimensions in order or, where there are Names, for those;
// a level of Boxes has neither.
type Level struct {
	Names []string
	Parts []Part
	Boxes []zspace.Range
}

// Part cuts one dimension: into Count parts whose sizes differ by at most one, the larger ones first; or by Size, where the last part may be
// smaller; or into parts of the Sizes. One of the three is not zero.
type Part struct {
	Count, Size int64
	Sizes       []int64
}

// Grid is a cut of one level by counts, one for each dimension.
func Grid(counts ...int64) Cut {
	var l Level
	for _, n := range counts {
		l.Parts = append(l.Parts, Part{Count: n})
	}
	return Cut{[]Level{l}}
}

// String writes a cut as Parse reads it.
func (c Cut) String() string {
	var levels []string
	for _, l := range c.Levels {
		levels = append(levels, l.String())
	}
	return strings.Join(levels, "/")
}

// String writes a level: "2xby16", "m:2,n:3+5" or "[0:2, 0:4][2:4, 0:4]".
func (l Level) String() string {
	var parts []string
	for _, b := range l.Boxes {
		parts = append(parts, b.Text())
	}
	for i, p := range l.Parts {
		text := p.String()
		if l.Names != nil {
			text = l.Names[i] + ":" + text
		}
		parts = append(parts, text)
	}
	switch {
	case l.Boxes != nil:
		return strings.Join(parts, "")
	case l.Names != nil:
		return strings.Join(parts, ",")
	}
	return strings.Join(parts, "x")
}

// String writes a part: "2", "by16" or "3+5".
func (p Part) String() string {
	switch {
	case p.Sizes != nil:
		var b []byte
		for i, n := range p.Sizes {
			if i > 0 {
				b = append(b, '+')
			}
			b = strconv.AppendInt(b, n, 10)
		}
		return string(b)
	case p.Size > 0:
		return "by" + strconv.FormatInt(p.Size, 10)
	}
	return strconv.FormatInt(p.Count, 10)
}
