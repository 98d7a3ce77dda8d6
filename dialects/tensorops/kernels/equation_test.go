package kernels

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

func TestParseEquation(t *testing.T) {
	for _, c := range []struct {
		text, terms, result, fault string
	}{
		{"ij,jk->ik", "ij jk", "ik", ""},
		{" i j , j k ", "ij jk", "ik", ""},
		{"ba,b", "ba b", "a", ""},
		{"...i,i...->...", ".i i.", ".", ""},
		{"...ji", ".ji", ".ij", ""},
		{"ii", "ii", "", ""},
		{"->", "", "", ""},
		{"Ab->A", "Ab", "A", ""},
		{"ij->ik", "", "", "labels of the operands"},
		{"ij->ii", "", "", "each once"},
		{"i...j...->ij", "", "", "one ellipsis"},
		{"i1->i", "", "", "letters"},
		{"i_->i", "", "", "letters"},
		{"i->j->i", "", "", "letters"},
		{"i..->i", "", "", "one ellipsis"},
		{"é->é", "", "", "letters"},
	} {
		q, err := declaration.ParseEquation(c.text)
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%q: %v, expected an error about %q", c.text, err, c.fault)
			}
		case err != nil:
			t.Errorf("%q: %v", c.text, err)
		case strings.Join(q.Terms, " ") != c.terms || q.Result != c.result:
			t.Errorf("%q is %q to %q", c.text, q.Terms, q.Result)
		}
	}
}

func einsum(equation string, out []int64, in ...[]int64) Call {
	c := Call{Params: ir.Attrs{}.With("equation", ir.StringAttr(equation)), Inputs: []PortSel{{Name: "tensors"}},
		Outputs: []PortSel{{Name: "result", Sel: []Selected{selected(out, scalar.Float32)}}}}
	for _, shape := range in {
		c.Inputs[0].Sel = append(c.Inputs[0].Sel, selected(shape, scalar.Float32))
	}
	return c
}

// The signature of an equation has the ports of the operation, and projections that say what each point reads.
func TestEquationSignature(t *testing.T) {
	d, _ := Builtin().Find("einsum")
	in, err := Bind(d, einsum("bij,jk->bik", []int64{2, 3, 5}, []int64{2, 3, 4}, []int64{4, 5}))
	if err != nil {
		t.Fatal(err)
	}
	inputs, outputs, err := in.Signature()
	if err != nil {
		t.Fatal(err)
	}
	got := append(mapTexts(inputs), mapTexts(outputs)...)
	want := []string{"tensors[0]: (d0, d1, d2) -> [d0, d1, 0] + [1, 1, 4]", "tensors[1]: (d0, d1, d2) -> [0, d2] + [4, 1]",
		"result: (d0, d1, d2) -> [d0, d1, d2] + [1, 1, 1]"}
	if !slices.Equal(got, want) {
		t.Errorf("the signature is\n%s", strings.Join(got, "\n"))
	}
	if in.Flops() != 2*3*5*4*2 {
		t.Errorf("%d operations", in.Flops())
	}
}

func TestEquationRefuses(t *testing.T) {
	d, _ := Builtin().Find("einsum")
	number := einsum("i->i", []int64{2}, []int64{2})
	number.Params = ir.Attrs{}.With("equation", ir.IntAttr(1))
	more := einsum("i->i", []int64{2}, []int64{2})
	more.Params = more.Params.With("axis", ir.IntAttr(0))
	port := einsum("i->i", []int64{2}, []int64{2})
	port.Inputs[0].Name = "x"
	for _, c := range []struct {
		call  Call
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
		_, err := Bind(d, c.call)
		var refused *BindError
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Field, c.field) {
			t.Errorf("%v: %#v, expected an error at %s", c.call.Params, err, c.field)
		}
	}
	if _, err := Bind(d, einsum("ij,jk->ik", []int64{2, 4}, []int64{2, 3}, []int64{3, 4})); err != nil {
		t.Error(err)
	}
}

// Samples of equations bind, and are not all of one kind.
func TestEquationSamples(t *testing.T) {
	d, _ := Builtin().Find("einsum")
	rnd, texts := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	for range 50 {
		c, err := Sample(d, rnd, scalar.Float32)
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
		_, err := Parse("x.kernel", "kernel e\n  doc   Test.\n  in    x...: T [*s]\n  out   result: T [*r]\n  types T: numeric\n  equation equation\n  "+text)
		if err == nil {
			t.Errorf("accepted with %s", text)
		}
	}
}
