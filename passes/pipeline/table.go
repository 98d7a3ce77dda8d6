package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Table is the list of all passes, in the order in which they are listed to people.
type Table struct{ Passes []Pass }

// groupName is the one name that a pass may not have: the group that runs to a fixpoint.
const groupName = "fix"

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Find finds a pass by name, or nil.
func (t *Table) Find(name string) *Pass {
	for i := range t.Passes {
		if t.Passes[i].Name == name {
			return &t.Passes[i]
		}
	}
	return nil
}

// Names gives the passes' names in order.
func (t *Table) Names() []string {
	names := make([]string, len(t.Passes))
	for i := range t.Passes {
		names[i] = t.Passes[i].Name
	}
	return names
}

// Rules gives the names of all rules that passes declare, sorted, none twice.
func (t *Table) Rules() []string {
	var names []string
	for i := range t.Passes {
		if t.Passes[i].Rules != nil {
			names = append(names, t.Passes[i].Rules()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Validate checks the table itself: names are well-formed and unique, every pass has a text and a function, options have
// defaults of their type, and the order constraints name passes of the table, give reasons, contain no circle and can be
// kept by some pipeline and by the standard one.
func (t *Table) Validate() error {
	seen := map[string]bool{groupName: true}
	for i := range t.Passes {
		p := &t.Passes[i]
		if seen[p.Name] {
			return fmt.Errorf("pass table: the name %q is taken", p.Name)
		}
		seen[p.Name] = true
		if err := p.validate(t); err != nil {
			return fmt.Errorf("pass table: pass %q: %w", p.Name, err)
		}
	}
	if err := t.checkCircles(); err != nil {
		return err
	}
	return t.checkStandard()
}

func (p *Pass) validate(t *Table) error {
	switch {
	case !namePattern.MatchString(p.Name):
		return fmt.Errorf("a name is lower-case words joined by -")
	case p.Doc == "" || p.Run == nil:
		return fmt.Errorf("the text or the function is missing")
	case p.latest() >= stages || p.Gives >= stages:
		return fmt.Errorf("there is no such stage")
	}
	seen := map[string]bool{}
	for _, o := range p.Options {
		if !namePattern.MatchString(o.Name) || o.Doc == "" || seen[o.Name] {
			return fmt.Errorf("option %q: the name is malformed or taken, or the text is missing", o.Name)
		}
		seen[o.Name] = true
		if _, err := o.parse(o.Default); o.Default != "" && err != nil {
			return fmt.Errorf("option %q: the default is not valid: %w", o.Name, err)
		}
	}
	for _, c := range p.After {
		before := t.Find(c.Name)
		if before == nil || c.Reason == "" {
			return fmt.Errorf("order constraint on %q: there is no such pass, or no reason", c.Name)
		}
		if before.after(before.Needs) > p.latest() {
			return fmt.Errorf("it never follows %q, which gives a graph of %v", c.Name, before.after(before.Needs))
		}
	}
	return nil
}

// checkCircles looks for passes that come before themselves.
func (t *Table) checkCircles() error {
	state := map[string]int{} // 1 is on the path, 2 is done
	var visit func(name string, path []string) error
	visit = func(name string, path []string) error {
		path = append(path, name)
		if state[name] == 1 {
			from := slices.Index(path, name)
			return fmt.Errorf("pass table: order constraints in a circle: %s", strings.Join(path[from:], " after "))
		}
		if state[name] == 2 {
			return nil
		}
		state[name] = 1
		for _, c := range t.Find(name).After {
			if err := visit(c.Name, path); err != nil {
				return err
			}
		}
		state[name] = 2
		return nil
	}
	for _, name := range t.Names() {
		if err := visit(name, nil); err != nil {
			return err
		}
	}
	return nil
}
