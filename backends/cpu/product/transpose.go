package product

import (
	"fmt"

	"tensortapestry.org/tapc/ir/scalar"
)

// OpenPlace is where the sums of the present tile are in it.
func (p *Product) OpenPlace() string {
	return fmt.Sprintf("open + (i - i0) * %d + j - j0", p.OpenCols())
}

// TransposeSums writes the function that finishes a piece whose results are neighbours along the rows: its sums, kept as elements of a type of the
// same size, are transposed, square by square.
func (p *Product) TransposeSums(kept scalar.DType, open string) {
	lanes := int64(p.N)
	t, element := p.E.V.Type(p.D, p.N), p.E.W.Type(kept)
	p.Line("")
	p.Open("TAPC_FN void %s_transpose(void *const *b%s, int64_t i0, int64_t i1, int64_t j0, int64_t j1, const %s *open) {", p.Name, p.Coordinates("int64_t "), open)
	p.Open("for (int64_t i = i0; i < i1; i += %d) {", lanes)
	p.Line("const int rows = i1 - i < %d ? (int)(i1 - i) : %d;", lanes, lanes)
	p.Open("for (int64_t j = j0; j < j1; j += %d) {", lanes)
	p.Line("_Alignas(64) %s square[%d];", element, lanes*lanes)
	p.Line("%s;", p.E.V.Of(kept, p.N).Transpose(p.N, p.OpenPlace(), fmt.Sprint(p.OpenCols()), "square", fmt.Sprint(lanes)))
	p.Line("for (int x = 0; x < %d && j + x < j1; x++) %s_finish(b%s, i, j + x, *(const %su *)(square + x * %d), rows);", lanes, p.Name,
		p.Coordinates(""), t, lanes)
	p.Close(3)
}
