package ir

import "tensortapestry.org/tapc/ir/zspace"

// References gives every node that a body refers to, in field order, ports included.
func References(b Body) []NodeID {
	var ids []NodeID
	EachReference(b, func(ref *NodeID) { ids = append(ids, *ref) })
	return ids
}

// EachReference calls f with every reference of a body, in field order, ports included; f may change it in place.
func EachReference(b Body, f func(ref *NodeID)) { b.Fields(references(f)) }

// references is both a reader and a writer: it leaves every field but references as it is.
type references func(ref *NodeID)

func (r references) Ref(_ Field, v *NodeID) { r(v) }

func (r references) Refs(_ Field, v *[]NodeID) {
	for i := range *v {
		r(&(*v)[i])
	}
}

func (r references) Ports(_ Field, v *Ports) {
	for i := range *v {
		for j := range (*v)[i].Sel {
			r(&(*v)[i].Sel[j].Tensor)
		}
	}
}

func (r references) List(_ Field, length int, _ func(int), each func(int, Fields)) {
	for i := range length {
		each(i, r)
	}
}

func (r references) Bool(Field, *bool)               {}
func (r references) Int(Field, *int64)               {}
func (r references) Ints(Field, *[]int64)            {}
func (r references) String(Field, *string)           {}
func (r references) Range(Field, *zspace.Range)      {}
func (r references) Affine(Field, *zspace.AffineMap) {}
func (r references) Attrs(Field, *Attrs)             {}
func (r references) PortMaps(Field, *PortMaps)       {}
func (r references) Fail(Field, string, string)      {}
