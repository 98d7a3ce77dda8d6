package constants

import (
	"crypto/sha256"
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Same numbers constants, of one graph or several, by their bytes. Its zero value knows none.
type Same struct {
	described map[string]int // by where they are stored
	digests   map[[sha256.Size]byte]int
}

// Number gives the number of a constant of a tensor: that of an earlier one with the same bytes, or the next. What comes from one
// offset of a file is loaded once.
func (s *Same) Number(c tensorops.Const, t *tensorops.Tensor, load func(tensorops.Const) (tensorfile.Tensor, error)) (int, error) {
	if s.digests == nil {
		s.described, s.digests = map[string]int{}, map[[sha256.Size]byte]int{}
	}
	at := origin(c, t)
	if n, ok := s.described[at]; ok && !c.Computed {
		return n, nil
	}
	x, err := load(c)
	if err != nil {
		return 0, err
	}
	digest := sha256.Sum256(x.Data)
	n, ok := s.digests[digest]
	if !ok {
		n = len(s.digests)
		s.digests[digest] = n
	}
	if !c.Computed {
		s.described[at] = n
	}
	return n, nil
}

// origin says where a constant is stored, and as what it is read.
func origin(c tensorops.Const, t *tensorops.Tensor) string {
	text := fmt.Sprintf("%s %v %q %q %v %d %q", t.DType, t.Range, c.File, c.Key, c.Raw, c.Offset, c.Bytes)
	if c.View != nil {
		text += fmt.Sprintf(" %+v", *c.View)
	}
	if c.Value != nil {
		text += fmt.Sprintf(" %+v", *c.Value)
	}
	return text
}
