package text

import (
	"bytes"
	"hash/maphash"

	"tensortapestry.org/tapc/ir"
)

// nameTable finds nodes by the names that a text gives them. It holds the offsets of names in the text and no names, so that a million
// of them take little room. It is a hash table with linear probing.
type nameTable struct {
	text  []byte
	seed  maphash.Seed
	slots []int32 // one more than a number of given, 0 for none; their number is a power of 2
	given []naming
}

// naming is the offset of a name in the text, and the first node that was given it.
type naming struct {
	low, high uint32 // halves of the offset
	id        ir.NodeID
}

func newNameTable(text []byte, expected int) *nameTable {
	t := &nameTable{text: text, seed: maphash.MakeSeed(), given: make([]naming, 0, expected)}
	t.resize(expected)
	return t
}

// add gives a name, which is at an offset of the text, to a node, unless it is taken: then it gives the node that has it.
func (t *nameTable) add(name []byte, at int, id ir.NodeID) (taken ir.NodeID, ok bool) {
	slot := t.slot(name)
	if n := t.slots[slot]; n != 0 {
		return t.given[n-1].id, false
	}
	t.given = append(t.given, naming{uint32(at), uint32(uint64(at) >> 32), id})
	t.slots[slot] = int32(len(t.given))
	if len(t.given)*2 > len(t.slots) {
		t.resize(len(t.given))
	}
	return id, true
}

// find gives the node with a name.
func (t *nameTable) find(name []byte) (ir.NodeID, bool) {
	if n := t.slots[t.slot(name)]; n != 0 {
		return t.given[n-1].id, true
	}
	return ir.NoNode, false
}

// slot gives the slot where a name is, or the free one where it would be.
func (t *nameTable) slot(name []byte) int {
	mask := len(t.slots) - 1
	for i := int(maphash.Bytes(t.seed, name)) & mask; ; i = (i + 1) & mask {
		if n := t.slots[i]; n == 0 || t.is(t.given[n-1], name) {
			return i
		}
	}
}

// is says whether it is that name that was given.
func (t *nameTable) is(n naming, name []byte) bool {
	rest := t.from(n)
	return bytes.HasPrefix(rest, name) && wordLength(rest, letter|digit) == len(name)
}

// from gives the text from a name on.
func (t *nameTable) from(n naming) []byte { return t.text[uint64(n.high)<<32|uint64(n.low):] }

// resize makes room for names without another resize.
func (t *nameTable) resize(names int) {
	length := 16
	for length < names*2 {
		length *= 2
	}
	t.slots = make([]int32, length)
	for i, n := range t.given {
		rest := t.from(n)
		t.slots[t.slot(rest[:wordLength(rest, letter|digit)])] = int32(i + 1)
	}
}
