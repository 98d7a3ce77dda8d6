// Package modelflags reads flags that say of a foreign graph's inputs what the graph does not: shapes and values.
package modelflags

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Known reads the values of --known: numbers, of the type that the input has, or files, which read reads.
func Known(g *foreign.Graph, values []string, read func(path string) (tensorfile.Tensor, error)) (map[string]*foreign.Data, error) {
	bound := map[string]*foreign.Data{}
	for _, text := range values {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, diag.Usage("--known %q: expected NAME=FILE or, with numbers, NAME=1,2.5", text)
		}
		i := slices.IndexFunc(g.Inputs, func(p foreign.Port) bool { return p.Name == name })
		if i < 0 {
			return nil, diag.Unknown("input in --known", name, inputNames(g))
		}
		if bound[name] != nil {
			return nil, diag.Usage("--known %s is given twice", name)
		}
		if isNumber(value) {
			d, err := numbers(g.Inputs[i], strings.Split(value, ","))
			if err != nil {
				return nil, diag.Usage("--known %s: %w", text, err)
			}
			bound[name] = d
			continue
		}
		t, err := read(value)
		if err != nil {
			return nil, err
		}
		bound[name] = &foreign.Data{DType: t.DType, Shape: t.Shape, Bytes: t.Data}
	}
	return bound, nil
}

func inputNames(g *foreign.Graph) []string {
	var names []string
	for _, p := range g.Inputs {
		names = append(names, p.Name)
	}
	return names
}

// isNumber says whether a value begins with a number, so that it names no file.
func isNumber(value string) bool {
	first, _, _ := strings.Cut(value, ",")
	_, err := strconv.ParseFloat(first, 64)
	return err == nil || first == "true" || first == "false"
}

// numbers makes a value for an input: of its shape, if all sizes of it are known, else a list.
func numbers(p foreign.Port, words []string) (*foreign.Data, error) {
	if p.DType == scalar.Invalid {
		return nil, diag.Usage("the input has no element type: use a file")
	}
	d := &foreign.Data{DType: p.DType, Shape: []int64{int64(len(words))}}
	fixed := foreign.Data{Shape: []int64{}}
	for _, s := range p.Shape {
		n := s.Value
		if s.Name != "" {
			n = -1
		}
		fixed.Shape = append(fixed.Shape, n)
	}
	switch n := fixed.Len(); {
	case !p.Ranked && len(words) == 1:
		d.Shape = []int64{}
	case p.Ranked && n == int64(len(words)):
		d.Shape = fixed.Shape
	case p.Ranked && (n >= 0 || len(p.Shape) != 1):
		return nil, diag.Usage("%d numbers do not make a value of the input's shape; a file does", len(words))
	}
	size := p.DType.Size()
	d.Bytes = make([]byte, size*len(words))
	for i, word := range words {
		v, err := number(p.DType, word)
		if err != nil {
			return nil, err
		}
		v.Encode(d.Bytes[i*size:])
	}
	return d, nil
}

// number reads an element; one that its type does not have is an error.
func number(t scalar.DType, word string) (scalar.Value, error) {
	switch {
	case t.IsBool():
		if word != "true" && word != "false" {
			return scalar.Value{}, diag.Usage("expected true or false, found %q", word)
		}
		return scalar.BoolValue(word == "true"), nil
	case t.IsInt():
		n, err := strconv.ParseInt(word, 10, 64)
		if v := scalar.IntValue(t, n); err == nil && v.I == n {
			return v, nil
		}
	case t.IsFloat():
		if x, err := strconv.ParseFloat(word, 64); err == nil {
			return scalar.FloatValue(t, x), nil
		}
	}
	return scalar.Value{}, diag.Usage("expected a number of type %v, found %q", t, word)
}
