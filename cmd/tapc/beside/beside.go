// Package beside copies the files that a reproducer needs into a folder beside it, so that it repeats the fault on any machine: the data
// files of constants, and the rules, plans and kernels that the command names. Read next: passes/pipeline, fault.go.
package beside

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// MaxBytes is how much is copied for one reproducer at most.
const MaxBytes = 1 << 30

// Folder gives the name of the folder that belongs to a reproducer.
func Folder(reproducer string) string { return strings.TrimSuffix(reproducer, ".tap") + ".files" }

// Copies are the files of one reproducer.
type Copies struct {
	folder string
	limit  int64
	names  map[string]string // in the folder of the reproducer, by path
	sizes  map[string]int64
}

// For begins the copies for a reproducer.
func For(reproducer string) *Copies {
	return &Copies{folder: Folder(reproducer), limit: MaxBytes, names: map[string]string{}, sizes: map[string]int64{}}
}

// Add gives the name that a file will have, seen from the reproducer. Nothing is copied yet.
func (c *Copies) Add(path string) (string, error) {
	if name, ok := c.names[path]; ok {
		return name, nil
	}
	f, err := inputfile.Open(path)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err = cmp.Or(err, f.Close()); err != nil {
		return "", diag.Fault("%w", err)
	}
	name := filepath.ToSlash(filepath.Join(filepath.Base(c.folder), fmt.Sprintf("%d-%s", len(c.names), strange.ReplaceAllString(filepath.Base(path), "_"))))
	c.names[path], c.sizes[path] = name, info.Size()
	return name, nil
}

var strange = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// Write copies the files, all of them or none.
func (c *Copies) Write() error {
	total := int64(0)
	for _, n := range c.sizes {
		total += n
	}
	switch {
	case total > c.limit:
		return fmt.Errorf("its files have %d bytes, and at most %d are copied", total, c.limit)
	case len(c.names) == 0:
		return nil
	}
	if err := os.MkdirAll(c.folder, 0o777); err != nil {
		return diag.Fault("%w", err)
	}
	for path, name := range c.names {
		if err := copyFile(path, filepath.Join(filepath.Dir(c.folder), name)); err != nil {
			os.RemoveAll(c.folder)
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	f, err := inputfile.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return outputfile.Replace(to, 0o666, func(out *os.File) error {
		if _, err := io.Copy(out, f); err != nil {
			return diag.Fault("%w", err)
		}
		return nil
	})
}

var copied = regexp.MustCompile(`tapc-reproducer-[a-z0-9-]+\.files/[A-Za-z0-9._-]+`)

// Replayed gives the arguments of a reproducer in a folder, for a command that runs elsewhere.
func Replayed(args []string, folder string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = copied.ReplaceAllStringFunc(arg, func(name string) string {
			path := filepath.Join(folder, name)
			if path != filepath.FromSlash(name) && strings.HasPrefix(arg, "--passes=") { // where other paths need quotes
				return strconv.Quote(path)
			}
			return path
		})
	}
	return out
}
