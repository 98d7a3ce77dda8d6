package ir

import "tensortapestry.org/tapc/ir/zspace"

// References gives every node that a body refers to, in field order, ports included.
func References(b Body) []NodeID {
	var ids []NodeID
	EachReference(b, func(ref *NodeID) { ids = append(ids, *ref) })
	return ids
}

// EachReference calls f with every reference of a body, in field order, ports included; f may change it in place.
func EachReference(b Body, f func(ref *NodeID)) { b.Fields(ReferenceFields(f)) }

// ReferenceFields gives what EachReference visits bodies with, to visit many of them.
func ReferenceFields(f func(ref *NodeID)) Fields { return &references{ref: f} }

// EachSelection calls f with every selection of a body's ports, in field order; f may change it in place.
func EachSelection(b Body, f func(s *Selection)) { b.Fields(&references{selection: f}) }

// references is both a reader and a writer: it leaves every field but references as it is. One of the functions is nil.
type references struct {
	ref       func(*NodeID)
	selection func(*Selection)
}

func (r *references) Ref(_ Field, v *NodeID) {
	if r.ref != nil {
		r.ref(v)
	}
}

func (r *references) Refs(f Field, v *[]NodeID) {
	for i := range *v {
		r.Ref(f, &(*v)[i])
	}
}

func (r *references) Ports(f Field, v *Ports) {
	for i := range v.Len() {
		for j := range v.At(i).Sel {
			if s := &v.At(i).Sel[j]; r.selection != nil {
				r.selection(s)
			} else {
				r.ref(&s.Tensor)
			}
		}
	}
}

func (r *references) List(_ Field, length int, _ func(int), each func(int, Fields)) {
	for i := range length {
		each(i, r)
	}
}

func (r *references) Bool(Field, *bool)               {}
func (r *references) Int(Field, *int64)               {}
func (r *references) Ints(Field, *[]int64)            {}
func (r *references) String(Field, *string)           {}
func (r *references) Range(Field, *zspace.Range)      {}
func (r *references) Affine(Field, *zspace.AffineMap) {}
func (r *references) Attrs(Field, *Attrs)             {}
func (r *references) PortMaps(Field, *PortMaps)       {}
func (r *references) Fail(Field, string, string)      {}
