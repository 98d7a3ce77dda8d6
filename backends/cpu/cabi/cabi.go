// Package cabi writes what a program says of itself: its description as JSON text, the C header of a library, and the functions that a
// library exports.
//
// It knows names, types and sizes, and no kernel; the functions that it calls are the run-time library's (backends/cpu/runtime, whose
// csrc/tapc_library.h is the interface that loaders in other languages use). Read next: header.go; docs/libraries.md is the guide.
package cabi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/devices"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/diag"
)

// Version is the version of the interface, TAPC_ABI in csrc/tapc_library.h. A change that a loader of the version before would get wrong
// makes it one more; what is only added, to the end of the table or as a field of the description, does not.
const Version = 1

// WeightsSuffix is how the file beside a program ends that holds its constants, if they are not inside.
const WeightsSuffix = ".weights"

// Tensor is an input or output, as the description has it.
type Tensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Range Box     `json:"range"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"` // of its memory
	// Of what lies in one memory with another: with which output or input, the shape of the memory, and the steps from an element to the next, in elements.
	Beside  string  `json:"shares,omitempty"`
	Room    []int64 `json:"room,omitempty"`
	Strides []int64 `json:"strides,omitempty"`
	File    *File   `json:"file,omitempty"` // that an executable reads an input from, or writes an output to
}

// File is one that a program names: with the key of an entry, or where the bytes of an input begin.
type File struct {
	Path   string `json:"path"`
	Key    string `json:"key,omitempty"`
	Offset *int64 `json:"offset,omitempty"`
}

// Lies says that a tensor is in a file.
func (t *Tensor) Lies(r tensorops.Resource) {
	t.File = &File{Path: r.File, Key: r.Key}
	if r.Raw {
		t.File.Offset = &r.Offset
	}
}

// Lie gives a tensor the memory that it has in common with another: of a shape, of elements of some bytes.
func (t *Tensor) Lie(room []int64, beside string, element int64) {
	t.Room, t.Beside, t.Strides, t.Bytes = room, beside, make([]int64, len(room)), element
	for d := len(room) - 1; d >= 0; d-- {
		t.Strides[d] = t.Bytes / element
		t.Bytes *= room[d]
	}
}

// Box is the range of a tensor.
type Box struct {
	Start []int64 `json:"start"`
	End   []int64 `json:"end"`
}

// Kernel is one step of a program.
type Kernel struct {
	Name         string   `json:"name"`
	Device       string   `json:"device,omitempty"` // of several
	Applications int      `json:"applications"`
	Copied       int64    `json:"copied_bytes,omitempty"` // that it writes and only moved
	Kept         bool     `json:"kept,omitempty"`         // it leaves in place what is there, and does nothing
	Loops        []string `json:"loops"`
	Configs      []string `json:"configs,omitempty"` // what was decided about it, for each kind of processor
	Allow        []string `json:"allow,omitempty"`
}

// Memory is what a program has in memory, in bytes: its arena and constants, all of it at most with one thread, and what each further
// thread takes: in the arena, and altogether. Of a program for several devices also what groups of threads take.
type Memory struct {
	Arena, Constants, Peak int64
	Code                   []Code // nil if no compiler wrote it
	Thread                 Thread
	Groups                 Groups
}

// Code is what was compiled for some processors: instructions of kernels, and constants among them. Peak has the most of it.
type Code struct {
	Processor string `json:"processor"`
	Bytes     int64  `json:"bytes"`
}

// Thread is what a further thread takes: in the arena at most, and altogether but for that; and what kernels have there.
type Thread struct {
	Arena, Bytes int64
	Workspaces   Workspaces
}

// Workspace is what a kernel has in the arena for each of the threads that have some of its tasks.
type Workspace struct {
	Tasks int64 `json:"tasks"`
	Bytes int64 `json:"bytes"`
}

// AnyTasks is more tasks than there are threads.
const AnyTasks = math.MaxInt32

// Workspaces are those of the kernels of a program, which have them one after the other: each has more tasks than the one before, and fewer bytes.
type Workspaces []Workspace

// With adds one.
func (s Workspaces) With(x Workspace) Workspaces {
	covers := func(a, b Workspace) bool { return a.Tasks >= b.Tasks && a.Bytes >= b.Bytes }
	if x.Bytes == 0 || slices.ContainsFunc(s, func(y Workspace) bool { return covers(y, x) }) {
		return s
	}
	s = append(slices.DeleteFunc(slices.Clone(s), func(y Workspace) bool { return covers(x, y) }), x)
	slices.SortFunc(s, func(a, b Workspace) int { return cmp.Compare(a.Tasks, b.Tasks) })
	return s
}

// More is what they take on so many threads, in so many groups of their own, more than on one.
func (s Workspaces) More(threads, groups int64) (bytes int64) {
	of := func(threads int64) (most int64) {
		for _, x := range s {
			most = max(most, min(threads, x.Tasks)*x.Bytes)
		}
		return most
	}
	more := threads % groups // groups that have a thread more
	return (groups-more)*of(threads/groups) + more*of(threads/groups+1) - of(1)
}

// ThreadsBytes is what threads have in memory once, however many they are: code of the C library that one thread alone does not run.
const ThreadsBytes = 180_000

// Groups is what is said of a program for several devices: how many there are, of a program for several sizes at most; the bytes of the arena that each
// group of threads takes besides the first; and the devices.
type Groups struct {
	Devices, Bytes int64
	List           []devices.Device // nil for one device
	Collectives    []devices.Collective
}

// Max is enough for programs with either memory; what else is said is that of m.
func (m Memory) Max(n Memory) Memory {
	groups, thread := m.Groups, Thread{max(m.Thread.Arena, n.Thread.Arena), max(m.Thread.Bytes, n.Thread.Bytes), m.Thread.Workspaces}
	for _, x := range n.Thread.Workspaces {
		thread.Workspaces = thread.Workspaces.With(x)
	}
	groups.Devices, groups.Bytes = max(m.Groups.Devices, n.Groups.Devices), max(m.Groups.Bytes, n.Groups.Bytes)
	return Memory{max(m.Arena, n.Arena), m.Constants, max(m.Peak, n.Peak), m.Code, thread, groups}
}

// Fields gives those of a tapc_program that say what they are, in C.
func (s Workspaces) Fields() string {
	if len(s) == 0 {
		return ""
	}
	var list []string
	for _, x := range s {
		list = append(list, fmt.Sprintf("{%d, %d}", x.Tasks, x.Bytes))
	}
	return fmt.Sprintf("  .n_workspaces = %d,\n  .workspaces = (const tapc_workspace[]){%s},\n", len(s), strings.Join(list, ", "))
}

// Fields gives the fields of a tapc_program that say what groups of threads there are, in C: nothing for one device.
func (g Groups) Fields() string {
	if g.Devices < 2 {
		return ""
	}
	return fmt.Sprintf("  .n_devices = %d,\n  .group_bytes = %d,\n", g.Devices, g.Bytes)
}

// Origin is what a program is made from, and what made it.
type Origin struct {
	Source, Graph string // the name of the graph's file, and the graph's
	Made          *Made  // nil if that is not said
}

// Description is what a program says of itself.
type Description struct {
	Program, Tapc, Target string
	Origin                Origin
	Memory
	Allow           []string // permissions
	Inputs, Outputs []Tensor
	Kernels         []Kernel
	Sizes           *Sizes // nil for a program of one
}

// JSON gives the description with a line for every tensor and kernel.
func (d *Description) JSON() (string, error) {
	var b strings.Builder
	field := func(name string, v any) error {
		text, err := json.Marshal(v)
		if b.Len() == 0 {
			b.WriteString("{\n")
		} else {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", name, text)
		return err
	}
	list := func(name string, n int, item func(i int) any) error {
		fmt.Fprintf(&b, ",\n  %q: [", name)
		for i := range n {
			text, err := json.Marshal(item(i))
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n    %s", text)
		}
		b.WriteString("\n  ]")
		return nil
	}
	made := func() error {
		if d.Origin.Made == nil {
			return nil
		}
		return field("made", d.Origin.Made)
	}
	sizes := func() error {
		if d.Sizes == nil {
			return nil
		}
		return errors.Join(field("shared_constants_bytes", d.Sizes.Shared), list("dims", len(d.Sizes.Dims), func(i int) any { return d.Sizes.Dims[i] }),
			list("sizes", len(d.Sizes.Versions), func(i int) any { return d.Sizes.Versions[i] }))
	}
	code := func() error {
		if d.Code == nil {
			return nil
		}
		return field("code", d.Code)
	}
	parts := func() error {
		if d.Groups.List == nil {
			return nil
		}
		return errors.Join(field("group_bytes", d.Groups.Bytes), list("devices", len(d.Groups.List), func(i int) any { return d.Groups.List[i] }),
			list("collectives", len(d.Groups.Collectives), func(i int) any { return d.Groups.Collectives[i] }))
	}
	err := errors.Join(field("program", d.Program), field("tapc", d.Tapc), field("abi", Version), field("target", d.Target), field("source", d.Origin.Source),
		field("graph", d.Origin.Graph), made(), field("allow", d.Allow), field("arena_bytes", d.Arena), field("constants_bytes", d.Constants), field("peak_bytes", d.Peak), code(),
		field("thread_bytes", d.Thread.Bytes), field("threads_bytes", ThreadsBytes), field("workspaces", append(Workspaces{}, d.Thread.Workspaces...)), field("copied_bytes", d.copied()), sizes(), parts(),
		list("inputs", len(d.Inputs), func(i int) any { return d.Inputs[i] }),
		list("outputs", len(d.Outputs), func(i int) any { return d.Outputs[i] }),
		list("kernels", len(d.Kernels), func(i int) any { return d.Kernels[i] }))
	return b.String() + "\n}\n", err
}

// copied is how many bytes kernels write that they only moved.
func (d *Description) copied() (sum int64) {
	for _, k := range d.Kernels {
		sum += k.Copied
	}
	return sum
}

// Identifier makes a C identifier of a program's name.
func Identifier(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case isLetter(r), i > 0 && isDigit(r):
			b.WriteRune(r)
		case isDigit(r):
			b.WriteString("p" + string(r))
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "program"
	}
	return b.String()
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// longestPrefix leaves room for what is behind it in identifiers that compilers tell apart by 63 characters.
const longestPrefix = 40

// CheckPrefix refuses a name that can not begin the names of a program's C functions.
func CheckPrefix(name string) error {
	switch {
	case name == "" || Identifier(name) != name:
		return diag.Usage("--name=%s: expected letters, digits and underscores, no digit first", name)
	case len(name) > longestPrefix:
		return diag.Usage("--name=%s: expected at most %d characters, found %d", name, longestPrefix, len(name))
	case strings.HasPrefix(strings.ToLower(name), "tapc"), strings.HasPrefix(name, "_"):
		return diag.Usage("--name=%s: names that begin with tapc or _ are taken", name)
	}
	return nil
}
