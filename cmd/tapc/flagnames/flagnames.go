// Package flagnames holds the values of flags to what their definitions say: names are known, and nothing is said twice. A definition says what a
// flag's values are by Words, Check, Entries, Later, Texts or Maybe; Guard makes every flag of a command line refuse, too, while it is parsed, a second
// value of one that has a single value, a name that a list has already, and an empty value, unless Maybe says that it means something. It knows no command.
package flagnames

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/ir/diag"
)

// Kind is what the values of a flag are.
type Kind uint8

const (
	// Undeclared is what no definition says. Flags of numbers and of yes or no need none.
	Undeclared Kind = iota
	// Known are names that are checked while the flag is parsed.
	Known
	// Open are names of what a file or a plugin has, which are checked where that is read.
	Open
	// Free are files, commands and texts.
	Free
)

// Role is what a command does with the files that the values of a flag name.
type Role uint8

const (
	None    Role = iota // they name none, or not only files
	Read                // it reads them
	Written             // it writes them
	Placed              // it writes a file or a folder there
	Folder              // they are folders, in which files are read or written
)

// guarded is the value of a flag that is held to its definition.
type guarded struct {
	pflag.Value
	flag  string
	kind  Kind
	role  Role
	entry bool                    // values are NAME=VALUE
	some  []string                // values that are known, for tests
	check func(word string) error // nil: any
	name  func(text string) string
	empty bool // the empty value means something
	once  bool // nothing is said twice
	given bool
}

// list is the value of a flag that has several.
type list struct {
	*guarded
	pflag.SliceValue
}

// nothing refuses an empty value, where that means nothing.
func (v *guarded) nothing(text string) error {
	switch {
	case text != "" || v.empty || v.kind == Undeclared:
		return nil
	case v.kind == Known && len(v.some) > 0:
		return diag.Usage("--%s says nothing: expected %s", v.flag, guide.WordList(v.some))
	}
	return diag.Usage("--%s says nothing: expected a value behind it, or no --%s", v.flag, v.flag)
}

// Set takes a value from the command line.
func (v *guarded) Set(text string) error {
	if v.once && v.given {
		return diag.Usage("--%s is given twice", v.flag)
	}
	if err := v.nothing(text); err != nil {
		return err
	}
	if v.check != nil {
		if err := v.check(text); err != nil {
			return err
		}
	}
	v.given = true
	return v.Value.Set(text)
}

// Set takes one or more values from the command line.
func (v list) Set(text string) error {
	before := v.GetSlice()
	if !v.given {
		before = nil // the defaults go
	}
	if err := v.nothing(text); err != nil {
		return err
	}
	if err := v.Value.Set(text); err != nil {
		return err
	}
	v.given = true
	all := v.GetSlice()
	for i := len(before); i < len(all); i++ {
		if v.check != nil {
			if err := v.check(all[i]); err != nil {
				return err
			}
		}
		name := v.name(all[i])
		if v.once && slices.ContainsFunc(all[:i], func(o string) bool { return v.name(o) == name }) {
			return diag.Usage("--%s %s is given twice", v.flag, name)
		}
	}
	return nil
}

// of gives the guard of a flag, and sets it where there is none.
func of(f *pflag.Flag) *guarded {
	switch v := f.Value.(type) {
	case *guarded:
		return v
	case list:
		return v.guarded
	}
	g := &guarded{Value: f.Value, flag: f.Name, name: func(text string) string { return text }}
	values, several := f.Value.(pflag.SliceValue)
	f.Value = g
	if several {
		f.Value = list{g, values}
	}
	// pflag tells defaults that say nothing by its own types.
	if f.DefValue == "[]" || f.DefValue == "0s" {
		f.DefValue = ""
	}
	return g
}

// declare says what the values of flags are. A flag that does not exist is a fault of this program that any test shows.
func declare(fs *pflag.FlagSet, kind Kind, flags ...string) (last *guarded) {
	for _, name := range flags {
		last = of(fs.Lookup(name))
		last.kind = kind
	}
	return last
}

// Words says that each value of a flag is one of some words.
func Words(fs *pflag.FlagSet, flag string, words []string) {
	Check(fs, flag, words, func(word string) error {
		if slices.Contains(words, word) {
			return nil
		}
		return diag.Unknown("value of --"+flag, word, slices.Clone(words))
	})
}

// Check says that values of a flag are what a function takes, as it does some names.
func Check(fs *pflag.FlagSet, flag string, some []string, check func(word string) error) {
	g := declare(fs, Known, flag)
	g.some, g.check = some, check
}

// Later says that values of flags are names that are checked when what has them is read.
func Later(fs *pflag.FlagSet, flags ...string) { declare(fs, Open, flags...) }

// Entries says that values of flags are NAME=VALUE, whose names are checked when what has them is read.
func Entries(fs *pflag.FlagSet, flags ...string) {
	for _, flag := range flags {
		g := declare(fs, Open, flag)
		g.role, g.entry = Read, true
		g.name = func(text string) string {
			name, _, _ := strings.Cut(text, "=")
			return name
		}
	}
}

// Texts says that values of flags are files, commands and texts, of which nothing is known but that they are not empty.
func Texts(fs *pflag.FlagSet, flags ...string) {
	for _, flag := range flags {
		declare(fs, Free, flag).role = Read
	}
}

// Files says what a command does with the files that flags name. Flags that nothing else is said of have no empty values.
func Files(fs *pflag.FlagSet, role Role, flags ...string) {
	for _, flag := range flags {
		g := of(fs.Lookup(flag))
		if g.kind == Undeclared {
			g.kind = Free
		}
		g.role = role
	}
}

// Maybe says that values of flags are texts, of which the empty one means something.
func Maybe(fs *pflag.FlagSet, flags ...string) {
	for _, flag := range flags {
		declare(fs, Free, flag).empty = true
	}
}

// Guard holds every flag of a command and those below it to its definition, and lets nothing be said twice.
func Guard(c *cobra.Command) {
	for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) { of(f).once = true })
	}
	for _, below := range c.Commands() {
		Guard(below)
	}
}

// Forget lets flags be given that were given before, as those are that a command line begins with which the user goes on with.
func Forget(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) { of(f).given = false })
}

// Apart refuses flags that mean nothing beside another, of those that are given.
func Apart(given func(flag string) bool, flag, why string, others ...string) error {
	i := slices.IndexFunc(others, given)
	if i < 0 || !given(flag) {
		return nil
	}
	return diag.Usage("--%s does not go with --%s, %s", others[i], flag, why)
}

// Of says what the values of a flag are, and some that are known.
func Of(f *pflag.Flag) (kind Kind, some []string) {
	g := of(f)
	return g.kind, g.some
}

// RoleOf says what a command does with the files that a flag's values name.
func RoleOf(f *pflag.Flag) Role { return of(f).role }

// IsEntry says whether the values of a flag are NAME=VALUE.
func IsEntry(f *pflag.Flag) bool { return of(f).entry }
