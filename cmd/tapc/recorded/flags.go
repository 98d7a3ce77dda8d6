package recorded

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// kind is what the value of a flag holds.
type kind uint8

const (
	text kind = iota
	oneFile
	fileBehindName  // NAME=FILE, or NAME=VALUE
	filesInPipeline // in options of passes
	dictionary      // a file if it ends in dictionaries.Suffix, else a name
	machineFile     // a file if it has a dot or a slash, else a name
	program         // a command, with its arguments
)

// holds are the flags of build whose values name files; those of others are taken as they are.
var holds = map[string]kind{"kernels": oneFile, "rules": oneFile, "bind": oneFile, "plan": oneFile, "cost-model": machineFile, "plugin": oneFile, "known": fileBehindName,
	"namespace": dictionary, "passes": filesInPipeline, "cc": program}

// ignored are the flags of build that do not change what is built, and those that name folders and the output: names of data files in a record are
// those in their folder.
var ignored = set("analyze", "check-values", "data-dir", "diagnostics", "dump-dir", "help", "locked", "machine", "output", "plugin-memory", "plugin-timeout", "print-ir-after",
	"print-ir-after-change", "print-ir-before", "progress", "reproducer-dir", "seed", "stats", "timing", "trace", "verbose", "write-plan")

// settings are the other flags of build. That every flag is one or the other is tested.
var settings = set("alias", "allow", "backend", "cpu", "devices", "dim", "disable", "emit", "fast-math", "fuel", "keep-functions", "name", "no-implicit-reshard", "no-verify", "optimize", "precision", "shape", "shard",
	"target", "tuned", "unchecked-indices", "weights")

// starts are those that start programs, which nobody does because a file says so.
var starts = set("cc", "plugin")

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// Known says whether it is decided what a flag of build is: ignored, what names files, or a setting.
func Known(flag string) bool {
	_, files := holds[flag]
	return files || ignored[flag] || settings[flag]
}

// Setting says whether a flag in a record that somebody else wrote is obeyed: it starts and writes nothing.
func Setting(flag string) bool {
	_, files := holds[flag]
	return (files || settings[flag]) && !starts[flag] && flag != "backend"
}

// Outside says whether a flag in a record that somebody else wrote may name a file outside the folder of the record's files, as no flag in a record of tapc's does.
func Outside(flag, value string) bool {
	switch holds[flag] {
	case oneFile, dictionary, machineFile:
		return !filepath.IsLocal(filepath.FromSlash(value))
	case fileBehindName:
		_, path, _ := strings.Cut(value, "=")
		return !filepath.IsLocal(filepath.FromSlash(path))
	case filesInPipeline: // any word may be a name: which are is known where the passes are
		return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(`{}(),="`, r) }), func(word string) bool {
			return strings.TrimSpace(word) != "" && !filepath.IsLocal(filepath.FromSlash(strings.TrimSpace(word)))
		})
	}
	return false
}

// Starts says whether a flag starts programs.
func Starts(flag string) bool { return starts[flag] || flag == "backend" }

// Given gives the flags of a command that were given, each value apart.
func Given(fs *pflag.FlagSet) []Flag {
	var out []Flag
	fs.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			out = append(out, Flag{f.Name, v})
		}
	})
	return out
}
