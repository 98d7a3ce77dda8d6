package text

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
)

// TestNameTable finds thousands of names, some the beginnings of others, at their offsets in a text, and none that were not given.
func TestNameTable(t *testing.T) {
	const names = 5000
	var b strings.Builder
	at := make([]int, names)
	for i := range names {
		b.WriteString("%")
		at[i] = b.Len()
		fmt.Fprintf(&b, "%s = ", name(i))
	}
	table := newNameTable([]byte(b.String()), 3)
	for i := range names {
		if id, ok := table.add([]byte(name(i)), at[i], ir.NodeID(i)); !ok || id != ir.NodeID(i) {
			t.Fatalf("%s was taken by %d", name(i), id)
		}
	}
	for i := range names {
		if id, ok := table.find([]byte(name(i))); !ok || id != ir.NodeID(i) {
			t.Errorf("%s: found %d, %t", name(i), id, ok)
		}
		if id, ok := table.add([]byte(name(i)), at[0], -1); ok || id != ir.NodeID(i) {
			t.Errorf("%s was given twice", name(i))
		}
		if _, ok := table.find([]byte(name(i) + ".x")); ok {
			t.Errorf("%s.x was found", name(i))
		}
	}
}

func name(i int) string {
	if i%2 == 0 {
		return fmt.Sprint(i)
	}
	return "n." + strings.Repeat("a", i%7) + fmt.Sprint(i/10) + ":" + fmt.Sprint(i)
}

// TestReadingOrderIsKept compares what is said of an order with what sorting makes of it.
func TestReadingOrderIsKept(t *testing.T) {
	const head = "tapc 1\n%x = tensor float32 [0:2]\n"
	for name, c := range map[string]struct {
		text string
		kept bool
	}{
		"producers first":     {"%y = tensor float32 [0:2]\noperation op:relu (tensor: %x) -> (result: %y)\n%z = tensor float32 [0:2]\noperation op:relu (tensor: %y) -> (result: %z)\n", true},
		"reader first":        {"%y = tensor float32 [0:2]\n%z = tensor float32 [0:2]\noperation op:relu (tensor: %y) -> (result: %z)\noperation op:relu (tensor: %x) -> (result: %y)\n", false},
		"operation first":     {"operation op:relu (tensor: %x) -> (result: %y)\n%y = tensor float32 [0:2]\n", false},
		"reads what it makes": {"%y = tensor float32 [0:2]\noperation op:relu (tensor: %y) -> (result: %y)\n", true},
		"a cycle":             {"%y = tensor float32 [0:2]\noperation op:relu (tensor: %x) -> (result: %y)\noperation op:relu (tensor: %y) -> (result: %x)\n", false},
	} {
		g, err := Read([]byte(head+c.text), "t.tap", dialects.Registry())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := inReadingOrder(g); got != c.kept {
			t.Errorf("%s: in reading order is %t, expected %t", name, got, c.kept)
		}
		if i := 0; c.kept {
			order := readingOrder(g)
			for n := range g.Nodes() {
				if order[i] != n {
					t.Errorf("%s: sorting changes the order", name)
				}
				i++
			}
		}
	}
}
