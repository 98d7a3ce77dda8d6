// Package recorded writes down what a program is built from: the words of the command, and the digests of the files that it reads. Both are the same
// wherever the folder of the graph's file is. Read next: flags.go; cmd/tapc/rebuild reads what is written here.
package recorded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir/diag"
)

// Build is a build that is to be recorded.
type Build struct {
	Flags   []Flag   // that were given
	Model   string   // the graph's file
	Content []byte   // of the model, where that is known
	Folder  string   // of data files
	Data    []string // data files that constants come from
	Output  string   // the program
	Passes  Renamer
}

// Renamer gives the text of a pipeline with other names for the files that its passes may read.
type Renamer func(text string, name func(path string) (string, error)) (string, error)

// Flag is a flag with one value, as it was given.
type Flag struct{ Name, Value string }

// Made reads the files, and gives the record.
func (b *Build) Made(ctx context.Context) (*backends.Made, error) {
	f := &files{ctx: ctx, folders: []string{filepath.Dir(b.Model), b.Folder}, names: map[string]string{}, taken: map[string]bool{}}
	model, err := f.add(b.Model, b.Content)
	if err != nil {
		return nil, err
	}
	words, err := b.words(f, model)
	for _, path := range b.Data {
		if err == nil {
			_, err = f.add(path, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	return &backends.Made{Revision: release.Revision(), Command: words, Inputs: f.list}, nil
}

// words gives the command with the names of files.
func (b *Build) words(f *files, model string) ([]string, error) {
	words := []string{"build", model}
	for _, x := range b.Flags {
		value, err := b.value(f, x)
		if err != nil {
			return nil, err
		}
		switch {
		case ignored[x.Name]:
		case value == "true":
			words = append(words, "--"+x.Name)
		default:
			words = append(words, "--"+x.Name+"="+value)
		}
		if x.Name == "weights" && value == "file" { // the program has the name of the file beside it
			words = append(words, "--output="+filepath.Base(b.Output))
		}
	}
	return words, nil
}

// value gives a flag's value with the names of files.
func (b *Build) value(f *files, x Flag) (string, error) {
	switch holds[x.Name] {
	case oneFile:
		return f.add(x.Value, nil)
	case fileBehindName:
		name, path, ok := strings.Cut(x.Value, "=")
		if !ok || !isFile(path) {
			return x.Value, nil
		}
		short, err := f.add(path, nil)
		return name + "=" + short, err
	case filesInPipeline:
		return b.Passes(x.Value, func(path string) (string, error) { return f.add(path, nil) })
	case dictionary:
		if strings.HasSuffix(x.Value, dictionaries.Suffix) {
			return f.add(x.Value, nil)
		}
	case machineFile:
		if machine.IsPath(x.Value) {
			return f.add(x.Value, nil)
		}
	case program:
		command, arguments, _ := strings.Cut(x.Value, " ")
		return strings.TrimSpace(filepath.Base(command) + " " + arguments), nil
	}
	return x.Value, nil
}

// isFile says whether a name is that of a file.
func isFile(path string) bool {
	f, err := inputfile.Open(path)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// files are the inputs of a build, with names that differ.
type files struct {
	ctx     context.Context
	folders []string          // in which files have the names that lead to them
	names   map[string]string // by path
	taken   map[string]bool
	list    []backends.Input
}

// add gives the name of a file, whose content may be known.
func (f *files) add(path string, content []byte) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	if name, ok := f.names[full]; ok {
		return name, nil
	}
	name := f.name(path, full)
	x := backends.Input{Name: name}
	if err := f.digest(&x, path, content); err != nil {
		return "", err
	}
	f.names[full], f.taken[name] = name, true
	f.list = append(f.list, x)
	return name, nil
}

// name gives a name that no other file has: one that leads to the file from its folder, or that of the file alone.
func (f *files) name(path, full string) string {
	name := filepath.Base(path)
	for _, folder := range f.folders {
		from, err := filepath.Abs(folder)
		if err != nil || folder == "" {
			continue
		}
		if in, err := filepath.Rel(from, full); err == nil && filepath.IsLocal(in) {
			name = filepath.ToSlash(in)
			break
		}
	}
	free := name
	for n := 2; f.taken[free]; n++ {
		free = fmt.Sprintf("%d-%s", n, name)
	}
	return free
}

// digest reads a file, or what is known of it. What could be read only once, as a pipe, has no digest.
func (f *files) digest(x *backends.Input, path string, content []byte) error {
	sum, from := sha256.New(), io.Reader(bytes.NewReader(content))
	if content == nil {
		file, err := inputfile.Open(path)
		if err != nil {
			return nil
		}
		defer file.Close()
		from = file
	}
	for {
		n, err := io.CopyN(sum, from, 16<<20)
		x.Bytes += n
		if err == io.EOF {
			x.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return nil
		}
		if err == nil {
			err = context.Cause(f.ctx)
		}
		if err != nil {
			return diag.Fault("%s: %w", path, err)
		}
	}
}
