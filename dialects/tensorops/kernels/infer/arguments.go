package infer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Arguments are what a call gives to a kernel, held to its declaration.
type Arguments struct {
	Kernel   *declaration.Kernel
	Operands []Operand               // the selections, by operands and in the order of their declarations
	Types    map[string]scalar.DType // what type variables stand for
	Params   map[string]ir.AttrValue // with defaults; what lists dimensions has a number for each once the ranks are known
	outputs  map[string]int          // how many selections an output has that is not among the operands, by its first name
}

// Operand is one selection that a call gives for a declared operand.
type Operand struct {
	Decl  *declaration.Operand
	Entry int    // which selection of the port
	Port  string // the name that the operation uses
	Sel   ir.Selection
	Type  scalar.DType
}

// Where names the operand in an operation's document.
func (o *Operand) Where() string {
	side := "inputs"
	if o.Decl.Out {
		side = "outputs"
	}
	return fmt.Sprintf("/body/%s/%s/%d", side, o.Port, o.Entry)
}

// NewArguments gives those of a call that gives nothing yet.
func NewArguments(d *declaration.Kernel) *Arguments {
	return &Arguments{Kernel: d, Types: map[string]scalar.DType{}, Params: map[string]ir.AttrValue{}}
}

func (a *Arguments) ports(ports []Port, out bool) error {
	side := "/body/inputs"
	if out {
		side = "/body/outputs"
	}
	for _, p := range ports {
		i, ok := a.Kernel.Port(p.Name)
		if !ok || a.Kernel.Operands[i].Out != out {
			return Refuse(side, a.portNames(out), strconv.Quote(p.Name), "kernel %s has no such port", a.Kernel.Name)
		}
	}
	for i := range a.Kernel.Operands {
		if o := &a.Kernel.Operands[i]; o.Out == out {
			if err := a.port(o, ports, side); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Arguments) port(o *declaration.Operand, ports []Port, field string) error {
	var found *Port
	for i := range ports {
		if slices.Contains(o.Names, ports[i].Name) {
			if found != nil {
				return Refuse(field, "one of them", strconv.Quote(found.Name)+" and "+strconv.Quote(ports[i].Name), "kernel %s: one port under two names", a.Kernel.Name)
			}
			found = &ports[i]
		}
	}
	switch {
	case found == nil && o.Optional:
		return nil
	case found == nil:
		return Refuse(field, strconv.Quote(o.Name()), "no such port", "kernel %s misses a port", a.Kernel.Name)
	case !o.Variadic && len(found.Sel) != 1:
		return Refuse(field+"/"+found.Name, "1 selection", fmt.Sprintf("%d", len(found.Sel)), "kernel %s, port %s", a.Kernel.Name, found.Name)
	case len(found.Sel) == 0:
		return Refuse(field+"/"+found.Name, "1 selection or more", "0", "kernel %s, port %s", a.Kernel.Name, found.Name)
	}
	for j, s := range found.Sel {
		at := fmt.Sprintf("%s/%s/%d", field, found.Name, j)
		if err := a.bindType(o, s.Type, at); err != nil {
			return err
		}
		a.Operands = append(a.Operands, Operand{Decl: o, Entry: j, Port: found.Name, Sel: s.Sel, Type: s.Type})
	}
	return nil
}

func (a *Arguments) portNames(out bool) string {
	var names []string
	for _, o := range a.Kernel.Operands {
		if o.Out == out {
			names = append(names, o.Name())
		}
	}
	return quoted(names, "none")
}

// quoted lists names for messages.
func quoted(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strconv.Quote(n)
	}
	return strings.Join(list, ", ")
}

func (a *Arguments) bindType(o *declaration.Operand, t scalar.DType, at string) error {
	v, isVar := a.Kernel.TypeVar(o.Type)
	if !isVar {
		if t.String() != o.Type {
			return Refuse(at, o.Type, t.String(), "kernel %s, %s: wrong dtype", a.Kernel.Name, o.Name())
		}
		return nil
	}
	if bound, ok := a.Types[v.Name]; ok && bound != t {
		return Refuse(at, bound.String(), t.String(), "kernel %s, %s: dtypes differ", a.Kernel.Name, o.Name())
	}
	if !v.Allows(t) {
		return Refuse(at, "a dtype that is "+v.Class, t.String(), "kernel %s, %s: wrong dtype", a.Kernel.Name, o.Name())
	}
	a.Types[v.Name] = t
	return nil
}

// DeriveTypes finds the type variables that are functions of others, and checks those that an operand has bound already.
func (a *Arguments) DeriveTypes() error {
	for _, v := range a.Kernel.Types {
		wide, have := a.Types[v.Wide], a.Types[v.Name]
		if wide.Valid() && have.Valid() && wide.Bits() != have.Bits() {
			return Refuse("/body", fmt.Sprintf("a dtype as wide as %v", wide), have.String(), "kernel %s: wrong dtype for %s", a.Kernel.Name, v.Name)
		}
		of, ok := a.Types[v.Of]
		if v.Of == "" || !ok {
			continue
		}
		want := v.From(of)
		if have, bound := a.Types[v.Name]; bound && have != want {
			return Refuse("/body", fmt.Sprintf("%v, which is %s(%v)", want, v.Class, of), have.String(), "kernel %s: wrong dtype for %s", a.Kernel.Name, v.Name)
		}
		a.Types[v.Name] = want
	}
	return nil
}

// SetParams checks the call's parameters against the declared attributes and fills in defaults. Lists of dimensions stay as
// they are until the ranks are known.
func (a *Arguments) SetParams(params ir.Attrs) error {
	for _, p := range params {
		if _, ok := a.Kernel.Attr(p.Name); !ok {
			return Refuse("/body/params/"+p.Name, a.attrNames(), strconv.Quote(p.Name), "kernel %s has no such parameter", a.Kernel.Name)
		}
	}
	for i := range a.Kernel.Attrs {
		attr := &a.Kernel.Attrs[i]
		v, given := params.Get(attr.Name)
		if !given {
			if v, given = a.fallback(attr); !given {
				continue
			}
			_, given = a.Kernel.Attr(attr.Default)
		}
		if expected, ok := attr.Accepts(v); !ok {
			return Refuse("/body/params/"+attr.Name, expected, declaration.ValueText(v), "kernel %s, parameter %s", a.Kernel.Name, attr.Name)
		}
		a.Params[attr.Name] = v
		if attr.Type == declaration.DTypeAttr {
			if err := a.bindTypeTo(attr, v, given); err != nil {
				return err
			}
		}
	}
	return nil
}

// fallback gives the default of an attribute: a value, or what another attribute has.
func (a *Arguments) fallback(attr *declaration.Attr) (v ir.AttrValue, ok bool) {
	if !attr.HasDefault {
		return v, false
	}
	if _, other := a.Kernel.Attr(attr.Default); other {
		v, ok = a.Params[attr.Default]
		return v, ok
	}
	return attr.Fallback(), true
}

// bindTypeTo binds a type variable to the dtype that an attribute names; a default gives way to a type that is bound already.
func (a *Arguments) bindTypeTo(attr *declaration.Attr, v ir.AttrValue, given bool) error {
	d, _ := scalar.ParseDType(v.Str)
	tv, _ := a.Kernel.TypeVar(attr.Of)
	bound, ok := a.Types[attr.Of]
	switch {
	case ok && given && bound != d:
		return Refuse("/body/params/"+attr.Name, bound.String(), d.String(), "kernel %s, parameter %s: dtypes differ", a.Kernel.Name, attr.Name)
	case ok:
		return nil
	case !tv.Allows(d):
		return Refuse("/body/params/"+attr.Name, "a dtype that is "+tv.Class, d.String(), "kernel %s, parameter %s: wrong dtype", a.Kernel.Name, attr.Name)
	}
	a.Types[attr.Of] = d
	return nil
}

func (a *Arguments) attrNames() string {
	var names []string
	for _, x := range a.Kernel.Attrs {
		names = append(names, x.Name)
	}
	return quoted(names, "no parameters")
}

// TypeOf gives the element type of an operand; false, with scalar.Invalid, if nothing decides it.
func (a *Arguments) TypeOf(o *declaration.Operand) (scalar.DType, bool) {
	t, ok := a.Types[o.Type]
	if !ok {
		t, _ = scalar.ParseDType(o.Type)
	}
	return t, t != scalar.Invalid
}

// Axes gives the positions that an axes or perm attribute lists, all of them from 0.
func (a *Arguments) Axes(attr string) []int {
	list, _ := a.Params[attr].Ints()
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// Selections gives the numbers of the operands that are the selections of a declared one.
func (a *Arguments) Selections(name string) []int {
	var list []int
	for i, o := range a.Operands {
		if slices.Contains(o.Decl.Names, name) {
			list = append(list, i)
		}
	}
	return list
}
