package ir

import "tensortapestry.org/tapc/ir/zspace"

// Kind describes a type of node body or tag: its type URI in Loom JSON, its keyword in text and the number of its message in
// the protobuf form. Kinds are compared by pointer; each is one package-level variable of the dialect that owns it.
type Kind struct {
	URI     string
	Keyword string
	Num     int32
	Step    bool // the order of nodes of such kinds is part of what a graph says
	New     func() Body
}

// Body is the content of a node or a tag: a Go struct that names each of its fields once, in Fields, for every form of the
// IR to read and write.
type Body interface {
	Kind() *Kind
	Fields(Fields)
}

// Shared is a body that is never changed while it is in a graph, so that nodes may have one together: what is to be another is given
// another body, or one of its own by Node.Own.
type Shared interface {
	Body
	// Hash is equal for bodies that are the same.
	Hash() uint64
	// Same says whether a body of the same kind says the same.
	Same(Shared) bool
	// Clear empties a body that is in no graph, to be filled again.
	Clear()
}

// Style says how the text form writes a field.
type Style uint8

// The styles: with its name in braces; in order after the keyword without a name; behind an arrow.
const (
	Named Style = iota
	Positional
	Arrow
)

// Field names one field of a body: its JSON and text name, its protobuf number, how text writes it, and whether it may be
// left out when it is zero.
type Field struct {
	Num      int32
	Name     string
	Style    Style
	Optional bool
}

// Fields is implemented by each reader and writer of a form of the IR. A body calls one method for each of its fields, in
// order; a writer reads through the pointer, a reader sets it. It has more methods than an interface of ours usually has
// because it is the closed list of what a field can be.
type Fields interface {
	Bool(f Field, v *bool)
	Int(f Field, v *int64)
	Ints(f Field, v *[]int64)
	String(f Field, v *string)
	Ref(f Field, v *NodeID)
	Refs(f Field, v *[]NodeID)
	Range(f Field, v *zspace.Range)
	Affine(f Field, v *zspace.AffineMap)
	Attrs(f Field, v *Attrs)
	Ports(f Field, v *Ports)
	PortMaps(f Field, v *PortMaps)
	// List visits a list of structs: a reader calls grow once with the length it found (bounded by its input); then each is
	// called for every item.
	List(f Field, length int, grow func(n int), each func(i int, item Fields))
	// Fail reports that a value just read means nothing to the body, such as an unknown enumeration word.
	Fail(f Field, expected, found string)
}

// Words is what a Fields may be besides, which is told the words of an enumeration and not only the one that is there.
type Words interface {
	Word(f Field, words []string, v *string)
}

// Enum visits a field that is one of a few words; zero is the first word.
func Enum[T ~uint8](fs Fields, f Field, words []string, v *T) {
	word := ""
	if int(*v) < len(words) {
		word = words[*v]
	}
	if all, ok := fs.(Words); ok {
		all.Word(f, words, &word)
	} else {
		fs.String(f, &word)
	}
	for i, w := range words {
		if w == word {
			if *v != T(i) { // who only reads a graph may share it with others who do
				*v = T(i)
			}
			return
		}
	}
	fs.Fail(f, "one of "+joinQuoted(words), quoted(word))
}

func quoted(s string) string { return `"` + clip(s) + `"` }

func joinQuoted(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += quoted(w)
	}
	return out
}

// Registry is a list of the kinds that a reader may meet.
type Registry struct {
	Nodes, Tags []*Kind
	Retired     map[string]string // fields that kinds had once, by name, and what is expected in their place
}

// Node finds a node kind by type URI, or nil.
func (r *Registry) Node(uri string) *Kind { return byURI(r.Nodes, uri) }

// Tag finds a tag kind by type URI, or nil.
func (r *Registry) Tag(uri string) *Kind { return byURI(r.Tags, uri) }

// NodeKeyword finds a node kind by its text keyword, or nil.
func (r *Registry) NodeKeyword(word string) *Kind { return byKeyword(r.Nodes, word) }

// TagKeyword finds a tag kind by its text keyword, or nil.
func (r *Registry) TagKeyword(word string) *Kind { return byKeyword(r.Tags, word) }

func byURI(kinds []*Kind, uri string) *Kind {
	for _, k := range kinds {
		if k.URI == uri {
			return k
		}
	}
	return nil
}

func byKeyword(kinds []*Kind, word string) *Kind {
	for _, k := range kinds {
		if k.Keyword == word {
			return k
		}
	}
	return nil
}
