package ir_test

import (
	"errors"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/zspace"
)

func TestValueProblem(t *testing.T) {
	matrix := func(m zspace.Matrix, off ...int64) error {
		return zspace.AffineMap{Projection: m, Offset: off}.Validate()
	}
	for _, c := range []struct {
		err                   error
		code, expected, found string
	}{
		{zspace.Range{Start: []int64{1}, End: []int64{1, 2}}.Validate(), ir.CodeLengths, "1 entry", "2"},
		{zspace.Range{Start: []int64{1, 5}, End: []int64{1, 2}}.Validate(), ir.CodeReversed, "start", "5:2 in dimension 1"},
		{zspace.Range{Start: []int64{-1 << 63}, End: []int64{1}}.Validate(), ir.CodeTooLarge, "64 bits", "extent"},
		{matrix(zspace.Matrix{{1, 2}, {3}}, 0, 0), ir.CodeRagged, "2 entries", "1 in row 1"},
		{matrix(zspace.Matrix{{1, 2}}, 0, 0), ir.CodeLengths, "offset with 1 entry", "2"},
		{zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{{1}}, Offset: []int64{0}}, Shape: []int64{-7}}.Validate(),
			ir.CodeNegative, "0 or more", "-7 in dimension 0"},
		{errors.New("odd"), ir.CodeMeaning, "valid", "odd"},
	} {
		code, expected, found := ir.ValueProblem(c.err)
		if code != c.code || !strings.Contains(expected, c.expected) || !strings.Contains(found, c.found) {
			t.Errorf("%v: got %s, %q, %q", c.err, code, expected, found)
		}
	}
}

func TestUUIDText(t *testing.T) {
	for s, good := range map[string]bool{
		"00000000-0000-0000-0000-000000000000":          true,
		"0123abcd-ABCD-4000-8000-fedcba987654":          true,
		"0123abcd-ABCD-4000-8000-fedcba98765":           false,
		"0123abcd-ABCD-4000-8000-fedcba9876543":         false,
		"0123abcdxABCD-4000-8000-fedcba987654":          false,
		"0123abcd-ABCG-4000-8000-fedcba987654":          false,
		"------------------------------------":          false,
		"0123abc--ABCD-4000-8000-fedcba98765-":          false,
		"{123abcd-ABCD-4000-8000-fedcba98765}":          false,
		"urn:uuid:0123abcd-abcd-4000-8000-fedcba987654": false,
		"1-1-1-1-1": false,
		"":          false,
	} {
		u, err := ir.ParseUUID(s)
		if (err == nil) != good {
			t.Errorf("ParseUUID(%q) = %v", s, err)
		}
		if v, ok := ir.UUIDFromText([]byte(s)); ok != good || v != u {
			t.Errorf("UUIDFromText(%q) = %v, %v", s, v, ok)
		}
		if good && u.String() != strings.ToLower(s) {
			t.Errorf("%q is written as %s", s, u)
		}
	}
}

func TestEachReference(t *testing.T) {
	one := func(id ir.NodeID) ir.Ports {
		return ir.PortsOf([]ir.Port{{Name: "x", Sel: []ir.Selection{{Tensor: id}}}})
	}
	a := &application.Application{Operation: 7, Inputs: one(1), Outputs: one(ir.NoNode)}
	ir.EachReference(a, func(ref *ir.NodeID) { *ref += 10 })
	if a.Operation != 17 || a.Inputs.At(0).Sel[0].Tensor != 11 || a.Outputs.At(0).Sel[0].Tensor != 9 {
		t.Errorf("references are %v", ir.References(a))
	}
	n := 0
	ir.EachSelection(a, func(s *ir.Selection) { n++; s.Tensor = 3 })
	if got := ir.References(a); n != 2 || len(got) != 3 || got[0] != 17 || got[1] != 3 || got[2] != 3 {
		t.Errorf("%d selections, then references %v", n, got)
	}
}

func TestIntern(t *testing.T) {
	var p ir.Intern
	text := []byte("float32 and more")
	a, b := p.Name(text), p.Text(text)
	start, end := []int64{1, 2}, []int64{3, 4}
	r := p.Range(start, end)
	v := p.Vector(start)
	text[0], start[0], end[1] = 'x', 9, 9
	if a != "float32 and more" || b != a || r.String() != "zr[1:3, 2:4]" || v[0] != 1 {
		t.Errorf("kept what it was given: %q %q %v %v", a, b, r, v)
	}
	if s := p.Range([]int64{1, 2}, []int64{3, 4}); &s.Start[0] != &r.Start[0] {
		t.Error("equal ranges are not shared")
	}
	if w := append(v, 5); p.Vector([]int64{7})[0] != 7 || w[2] != 5 {
		t.Error("a vector grew into another")
	}
	var texts []string
	for i := range 2000 {
		texts = append(texts, p.Text([]byte(strings.Repeat(string(rune('a'+i%26)), i%700))))
	}
	for i, s := range texts {
		if s != strings.Repeat(string(rune('a'+i%26)), i%700) {
			t.Fatalf("text %d has changed: %q", i, s)
		}
	}
}

// A copy of a graph shares no node with it, and nodes added to one do not show in the other.
func TestCloneAdds(t *testing.T) {
	g := irtest.Chain(5)
	c := g.Clone()
	if diff := irtest.DiffAll(g, c); diff != "" {
		t.Fatal(diff)
	}
	a, b := g.Add(&tensorops.Note{Message: "a"}, "a"), c.Add(&tensorops.Note{Message: "b"}, "b")
	if a == b || a.Label != "a" || b.Label != "b" || g.Node(a.ID) != a || c.Node(b.ID) != b || a.ID != b.ID {
		t.Errorf("added %v and %v", a, b)
	}
	c.Node(0).Label = "changed"
	if g.Node(0).Label == "changed" {
		t.Error("a node is shared")
	}
}
