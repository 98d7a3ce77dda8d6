package kernels_test

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

const cube = `kernel mine:cube
  doc   The third power of each cell.
  in    tensor: T [*s]
  out   result: T [*s]
  types T: numeric
  let   result = tensor * tensor * tensor
`

func TestWith(t *testing.T) {
	base := kernels.Builtin()
	before := slices.Clone(base.Names())
	more, err := base.With("cube.kernel", cube, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := more.Find("mine:cube"); !ok {
		t.Error("the new kernel is not there")
	}
	if _, ok := more.Find("matmul"); !ok {
		t.Error("the old kernels are gone")
	}
	if _, ok := base.Find("mine:cube"); ok || !slices.Equal(before, base.Names()) {
		t.Error("the first library was changed")
	}
	for _, other := range []string{"cube", "op:cube", "yours:cube"} {
		if _, ok := more.Find(other); ok {
			t.Errorf("%s is mine:cube", other)
		}
	}
	if _, err := more.With("again.kernel", cube, ""); err == nil {
		t.Error("a second kernel of the name was taken")
	}
}

// Kernels that are none of tapc's are in a namespace, those of a plugin in the plugin's.
func TestNamespaces(t *testing.T) {
	cases := []struct{ name, space, want string }{
		{"mine:cube", "", ""},
		{"mine:relu", "", ""}, // a name of tapc's, in another namespace
		{"my-plugin:cube", "my-plugin", ""},
		{"cube", "", "1: a kernel's name: expected a name in a namespace, such as mine:cube, found \"cube\""},
		{"op:cube", "", "1: a kernel's name: expected a name in a namespace of its own, such as mine:cube, found \"op:cube\""},
		{"cube", "my-plugin", "1: a kernel's name: expected the name my-plugin:cube, found \"cube\""},
		{"mine:cube", "my-plugin", "1: a kernel's name: expected the name my-plugin:cube, found \"mine:cube\""},
		{"mine:constant", "", "1: expected a name other than check, constant, export, import, which are operations of every graph, found \"mine:constant\""},
		{"mine:", "", "1: expected a kernel's name, NAME or NAMESPACE:NAME, found \"mine:\""},
		{":cube", "", "1: expected a kernel's name, NAME or NAMESPACE:NAME, found \":cube\""},
		{"a:b:cube", "", "1: expected a kernel's name, NAME or NAMESPACE:NAME, found \"a:b:cube\""},
		{"-a:cube", "", "1: expected a kernel's name, NAME or NAMESPACE:NAME, found \"-a:cube\""},
	}
	for _, c := range cases {
		lib, err := kernels.Builtin().With("f.kernel", strings.Replace(cube, "mine:cube", c.name, 1), c.space)
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s in %q: %v", c.name, c.space, err)
			} else if d, ok := lib.Find(c.name); !ok || d.Name != c.name {
				t.Errorf("%s is not there", c.name)
			} else if relu, ok := lib.Find("op:relu"); !ok || relu.Name != "relu" {
				t.Errorf("relu is %v beside %s", relu, c.name)
			}
		case err == nil || err.Error() != "f.kernel:"+c.want:
			t.Errorf("%s in %q: %v", c.name, c.space, err)
		}
	}
}
