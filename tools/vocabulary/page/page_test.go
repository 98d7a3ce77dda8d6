package page

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/frontends/mapping/declared"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// TestGoesBack writes every case that the library declares, and random calls of every kernel of several element types, in each vocabulary, maps what was
// written again, and compares the values bit for bit,
// or within the rounding of their sums where a rule back says that it is near.
func TestGoesBack(t *testing.T) {
	cases, err := declared.Cases(kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	went := map[string]int{}
	runs := testkit.Turns(t, 4)
	for _, c := range cases {
		if !runs() {
			continue
		}
		for _, v := range Vocabularies {
			back(t, v, &c, went)
		}
	}
	for _, name := range kernels.Builtin().Names() {
		if !runs() {
			continue
		}
		d, _ := kernels.Builtin().Find(name)
		types := sample.Types(d)
		for i, typ := range types {
			if !testkit.Full() && typ != scalar.Float32 && i*7%len(types) > 1 {
				continue
			}
			h := fnv.New64a()
			fmt.Fprint(h, name, typ)
			rnd := rand.New(rand.NewPCG(h.Sum64(), 17))
			for range 1 + map[bool]int{true: 15}[testkit.Full()] {
				c, err := declared.Random(rnd, name, d, typ)
				if err != nil {
					t.Fatal(name, typ, err)
				}
				for _, v := range Vocabularies {
					if c != nil {
						back(t, v, c, went)
					}
				}
			}
		}
	}
	for _, v := range Vocabularies {
		back(t, v, packed(t), went)
	}
	t.Logf("went there and back: %v", went)
	least := 80
	if testing.Short() {
		least /= 4 // as many times fewer cases have their turn
	}
	for _, v := range Vocabularies {
		if went[v] < least {
			t.Errorf("%s: %d calls went there and back, expected %d or more", v, went[v], least)
		}
	}
}

func back(t *testing.T, vocabulary string, c *declared.Case, went map[string]int) {
	t.Helper()
	kernel, _, _ := strings.Cut(c.Name, "/")
	trip, err := There(t.Context(), vocabulary, c.Graph)
	var none errNone
	if errors.As(err, &none) {
		return
	}
	if err != nil {
		t.Errorf("%s of %v in %s: %v", c.Name, shapes(c), vocabulary, err)
		return
	}
	went[vocabulary]++
	framework, _, _ := strings.Cut(vocabulary, "/")
	near := rules.NearBack(rules.For(framework, nil), kernel)
	if near && !finite(c) {
		return
	}
	before, err := Values(t.Context(), c.Graph, c.Inputs)
	if err != nil {
		t.Fatal(c.Name, err)
	}
	after, err := Values(t.Context(), trip.Again, c.Inputs)
	if err != nil {
		t.Errorf("%s of %v in %s as %v: %v", c.Name, shapes(c), vocabulary, trip.Operators, err)
		return
	}
	for label, x := range before {
		y := after[label]
		if near {
			err = reference.CompareSums(label, x, y, 16, 32)
		} else if y.DType != x.DType || !slices.Equal(y.Shape, x.Shape) || !bytes.Equal(y.Data, x.Data) {
			err = fmt.Errorf("%s: expected %v, found %v", label, shown(x), shown(y))
		}
		if err != nil {
			t.Errorf("%s of %v in %s as %v: %v", c.Name, shapes(c), vocabulary, trip.Operators, err)
		}
	}
}

// finite says whether all that a case takes is finite: what is rounded elsewhere may part where infinities meet.
func finite(c *declared.Case) bool {
	for _, x := range c.Inputs {
		for i := 0; i+x.DType.Size() <= len(x.Data); i += x.DType.Size() {
			if v := scalar.Decode(x.DType, x.Data[i:]); math.IsNaN(v.F) || math.IsInf(v.F, 0) {
				return false
			}
		}
	}
	return true
}

// packedProduct has weights of 4 bits, in the smallest blocks that ONNX has; no random call has any of these.
const packedProduct = `tapc 1
%x = tensor float32 [0:2, 0:32]
%w = tensor uint8 [0:3, 0:2, 0:8]
%s = tensor float32 [0:3, 0:2]
%y = tensor float32 [0:2, 0:3]
operation op:matmul_packed {bits: 4} (W: %w, X: %x, scale: %s) -> (Y: %y)
`

func packed(t *testing.T) *declared.Case {
	t.Helper()
	g, err := text.Read([]byte(packedProduct), "packed.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	in, err := feed.Inputs(g, func(_ int, x tensorops.Named, d scalar.DType, n int64) []byte { return rt.Random(d, 1, x.Name, n) })
	if err != nil {
		t.Fatal(err)
	}
	c := &declared.Case{Name: "matmul_packed", Graph: g, Inputs: in}
	tensorops.StateInputs(g, p.Inputs)
	tensorops.StateOutputs(g, p.Outputs)
	if _, err := There(t.Context(), "onnx/21", g); err != nil {
		t.Error(err)
	}
	return c
}

func shapes(c *declared.Case) (out []string) {
	for label, x := range c.Inputs {
		out = append(out, fmt.Sprintf("%s %v%v", label, x.DType, x.Shape))
	}
	slices.Sort(out)
	return out
}

func shown(x tensorfile.Tensor) string {
	text := fmt.Sprint(x)
	return text[:min(len(text), 300)]
}
