// Package into writes a program of tapc's kernels in another framework's vocabulary, as a foreign graph that a form can store.
//
// It joins what the front ends have: the rules back (mapping.Back) and the dictionaries (namespace). It knows no command line and
// no form of files. Read next: frontends/mapping/back.go.
package into

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/frontends/amanda/own"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Options are what writing a program back is given besides the program and the vocabulary.
type Options struct {
	Rules        []*rules.Table      // of the user, tried before the built-in ones
	Dictionaries namespace.Set       // those that are known
	Library      *kernels.Library    // nil for the built-in kernels
	Constants    reference.Constants // loads what the program names
}

// Graph maps a program back into a vocabulary, and holds the result to its dictionaries. Everything that has no operators there is in the
// error.
func Graph(ctx context.Context, g *ir.Graph, n namespace.Namespace, o Options) (*foreign.Graph, error) {
	if err := unordered(g, n); err != nil {
		return nil, err
	}
	return whole(ctx, g, n, o)
}

// whole maps a program and the definitions that it uses back.
func whole(ctx context.Context, g *ir.Graph, n namespace.Namespace, o Options) (*foreign.Graph, error) {
	if aliases, _ := tensorops.AliasesOf(g); len(aliases) > 0 {
		a := aliases[0]
		return nil, diag.Errorf(CodeMemory, "memory", diag.Location{File: g.File, Node: a.Output}, "output %q has the memory of input %q, and a model of %s can not say that", a.Output, a.Input, n).
			Want("outputs with memory of their own", fmt.Sprintf("%d that have that of inputs (the parameter aliases of the export)", len(aliases)))
	}
	fg, err := graph(ctx, g, n, o)
	if err != nil || !composite.Used(g) {
		return fg, err
	}
	if fg.Functions, err = functions(ctx, g, n, o); err == nil {
		join(fg)
	}
	return fg, err
}

// join lets the calls of functions that are the same but for a number behind the name share one: definitions have element types and shapes, which functions have not.
func join(fg *foreign.Graph) {
	is, name := map[string]*foreign.Graph{}, map[string]string{}
	key := func(domain, name string) string { return foreign.DefinitionOf(domain, name) }
	rename := func(g *foreign.Graph) {
		for _, op := range g.Ops {
			if other, ok := name[key(op.Domain, op.Type)]; ok {
				op.Type = other
			}
		}
	}
	fg.Functions = slices.DeleteFunc(fg.Functions, func(f *foreign.Graph) bool {
		rename(f)
		base := strings.TrimRight(f.Name, "0123456789")
		if first := is[key(f.Domain, strings.TrimSuffix(base, "_"))]; base != f.Name && first != nil && sameBody(first, f) {
			name[key(f.Domain, f.Name)] = first.Name
			return true
		}
		is[key(f.Domain, f.Name)] = f
		return false
	})
	rename(fg)
}

// sameBody says whether two functions do the same.
func sameBody(f, g *foreign.Graph) bool {
	port := func(p, q foreign.Port) bool { return p.Name == q.Name }
	op := func(x, y *foreign.Op) bool {
		return x.Domain == y.Domain && x.Type == y.Type && x.Name == y.Name && slices.Equal(x.In, y.In) && slices.Equal(x.Out, y.Out) &&
			slices.EqualFunc(x.Attrs, y.Attrs, func(a, b foreign.Attr) bool { return a.Name == b.Name && a.Value.Same(b.Value) })
	}
	return slices.EqualFunc(f.Inputs, g.Inputs, port) && slices.EqualFunc(f.Outputs, g.Outputs, port) && slices.EqualFunc(f.Ops, g.Ops, op)
}

// Codes of what a model can not have: an order, and outputs with the memory of inputs.
const (
	CodeOrder  = "TAP0861"
	CodeMemory = "TAP0252"
)

// unordered refuses a program with sequence points: models have no order but that of their values.
func unordered(g *ir.Graph, n namespace.Namespace) error {
	for x := range g.Nodes() {
		if x.Body.Kind() == sequence.Kind {
			d := diag.Errorf(CodeOrder, "order", g.At(x, ""), "%s orders operations, and a model of %s has no order but that of its values", g.Name(x.ID), n).Want("no sequence points", g.Name(x.ID))
			d.Hint = "--to=amanda --into " + n.String() + " writes the order as control edges"
			return d
		}
	}
	return nil
}

// functions writes the definitions that a program uses, those that others use before these.
func functions(ctx context.Context, g *ir.Graph, n namespace.Namespace, o Options) (list []*foreign.Graph, err error) {
	all := definition.Of(g)
	for _, name := range composite.Reached(g) {
		f, err := graph(ctx, composite.Program(all[name], all), n, o)
		if err != nil {
			return nil, err
		}
		f.Domain, f.Name = foreign.FunctionOf(name)
		if n.Op("Constant") != nil {
			constantOps(f, "Constant")
		}
		list = append(list, f)
	}
	return list, nil
}

// graph maps one program back, in which operations that use definitions stay.
func graph(ctx context.Context, g *ir.Graph, n namespace.Namespace, o Options) (*foreign.Graph, error) {
	framework, _, _ := strings.Cut(n.Name, "/")
	fg, _, err := mapping.Back(ctx, g, mapping.BackOptions{Namespace: framework, Version: n.Version, Tables: rules.For(framework, o.Rules),
		Library: o.Library, Constants: o.Constants, Has: func(domain, op string) bool { return has(o.Dictionaries, framework, domain, n.Version, op) }})
	if err != nil {
		return nil, err
	}
	if n.Op("Const") != nil {
		constantOps(fg, "Const")
	}
	local := map[[2]string]bool{}
	for name := range definition.Of(g) {
		domain, name := foreign.FunctionOf(name)
		local[[2]string{domain, name}] = true
	}
	if err := otherDomains(fg, o.Dictionaries, local); err != nil {
		return nil, err
	}
	o.Dictionaries.Complete(fg)
	return fg, o.Dictionaries.Check(fg, func(domain, op string) bool { return local[[2]string{domain, op}] || domain == foreign.Added }).Err()
}

// Amanda gives a program as an Amanda graph in a vocabulary, tapc's own included.
func Amanda(ctx context.Context, g *ir.Graph, n namespace.Namespace, o Options) (*amanda.Graph, error) {
	if n.String() == namespace.Own {
		return own.FromIR(g)
	}
	fg, err := whole(ctx, g, n, o)
	if err != nil {
		return nil, err
	}
	return closed.Lift(fg, o.Dictionaries)
}

// has says whether a vocabulary has an operator: its own domain at a version, others at their newest one.
func has(known namespace.Set, framework, domain string, version int64, op string) bool {
	n, ok := known.Domain(framework, domain, version)
	if domain != "" {
		newest, err := known.Find(framework + "/" + domain)
		n, ok = newest, err == nil
	}
	return ok && n.Op(op) != nil
}

// constantOps turns a graph's constants into operators, as TensorFlow and functions of ONNX have them.
func constantOps(fg *foreign.Graph, kind string) {
	for _, name := range slices.Sorted(maps.Keys(fg.Consts)) {
		d := fg.Consts[name]
		attrs := []foreign.Attr{{Name: "value", Value: foreign.Value{Kind: foreign.DataKind, Data: d}}}
		if kind == "Const" {
			attrs = append([]foreign.Attr{{Name: "dtype", Value: foreign.StringValue(namespace.TypeName(d.DType))}}, attrs...)
		}
		fg.Ops = append(fg.Ops, &foreign.Op{Name: name, Type: kind, Out: []string{name}, Attrs: attrs})
		delete(fg.Consts, name)
	}
}

// otherDomains states the newest version of every domain that operators are of.
func otherDomains(fg *foreign.Graph, known namespace.Set, local map[[2]string]bool) error {
	for _, op := range fg.Ops {
		if _, known := fg.Versions[op.Domain]; known || op.Domain == foreign.Added {
			continue
		}
		if local[[2]string{op.Domain, op.Type}] {
			fg.Versions[op.Domain] = 1
			continue
		}
		n, err := known.Find(fg.Namespace + "/" + op.Domain)
		if err != nil {
			return err
		}
		fg.Versions[op.Domain] = n.Version
	}
	return nil
}
