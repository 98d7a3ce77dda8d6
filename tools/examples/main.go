// Command examples writes the generated files of the examples directory: the
// Loom JSON graphs that are not quoted from a document, and the input arrays.
//
//	go run ./tools/examples -o examples
//
// The same source writes the same bytes; a test compares them with the files
// that are checked in. operation-expression.loom.json and
// application-expression.loom.json are the dialect documents' own text and are
// not written here.
// Read next: graphs.go, inputs.go.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/tools/examples/atomicfile"
)

func main() {
	dir := flag.String("o", "examples", "directory to write to")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "examples: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := write(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

// write renders everything before it writes the first file.
func write(dir string) error {
	all, err := files()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := atomicfile.Write(filepath.Join(dir, filepath.FromSlash(name)), all[name]); err != nil {
			return err
		}
	}
	return nil
}

// files returns the contents of every generated file by its path in the
// examples directory.
func files() (map[string][]byte, error) {
	out, err := inputs()
	if err != nil {
		return nil, err
	}
	for name, build := range graphs {
		if out[name], err = build(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}
