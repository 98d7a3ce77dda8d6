// Package flagfiles holds the files that a command line names to each other, before any work: no two outputs are one file, no output is a file that is read, and
// each has a place. It knows files by what flagnames says of flags.
package flagfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// standard is the name of standard input and output.
const standard = "-"

// file is a file that a flag names, or an argument if flag is "".
type file struct{ flag, path string }

// said names the place that names the file.
func (f file) said() string { return "--" + f.flag + " " + f.path }

// goesOn are flags of files that may be written anew where they are read: a search goes on in its frontier.
var goesOn = []string{"resume"}

// Check finds outputs among the files of flags that were given and of arguments that can not be written, would take the place of what is read, or of each other. It is
// an error of the command line, and creates nothing.
func Check(fs *pflag.FlagSet, args []string) error {
	var read, written []file
	var wrong error
	fs.Visit(func(f *pflag.Flag) {
		role := flagnames.RoleOf(f)
		for _, x := range named(f) {
			switch {
			case role == flagnames.Read && !slices.Contains(goesOn, f.Name):
				read = append(read, x)
			case role == flagnames.Folder && wrong == nil:
				wrong = folder(x)
			case role == flagnames.Written || role == flagnames.Placed:
				written = append(written, x)
			}
			if role == flagnames.Written && wrong == nil {
				wrong = place(x)
			}
		}
	})
	for _, a := range args {
		read = append(read, file{path: a})
	}
	for i, w := range written {
		for _, other := range written[:i] {
			if same(w.path, other.path) {
				return diag.Usage("%s and %s write the same file: expected another name for one of them", other.said(), w.said())
			}
		}
		for _, r := range read {
			if info, err := os.Stat(r.path); w.path != standard && err == nil && info.Mode().IsRegular() && same(w.path, r.path) {
				return diag.Usage("the output %s is a file that is read, and would be lost: expected another name", w.path)
			}
		}
	}
	return wrong
}

// named gives the files that a flag's values name.
func named(f *pflag.Flag) []file {
	values := []string{f.Value.String()}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	var out []file
	for _, text := range values {
		if _, path, ok := strings.Cut(text, "="); ok && flagnames.IsEntry(f) {
			text = path
		}
		if text != "" {
			out = append(out, file{f.Name, text})
		}
	}
	return out
}

// same says whether two names are those of one file, whether that is there or not.
func same(a, b string) bool {
	if a == standard || b == standard {
		return a == b
	}
	left, lerr := os.Stat(a)
	right, rerr := os.Stat(b)
	if lerr == nil && rerr == nil {
		return left.Mode().IsRegular() && os.SameFile(left, right)
	}
	return (lerr == nil) == (rerr == nil) && whole(a) == whole(b)
}

// whole gives a name from the root on, of a file in a folder that is there without links.
func whole(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// place is Place, of a flag.
func place(x file) error {
	if err := Place(x.path); err != nil && x.flag == "output" {
		return err
	} else if err != nil {
		return &diag.StatusError{Status: diag.ExitStatus(err), Err: fmt.Errorf("--%s: %w", x.flag, err)}
	}
	return nil
}

// Place is an error if nothing can be written under a name. Standard output, devices and pipes are written to as they are.
func Place(path string) error {
	if info, err := os.Stat(path); path == standard || err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	return outputfile.Place(path)
}

// there are flags of folders that have to be there, as files are read from them. rebuild says of --from what it misses there.
var there = []string{"data-dir"}

// folder is an error if a name that is for a folder is that of something else.
func folder(x file) error {
	info, err := os.Stat(x.path)
	switch {
	case err == nil && !info.IsDir():
		return diag.Usage("--%s %s: expected a folder, found a file", x.flag, x.path)
	case err != nil && slices.Contains(there, x.flag):
		return diag.Usage("--%s: %w", x.flag, outputfile.Unfit(x.path, err))
	}
	return nil
}
