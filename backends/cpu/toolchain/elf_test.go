package toolchain

import (
	"bytes"
	"debug/elf"
	"io"
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
