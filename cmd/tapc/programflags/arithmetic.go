// Package programflags has flags of the commands that make programs: what a program may do to numbers, and how operations are cut. It must not
// import a back end. Read next: cmd/tapc/compile.go, which uses them.
package programflags

import (
	"strings"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
)

// Arithmetic is the flags that say what a program may do to numbers. They add up to one set of permissions.
type Arithmetic struct {
	precision string
	fast      bool
	allow     []string
	flags     *pflag.FlagSet
	Set       permission.Set // what Check made of the flags
}

// exact is the word for products of float32 that are computed from their factors as they are.
const exact = "exact"

// Add adds the flags to a command's.
func (m *Arithmetic) Add(fs *pflag.FlagSet) {
	m.flags = fs
	fs.StringVar(&m.precision, "precision", exact, "what products of float32 may be computed from: exact; bf16 or tf32 as --allow has them")
	fs.BoolVar(&m.fast, "fast-math", false, "allow "+strings.ReplaceAll(permission.FastMath.String(), ",", ", "))
	flagnames.Words(fs, "precision", Precisions())
	fs.StringSliceVar(&m.allow, "allow", nil, "let the program do to numbers what docs/numerics.md lists: "+strings.Join(permission.Names(), ", ")+" (with commas, repeatable)")
	flagnames.Words(fs, "allow", permission.Names())
}

// Precisions are the words that --precision takes.
func Precisions() []string {
	var words []string
	for _, p := range permission.Precisions {
		words = append(words, p.Word)
	}
	return words
}

// Check adds the flags up, and the permissions of a plan.
func (m *Arithmetic) Check(planned permission.Set) error {
	m.Set = planned
	for _, p := range permission.Precisions {
		if p.Word == m.precision {
			m.Set |= p.Set
		}
	}
	if m.fast {
		m.Set |= permission.FastMath
	}
	for _, word := range m.allow {
		one, err := permission.Parse(word)
		if err != nil {
			return err
		}
		m.Set |= one
	}
	for _, p := range permission.Precisions {
		if m.flags.Changed("precision") && m.precision == exact && p.Set&m.Set != 0 {
			return diag.Usage("--precision=%s does not go with the permission %s", m.precision, p.Word)
		}
	}
	return nil
}
