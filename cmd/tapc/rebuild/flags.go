package rebuild

import (
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
)

// Help is the text of --help.
const Help = `Build a program again from the command and the files that made it, which it carries.

The files are looked for in --from under the names that tapc inspect shows; one that
is not what it was is an error that names it. Then it is said whether the bytes are
the same, and if they are not, what else differs: tapc, the compiler, the target.

A program that was built with --cc, --plugin or --backend is built again only when
they are given again: nothing is started because a file says so.`

// AddOwn adds the flags that start programs; what it returns gives them as words.
func AddOwn(fs *pflag.FlagSet) func() []string {
	cc := fs.String("cc", "", "C compiler, for a program that was built with --cc")
	backend := fs.String("backend", "", "back end, for a program that was built with --backend")
	plugins := fs.StringArray("plugin", nil, "plugin, for a program that was built with --plugin (repeatable)")
	flagnames.Texts(fs, "cc", "backend", "plugin")
	return func() []string {
		var words []string
		for _, x := range []struct{ name, value string }{{"cc", *cc}, {"backend", *backend}} {
			if x.value != "" {
				words = append(words, "--"+x.name+"="+x.value)
			}
		}
		for _, p := range *plugins {
			words = append(words, "--plugin="+p)
		}
		return words
	}
}
