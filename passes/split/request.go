package split

import (
	"fmt"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// Request asks for the operations that Target names, a kernel or a label, to be cut along dimensions that they reduce, one after the other.
type Request struct {
	Target string
	Cuts   []Cut
}

// Cut is how a dimension is cut: into Parts that are as even as can be, the first the larger ones, or into parts of Size, the last one
// what is left. One of the two is 0.
type Cut struct {
	Name        string
	Parts, Size int64
}

// maxParts bounds the parts of one dimension.
const maxParts = 1024

// Parse reads "TARGET=NAME=4" or "TARGET=NAME/4096", with commas between several dimensions.
func Parse(text string) (Request, error) {
	target, list, ok := strings.Cut(text, "=")
	if !ok || target == "" {
		return Request{}, diag.Usage("split %q: expected TARGET=NAME=PARTS or TARGET=NAME/SIZE, such as op:matmul=k=4", text)
	}
	r := Request{Target: target}
	for one := range strings.SplitSeq(list, ",") {
		c, err := ParseCut(one)
		if err != nil {
			return r, diag.Usage("split %q: %v", text, err)
		}
		r.Cuts = append(r.Cuts, c)
	}
	return r, nil
}

// ParseCut reads "NAME=PARTS" or "NAME/SIZE".
func ParseCut(text string) (Cut, error) {
	at := strings.IndexAny(text, "=/")
	if at <= 0 {
		return Cut{}, fmt.Errorf("expected NAME=PARTS or NAME/SIZE, found %q", text)
	}
	n, err := strconv.ParseInt(text[at+1:], 10, 64)
	if err != nil || n < 1 {
		return Cut{}, fmt.Errorf("%q is not a number of parts or their size", text[at+1:])
	}
	if text[at] == '/' {
		return Cut{Name: text[:at], Size: n}, nil
	}
	return Cut{Name: text[:at], Parts: n}, nil
}

// String is what ParseCut reads.
func (c Cut) String() string {
	if c.Size > 0 {
		return fmt.Sprintf("%s/%d", c.Name, c.Size)
	}
	return fmt.Sprintf("%s=%d", c.Name, c.Parts)
}

// places gives where a dimension is cut: the starts of its parts but the first. The reason is why it is not.
func (c Cut) places(extent int64) (at []int64, want, found string) {
	parts := c.Parts
	if c.Size > 0 {
		parts = (extent + c.Size - 1) / c.Size
	}
	switch {
	case parts > maxParts:
		return nil, fmt.Sprintf("at most %d parts", maxParts), fmt.Sprint(parts)
	case c.Parts > max(extent, 1):
		return nil, fmt.Sprintf("at most %d parts", max(extent, 1)), fmt.Sprint(parts)
	case c.Size > 0:
		for x := c.Size; x < extent; x += c.Size {
			at = append(at, x)
		}
		return at, "", ""
	}
	for i := int64(1); i < parts; i++ {
		at = append(at, i*(extent/parts)+min(i, extent%parts))
	}
	return at, "", ""
}
