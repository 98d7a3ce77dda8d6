// Package arguments holds the words behind commands to what the commands take: what is wrong with them is said as of flags, with what is expected. It knows no
// command.
package arguments

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir/diag"
)

// Guard makes errors of cobra's about the number of arguments errors that say what a command and those below it take, and lets `help` and `completion` refuse what
// they do not know. Root has its output already, which cobra's completion writes to.
func Guard(root *cobra.Command, unknown func(root *cobra.Command, words []string) error) {
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Help about any command", RunE: func(_ *cobra.Command, words []string) error {
		c, _, err := root.Find(words)
		if c == nil || err != nil || c == root && len(words) > 0 {
			return unknown(root, words)
		}
		c.InitDefaultHelpFlag()
		return c.Help()
	}})
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, shell
		}
	}
	each(root)
}

// shell says which shells there are scripts for.
func shell(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return c.Help()
	}
	var names []string
	for _, below := range c.Commands() {
		names = append(names, below.Name())
	}
	return diag.Usage("there is no script for the shell %q: expected one for %s", words[0], strings.Join(names, ", "))
}

func each(c *cobra.Command) {
	if takes := c.Args; takes != nil {
		c.Args = func(c *cobra.Command, words []string) error { return said(c, words, takes(c, words)) }
	}
	for _, below := range c.Commands() {
		each(below)
	}
}

// said gives the error for words that a command does not take, which says itself what is wrong if it is tapc's own.
func said(c *cobra.Command, words []string, err error) error {
	var own *diag.StatusError
	if err == nil || errors.As(err, &own) {
		return err
	}
	found := "nothing behind it"
	if len(words) > 0 {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = strconv.Quote(w)
		}
		found = strings.Join(quoted, " ")
	}
	return diag.Usage("%s: expected %s, found %s", c.CommandPath(), c.UseLine(), found)
}
