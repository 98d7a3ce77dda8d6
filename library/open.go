//go:build linux || darwin || freebsd

package library

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/ebitengine/purego"
)

// version is the version of the interface that is written here: TAPC_ABI in tapc_library.h.
const version = 1

// errorBytes is the room for the text of an error.
const errorBytes = 2048

// table is struct tapc_library of tapc_library.h.
type table struct {
	abi                  int32
	bytes                uintptr
	name, description    *byte
	create, run, destroy uintptr
}

// functions are those of a library.
type functions struct {
	create  func(threads int32, text unsafe.Pointer, bytes uintptr) uintptr
	run     func(instance uintptr, inputs, outputs, text unsafe.Pointer, bytes uintptr) int32
	destroy func(instance uintptr)
}

// Options say what a model runs on.
type Options struct {
	Threads   int // of each instance; 0 is one for each core
	Instances int // the runs that can be in progress at the same time; 0 is 1
}

// Open loads a library.
func Open(path string, o Options) (*Model, error) {
	if o.Instances < 0 || o.Threads < 0 || o.Threads > 1<<30 {
		return nil, fault(BadArgument, "%d threads and %d instances: expected numbers that are not negative", o.Threads, o.Instances)
	}
	path, err := filepath.Abs(path) // without a folder the system would look for it elsewhere
	if err != nil {
		return nil, fault(BadLibrary, "%v", err)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fault(BadLibrary, "%v", err)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fault(BadLibrary, "%v", err)
	}
	m, err := load(path, handle, o)
	if err != nil {
		return nil, errors.Join(err, purego.Dlclose(handle))
	}
	return m, nil
}

// OpenBytes loads a library that is in memory, by way of a file of its own in the folder for temporary files, which is gone when OpenBytes returns.
// Its constants must be inside.
func OpenBytes(data []byte, o Options) (*Model, error) {
	dir, err := os.MkdirTemp("", "tapc-library-") // which nobody else may read or write
	if err != nil {
		return nil, fault(BadLibrary, "%v", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "library.so")
	if err := os.WriteFile(path, data, 0o500); err != nil {
		return nil, fault(BadLibrary, "%v", err)
	}
	return Open(path, o)
}

func load(path string, handle uintptr, o Options) (*Model, error) {
	symbol, err := purego.Dlsym(handle, "tapc_library_of")
	if err != nil {
		return nil, fault(BadLibrary, "%s is no library of tapc's, or of a version before its interface had a number", path)
	}
	var of func() *table
	purego.RegisterFunc(&of, symbol)
	t := of()
	if t == nil || t.abi != version {
		abi := int32(0)
		if t != nil {
			abi = t.abi
		}
		return nil, fault(BadLibrary, "%s has version %d of the library interface: expected version %d", path, abi, version)
	}
	m := &Model{path: path, handle: handle, threads: int32(o.Threads), text: text(t.description), closing: make(chan struct{})}
	if err := m.describe(); err != nil {
		return nil, fault(BadLibrary, "%s: its description can not be read: %v", path, err)
	}
	purego.RegisterFunc(&m.call.create, t.create)
	purego.RegisterFunc(&m.call.run, t.run)
	purego.RegisterFunc(&m.call.destroy, t.destroy)
	first, err := m.create() // now it is known that there is one, and the memory for it
	if err != nil {
		return nil, err
	}
	n := max(1, o.Instances)
	m.idle, m.unmade = make(chan uintptr, n), make(chan struct{}, n)
	m.idle <- first
	for range n - 1 {
		m.unmade <- struct{}{}
	}
	return m, nil
}

// describe reads the description.
func (m *Model) describe() error {
	var d struct {
		Program         string
		Inputs, Outputs []Tensor
	}
	if err := json.Unmarshal([]byte(m.text), &d); err != nil {
		return err
	}
	m.name, m.inputs, m.outputs = d.Program, d.Inputs, d.Outputs
	for _, list := range [][]Tensor{d.Inputs, d.Outputs} {
		for _, t := range list {
			if err := t.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// text gives a C string.
func text(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Status says whose fault an error is.
type Status int

// Statuses, as those of the C functions, and one more.
const (
	BadInput    Status = 1 // a value in an input
	BadArgument Status = 2 // what the caller gave does not fit the model
	Failed      Status = 3 // there is no memory, or no thread
	BadLibrary  Status = 4 // the file is no library that can be used
)

// Error is what the errors of this package are.
type Error struct {
	Status Status
	Text   string
}

func (e *Error) Error() string { return "library: " + e.Text }

func fault(s Status, format string, args ...any) error {
	return &Error{s, fmt.Sprintf(format, args...)}
}
