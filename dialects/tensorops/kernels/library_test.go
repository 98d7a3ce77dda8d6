package kernels

import (
	"io/fs"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
)

// Every kernel of the library has calls for every element type that it admits, and what it infers it binds.
func TestSamples(t *testing.T) {
	for _, name := range Builtin().Names() {
		d, _ := Builtin().Find(name)
		for _, typ := range sample.Types(d) {
			rnd := rand.New(rand.NewPCG(1, uint64(typ)))
			for range 5 {
				c, err := sample.Call(d, rnd, typ)
				if err != nil {
					t.Errorf("%s of %v: %v", name, typ, err)
				}
				if c == nil && !hasText(d) {
					t.Errorf("%s has no sample of %v", name, typ)
				}
			}
		}
	}
}

func hasText(d *declaration.Kernel) bool {
	for _, a := range d.Attrs {
		if a.Type == declaration.TextAttr {
			return true
		}
	}
	return false
}

// Every kernel has a case, so that its page shows one, and every case can be worked out.
func TestCases(t *testing.T) {
	files, err := fs.Glob(libraryFiles, "library/*.kernel")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text, err := libraryFiles.ReadFile(f)
		if err == nil {
			_, err = Parse(f, string(text))
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, name := range Builtin().Names() {
		if d, _ := Builtin().Find(name); len(d.Cases) == 0 {
			t.Errorf("%s has no case", name)
		}
	}
}
