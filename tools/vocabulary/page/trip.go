package page

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/into"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/declared"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Vocabularies are those that kernels are written in, as the page has them.
var Vocabularies = []string{"onnx/21", "tensorflow/1.13.1"}

// Trip is a program in another vocabulary: its operators, and the program that these are mapped to again.
type Trip struct {
	Operators []string
	Again     *ir.Graph
}

// errNone says that a program has no operators; its text is the reason.
type errNone struct{ reason string }

func (e errNone) Error() string { return e.reason }

// There writes a program in a vocabulary and maps what was written again. A program that has no operators there is an errNone; every other
// error is a fault.
func There(ctx context.Context, vocabulary string, g *ir.Graph) (*Trip, error) {
	n, err := namespace.All().Find(vocabulary)
	if err != nil {
		return nil, err
	}
	fg, err := into.Graph(ctx, g, n, into.Options{Constants: (&constants.Loader{}).Load, Dictionaries: namespace.All()})
	if err != nil {
		return nil, errNone{reasonOf(err)}
	}
	framework, _, _ := strings.Cut(vocabulary, "/")
	again, _, err := mapping.Map(ctx, fg, mapping.Options{Tables: rules.For(framework, nil), Unchecked: true})
	if err != nil {
		return nil, fmt.Errorf("what was written can not be mapped: %w", err)
	}
	return &Trip{operators(fg), again}, nil
}

// operators lists the types of a graph's operators, constants aside.
func operators(fg *foreign.Graph) []string {
	var out []string
	for _, op := range fg.Ops {
		if op.Type != "Const" && op.Type != "Constant" {
			out = append(out, op.Type)
		}
	}
	return out
}

// reasonOf takes the reason out of what is wrong with one operation.
func reasonOf(err error) string {
	text := err.Error()
	if list := diag.FromError(err); len(list) > 0 {
		text = list[0].Message
	}
	if _, reason, ok := strings.Cut(text, "can not be mapped: "); ok {
		return reason
	}
	return text
}

// Values evaluates a program by the reference evaluator.
func Values(ctx context.Context, g *ir.Graph, in map[string]tensorfile.Tensor) (map[string]tensorfile.Tensor, error) {
	e := &reference.Evaluator{Library: kernels.Builtin(), Constants: (&constants.Loader{}).Load}
	return e.Evaluate(ctx, g, in)
}

// Equal is what is equal to a kernel in a vocabulary.
type Equal struct {
	Ways    []string // the operators of each case that goes back, each list once
	Reasons []string // why cases do not
}

// Equals finds for every kernel what is equal to it, by the cases that its declaration states; where none of these goes, by random calls. Nothing at all
// without a rule back that says why is an error.
func Equals(ctx context.Context, vocabulary string) (map[string]*Equal, error) {
	cases, err := declared.Cases(kernels.Builtin())
	if err != nil {
		return nil, err
	}
	out := map[string]*Equal{}
	for _, c := range cases {
		kernel, _, _ := strings.Cut(c.Name, "/")
		if out[kernel] == nil {
			out[kernel] = &Equal{}
		}
		if err := out[kernel].add(ctx, vocabulary, &c); err != nil {
			return nil, err
		}
	}
	for _, name := range kernels.Builtin().Names() {
		if e := out[name]; e != nil && len(e.Ways) == 0 && !e.refused() {
			if err := e.byChance(ctx, vocabulary, name); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// byChance tries random calls until one goes.
func (e *Equal) byChance(ctx context.Context, vocabulary, name string) error {
	d, _ := kernels.Builtin().Find(name)
	known := slices.Clone(e.Reasons)
	rnd := rand.New(rand.NewPCG(17, 1))
	types := sample.Types(d)
	for i := range 60 {
		t := types[i%len(types)]
		if i%2 == 0 && slices.Contains(types, scalar.Float32) {
			t = scalar.Float32
		}
		c, err := declared.Random(rnd, name, d, t)
		if err != nil || c == nil {
			continue
		}
		if err := e.add(ctx, vocabulary, c); err != nil {
			return err
		}
		if len(e.Ways) > 0 {
			break
		}
	}
	e.Reasons = known
	if len(e.Ways) == 0 && !strings.Contains(known[0], ".back ") {
		return fmt.Errorf("%s in %s: expected operators, or \"back %s refuse\" with a reason, found %q", name, vocabulary, name, known[0])
	}
	return nil
}

// refused says whether a rule back says that nothing is equal to the kernel.
func (e *Equal) refused() bool {
	return !slices.ContainsFunc(e.Reasons, func(r string) bool { return strings.HasPrefix(r, noRule) || strings.Contains(r, wrongType) })
}

// add tries a call.
func (e *Equal) add(ctx context.Context, vocabulary string, c *declared.Case) error {
	trip, err := There(ctx, vocabulary, c.Graph)
	var none errNone
	switch {
	case errors.As(err, &none):
		e.Reasons = once(e.Reasons, none.reason)
	case err != nil:
		return fmt.Errorf("%s in %s: %w", c.Name, vocabulary, err)
	default:
		e.Ways = once(e.Ways, strings.Join(trip.Operators, ", "))
	}
	return nil
}

// noRule begins what is said of a kernel that no rule back is for, or none that fits; wrongType is in what is said of a type that an operator does not take.
const (
	noRule    = "no rule leads to it"
	wrongType = "does not take the type"
)

func once(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
