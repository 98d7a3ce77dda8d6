package irtest

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Diff compares two graphs as a reader of documents sees them: ids, labels, bodies and tags, whatever the order of the nodes
// and their numbers. Nodes are matched by UUIDOf. It gives "" for equal graphs, else a report (-a +b).
func Diff(a, b *ir.Graph) string { return compare(a, b, false) }

// DiffAll is Diff that also compares what only some forms carry: the file's name, positions, provenance, the order of the
// nodes and which ids were given.
func DiffAll(a, b *ir.Graph) string { return compare(a, b, true) }

func compare(a, b *ir.Graph, all bool) string {
	return cmp.Diff(recordOf(a, all), recordOf(b, all), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmp.Comparer(sameBox))
}

// sameBox lets ranges without dimensions be equal however they are made.
func sameBox(a, b zspace.Range) bool { return a.Equal(b) }

// graphRecord is a graph without node numbers.
type graphRecord struct {
	ID    string
	File  string
	Given bool
	Nodes map[string]*nodeRecord
	Order []string
}

type nodeRecord struct {
	Kind, Label string
	Fields      []fieldRecord
	Tags        []tagRecord
	Given       bool
	Pos         ir.Pos
	Origin      *ir.Origin
}

type tagRecord struct {
	Kind   string
	Fields []fieldRecord
}

type fieldRecord struct {
	Name  string
	Value any
}

func recordOf(g *ir.Graph, all bool) *graphRecord {
	r := &graphRecord{ID: g.GraphUUID().String(), Nodes: map[string]*nodeRecord{}}
	if all {
		r.File, r.Given = g.File, g.HasID
	}
	for n := range g.Nodes() {
		m := &nodeRecord{Kind: n.Body.Kind().URI, Label: n.Label, Fields: fieldsOf(g, n.Body)}
		for _, t := range n.Tags() {
			m.Tags = append(m.Tags, tagRecord{t.Kind().URI, fieldsOf(g, t)})
		}
		key := g.UUIDOf(n).String()
		if all {
			_, m.Given = n.UUID()
			m.Pos, m.Origin = n.Pos, n.Origin()
			r.Order = append(r.Order, key)
		}
		r.Nodes[key] = m
	}
	return r
}

func fieldsOf(g *ir.Graph, b ir.Body) []fieldRecord {
	r := &recorder{g: g}
	b.Fields(r)
	return r.fields
}

// recorder is the ir.Fields that notes what a body holds.
type recorder struct {
	g      *ir.Graph
	fields []fieldRecord
}

func (r *recorder) put(f ir.Field, v any) { r.fields = append(r.fields, fieldRecord{f.Name, v}) }

func (r *recorder) key(id ir.NodeID) string {
	if n := r.g.Node(id); n != nil {
		return r.g.UUIDOf(n).String()
	}
	if u, ok := r.g.Dangling(id); ok {
		return "dangling " + u.String()
	}
	return "nothing"
}

func (r *recorder) Bool(f ir.Field, v *bool)               { r.put(f, *v) }
func (r *recorder) Int(f ir.Field, v *int64)               { r.put(f, *v) }
func (r *recorder) Ints(f ir.Field, v *[]int64)            { r.put(f, slices.Clone(*v)) }
func (r *recorder) String(f ir.Field, v *string)           { r.put(f, *v) }
func (r *recorder) Ref(f ir.Field, v *ir.NodeID)           { r.put(f, r.key(*v)) }
func (r *recorder) Range(f ir.Field, v *zspace.Range)      { r.put(f, *v) }
func (r *recorder) Affine(f ir.Field, v *zspace.AffineMap) { r.put(f, *v) }
func (r *recorder) Attrs(f ir.Field, v *ir.Attrs)          { r.put(f, *v) }
func (r *recorder) PortMaps(f ir.Field, v *ir.PortMaps)    { r.put(f, *v) }
func (r *recorder) Fail(ir.Field, string, string)          {}

func (r *recorder) Refs(f ir.Field, v *[]ir.NodeID) {
	keys := make([]string, len(*v))
	for i, id := range *v {
		keys[i] = r.key(id)
	}
	r.put(f, keys)
}

func (r *recorder) Ports(f ir.Field, v *ir.Ports) {
	type selection struct {
		Port, Tensor string
		Range        zspace.Range
	}
	var all []selection
	for _, p := range v.Each() {
		for _, s := range p.Sel {
			all = append(all, selection{p.Name, r.key(s.Tensor), s.Range()})
		}
	}
	r.put(f, all)
}

func (r *recorder) List(f ir.Field, n int, _ func(int), each func(int, ir.Fields)) {
	items := make([][]fieldRecord, n)
	for i := range n {
		item := &recorder{g: r.g}
		each(i, item)
		items[i] = item.fields
	}
	r.put(f, items)
}
