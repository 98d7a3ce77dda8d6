// Package check is the verification framework: what a constraint is, what an environment (a dialect's types and its ordered
// constraints) is, and how a graph is verified against one.
//
// It owns the two constraints that need no dialect: the type policy and the schema of bodies and tags. Every other constraint
// is one value in the dialect that it belongs to. It must not import a dialect or a form of the IR. Read next:
// dialects/tensorops/constraints.go; docs/constraints.md lists every constraint and code.
package check

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
)

// Code is a stable diagnostic code with one line that says what it means.
type Code struct {
	ID      string
	Meaning string
}

// Constraint is one rule that every graph of a dialect keeps.
type Constraint struct {
	ID       string   // stable, for example "TensorDTypesAreValidConstraint"
	Doc      string   // one paragraph
	Requires []string // ids of constraints that must have passed before Check may run
	Codes    []Code   // every code that Check reports
	Check    func(c *Context)
}

// Environment is a dialect as a verifier sees it: the types a graph may hold and the constraints it must keep, in the order
// in which they are checked.
type Environment struct {
	Name        string
	NodeKinds   []*ir.Kind
	TagKinds    []*ir.Kind
	Constraints []Constraint // after TypeRestriction, which always comes first
	DTypes      []string     // element types that tensors may have
}

// All gives every constraint in the order in which it is checked, TypeRestriction first.
func (e *Environment) All() []Constraint {
	return append([]Constraint{TypeRestriction}, e.Constraints...)
}

// With gives a copy of the environment with more constraints at the end; one that is already there is not added again.
func (e *Environment) With(more ...Constraint) *Environment {
	c := *e
	c.Constraints = slices.Clone(e.Constraints)
	for _, m := range more {
		if !slices.ContainsFunc(c.Constraints, func(k Constraint) bool { return k.ID == m.ID }) {
			c.Constraints = append(c.Constraints, m)
		}
	}
	return &c
}

// Only gives a copy of the environment with one constraint of it and what that requires.
func (e *Environment) Only(id string) *Environment {
	c, needed := *e, []string{id}
	c.Constraints = nil
	for _, k := range slices.Backward(e.Constraints) { // what a constraint requires comes before it
		if slices.Contains(needed, k.ID) {
			c.Constraints, needed = append(c.Constraints, k), append(needed, k.Requires...)
		}
	}
	slices.Reverse(c.Constraints)
	return &c
}

// Validate checks the environment itself: every constraint has an id of its own, a text, a check and codes that no other
// constraint has, and whatever it requires comes earlier.
func (e *Environment) Validate() error {
	earlier, codes := map[string]bool{}, map[string]string{}
	for _, k := range e.All() {
		if k.ID == "" || k.Doc == "" || k.Check == nil || len(k.Codes) == 0 {
			return fmt.Errorf("environment %s: constraint %q lacks an id, a text, a check or codes", e.Name, k.ID)
		}
		if earlier[k.ID] {
			return fmt.Errorf("environment %s: constraint %s is there twice", e.Name, k.ID)
		}
		for _, id := range k.Requires {
			if !earlier[id] {
				return fmt.Errorf("environment %s: %s requires %s before it", e.Name, k.ID, id)
			}
		}
		for _, code := range k.Codes {
			if other, taken := codes[code.ID]; taken {
				return fmt.Errorf("environment %s: code %s belongs to %s and to %s", e.Name, code.ID, other, k.ID)
			}
			codes[code.ID] = k.ID
		}
		earlier[k.ID] = true
	}
	return nil
}
