package loomdoc

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func marshal(t *testing.T, g *Graph) []byte {
	t.Helper()
	data, err := Marshal(g.Document())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The Application document's example, built by code, is that document's text.
func TestApplicationExpressionIsReproduced(t *testing.T) {
	g := New("unused")
	for name, id := range map[string]string{
		"":         "bdc87aaf-3716-419d-abfb-fe6e21bd6892",
		"t0":       "2fa3fe28-2d47-47b6-8767-27c7dadbb18c",
		"t1":       "0308d788-0064-4494-9c18-6e4c3d078b13",
		"z":        "781dd44d-cf72-4533-a495-6ff66ba1689a",
		"op:add":   "26434d32-ccbc-442f-9d78-8bf158b00c6b",
		"op:add/0": "2af709e2-c792-4712-80cc-0624ee767115",
		"op:add/1": "2524fb44-d169-4afd-90fa-09711462e4b3",
	} {
		g.Pin(name, id)
	}
	t0 := g.Tensor("t0", "int32", Span(0, 10, 0, 5))
	t1 := g.Tensor("t1", "int32", Span(200, 210, 50, 55))
	z := g.Tensor("z", "int32", Span(0, 10, 0, 5))
	op := Cellwise("op:add", "op:add", "tensors", []Tensor{t0, t1}, z)
	g.Operation(op)
	g.Shard(op, op.Index.Blocks(2, 1))
	if diff := cmp.Diff(string(read(t, "application-expression.loom.json")), string(marshal(t, g))); diff != "" {
		t.Errorf("-document +generated:\n%s", diff)
	}
}

// The Operation document's example differs in its white space only.
func TestOperationExpressionIsReproduced(t *testing.T) {
	g := New("unused")
	for name, id := range map[string]string{
		"":     "d3f46c69-6f2f-4dce-adf0-6f6fec9a34b8",
		"mask": "16d1e319-f00b-4059-902f-f6fbb9112e5f",
		"t1":   "21a4f7f7-15f4-427b-8616-057ff251bf64",
		"t0":   "4ace7920-10c2-4a66-9ac2-90ca0b3d0a40",
		"op0":  "4c7342c9-b9a3-4b59-8d59-b7c579076863",
		"z0":   "5816b59d-b5a5-47ca-8916-8e26e0f119c4",
	} {
		g.Pin(name, id)
	}
	mask := g.Tensor("mask", "boolean", Span(0, 10, 0, 5))
	t0 := g.Tensor("t0", "int32", Span(0, 10, 0, 5))
	t1 := g.Tensor("t1", "int32", Span(200, 210, 50, 55))
	z := g.Tensor("z0", "int32", Span(0, 10, 0, 5))
	g.Operation(Op{
		Label: "op0", Kernel: "builtins:add",
		Params: map[string]json.RawMessage{"mask_value": json.RawMessage("12")},
		In:     Operands{"mask": {mask}, "tensors": {t0, t1}},
		Out:    Operands{"result": {z}},
	})
	if diff := cmp.Diff(compact(t, read(t, "operation-expression.loom.json")), compact(t, marshal(t, g))); diff != "" {
		t.Errorf("-document +generated:\n%s", diff)
	}
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The expected id is what Python's uuid.uuid5(uuid.NAMESPACE_URL, url) gives.
func TestUUID(t *testing.T) {
	if got, want := UUID("http://www.example.com/"), "fcde3c85-2270-590f-9e7c-ee003d65e0e2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestApply(t *testing.T) {
	skew := [][]int{{1, 0}, {0, 1}, {1, 1}}
	for _, c := range []struct {
		p           Projection
		index, want Range
	}{
		{Project(skew, []int{10, 20, 30}, []int{4, 4, 1}), Span(5, 7, 6, 8), Span(15, 20, 26, 31, 41, 44)},
		{Project([][]int{{-1}}, []int{0}, []int{2}), Span(0, 4), Span(-3, 2)},
		{Project([][]int{{2}}, []int{0}, []int{3}), Span(0, 4), Span(0, 9)},
		{Project([][]int{{1, -1}}, []int{0}, []int{1}), Span(0, 4, 0, 3), Span(-2, 4)},
		{Identity([]int{-40, 20}), Span(1, 3, 0, 2), Span(-39, -37, 20, 22)},
	} {
		if diff := cmp.Diff(c.want, c.p.Apply(c.index)); diff != "" {
			t.Errorf("%v of %v: -want +got:\n%s", c.p, c.index, diff)
		}
	}
}

func TestMarshalSortsAndLeavesTextAlone(t *testing.T) {
	g := New("u")
	g.Pin("b", "bbbb")
	g.Pin("a", "aaaa")
	g.Tensor("b", "[\\n 1, <2>]", Span())
	g.Tensor("a", "x", Span(1, 2))
	got := string(marshal(t, g))
	if strings.Index(got, "aaaa") > strings.Index(got, "bbbb") {
		t.Error("nodes are not sorted by id")
	}
	for _, want := range []string{`"[\\n 1, <2>]"`, `"start": []`, `"end": [2]`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}
