package kernels

import (
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
)

// FuzzParse reads any text as declarations. What is read must take calls, or refuse them, without a panic.
func FuzzParse(f *testing.F) {
	files, err := fs.Glob(libraryFiles, "library/*.kernel")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, err := fs.ReadFile(libraryFiles, name)
		if err != nil {
			f.Fatal(err)
		}
		for _, one := range strings.SplitAfter(string(text), "\n\n") {
			f.Add(one)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		decls, err := Parse("f", text)
		if err != nil {
			return
		}
		for _, d := range decls {
			for _, c := range d.Cases {
				_, _ = example.Of(d, c)
			}
			for _, typ := range sample.Types(d) {
				c, err := sample.Call(d, rand.New(rand.NewPCG(1, uint64(typ))), typ)
				if err != nil || c == nil {
					continue
				}
				if _, err := bind.Instance(d, *c); err != nil {
					t.Fatalf("a sample of %s does not bind: %v", d.Name, err)
				}
			}
		}
	})
}
