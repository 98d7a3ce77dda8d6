// Package launchlist is a launch list: a module of kernels, the buffers they work on, the launches in order,
// and the buffers to keep. It is the one form in which a run is handed to whatever has a device, the
// tapc-cuda program or the emulation, and is a JSON file between processes.
//
// The package imports nothing of tapc but internal/jsonfile, and nothing of CUDA. Read next: backends/cuda/emu, which runs a
// list on a CPU, and cmd/tapc-cuda, which runs it on a GPU.
package launchlist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/internal/outputfile"
)

// Version is the only value of List.Version that is understood.
const Version = 1

// MaxBytes bounds a buffer's size and the sum of all of a list's buffers.
const MaxBytes = 1 << 40

// List says what to run. Paths that are not absolute are relative to the list's folder.
type List struct {
	Version  int      `json:"version"`
	Module   string   `json:"module,omitempty"` // path of a cubin, a fatbin or PTX text
	Buffers  []Buffer `json:"buffers"`
	Launches []Launch `json:"launches"`
	Outputs  []Output `json:"outputs,omitempty"`
	Warmup   int      `json:"warmup,omitempty"` // untimed repeats of all launches
	Repeat   int      `json:"repeat,omitempty"` // timed repeats; outputs come from the first pass, before any
}

// Buffer is a piece of device memory. Without File and Byte its content is not defined.
type Buffer struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	File  string `json:"file,omitempty"` // initial content, exactly Bytes long
	Byte  *uint8 `json:"byte,omitempty"` // initial value of every byte
}

// Launch is one kernel over a grid.
type Launch struct {
	Kernel string `json:"kernel"`
	Grid   Dim    `json:"grid"`   // blocks
	Block  Dim    `json:"block"`  // threads
	Shared int64  `json:"shared"` // bytes of dynamic shared memory a block
	Args   []Arg  `json:"args"`
}

// Dim is a size along x, y and z.
type Dim [3]int64

// Output asks for a buffer's content in a file after the first pass.
type Output struct {
	Buffer string `json:"buffer"`
	File   string `json:"file"`
}

// Read reads a list's file and validates it.
func Read(path string) (*List, error) {
	text, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	p, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Decode reads a list's JSON and validates it. Unknown fields are errors.
func Decode(text []byte) (*List, error) {
	p := &List{}
	if err := jsonfile.Decode(text, p); err != nil {
		return nil, err
	}
	return p, p.Validate()
}

// Write validates a list and writes it as indented JSON, by way of a file beside it.
func (p *List) Write(path string) error {
	if err := p.Validate(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(text, '\n'))
}

// WriteFile is Create for data that are in memory.
func WriteFile(path string, data []byte) error {
	return Create(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Create lets write fill a file of a temporary name in path's folder and then renames it, so that path
// never holds a part of it.
func Create(path string, write func(w io.Writer) error) error {
	return outputfile.Replace(path, 0o644, func(f *os.File) error { return write(f) })
}

// Path returns a path of the list as seen from outside, where dir is the list's folder.
func Path(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.$-]{0,254}$`)

// Validate reports everything that is wrong with a list, each with its place in the JSON. A valid list
// names only buffers it has, and its sizes are those that a device can be asked for.
func (p *List) Validate() error {
	v := validator{sizes: map[string]int64{}}
	v.check(p.Version == Version, "version", "%d, expected %d", p.Version, Version)
	v.check(p.Warmup >= 0, "warmup", "%d, expected 0 or more", p.Warmup)
	v.check(p.Repeat >= 0, "repeat", "%d, expected 0 or more", p.Repeat)
	var sum int64
	for i, b := range p.Buffers {
		v.buffer(fmt.Sprintf("buffers[%d]", i), b)
		sum += min(max(b.Bytes, 0), MaxBytes)
		v.check(sum <= MaxBytes, fmt.Sprintf("buffers[%d]", i), "all buffers together exceed %d bytes", int64(MaxBytes))
	}
	for i, l := range p.Launches {
		v.launch(fmt.Sprintf("launches[%d]", i), l)
	}
	for i, o := range p.Outputs {
		at := fmt.Sprintf("outputs[%d]", i)
		_, known := v.sizes[o.Buffer]
		v.check(known, at+".buffer", "no buffer is named %q", o.Buffer)
		v.check(o.File != "", at+".file", "empty, expected a path")
	}
	return errors.Join(v.problems...)
}

type validator struct {
	sizes    map[string]int64 // of the buffers seen
	problems []error
}

func (v *validator) check(fine bool, at, format string, args ...any) {
	if !fine {
		v.problems = append(v.problems, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
}

func (v *validator) buffer(at string, b Buffer) {
	_, twice := v.sizes[b.Name]
	v.check(name.MatchString(b.Name), at+".name", "%q, expected letters, digits, _, ., $ and -, beginning with a letter", b.Name)
	v.check(!twice, at+".name", "%q names an earlier buffer too", b.Name)
	v.check(b.Bytes > 0 && b.Bytes <= MaxBytes, at+".bytes", "%d, expected 1 to %d", b.Bytes, int64(MaxBytes))
	v.check(b.File == "" || b.Byte == nil, at, "both file and byte are given, expected one")
	v.sizes[b.Name] = b.Bytes
}

// The limits are those of every device since compute capability 5.0.
func (v *validator) launch(at string, l Launch) {
	v.check(name.MatchString(l.Kernel), at+".kernel", "%q, expected a name", l.Kernel)
	v.dim(at+".grid", l.Grid, Dim{1<<31 - 1, 65535, 65535})
	v.dim(at+".block", l.Block, Dim{1024, 1024, 64})
	threads := max(l.Block[0], 1) * max(l.Block[1], 1)
	if threads <= 1024*1024 {
		threads *= max(l.Block[2], 1)
	}
	v.check(threads <= 1024, at+".block", "%d threads, expected at most 1024", threads)
	v.check(l.Shared >= 0 && l.Shared <= 1<<20, at+".shared", "%d bytes, expected 0 to %d", l.Shared, 1<<20)
	for i, a := range l.Args {
		v.arg(fmt.Sprintf("%s.args[%d]", at, i), a)
	}
}

func (v *validator) dim(at string, d, limit Dim) {
	for i, n := range d {
		v.check(n >= 1 && n <= limit[i], fmt.Sprintf("%s[%d]", at, i), "%d, expected 1 to %d", n, limit[i])
	}
}

func (v *validator) arg(at string, a Arg) {
	if a.Kind != KindBuffer {
		v.check(a.Size() > 0, at, "unknown kind %q", a.Kind)
		return
	}
	size, known := v.sizes[a.Buffer]
	v.check(known, at+".buffer", "no buffer is named %q", a.Buffer)
	v.check(!known || a.Offset >= 0 && a.Offset < size, at+".offset", "%d, expected 0 to %d", a.Offset, size-1)
}
