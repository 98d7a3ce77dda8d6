package kernels_test

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

const cube = `kernel cube
  doc   The third power of each cell.
  in    tensor: T [*s]
  out   result: T [*s]
  types T: numeric
  let   result = tensor * tensor * tensor
`

func TestWith(t *testing.T) {
	base := kernels.Builtin()
	before := slices.Clone(base.Names())
	more, err := base.With("cube.kernel", cube)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := more.Find("op:cube"); !ok {
		t.Error("the new kernel is not there")
	}
	if _, ok := more.Find("matmul"); !ok {
		t.Error("the old kernels are gone")
	}
	if _, ok := base.Find("cube"); ok || !slices.Equal(before, base.Names()) {
		t.Error("the first library was changed")
	}
	if _, err := more.With("again.kernel", cube); err == nil {
		t.Error("a second kernel of the name was taken")
	}
}
