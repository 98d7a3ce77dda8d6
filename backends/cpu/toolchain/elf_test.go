package toolchain

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is written as an object file is what debug/elf reads of it.
func TestObjectFile(t *testing.T) {
	var file bytes.Buffer
	data := []byte("0123456789abc")
	if err := WriteObject(&file, elf.EM_AARCH64, int64(len(data)), func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := f.Section(".rodata").Data()
	if err != nil || !bytes.Equal(found, data) {
		t.Errorf("found %q: %v", found, err)
	}
	symbols, err := f.Symbols()
	if err != nil || len(symbols) != 1 || symbols[0].Name != "tapc_constants" || symbols[0].Size != uint64(len(data)) || f.Sections[symbols[0].Section].Name != ".rodata" {
		t.Errorf("found %v: %v", symbols, err)
	}
	if f.Machine != elf.EM_AARCH64 {
		t.Errorf("it is an object for %v", f.Machine)
	}
	if f.Section(".note.GNU-stack") == nil {
		t.Error("the program would have a stack that can be executed")
	}
}

// What a program has in memory of an object: instructions and constants; and what the object needs of others.
func TestReadObject(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "constants.o")
	data := bytes.Repeat([]byte{1}, 5000)
	var file bytes.Buffer
	if err := WriteObject(&file, elf.EM_X86_64, int64(len(data)), func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if o, ok := ReadObject(path); !ok || o.Bytes != 5000 || o.Calls != nil {
		t.Errorf("constants: %+v, %v", o, ok)
	}
	if o, ok := ReadObject(filepath.Join(dir, "none")); ok {
		t.Errorf("no file: %+v", o)
	}
	cc := found(t, "gcc", "clang")
	if !cc.Machine.WritesObjects() {
		t.Skipf("objects of %s are not written here", cc.Triple())
	}
	compiled := func(flags ...string) string {
		object, err := cc.Compile(t.Context(), nil, dir, Unit{Name: "calls.c", Text: "extern float other(float);\nfloat here(float x) { return other(x) + 1; }\n", Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	if o, ok := ReadObject(compiled("-flto")); ok {
		t.Errorf("what the linker compiles: %+v", o)
	}
	object := compiled()
	if o, ok := ReadObject(object); !ok || o.Bytes < 8 || o.Bytes > 500 || !slices.Contains(o.Calls, "other") || slices.Contains(o.Calls, "here") {
		t.Errorf("a function: %+v, %v", o, ok)
	}
}
