package plandiff_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/cmd/tapc/plandiff"
	"tensortapestry.org/tapc/dialects/application/planfile"
)

func read(t *testing.T, text string) *planfile.Plan {
	t.Helper()
	p, err := planfile.Parse("plan.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Differences are priced one after the other: what each adds, and with the next where one alone gives no plan.
func TestPrice(t *testing.T) {
	a := read(t, `{"version": 1, "mesh": [{"axis": "t", "size": 4}], "tensors": [{"tensor": "u", "dims": ["t"]}, {"tensor": "v", "dims": ["t"]}, {"tensor": "w", "dims": ["t"]}]}`)
	b := read(t, `{"version": 1, "mesh": [{"axis": "t", "size": 4}], "tensors": [{"tensor": "u", "dims": ["-"]}, {"tensor": "v", "dims": ["-"]}, {"tensor": "w", "dims": ["-"]}]}`)
	dir := t.TempDir()
	named := func(name string, p *planfile.Plan) string {
		path := filepath.Join(dir, name)
		var text bytes.Buffer
		if err := errors.Join(planfile.Write(&text, p), os.WriteFile(path, text.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := named("a", a), named("b", b)
	price := func(_ context.Context, file string) (plandiff.Cost, error) {
		p, err := planfile.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0.0
		for _, x := range p.Tensors {
			if len(x.Layout.Dims[0]) == 0 {
				whole++
			}
		}
		if whole == 2 {
			return plandiff.Cost{}, errors.New("two whole tensors do not fit")
		}
		return plandiff.Cost{Time: 1 + whole, Memory: 1000 * whole, Sent: 3000 - 1000*whole}, nil
	}
	got, err := plandiff.Price(t.Context(), a, b, first, second, price)
	if err != nil {
		t.Fatal(err)
	}
	want := "" +
		"  time  memory   sent  \n" +
		"   1 s     0 B   3 kB  a\n" +
		"  +1 s   +1 kB  -1 kB  tensor \"u\": [-], a whole copy on each device, instead of [t], 1/4 on each device\n" +
		"  +2 s   +2 kB  -2 kB  tensor \"v\": [-], a whole copy on each device, instead of [t], 1/4 on each device; and tensor \"w\": [-], a whole copy on each device, instead of [t], 1/4 on each device\n" +
		"   4 s    3 kB    0 B  b\n"
	if diff := cmp.Diff(want, strings.ReplaceAll(got, dir+"/", "")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := plandiff.Price(t.Context(), a, b, first, second, func(context.Context, string) (plandiff.Cost, error) {
		return plandiff.Cost{}, errors.ErrUnsupported
	}); err == nil {
		t.Error("a plan without a price is priced")
	}
}

func TestCompare(t *testing.T) {
	a := read(t, `{"version": 1, "mesh": [{"axis": "t", "size": 4}], "cuts": [{"target": "up", "cut": "2x1"}, {"target": "same", "cut": "4"}],
		"tensors": [{"tensor": "w1", "dims": ["-", "t"]}, {"tensor": "w2", "dims": ["t", "-"]}]}`)
	b := read(t, `{"version": 1, "mesh": [{"axis": "t", "size": 8}], "cuts": [{"target": "same", "cut": "4"}, {"target": "down", "cut": "by16x1"}],
		"tensors": [{"tensor": "w1", "dims": ["-", "t?"]}, {"tensor": "x", "dims": ["-", "-"]}]}`)
	want := `b, compared with a:
  mesh: t=8 (8 devices), instead of t=4 (4 devices)
  cut of "up": is not cut by name, instead of 2x1
  cut of "down": by16x1; it is not cut by name in the other
  tensor "w1": [-, t], dimension 1 open, 1/8 on each device, instead of [-, t], 1/4 on each device
  tensor "w2": lies as propagation finds, instead of [t, -], 1/4 on each device
  tensor "x": [-, -], a whole copy on each device; it lies as propagation finds in the other
1 things are the same
`
	if diff := cmp.Diff(want, plandiff.Compare(a, b, "a", "b")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := plandiff.Compare(a, a, "a", "b"); got != "a and b ask for the same\n" {
		t.Error(got)
	}
}
