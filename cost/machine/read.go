package machine

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// MaxBytes is what a file has at most.
const MaxBytes = 1 << 20

// Read reads a machine file. All faults are reported, with their lines. Aliases are refused, so what is read is never larger than the file.
func Read(data []byte, file string) (*Machine, error) {
	at := diag.Location{File: file}
	in := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := in.Decode(&doc); errors.Is(err, io.EOF) || err == nil && len(doc.Content) != 1 {
		return nil, diag.Errorf(CodeForm, ir.StageParse, at, "the file is empty").Want("a machine", "nothing")
	} else if err != nil {
		return nil, diag.Errorf(CodeForm, ir.StageParse, at, "not YAML: %s", strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if err := in.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, diag.Errorf(CodeForm, ir.StageParse, at, "there is more behind the first document").Want("one machine", "more")
	}
	bad := &faults{file: file}
	m := &Machine{}
	read(doc.Content[0], bad, m.fields)
	if err := bad.list.Err(); err != nil {
		return nil, err
	}
	bad.check(m)
	if err := bad.list.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// reader reads one mapping.
type reader struct {
	*faults
	node *yaml.Node
	keys []string // that there may be
}

// read gives a part of a file its fields, and refuses keys that mean nothing.
func read(n *yaml.Node, bad *faults, visit func(fields)) {
	r := &reader{faults: bad, node: n}
	if n.Kind != yaml.MappingNode {
		r.add(CodeForm, n, "keys and values", kind(n), "no mapping")
		return
	}
	visit(r)
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case seen[key.Value]:
			r.add(CodeForm, key, "each key once", key.Value, "the key %q is there twice", key.Value)
		case !slices.Contains(r.keys, key.Value):
			r.add(CodeForm, key, strings.Join(r.keys, ", "), key.Value, "a key that means nothing: %q%s", key.Value, meant(key.Value, r.keys))
		}
		seen[key.Value] = true
	}
}

// kind says in words what a node is.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return strconv.Quote(n.Value)
}

// at gives the value of a key, nil if it is not there.
func (r *reader) at(key field) *yaml.Node {
	r.keys = append(r.keys, key.key)
	for i := 0; i+1 < len(r.node.Content); i += 2 {
		if r.node.Content[i].Value == key.key {
			return r.node.Content[i+1]
		}
	}
	if key.must {
		r.add(CodeForm, r.node, key.key+": "+key.doc, "nothing", "the key %q is missing", key.key)
	}
	return nil
}

// scalar gives the text of a value that is one.
func (r *reader) scalar(key field) (n *yaml.Node, ok bool) {
	n = r.at(key)
	if n == nil {
		return nil, false
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		r.add(CodeForm, n, key.doc, kind(n), "%s is no text", key.key)
		return nil, false
	}
	return n, true
}

func (r *reader) Text(key field, v *string, words ...string) {
	n, ok := r.scalar(key)
	if !ok {
		return
	}
	if len(words) > 0 && !slices.Contains(words, n.Value) {
		r.add(CodeForm, n, strings.Join(words, ", "), n.Value, "unknown %s %q%s", key.key, n.Value, meant(n.Value, words))
		return
	}
	*v = n.Value
}

func (r *reader) Count(key field, v *int64, unit Unit) {
	n, ok := r.scalar(key)
	if !ok {
		return
	}
	x, err := unit.Parse(n.Value)
	if err != nil || x != math.Trunc(x) || x < 1 || x > math.MaxInt64/2 {
		r.add(CodeForm, n, "a whole number from 1 on, as "+map[bool]string{true: Unit.example(Bytes), false: "8"}[unit == Bytes], n.Value, "%s is no count", key.key)
		return
	}
	*v = int64(x)
}

func (r *reader) Figure(key field, v *Figure, unit Unit) {
	n := r.at(key)
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode {
		if x, ok := r.number(n, key.key, unit); ok {
			*v = Exactly(x)
		}
		return
	}
	var value, low, high string
	read(n, r.faults, func(f fields) {
		f.Text(field{"value", key.doc, true}, &value)
		f.Text(field{"low", "what it is at least", false}, &low)
		f.Text(field{"high", "what it is at most", false}, &high)
		f.Text(field{"source", "where it is from", false}, &v.Source)
	})
	if value == "" {
		return
	}
	parse := func(text string, to *float64) {
		if *to = v.Value; text != "" {
			*to, _ = r.number(&yaml.Node{Value: text, Line: n.Line, Column: n.Column}, key.key, unit)
		}
	}
	parse(value, &v.Value)
	parse(low, &v.Low)
	parse(high, &v.High)
	if v.Low > v.Value || v.High < v.Value {
		r.add(CodeMeaning, n, "low ≤ value ≤ high", low+", "+value+", "+high, "the bounds of %s do not hold it", key.key)
	}
}

func (r *reader) number(n *yaml.Node, key string, unit Unit) (float64, bool) {
	x, err := unit.Parse(n.Value)
	if err == nil && x == 0 {
		err = errors.New("0 is not known: leave it out")
	}
	if err != nil {
		r.add(CodeForm, n, unit.example(), n.Value, "%s: %v", key, err)
	}
	return x, err == nil
}

func (r *reader) List(key field, _ int, grow func(int), at func(int, fields)) {
	n := r.at(key)
	if n == nil {
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.add(CodeForm, n, "a list of "+key.doc, kind(n), "%s is no list of one or more", key.key)
		return
	}
	grow(len(n.Content))
	for i, x := range n.Content {
		read(x, r.faults, func(f fields) { at(i, f) })
	}
}

// dtypeWords gives the words of all element types.
func dtypeWords() (words []string) {
	for _, d := range scalar.DTypes() {
		words = append(words, d.String())
	}
	return words
}
