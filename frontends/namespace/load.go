package namespace

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
)

//go:embed dict/*.ns
var files embed.FS

// Set is the dictionaries that are known, by name.
type Set []*Dictionary

// All gives tapc's own dictionaries. A fault in one is an error of tapc itself and panics; a test reads them all.
var All = sync.OnceValue(func() Set {
	out := Set{fromKernels(kernels.Builtin())}
	for _, name := range entries() {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		d, err := Parse(name, string(text))
		if err != nil {
			panic(err)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *Dictionary) int { return strings.Compare(a.Name, b.Name) })
	return out
})

// Names gives the names of tapc's own dictionaries, in order. It reads none of them whole: command lines begin with it.
func Names() []string {
	names := []string{ownName}
	for _, file := range entries() {
		text, err := files.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "namespace "); ok {
				names = append(names, strings.TrimSpace(name))
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

// entries gives the files of tapc's own dictionaries.
func entries() []string {
	names, err := fs.Glob(files, "dict/*.ns")
	if err != nil {
		panic(err)
	}
	return names
}

// With adds a dictionary. One of a name that the set has is an error.
func (s Set) With(d *Dictionary) (Set, error) {
	i, found := slices.BinarySearchFunc(s, d.Name, func(x *Dictionary, name string) int { return strings.Compare(x.Name, name) })
	if found {
		return nil, fmt.Errorf("there is a dictionary of %s already, with the versions %s: expected another name", d.Name, s[i].Range())
	}
	return slices.Insert(slices.Clone(s), i, d), nil
}

// Own is the namespace of tapc's kernels.
const Own = ownName + "/1"

// Find gives a namespace by its name: a dictionary and a version, such as onnx/17 or tensorflow/1.13.1, or a dictionary alone for the
// newest. The prefix amanda/ may stand before it.
func (s Set) Find(name string) (Namespace, error) {
	name = strings.TrimPrefix(name, "amanda/")
	if d := s.dictionary(name); d != nil {
		return Namespace{d, d.Last}, nil
	}
	var names []string
	for _, d := range s {
		names = append(names, d.Name)
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		if d := s.dictionary(name[:i]); d != nil {
			if v, ok := d.number(name[i+1:]); ok {
				return Namespace{d, v}, nil
			}
			if near, ok := diag.Nearest(name, names); ok && strings.Contains(near, "/") {
				return Namespace{}, fmt.Errorf("there is no dictionary of %s: did you mean %s?", name, near)
			}
			return Namespace{}, fmt.Errorf("%s has no version %s: it has %s", d.Name, name[i+1:], d.Range())
		}
	}
	base, _, _ := strings.Cut(name, "/")
	if near, ok := diag.Nearest(base, names); ok {
		return Namespace{}, fmt.Errorf("there is no dictionary of %s: did you mean %s?", name, near)
	}
	return Namespace{}, fmt.Errorf("there is no dictionary of %s: expected one of %s", name, strings.Join(names, ", "))
}

func (s Set) dictionary(name string) *Dictionary {
	for _, d := range s {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Domain gives the namespace of a domain of a framework at a version: onnx and "ai.onnx.ml" give onnx/ai.onnx.ml. The default domain is "".
// ok is false when there is no dictionary, or no such version in it.
func (s Set) Domain(framework, domain string, version int64) (Namespace, bool) {
	if domain != "" {
		framework += "/" + domain
	}
	d := s.dictionary(framework)
	if d == nil || version < d.First || version > d.Last {
		return Namespace{}, false
	}
	return Namespace{d, version}, true
}

// number gives the number of a version by its name.
func (d *Dictionary) number(name string) (int64, bool) {
	if d.Releases != nil {
		i := slices.Index(d.Releases, name)
		return int64(i), i >= 0
	}
	n, err := strconv.ParseInt(name, 10, 32)
	return n, err == nil && n >= d.First && n <= d.Last
}

// label gives the name of a version by its number.
func (d *Dictionary) label(version int64) string {
	if d.Releases != nil {
		return d.Releases[version]
	}
	return strconv.FormatInt(version, 10)
}

// Range names the versions that the dictionary has.
func (d *Dictionary) Range() string {
	switch {
	case d.Releases != nil:
		return strings.Join(d.Releases, ", ")
	case d.First == d.Last:
		return d.label(d.Last)
	}
	return d.label(d.First) + " to " + d.label(d.Last)
}

// Size is how many operators the dictionary has, those that are not there any more included.
func (d *Dictionary) Size() int { return len(d.ops) }
