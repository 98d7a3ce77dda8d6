//go:build linux || darwin || freebsd

package library

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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
	bytes                uintptr // its size
	_                    *byte   // the program's name
	description          *byte
	create, run, destroy uintptr
	runAt, pin           uintptr
}

// functions are those of a library.
type functions struct {
	create  func(threads int32, text unsafe.Pointer, bytes uintptr) uintptr
	run     func(instance uintptr, inputs, outputs, text unsafe.Pointer, bytes uintptr) int32
	destroy func(instance uintptr)
	runAt   func(instance uintptr, sizes, inputs, outputs, text unsafe.Pointer, bytes uintptr) int32
	pin     func(instance uintptr, place int32, text unsafe.Pointer, bytes uintptr) int32
}

// Options say what a model runs on.
type Options struct {
	Threads   int // of each instance; 0 is one for each core
	Instances int // the runs that can be in progress at the same time; 0 is 1
	// Pin binds each thread of each instance to a core of its own, and who calls a run while it lasts. It is an error where there are fewer cores.
	Pin bool
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
	m := &Model{path: path, options: o, closing: make(chan struct{})}
	if m.handle, err = opened.open(path); err != nil {
		return nil, err
	}
	if err := m.load(max(1, o.Instances)); err != nil {
		return nil, errors.Join(err, opened.close(path, m.handle))
	}
	return m, nil
}

// files are the libraries that are open, by path. The system knows a library by its path, too: it would give one that is open for another that was written
// over it.
type files struct {
	sync.Mutex
	by map[string]*file
}

type file struct {
	info  os.FileInfo
	times int // that it is open
}

var opened = files{by: map[string]*file{}}

func (f *files) open(path string) (handle uintptr, err error) {
	f.Lock()
	defer f.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return 0, fault(BadLibrary, "%v", err)
	}
	known := f.by[path]
	if known != nil && (!os.SameFile(known.info, info) || !known.info.ModTime().Equal(info.ModTime())) {
		return 0, fault(BadLibrary, "%s was written anew while it is open: expected that its models are closed first, or another name", path)
	}
	if err := whole(path, info.Size()); err != nil {
		return 0, err
	}
	if handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		return 0, fault(BadLibrary, "%v", err)
	}
	if known == nil {
		known = &file{info: info}
		f.by[path] = known
	}
	known.times++
	return handle, nil
}

// whole refuses an ELF file that is truncated, of which the system would map pages that are not there, and end the process for it. What is no ELF file, the
// system refuses itself.
func whole(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fault(BadLibrary, "%v", err)
	}
	defer f.Close()
	var magic [len(elf.ELFMAG)]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil || string(magic[:]) != elf.ELFMAG {
		return nil
	}
	x, err := elf.NewFile(f)
	if err != nil {
		return fault(BadLibrary, "%s is truncated or damaged: %v", path, err)
	}
	for _, p := range x.Progs {
		if end := p.Off + p.Filesz; end < p.Off || end > uint64(size) {
			return fault(BadLibrary, "%s is truncated: expected at least %d bytes, found %d", path, end, size)
		}
	}
	return nil
}

func (f *files) close(path string, handle uintptr) error {
	f.Lock()
	defer f.Unlock()
	if f.by[path].times--; f.by[path].times == 0 {
		delete(f.by, path)
	}
	return purego.Dlclose(handle)
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

// load reads the table and the description, and makes the first of so many instances.
func (m *Model) load(instances int) error {
	symbol, err := purego.Dlsym(m.handle, "tapc_library_of")
	if err != nil {
		return fault(BadLibrary, "%s is no library of tapc's, or of a version before its interface had a number", m.path)
	}
	var of func() *table
	purego.RegisterFunc(&of, symbol)
	t := of()
	if t == nil || t.abi != version {
		abi := int32(0)
		if t != nil {
			abi = t.abi
		}
		return fault(BadLibrary, "%s has version %d of the library interface: expected version %d", m.path, abi, version)
	}
	m.text = text(t.description)
	if err := m.describe(); err != nil {
		return fault(BadLibrary, "%s: its description can not be read: %v", m.path, err)
	}
	purego.RegisterFunc(&m.call.create, t.create)
	purego.RegisterFunc(&m.call.run, t.run)
	purego.RegisterFunc(&m.call.destroy, t.destroy)
	if len(m.sized.dims) > 0 {
		if t.bytes < unsafe.Offsetof(t.pin) {
			return fault(BadLibrary, "%s has several sizes and no function for them", m.path)
		}
		purego.RegisterFunc(&m.call.runAt, t.runAt)
	}
	if m.options.Pin {
		if t.bytes < unsafe.Sizeof(*t) {
			return fault(BadLibrary, "%s has no function that binds threads to cores: expected one that this version of tapc built", m.path)
		}
		purego.RegisterFunc(&m.call.pin, t.pin)
	}
	m.idle, m.unmade = make(chan uintptr, instances), make(chan struct{}, instances)
	now := 1 // made at once: then it is known that there is one, and the memory for it; and the cores for all
	if m.options.Pin {
		now = instances
	}
	for range now {
		instance, err := m.create()
		if err != nil {
			for len(m.idle) > 0 {
				m.call.destroy(<-m.idle)
			}
			return err
		}
		m.idle <- instance
	}
	for range instances - now {
		m.unmade <- struct{}{}
	}
	return nil
}

// describe reads the description.
func (m *Model) describe() error {
	var d struct {
		Program         string
		Inputs, Outputs []Tensor
		Dims            []Dim
		Sizes           []listed
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
	return m.list(d.Dims, d.Sizes)
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
