// Package aliases reads --alias, and lets a graph state it: which outputs of a program have the memory of inputs.
//
// Read next: dialects/tensorops/aliases.go, where the fact is.
package aliases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Flag is the name of the flag.
const Flag = "alias"

// Help is what the flag is.
const Help = "an output has the memory of an input: INPUT=OUTPUT, a * on both sides for many, and ,DIM=SIZE behind for more room (repeatable)"

// Rooms are the shapes of the memory that inputs and outputs have in common, by the output's name.
type Rooms map[string][]int64

// State lets a graph say what flags say. The memory has the greater of both shapes along each dimension, at least that of least, and what the flag says.
func State(g *ir.Graph, flags []string, least Rooms) (Rooms, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	for n := range g.Nodes() {
		if k := n.Body.Kind(); k != tensorops.TensorKind && k != tensorops.OperationKind {
			return nil, diag.Usage("--%s is for graphs of operations: %s says already how it is carried out", Flag, g.File)
		}
	}
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	if _, outputs := tensorops.Interface(g); outputs == ir.NoNode {
		return nil, diag.Usage("--%s is for graphs that state their inputs and outputs: %s has no op:export with names", Flag, g.File)
	}
	var list []tensorops.Alias
	rooms := Rooms{}
	for _, text := range flags {
		more, err := read(g, p, text, least)
		if err != nil {
			return nil, err
		}
		for _, a := range more {
			if i := slices.IndexFunc(list, func(o tensorops.Alias) bool { return o.Input == a.Input || o.Output == a.Output }); i >= 0 {
				return nil, diag.Usage("--%s %s: %s=%s is there already", Flag, text, list[i].Input, list[i].Output)
			}
			list, rooms[a.Output] = append(list, a), a.Room
		}
	}
	tensorops.StateAliases(g, list)
	_, err = tensorops.ProgramOf(g)
	return rooms, err
}

// read gives the aliases that one flag says.
func read(g *ir.Graph, p *tensorops.Program, text string, least Rooms) (out []tensorops.Alias, err error) {
	words := strings.Split(text, ",")
	input, output, ok := strings.Cut(words[0], "=")
	stars := strings.Count(input, "*")
	if !ok || input == "" || output == "" || stars > 1 || strings.Count(output, "*") != stars {
		return nil, diag.Usage("--%s %q: expected INPUT=OUTPUT, with at most one * in each", Flag, text)
	}
	for _, x := range p.Inputs {
		middle, fits := match(input, x.Name)
		if !fits {
			continue
		}
		a := tensorops.Alias{Input: x.Name, Output: strings.Replace(output, "*", middle, 1)}
		if a.Room, err = roomOf(g, p, a, text, least[a.Output]); err != nil {
			return nil, err
		}
		if err := widen(a.Room, words[1:], text); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, diag.NotKnown("--%s %q: no input is named %q; %s", Flag, text, input, near(input, p.Inputs))
	}
	return out, nil
}

// match says whether a name is a pattern's, and what its * is.
func match(pattern, name string) (middle string, ok bool) {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return "", pattern == name
	}
	ok = len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	if !ok {
		return "", false
	}
	return name[len(before) : len(name)-len(after)], true
}

// roomOf gives the shape of the memory that an input and an output need.
func roomOf(g *ir.Graph, p *tensorops.Program, a tensorops.Alias, text string, least []int64) ([]int64, error) {
	find := func(list []tensorops.Named, name string) *tensorops.Tensor {
		i := slices.IndexFunc(list, func(x tensorops.Named) bool { return x.Name == name })
		if i < 0 {
			return nil
		}
		return tensorops.TensorOf(g, list[i].Tensor)
	}
	in, out := find(p.Inputs, a.Input), find(p.Outputs, a.Output)
	if out == nil {
		return nil, diag.NotKnown("--%s %q: no output is named %q; %s", Flag, text, a.Output, near(a.Output, p.Outputs))
	}
	room := slices.Clone(out.Range.Shape())
	for _, shape := range [][]int64{in.Range.Shape(), least} {
		for d := range min(len(room), len(shape)) {
			room[d] = max(room[d], shape[d])
		}
	}
	return room, nil
}

// widen gives dimensions the sizes that a flag says.
func widen(room []int64, words []string, text string) error {
	for _, w := range words {
		dim, size, _ := strings.Cut(w, "=")
		d, err := strconv.Atoi(dim)
		n, err2 := strconv.ParseInt(size, 10, 64)
		switch {
		case err != nil || err2 != nil || d < 0 || d >= len(room) || strings.ContainsAny(w, "+"):
			return diag.Usage("--%s %q: expected DIM=SIZE behind the names, with a dimension of 0 to %d, found %q", Flag, text, len(room)-1, w)
		case n < room[d]:
			return diag.Usage("--%s %q: dimension %d needs room for %d, found %d", Flag, text, d, room[d], n)
		}
		room[d] = n
	}
	return nil
}

func near(name string, list []tensorops.Named) string {
	var names []string
	for _, x := range list {
		names = append(names, x.Name)
	}
	if n, ok := diag.Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return fmt.Sprintf("there are %s", strings.Join(names[:min(len(names), 12)], ", "))
}
