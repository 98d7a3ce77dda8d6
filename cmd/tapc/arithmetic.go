package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir/permission"
)

// arithmetic is the flags that say what a program may do to numbers. They add up to one set of permissions.
type arithmetic struct {
	precision string
	fast      bool
	allow     []string
	set       permission.Set // what check made of the flags
}

func addArithmeticFlags(c *cobra.Command) *arithmetic {
	m := &arithmetic{}
	c.Flags().StringVar(&m.precision, "precision", "exact", "what products of float32 may be computed from: exact; bf16 or tf32 as --allow has them")
	c.Flags().BoolVar(&m.fast, "fast-math", false, "allow "+strings.ReplaceAll(permission.FastMath.String(), ",", ", "))
	c.Flags().StringSliceVar(&m.allow, "allow", nil, "let the program do to numbers what docs/numerics.md lists: "+strings.Join(permission.Names(), ", ")+" (with commas, repeatable)")
	complete(c, "precision", precisions())
	complete(c, "allow", permission.Names())
	return m
}

func precisions() []string {
	var words []string
	for _, p := range permission.Precisions {
		words = append(words, p.Word)
	}
	return words
}

// check adds the flags up.
func (m *arithmetic) check() error {
	if err := oneOf("--precision", m.precision, precisions()); err != nil {
		return err
	}
	m.set = 0
	for _, p := range permission.Precisions {
		if p.Word == m.precision {
			m.set |= p.Set
		}
	}
	if m.fast {
		m.set |= permission.FastMath
	}
	for _, word := range m.allow {
		if err := oneOf("--allow", word, permission.Names()); err != nil {
			return err
		}
		one, err := permission.Parse(word)
		if err != nil {
			return err
		}
		m.set |= one
	}
	return nil
}
