package machine

import (
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Write writes a machine as a file that Read reads.
func (m *Machine) Write(w io.Writer) error {
	top := &writer{node: &yaml.Node{Kind: yaml.MappingNode}}
	m.fields(top)
	out := yaml.NewEncoder(w)
	out.SetIndent(2)
	if err := out.Encode(top.node); err != nil {
		return fmt.Errorf("machine: %w", err)
	}
	return out.Close()
}

// writer makes a mapping.
type writer struct{ node *yaml.Node }

func (w *writer) add(key field, v *yaml.Node) {
	w.node.Content = append(w.node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key.key}, v)
}

func (w *writer) Text(key field, v *string, _ ...string) {
	if *v != "" || key.must {
		w.add(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: *v})
	}
}

func (w *writer) Count(key field, v *int64, unit Unit) {
	text := strconv.FormatInt(*v, 10)
	if unit == Bytes {
		text = formatBytes(*v)
	}
	w.add(key, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
}

func (w *writer) Figure(key field, v *Figure, unit Unit) {
	if !v.Known() {
		return
	}
	text := func(x float64) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: unit.Format(x)} }
	if v.Low == v.Value && v.High == v.Value && v.Source == "" {
		w.add(key, text(v.Value))
		return
	}
	inner := &writer{node: &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}}
	inner.add(field{key: "value"}, text(v.Value))
	inner.add(field{key: "low"}, text(v.Low))
	inner.add(field{key: "high"}, text(v.High))
	inner.Text(field{key: "source"}, &v.Source)
	w.add(key, inner.node)
}

func (w *writer) List(key field, n int, _ func(int), at func(int, fields)) {
	if n == 0 {
		return
	}
	all := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range n {
		x := &writer{node: &yaml.Node{Kind: yaml.MappingNode}}
		at(i, x)
		if key.key == "rates" || key.key == "caches" || key.key == "members" {
			x.node.Style = yaml.FlowStyle
		}
		all.Content = append(all.Content, x.node)
	}
	w.add(key, all)
}
