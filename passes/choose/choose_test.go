package choose

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// maker makes graphs of tensors with 4 cells.
type maker struct{ *ir.Graph }

func (m maker) tensor(label string) ir.NodeID {
	return m.Add(&tensorops.Tensor{DType: "float32", Range: zspace.MustShape(4)}, label).ID
}

func sel(t ir.NodeID) ir.Selection { return ir.Select(t, zspace.MustShape(4)) }

func (m maker) one(kernel string, x ir.NodeID, label string) ir.NodeID {
	y := m.tensor(label)
	m.Add(&tensorops.Operation{Kernel: "op:" + kernel, Inputs: ir.NewPorts(map[string]ir.Selection{"tensor": sel(x)}), Outputs: ir.NewPorts(map[string]ir.Selection{"result": sel(y)})}, "")
	return y
}

func (m maker) choice(label string, names []string, branches ...ir.NodeID) ir.NodeID {
	y, p := m.tensor(label), ir.Port{Name: "branches"}
	for _, b := range branches {
		p.Sel = append(p.Sel, sel(b))
	}
	m.Add(&tensorops.Operation{Kernel: "op:choice", Params: tensorops.ChoiceParams(names), Inputs: ir.PortsOf([]ir.Port{p}), Outputs: ir.NewPorts(map[string]ir.Selection{"result": sel(y)})}, "")
	return y
}

// nested is a choice z between exp(y) and abs(a), where y is one between a = neg(x) and tanh(a).
func nested() *ir.Graph {
	m := maker{ir.New()}
	x := m.tensor("x")
	a := m.one("neg", x, "a")
	y := m.choice("y", []string{"p", "q"}, a, m.one("tanh", a, "t"))
	m.choice("z", []string{"r", "s"}, m.one("exp", y, "e"), m.one("abs", a, "b"))
	return m.Graph
}

func kernelsOf(g *ir.Graph) (out []string) {
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			out = append(out, op.Kernel[len("op:"):])
		}
	}
	slices.Sort(out)
	return out
}

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		picks []Pick
		want  []string
	}{
		{[]Pick{{Choice: "z", Branch: "s"}}, []string{"abs", "neg"}},
		{[]Pick{{Choice: "z", Branch: "r"}, {Choice: "y", Branch: "p"}}, []string{"exp", "neg"}},
		{[]Pick{{Choice: "z", Branch: "r"}, {Choice: "y", Branch: "q"}}, []string{"exp", "neg", "tanh"}},
		{[]Pick{{Choice: "y", Branch: "p"}}, []string{"abs", "choice", "exp", "neg"}},
		{[]Pick{{Choice: "z", Branch: "r"}}, []string{"choice", "exp", "neg", "tanh"}},
	} {
		g := nested()
		picks, err := Named(g, c.picks)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), g, picks, rewrite.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		if got := kernelsOf(g); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, expected %v", c.picks, got, c.want)
		}
	}
	for code, p := range map[string]Pick{"TAP0851": {Choice: "e", Branch: "r"}, "TAP0852": {Choice: "z", Branch: "p"}} {
		if _, err := Named(nested(), []Pick{p}); err == nil || diag.FromError(err)[0].Code != code {
			t.Errorf("%v: %v, expected %s", p, err, code)
		}
	}
}

// Prices are of what a branch needs and nothing outside of the choice does, inner choices first, and equals take the first.
func TestCheapest(t *testing.T) {
	cost := map[string]float64{"neg": 100, "tanh": 2, "exp": 3, "abs": 4}
	var priced [][]string
	price := func(_ context.Context, g *ir.Graph) (sum float64, _ error) {
		priced = append(priced, kernelsOf(g))
		for _, k := range kernelsOf(g) {
			sum += cost[k]
		}
		return sum, nil
	}
	g := nested()
	made, err := Cheapest(t.Context(), g, price, rewrite.Options{Verify: true})
	if err != nil || len(made) != 2 || made[0].Branch != "p" || made[1].Branch != "r" {
		t.Fatalf("%v %v", made, err)
	}
	if want := [][]string{{"tanh"}, {"exp", "neg"}, {"abs", "neg"}}; !slices.EqualFunc(priced, want, slices.Equal) {
		t.Errorf("priced %v, expected %v: what others than the choice need is nobody's", priced, want)
	}
	if got := kernelsOf(g); !slices.Equal(got, []string{"exp", "neg"}) {
		t.Error(got)
	}
	cost["exp"] = 4
	if made, err = Cheapest(t.Context(), nested(), price, rewrite.Options{}); err != nil || made[1].Branch != "r" {
		t.Errorf("equal prices: %v %v", made, err)
	}
	cost["exp"] = 5
	if made, err = Cheapest(t.Context(), nested(), price, rewrite.Options{}); err != nil || made[1].Branch != "s" {
		t.Errorf("a greater price: %v %v", made, err)
	}
	fail := func(context.Context, *ir.Graph) (float64, error) { return 0, errors.New("no rate") }
	if _, err := Cheapest(t.Context(), nested(), fail, rewrite.Options{}); err == nil || diag.FromError(err)[0].Code != "TAP0853" {
		t.Errorf("no price: %v", err)
	}
}

// Branches that are observed themselves, or inputs, stay: the result is a copy.
func TestObserved(t *testing.T) {
	m := maker{ir.New()}
	x := m.tensor("x")
	a := m.one("neg", x, "a")
	m.choice("y", []string{"p", "q"}, a, x)
	m.choice("z", []string{"p"}, a)
	First(m.Graph, map[ir.NodeID]int{})
	picks := map[ir.NodeID]int{}
	First(m.Graph, picks)
	s, err := Run(t.Context(), m.Graph, picks, rewrite.Options{Verify: true})
	if err != nil || s.Applied != 2 || tensorops.HasChoices(m.Graph) {
		t.Fatalf("%+v %v", s, err)
	}
	p, err := tensorops.ProgramOf(m.Graph)
	if err != nil || len(p.Outputs) != 2 || p.Outputs[0].Name != "y" || p.Outputs[1].Name != "z" {
		t.Errorf("%+v %v", p, err)
	}
}
