package confine

import (
	"slices"
	"strings"
	"testing"
)

// strong is what a new kernel gives.
var strong = State{Supervised: true, Sealed: true, Capless: true, Namespaces: Namespaces{true, true, true, true, true}, Rooted: true, Landlock: 7,
	Filtered: true, Once: true}

func TestBounds(t *testing.T) {
	without := func(change func(*State)) State {
		s := strong
		change(&s)
		return s
	}
	noSpaces := func(s *State) { s.Namespaces, s.Rooted = Namespaces{}, false }
	for name, x := range map[string]struct {
		state State
		gaps  []string
	}{
		"everything":                 {strong, nil},
		"no namespaces":              {without(noSpaces), nil},
		"no Landlock":                {without(func(s *State) { s.Landlock = 0 }), nil},
		"Landlock 1, no namespaces":  {without(func(s *State) { noSpaces(s); s.Landlock = 1 }), nil}, // the filter keeps files from being emptied
		"neither":                    {without(func(s *State) { noSpaces(s); s.Landlock = 0 }), []string{"memory", "reading files", "writing files"}},
		"no watch":                   {without(func(s *State) { s.Once = false }), []string{"programs"}},
		"no filter":                  {without(func(s *State) { s.Filtered, s.Once = false, false }), []string{"processes of others", "programs", "memory", "keys and queues", "system calls"}},
		"no filter, only Landlock 5": {without(func(s *State) { noSpaces(s); s.Filtered, s.Once, s.Landlock = false, false, 5 }), []string{"signals", "processes of others", "programs", "memory", "modes and owners", "network", "sockets of others", "keys and queues", "system calls"}},
	} {
		var gaps []string
		for _, b := range x.state.Gaps() {
			gaps = append(gaps, b.Name)
		}
		if !slices.Equal(gaps, x.gaps) {
			t.Errorf("%s: the gaps are %q, not %q", name, gaps, x.gaps)
		}
	}
	all := State{}.Bounds()
	if len(State{}.Gaps()) != len(all) {
		t.Errorf("nothing keeps a program from anything, and the gaps are %v", State{}.Gaps())
	}
	for _, b := range append(all, strong.Bounds()...) {
		if b.Name == "" || b.Text == "" || strings.HasSuffix(b.Text, ".") || len(b.Name) > 20 {
			t.Errorf("the row %+v is no row", b)
		}
	}
}
