package cut

import "testing"

// FuzzParse: a cut is refused, or written as it is read, and what it makes of an index are boxes of the index that tile it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"2x1", "by16x1", "3+5x1", "m:2,n:by3", "[0:2, 0:4][2:8, 0:4]", "2x1/by2x2", "0", "-1", "by", "1+", "m:", "[", "99999999999999999999", "1048577", "2//2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q is written as %q, which is read as %q, %v", text, c, again, err)
		}
		index := box(t, "[0:8, 0:4]")
		blocks, err := c.Blocks(Space{Index: index, Names: []string{"m", "n"}})
		cells := int64(0)
		for _, b := range blocks {
			n, wrong := b.Size()
			if wrong != nil || !index.Contains(b) {
				t.Errorf("%q: %v is no box of %v, %v", text, b, index, wrong)
			}
			cells += n
		}
		if err == nil && cells != 32 {
			t.Errorf("%q: the blocks have %d of 32 cells", text, cells)
		}
	})
}
