package rules

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/calls"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// Flow says where a rule's inputs go as data; what is asked of their shapes and types, or of values that must be known, is none.
type Flow struct {
	Data    map[string]bool // inputs whose elements are read in a run
	Checked map[string]bool // that in_range is asked of
	Places  map[string]bool // that get into a kernel's operand of integers, such as indices, without a check on the way
}

// passed marks an input that a check has looked at.
const passed = "checked "

// FlowOf follows a rule's inputs through its clauses.
func FlowOf(r *Rule) Flow {
	f := Flow{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	names := map[string]sources{}
	for _, in := range r.In {
		names[in.Name] = sources{in.Name: true}
	}
	for _, c := range r.Clauses {
		s := f.of(c.Value, names)
		for _, n := range c.Names {
			names[n] = s
		}
	}
	for _, name := range r.Out {
		f.used(names[name])
	}
	return f
}

type sources map[string]bool

func (s sources) and(more sources) sources {
	if len(s) == 0 {
		return more
	}
	out := maps.Clone(s)
	maps.Copy(out, more)
	return out
}

func (f *Flow) used(s sources) {
	for name := range s {
		if name[:min(len(name), len(passed))] != passed {
			f.Data[name] = true
		}
	}
}

func (f *Flow) of(x *expr.Expr, names map[string]sources) sources {
	if x == nil {
		return nil
	}
	switch x.Kind {
	case expr.KindName:
		return names[x.Text]
	case expr.KindWith:
		return f.of(x.Args[1], with(names, x.Text, f.of(x.Args[0], names)))
	case expr.KindFor:
		inner := with(names, x.Text, f.of(x.Args[1], names))
		f.of(x.Args[2], inner)
		return f.of(x.Args[0], inner)
	case expr.KindFold:
		acc := f.of(x.Args[0], names)
		inner := with(names, x.Text, f.of(x.Args[1], names))
		for range 3 {
			acc = acc.and(f.of(x.Args[2], with(inner, x.Ports[0], acc)))
		}
		return acc
	case expr.KindIf:
		f.of(x.Args[0], names)
		return f.of(x.Args[1], names).and(f.of(x.Args[2], names))
	case expr.KindDef:
		inner := map[string]sources{}
		for i, p := range x.Def.Params {
			inner[p] = f.of(x.Args[i], names)
		}
		return f.of(x.Def.Body, inner)
	}
	return f.call(x, names)
}

func with(names map[string]sources, name string, s sources) map[string]sources {
	out := maps.Clone(names)
	out[name] = s
	return out
}

// asked are functions that give facts of a tensor, which are known when a model is read.
var asked = []string{"axis", "bits", "broadcast_shape", "dtype", "elements", "given", "highest", "is_bool", "is_complex", "is_float", "is_int",
	"is_signed", "known", "len", "lowest", "rank", "shape", "type_name", "value", "values"}

func (f *Flow) call(x *expr.Expr, names map[string]sources) sources {
	var all sources
	var args []sources
	for _, a := range x.Args {
		s := f.of(a, names)
		args, all = append(args, s), all.and(s)
	}
	for _, a := range x.Attrs {
		f.of(a.Value, names)
	}
	switch {
	case x.Kind == expr.KindCall && slices.Contains(asked, x.Text):
		return nil
	case x.Kind == expr.KindCall && x.Text == "in_range":
		f.used(args[0])
		out := sources{}
		for name := range args[0] {
			f.Checked[name] = true
			out[passed+name] = true
		}
		return out
	case x.Kind == expr.KindKernel:
		f.used(all)
		f.kernel(x, args)
	case x.Kind == expr.KindForeign:
		f.used(all)
	}
	return all
}

// kernel notes what gets into operands of integers.
func (f *Flow) kernel(x *expr.Expr, args []sources) {
	decl, ok := kernels.Builtin().Find(x.Text)
	if !ok {
		return
	}
	given := make([]expr.PortArg, len(args))
	for i := range given {
		given[i] = expr.PortArg{Port: x.Ports[i], Value: foreign.Value{Kind: foreign.List}}
	}
	operands, err := calls.Place(decl, given)
	if err != nil {
		panic(err)
	}
	for i, o := range operands {
		if slices.ContainsFunc(decl.Types, func(t declaration.TypeVar) bool { return t.Name == o.Type && t.Class == "integer" }) && slices.Contains(o.Names, "indices") {
			for name := range args[i] {
				if name[:min(len(name), len(passed))] != passed {
					f.Places[name] = true
				}
			}
		}
	}
}
