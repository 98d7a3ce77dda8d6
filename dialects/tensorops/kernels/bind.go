// Package kernels holds the library of kernels and what is derived from their declarations.
//
// A kernel is declared once, in one file of library/. From its declaration, this package derives the shape rule, the iteration
// space, the polyhedral signature, the checks of an operation, its cost, its page of documentation and the statements that the
// reference evaluator runs and every back end compiles. It must not import a back end or a pass. Read next:
// dialects/tensorops/kernels/declaration for the language, bind.go for what is derived.
package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Selected is one selection offered to a kernel: a box of a tensor and its element type.
type Selected struct {
	Sel  ir.Selection
	Type scalar.DType
}

// PortSel is a named port with its selections.
type PortSel struct {
	Name string
	Sel  []Selected
}

// Call is a use of a kernel: its parameters and ports.
type Call struct {
	Params  ir.Attrs
	Inputs  []PortSel
	Outputs []PortSel
	Graph   *ir.Graph // that has the constants among the inputs, or nil
}

// BindError says why a call does not fit a kernel: where in the operation (a JSON pointer below the node), and what was
// expected and found.
type BindError struct {
	Field, Message, Expected, Found string
}

// Error gives the message with expected and found.
func (e *BindError) Error() string {
	if e.Expected == "" && e.Found == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: expected %s, found %s", e.Message, e.Expected, e.Found)
}

func refuse(field, expected, found, format string, args ...any) error {
	return &BindError{field, fmt.Sprintf(format, args...), expected, found}
}

// Bind applies the kernel to a call. The call's outputs must be there with their boxes and types; an output port that a call
// leaves out is not computed. The error is a *BindError.
func Bind(d *declaration.Kernel, c Call) (*Instance, error) {
	if d.Equation != "" {
		return bindEquation(d, c)
	}
	b := newBinder(d)
	steps := []func() error{
		func() error { return b.bindPorts(c.Inputs, false) },
		func() error { return b.bindPorts(c.Outputs, true) },
		func() error { return b.bindAttrs(c.Params) },
		b.deriveTypes,
		b.bindRanks,
		b.placeAttrs,
		b.bindSizes,
		b.bindDims, b.bindAccess,
		b.bindBody,
		b.finish,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.in.graph = c.Graph
	return b.in, nil
}

func newBinder(d *declaration.Kernel) *binder {
	attrs := map[string]ir.AttrValue{}
	return &binder{decl: d, in: &Instance{Decl: d, Params: attrs, cost: -1}, sizes: map[string][]int64{}, ranks: map[string]int{}, dims: map[string][]int{},
		types: map[string]scalar.DType{}, attrs: attrs, literals: map[string]*scalar.Expr{}}
}

// binder is one application of a kernel on its way.
type binder struct {
	decl     *declaration.Kernel
	in       *Instance
	sizes    map[string][]int64 // extents by dimension or group
	ranks    map[string]int     // of groups
	dims     map[string][]int   // numbers of the instance's dims, by dimension or group
	types    map[string]scalar.DType
	attrs    map[string]ir.AttrValue
	literals map[string]*scalar.Expr // local values that are numbers without a type

	missing error          // a parameter that the body turned out to need
	entry   int            // the selection of a variadic operand that is read or computed now
	outputs map[string]int // how many selections a call says that an output has, by its first name
}

func (b *binder) bindPorts(ports []PortSel, out bool) error {
	side := "/body/inputs"
	if out {
		side = "/body/outputs"
	}
	for _, p := range ports {
		i, ok := b.decl.Port(p.Name)
		if !ok || b.decl.Operands[i].Out != out {
			return refuse(side, portNames(b.decl, out), quote(p.Name), "kernel %s has no such port", b.decl.Name)
		}
	}
	for i := range b.decl.Operands {
		if o := &b.decl.Operands[i]; o.Out == out {
			if err := b.bindPort(o, ports, side); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *binder) bindPort(o *declaration.Operand, ports []PortSel, field string) error {
	var found *PortSel
	for i := range ports {
		if slices.Contains(o.Names, ports[i].Name) {
			if found != nil {
				return refuse(field, "one of them", quote(found.Name)+" and "+quote(ports[i].Name), "kernel %s: one port under two names", b.decl.Name)
			}
			found = &ports[i]
		}
	}
	switch {
	case found == nil && o.Optional:
		return nil
	case found == nil:
		return refuse(field, quote(o.Name()), "no such port", "kernel %s misses a port", b.decl.Name)
	case !o.Variadic && len(found.Sel) != 1:
		return refuse(field+"/"+found.Name, "1 selection", fmt.Sprintf("%d", len(found.Sel)), "kernel %s, port %s", b.decl.Name, found.Name)
	case len(found.Sel) == 0:
		return refuse(field+"/"+found.Name, "1 selection or more", "0", "kernel %s, port %s", b.decl.Name, found.Name)
	}
	for j, s := range found.Sel {
		at := fmt.Sprintf("%s/%s/%d", field, found.Name, j)
		if err := b.bindType(o, s.Type, at); err != nil {
			return err
		}
		b.in.Operands = append(b.in.Operands, Operand{Decl: o, Entry: j, Port: found.Name, Sel: s.Sel, Type: s.Type})
	}
	return nil
}

func portNames(d *declaration.Kernel, out bool) string {
	text := "none"
	for _, o := range d.Operands {
		if o.Out == out {
			if text == "none" {
				text = quote(o.Name())
			} else {
				text += ", " + quote(o.Name())
			}
		}
	}
	return text
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func (b *binder) bindType(o *declaration.Operand, t scalar.DType, at string) error {
	v, isVar := b.decl.TypeVar(o.Type)
	if !isVar {
		if t.String() != o.Type {
			return refuse(at, o.Type, t.String(), "kernel %s, %s: wrong dtype", b.decl.Name, o.Name())
		}
		return nil
	}
	if bound, ok := b.types[v.Name]; ok && bound != t {
		return refuse(at, bound.String(), t.String(), "kernel %s, %s: dtypes differ", b.decl.Name, o.Name())
	}
	if !v.Allows(t) {
		return refuse(at, "a dtype that is "+v.Class, t.String(), "kernel %s, %s: wrong dtype", b.decl.Name, o.Name())
	}
	b.types[v.Name] = t
	return nil
}

// deriveTypes finds the type variables that are functions of others, and checks those that an operand has bound already.
func (b *binder) deriveTypes() error {
	for _, v := range b.decl.Types {
		wide, have := b.types[v.Wide], b.types[v.Name]
		if wide.Valid() && have.Valid() && wide.Bits() != have.Bits() {
			return refuse("/body", fmt.Sprintf("a dtype as wide as %v", wide), have.String(), "kernel %s: wrong dtype for %s", b.decl.Name, v.Name)
		}
		of, ok := b.types[v.Of]
		if v.Of == "" || !ok {
			continue
		}
		want := v.From(of)
		if have, bound := b.types[v.Name]; bound && have != want {
			return refuse("/body", fmt.Sprintf("%v, which is %s(%v)", want, v.Class, of), have.String(), "kernel %s: wrong dtype for %s", b.decl.Name, v.Name)
		}
		b.types[v.Name] = want
	}
	return nil
}

// where names an operand in an operation's document.
func (o *Operand) where() string {
	side := "inputs"
	if o.Decl.Out {
		side = "outputs"
	}
	return fmt.Sprintf("/body/%s/%s/%d", side, o.Port, o.Entry)
}

func (b *binder) isAttr(name string) bool {
	_, ok := b.decl.Attr(name)
	return ok
}

// axes gives the positions that an axes or perm attribute lists, all of them from 0.
func (b *binder) axes(attr string) []int {
	list, _ := b.attrs[attr].Ints()
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = int(a)
	}
	return out
}
