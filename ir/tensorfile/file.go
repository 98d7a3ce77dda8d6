package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/scalar"
)

// maxRank is NumPy's bound on the number of dimensions of a tensor in a file.
const maxRank = 64

// Error is what is wrong with a tensor file.
type Error struct {
	Path    string // the file, as it was named
	Tensor  string // the tensor concerned; "" when it is the file as a whole
	Problem string // what was expected and what was found
	Cause   error  // the operating system's error, if that is what it is
}

// Error gives file, tensor and problem in one line.
func (e *Error) Error() string {
	if e.Tensor != "" {
		return fmt.Sprintf("%s: tensor %q: %s", e.Path, e.Tensor, e.Problem)
	}
	return e.Path + ": " + e.Problem
}

// Unwrap gives the cause, so that errors.Is(err, fs.ErrNotExist) works.
func (e *Error) Unwrap() error { return e.Cause }

// Info describes a tensor of a file.
type Info struct {
	Name  string
	DType scalar.DType
	Shape []int64
	// Offset is where the tensor's bytes begin in the file, exactly as Load gives them, so that they can be mapped or linked; -1 when
	// they are packed, big-endian or not row-major.
	Offset int64
	// Length is the number of bytes of the loaded tensor.
	Length int64
}

// layout is what a file says about the bytes of one tensor.
type layout struct {
	dtype     scalar.DType
	shape     []int64
	bigEndian bool
	fortran   bool  // first index fastest
	header    int64 // bytes before the data
	bytes     int64 // of data
}

type entry struct {
	info   Info
	layout layout
	read   func(data []byte) error // fills data, which has layout.bytes, as the file holds it
}

// File is an open tensor file: a table of contents; tensors are read when asked for. It is safe for concurrent use.
type File struct {
	path    string
	entries []entry // sorted by name
	closer  io.Closer
}

// Open opens a .npy, .npz or .safetensors file, told apart by its content, and reads its table of contents. The tensor of a
// .npy file is named "". The file must stay unchanged until Close.
func Open(path string) (*File, error) {
	handle, err := inputfile.Open(path)
	if err != nil {
		return nil, systemError(path, err)
	}
	info, err := handle.Stat()
	var file *File
	if err == nil {
		file, err = Read(path, handle, info.Size())
	} else {
		err = systemError(path, err)
	}
	if err != nil {
		handle.Close()
		return nil, err
	}
	file.closer = handle
	return file, nil
}

// Read is Open for size bytes that are already at hand; path is for messages.
func Read(path string, from io.ReaderAt, size int64) (*File, error) {
	start := make([]byte, min(size, 9))
	if _, err := from.ReadAt(start, 0); err != nil && err != io.EOF {
		return nil, systemError(path, err)
	}
	var entries []entry
	var err error
	switch {
	case size == 0:
		err = errors.New("expected a tensor file, found an empty file")
	case bytes.HasPrefix(start, []byte(npyMagic)):
		entries, err = listNPY(from, size)
	case bytes.HasPrefix(start, []byte("PK")):
		entries, err = listNPZ(from, size)
	case len(start) == 9 && start[8] == '{':
		entries, err = listSafetensors(from, size)
	default:
		err = fmt.Errorf("expected a .npy, .npz or .safetensors file, found one that begins with % x", start)
	}
	if err == nil {
		err = sortEntries(entries)
	}
	if err != nil {
		return nil, wrap(path, "", err)
	}
	return &File{path: path, entries: entries}, nil
}

func sortEntries(entries []entry) error {
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].info.Name < entries[j].info.Name })
	for i := 1; i < len(entries); i++ {
		if entries[i].info.Name == entries[i-1].info.Name {
			return fmt.Errorf("expected distinct names, found %q twice", entries[i].info.Name)
		}
	}
	return nil
}

// Close releases the file. Close it once, when no Load is in progress.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Tensors describes all tensors, sorted by name. The slices are the caller's.
func (f *File) Tensors() []Info {
	infos := make([]Info, len(f.entries))
	for i := range f.entries {
		infos[i] = f.entries[i].info
		infos[i].Shape = slices.Clone(infos[i].Shape)
	}
	return infos
}

// Info describes one tensor, found as Load finds it.
func (f *File) Info(name string) (Info, error) {
	e, err := f.find(name)
	if err != nil {
		return Info{}, err
	}
	info := e.info
	info.Shape = slices.Clone(info.Shape)
	return info, nil
}

// Load reads one tensor. The name "" also stands for the only tensor of a file.
func (f *File) Load(name string) (Tensor, error) {
	e, err := f.find(name)
	if err != nil {
		return Tensor{}, err
	}
	data := make([]byte, e.layout.bytes)
	if err := e.read(data); err != nil {
		return Tensor{}, wrap(f.path, e.info.Name, err)
	}
	data = toNative(e.layout, data)
	if err := checkValues(e.layout.dtype, data); err != nil {
		return Tensor{}, wrap(f.path, e.info.Name, err)
	}
	return Tensor{DType: e.layout.dtype, Shape: slices.Clone(e.layout.shape), Data: data}, nil
}

// SHA256 is the digest of a tensor's bytes as Load gives them, in hexadecimal.
func (f *File) SHA256(name string) (string, error) {
	t, err := f.Load(name)
	if err != nil {
		return "", err
	}
	return t.SHA256(), nil
}

func (f *File) find(name string) (*entry, error) {
	i, found := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int { return strings.Compare(e.info.Name, name) })
	if found {
		return &f.entries[i], nil
	}
	if name == "" && len(f.entries) == 1 {
		return &f.entries[0], nil
	}
	return nil, wrap(f.path, "", fmt.Errorf("expected a tensor %q, found %s", name, f.names()))
}

// names lists the first few tensors for a message.
func (f *File) names() string {
	const most = 8
	var quoted []string
	for i := range f.entries {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(f.entries)-most))
			break
		}
		quoted = append(quoted, fmt.Sprintf("%q", f.entries[i].info.Name))
	}
	if quoted == nil {
		return "no tensors"
	}
	return strings.Join(quoted, ", ")
}

func wrap(path, tensor string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Path: path, Tensor: tensor, Problem: err.Error(), Cause: errors.Unwrap(err)}
}

// systemError drops the path that the operating system's error repeats.
func systemError(path string, err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return &Error{Path: path, Problem: err.Error(), Cause: err}
}

// toNative gives the bytes little-endian and row-major. It may reuse data.
func toNative(l layout, data []byte) []byte {
	if l.bigEndian {
		unit := l.dtype.Size()
		if l.dtype.IsComplex() {
			unit /= 2
		}
		for at := 0; at < len(data); at += unit {
			slices.Reverse(data[at : at+unit])
		}
	}
	if l.fortran && len(l.shape) > 1 && len(data) > 0 {
		return transpose(l, data)
	}
	return data
}

// transpose reorders from first-index-fastest to last-index-fastest.
func transpose(l layout, data []byte) []byte {
	size, rank := l.dtype.Size(), len(l.shape)
	stride, point := make([]int64, rank), make([]int64, rank)
	stride[0] = int64(size)
	for i := 1; i < rank; i++ {
		stride[i] = stride[i-1] * l.shape[i-1]
	}
	out, from := make([]byte, 0, len(data)), int64(0)
	for len(out) < len(data) {
		out = append(out, data[from:from+int64(size)]...)
		for i := rank - 1; i >= 0; i-- {
			from += stride[i]
			if point[i]++; point[i] < l.shape[i] {
				break
			}
			from -= stride[i] * l.shape[i]
			point[i] = 0
		}
	}
	return out
}
