package bind_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

func selected(shape []int64, d scalar.DType) infer.Selected {
	return infer.Selected{Sel: ir.Select(ir.NoNode, zspace.MustShape(shape...)), Type: d}
}

// maps writes the maps of a side of a signature.
func maps(ports ir.PortMaps) (list []string) {
	for _, p := range ports {
		for i, m := range p.Maps {
			list = append(list, fmt.Sprintf("%s[%d]: %v", p.Name, i, m))
		}
	}
	return list
}

func einsum(equation string, out []int64, in ...[]int64) infer.Call {
	c := infer.Call{Params: ir.Attrs{}.With("equation", ir.StringAttr(equation)), Inputs: []infer.Port{{Name: "tensors"}},
		Outputs: []infer.Port{{Name: "result", Sel: []infer.Selected{selected(out, scalar.Float32)}}}}
	for _, shape := range in {
		c.Inputs[0].Sel = append(c.Inputs[0].Sel, selected(shape, scalar.Float32))
	}
	return c
}

// The signature of an equation has the ports of the operation, and projections that say what each point reads.
func TestEquationSignature(t *testing.T) {
	d, _ := kernels.Builtin().Find("einsum")
	in, err := bind.Instance(d, einsum("bij,jk->bik", []int64{2, 3, 5}, []int64{2, 3, 4}, []int64{4, 5}))
	if err != nil {
		t.Fatal(err)
	}
	inputs, outputs, err := in.Signature()
	if err != nil {
		t.Fatal(err)
	}
	got := append(maps(inputs), maps(outputs)...)
	want := []string{"tensors[0]: (d0, d1, d2) -> [d0, d1, 0] + [1, 1, 4]", "tensors[1]: (d0, d1, d2) -> [0, d2] + [4, 1]",
		"result[0]: (d0, d1, d2) -> [d0, d1, d2] + [1, 1, 1]"}
	if !slices.Equal(got, want) {
		t.Errorf("the signature is\n%s", strings.Join(got, "\n"))
	}
	if in.Flops() != 2*3*5*4*2 {
		t.Errorf("%d operations", in.Flops())
	}
}

func TestEquationRefuses(t *testing.T) {
	d, _ := kernels.Builtin().Find("einsum")
	number := einsum("i->i", []int64{2}, []int64{2})
	number.Params = ir.Attrs{}.With("equation", ir.IntAttr(1))
	more := einsum("i->i", []int64{2}, []int64{2})
	more.Params = more.Params.With("axis", ir.IntAttr(0))
	port := einsum("i->i", []int64{2}, []int64{2})
	port.Inputs[0].Name = "x"
	for _, c := range []struct {
		call  infer.Call
		field string
	}{
		{einsum("ij,jk->ik", []int64{2, 4}, []int64{2, 3}, []int64{5, 4}), "/body/inputs/tensors/1"},
		{einsum("ij,jk->ik", []int64{2, 4}, []int64{2, 3, 1}, []int64{3, 4}), "/body/inputs/tensors/0"},
		{einsum("ij,jk->ik", []int64{2, 3}, []int64{2, 3}), "/body/inputs"},
		{einsum("ij->k", []int64{2}, []int64{2, 3}), "/body/params/equation"},
		{einsum("ij->i", []int64{3}, []int64{2, 3}), "/body"},
		{number, "/body/params/equation"},
		{more, "/body/params/axis"},
		{port, "/body/inputs"},
	} {
		_, err := bind.Instance(d, c.call)
		var refused *infer.Error
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Field, c.field) {
			t.Errorf("%v: %#v, expected an error at %s", c.call.Params, err, c.field)
		}
	}
	if _, err := bind.Instance(d, einsum("ij,jk->ik", []int64{2, 4}, []int64{2, 3}, []int64{3, 4})); err != nil {
		t.Error(err)
	}
}

// Samples of equations bind, and are not all of one kind.
func TestEquationSamples(t *testing.T) {
	d, _ := kernels.Builtin().Find("einsum")
	rnd, texts := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	for range 50 {
		c, err := sample.Call(d, rnd, scalar.Float32)
		if err != nil {
			t.Fatal(err)
		}
		if c != nil {
			v, _ := c.Params.Get("equation")
			texts[v.Str] = true
		}
	}
	if len(texts) < 20 {
		t.Errorf("%d equations: %v", len(texts), texts)
	}
}

func TestEquationDeclarations(t *testing.T) {
	for _, text := range []string{"attr  equation: word(a, b)", "attr  other: text", "attr  equation: text\n  let result = 0"} {
		_, err := kernels.Parse("x.kernel", "kernel e\n  doc   Test.\n  in    x...: T [*s]\n  out   result: T [*r]\n  types T: numeric\n  equation equation\n  "+text)
		if err == nil {
			t.Errorf("accepted with %s", text)
		}
	}
}
