package amanda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// readJSON reads JSON into the nodes that YAML gives, for one reader of both. YAML libraries do not read all JSON: not surrogate pairs,
// and not every use of tabs.
func readJSON(data []byte) (*yaml.Node, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not JSON: bytes that are not UTF-8")
	}
	j := &jsonReader{in: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	j.in.UseNumber()
	n, err := j.value(0)
	if err == nil {
		if _, more := j.in.Token(); more != io.EOF {
			err = fmt.Errorf("more than one value in a file")
		}
	}
	if err != nil {
		at := j.node(yaml.ScalarNode, "", "")
		return nil, &syntaxError{at.Line, at.Column, "not JSON: " + err.Error()}
	}
	return n, nil
}

type jsonReader struct {
	in        *json.Decoder
	data      []byte
	start     int // of the token that was read last
	at        int // up to where lines are counted
	line      int
	lineStart int
}

// maxJSON bounds how deep JSON may nest; what graphs may nest is less.
const maxJSON = 4 * maxNest

// node makes a node at the place of the token that was read last.
func (j *jsonReader) node(kind yaml.Kind, tag, text string) *yaml.Node {
	for ; j.at < j.start; j.at++ {
		if j.data[j.at] == '\n' {
			j.line, j.lineStart = j.line+1, j.at+1
		}
	}
	return &yaml.Node{Kind: kind, Tag: tag, Value: text, Line: j.line, Column: j.start - j.lineStart + 1}
}

func (j *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxJSON {
		return nil, fmt.Errorf("nested deeper than %d", maxJSON)
	}
	for j.start = int(j.in.InputOffset()); j.start < len(j.data) && strings.IndexByte(" \t\r\n,:", j.data[j.start]) >= 0; {
		j.start++
	}
	t, err := j.in.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		return j.compound(t, depth)
	case string:
		return j.node(yaml.ScalarNode, "!!str", t), nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(t.String(), ".eE") {
			tag = "!!float"
		}
		return j.node(yaml.ScalarNode, tag, t.String()), nil
	case bool:
		return j.node(yaml.ScalarNode, "!!bool", fmt.Sprint(t)), nil
	}
	return j.node(yaml.ScalarNode, "!!null", "null"), nil
}

func (j *jsonReader) compound(open json.Delim, depth int) (*yaml.Node, error) {
	kind, tag := yaml.MappingNode, "!!map"
	if open == '[' {
		kind, tag = yaml.SequenceNode, "!!seq"
	}
	n := j.node(kind, tag, "")
	for j.in.More() {
		x, err := j.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, x)
	}
	_, err := j.in.Token()
	return n, err
}
