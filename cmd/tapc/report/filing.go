package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tensortapestry.org/tapc/cmd/tapc/masked"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// filing packs files, and remembers what became of them.
type filing struct {
	job     *Job
	folder  string
	data    string            // --data-dir
	placed  map[string]string // names in the report, by path
	files   int               // in files/
	packed  []packed
	left    []string // what is not packed, and why
	named   []string // files that have names in them that are hidden elsewhere
	missing string   // why the command can not run on what is packed
}

// packed is a file of the report.
type packed struct{ name, what string }

const (
	asItIs  = "as it is"
	replace = "weights replaced by random numbers"
	// replaceNumbers is replace for a file that is no graph's data.
	replaceNumbers = "numbers replaced by random ones"
)

// graph packs an argument: a graph with the data that it names, another file, or a word that stays.
func (f *filing) graph(arg string) (string, error) {
	info, err := os.Stat(arg)
	if err != nil || !info.Mode().IsRegular() {
		return arg, nil
	}
	if name, ok := f.placed[arg]; ok {
		return name, nil
	}
	g, err := f.job.Graph(arg)
	if err != nil { // it is none, or one that nobody can read
		return f.file(arg)
	}
	dir := "graph"
	if n := len(f.packed); n > 0 {
		dir = fmt.Sprint("graph", n+1)
	}
	name := dir + "/" + f.job.hide.text(filepath.Base(arg))
	from := filepath.Dir(arg)
	if f.data != "" {
		from = f.data
	}
	data, uses, err := f.masked(g, arg)
	if err != nil {
		return f.file(arg)
	}
	f.placed[arg] = name
	what := map[bool]string{true: asItIs, false: replace}[f.job.Keep]
	if err := f.put(name, what, func(to string) error { return os.WriteFile(to, data, 0o666) }); err != nil {
		return "", err
	}
	return name, f.used(uses, from, dir)
}

// masked gives the bytes of a graph file for the report, and the files that it names.
func (f *filing) masked(g *Graph, path string) (data []byte, uses masked.Uses, err error) {
	if g.Model != nil {
		data, uses.Parts, err = masked.Model(g.Model, f.job.hide.text)
		if f.job.Keep {
			data = g.Model
		}
		return data, uses, err
	}
	uses = g.mask()
	if f.job.Keep {
		data, err = inputfile.ReadText(path, 1<<40)
		return data, uses, err
	}
	if data, err = g.bytes(); err == nil && utf8.Valid(data) {
		data = []byte(f.job.hide.text(string(data)))
	}
	return data, uses, err
}

// used packs the files that a graph names, where the graph finds them.
func (f *filing) used(uses masked.Uses, from, dir string) error {
	parts := map[string][]masked.Part{}
	names := slices.Clone(uses.Files)
	for _, p := range uses.Parts {
		parts[p.File] = append(parts[p.File], p)
		names = append(names, p.File)
	}
	for _, name := range names {
		path, to := filepath.Join(from, name), dir+"/"+name
		if _, done := f.placed[to]; done {
			continue
		}
		f.placed[to] = to
		if !filepath.IsLocal(name) {
			f.left = append(f.left, "data that is not in the folder of the graph")
			continue
		}
		write := func(out string) error { return f.tensors(path, out, parts[name]) }
		if err := f.put(to, map[bool]string{true: asItIs, false: replace}[f.job.Keep], write); err != nil {
			f.left = append(f.left, fmt.Sprintf("%s: %v", name, err))
		}
	}
	return nil
}

// tensors writes a file of tensors again.
func (f *filing) tensors(from, to string, parts []masked.Part) error {
	switch {
	case f.job.Keep:
		return copied(from, to)
	case parts != nil:
		return masked.Parts(from, to, parts)
	}
	return masked.File(from, to)
}

// maxText bounds texts that are packed as they are.
const maxText = 1 << 20

// file packs a file that is no graph: tensors, or a text. What is neither is left out, and the command can not run without it.
func (f *filing) file(path string) (string, error) {
	if name, ok := f.placed[path]; ok {
		return name, nil
	}
	info, err := os.Stat(path)
	if file, key, ok := portfiles.CutKey(path); err != nil && ok { // one tensor of a file
		placed, err := f.file(file)
		return placed + path[len(path)-len(key)-1:], err
	}
	if err != nil || !info.Mode().IsRegular() {
		return path, nil
	}
	f.files++
	name := fmt.Sprintf("files/%d-%s", f.files, f.job.hide.text(filepath.Base(path)))
	f.placed[path] = name
	if slices.Contains([]string{".npy", ".npz", ".safetensors", ".pb"}, filepath.Ext(path)) {
		what := map[bool]string{true: asItIs, false: replaceNumbers}[f.job.Keep]
		if err := f.put(name, what, func(to string) error { return f.tensors(path, to, nil) }); err == nil {
			return name, nil
		}
	} else if text, err := inputfile.ReadText(path, maxText); err == nil && readable(text) {
		return name, f.put(name, asItIs+": read it before you send it", func(to string) error {
			return os.WriteFile(to, []byte(f.job.hide.text(string(text))), info.Mode().Perm())
		})
	}
	f.left = append(f.left, fmt.Sprintf("%s, %d bytes: it is no graph, tensors or text that tapc can read", f.job.hide.text(filepath.Base(path)), info.Size()))
	f.missing = "a file that it takes is not packed"
	return name, nil
}

// readable says whether somebody can read a text.
func readable(text []byte) bool {
	return utf8.Valid(text) && bytes.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }) < 0
}

// put writes a file of the report.
func (f *filing) put(name, what string, write func(to string) error) error {
	to := filepath.Join(f.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return diag.Fault("%w", err)
	}
	if err := write(to); err != nil {
		os.Remove(to)
		return err
	}
	f.packed = append(f.packed, packed{name, what})
	return nil
}

func copied(from, to string) error {
	data, err := inputfile.ReadText(from, 1<<40)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// written looks at what the command has written into the report, and for names that shall not be there.
func (f *filing) written() error {
	have := map[string]bool{}
	for _, p := range f.packed {
		have[p.name] = true
	}
	return walk(f.folder, func(name string) error {
		data, err := os.ReadFile(filepath.Join(f.folder, name))
		if err != nil {
			return diag.Fault("%w", err)
		}
		if strings.HasPrefix(name, "tapc-reproducer-") && !have[name] {
			f.packed = append(f.packed, packed{name, "written by the command: what repeats the fault of a pass"})
			if readable(data) {
				hidden := []byte(f.job.hide.text(string(data)))
				if err := os.WriteFile(filepath.Join(f.folder, name), hidden, 0o666); err != nil {
					return diag.Fault("%w", err)
				}
				data = hidden
			}
		}
		if f.job.hide.private(string(data)) {
			f.named = append(f.named, name)
		}
		return nil
	})
}
