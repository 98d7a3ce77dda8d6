package survey

import (
	"context"
	"maps"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/ir/scalar"
)

func encoder() *foreign.Graph {
	named := func(names ...string) []foreign.Size {
		var list []foreign.Size
		for _, n := range names {
			s := foreign.Size{Name: n}
			if n == "?" {
				s = foreign.Size{Value: -1}
			}
			list = append(list, s)
		}
		return list
	}
	return &foreign.Graph{Inputs: []foreign.Port{
		{Name: "ids", DType: scalar.Int64, Ranked: true, Shape: named("batch", "seq")},
		{Name: "mask", DType: scalar.Int64, Ranked: true, Shape: named("batch", "?")},
		{Name: "all", DType: scalar.Int64, Ranked: true, Shape: named("seq + past + 1")},
		{Name: "pair", DType: scalar.Int64, Ranked: true, Shape: []foreign.Size{{Value: 2}}},
	}, Outputs: []foreign.Port{{Name: "ids"}}}
}

func TestReadShapes(t *testing.T) {
	for _, c := range []struct {
		name    string
		given   map[string]int64
		tensors map[string][]int64
		want    map[string]int64
		err     string
	}{
		{"names and places", nil, map[string][]int64{"ids": {2, 7}, "mask": {2, 9}}, map[string]int64{"batch": 2, "seq": 7, "mask:1": 9}, ""},
		{"one input", nil, map[string][]int64{"mask": {2, 9}}, map[string]int64{"batch": 2, "mask:1": 9}, ""},
		{"two tensors", nil, map[string][]int64{"ids": {2, 7}, "mask": {3, 7}}, nil, `"mask" says batch=3, and that of "ids" says batch=2`},
		{"flag", map[string]int64{"batch": 4}, map[string][]int64{"ids": {2, 7}}, nil, `says batch=2, and --dim says batch=4`},
		{"rank", nil, map[string][]int64{"ids": {2}}, nil, `"ids" has 2 dimensions`},
		{"place", map[string]int64{"ids:1": 3}, map[string][]int64{"ids": {2, 7}}, map[string]int64{"ids:1": 3, "batch": 2}, ""},
	} {
		got, err := ReadShapes(encoder(), c.given, c.tensors)
		if c.err == "" && (err != nil || !maps.Equal(got, c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %v, %v; want %v, %q", c.name, got, err, c.want, c.err)
		}
	}
}

func TestCheckNamesOneSize(t *testing.T) {
	for _, c := range []struct {
		given map[string]int64
		err   string
	}{
		{map[string]int64{"batch": 2, "seq": 3}, ""},
		{map[string]int64{"batch": 2, "ids:0": 2, "mask:0": 2}, ""},
		{map[string]int64{"batch": 2, "ids:1": 3, "mask:1": 4}, ""}, // of two dimensions
		{map[string]int64{"batch": 2, "mask:0": 3}, "--dim mask:0=3: it is the dimension of batch=2, and a dimension has one size"},
		{map[string]int64{"ids:0": 2, "mask:0": 3}, "--dim mask:0=3: it is the dimension of ids:0=2, and a dimension has one size"},
		{map[string]int64{"seq": 4, "past": 3, "all:0": 8}, ""},
		{map[string]int64{"pair:0": 2}, ""},
		{map[string]int64{"pair:0": 3}, "--dim pair:0=3: the graph itself says the size of this dimension: expected 2"},
		{map[string]int64{"seq": 4, "past": 3, "all:0": 7}, "--dim all:0=7: it is the dimension of seq + past + 1=8, and a dimension has one size"},
	} {
		if err := CheckNames(encoder(), c.given); err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%v: got %v, want %q", c.given, err, c.err)
		}
	}
}

func TestLookAssumesSums(t *testing.T) {
	if _, err := Look(context.Background(), encoder(), mapping.Options{Dims: map[string]int64{"pats": 3}}); err == nil || !strings.Contains(err.Error(), `did you mean "past"?`) {
		t.Errorf("a misspelt term of a sum: %v", err)
	}
	s, err := Look(context.Background(), encoder(), mapping.Options{Dims: map[string]int64{"seq": 5, "past": 3}})
	if err != nil || s.Graph == nil || len(s.Assumed) != 2 {
		t.Fatal("with all terms of a sum", s, err)
	}
	if s, err = Look(context.Background(), encoder(), mapping.Options{Dims: map[string]int64{"seq": 5}}); err != nil || s.Graph == nil {
		t.Fatal(s, err)
	}
	want := []Assumed{{"batch", 1}, {"mask:1", 64}, {"seq + past + 1", 1}}
	for i, a := range s.Assumed {
		if a != want[i] {
			t.Errorf("assumed %v, want %v", s.Assumed, want)
		}
	}
}
