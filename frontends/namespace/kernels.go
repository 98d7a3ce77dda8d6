package namespace

import (
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/scalar"
)

// ownName is the name of the dictionary of tapc's kernels.
const ownName = "tapc/tensorops"

// fromKernels derives the dictionary of tapc's own kernels from their declarations, and adds the operations at a graph's border.
func fromKernels(lib *kernels.Library) *Dictionary {
	d := &Dictionary{Name: ownName, Source: "the declarations of the kernel library", First: 1, Last: 1, prefixed: true, ops: map[string][]*Op{}}
	for _, name := range lib.Names() {
		k, ok := lib.Find(name)
		if !ok || k.Name != name {
			continue
		}
		d.ops[name] = []*Op{kernelOp(k)}
	}
	all := Types{Var: "T", Allowed: allowed(declaration.TypeVar{Class: "any"})}
	d.ops["constant"] = []*Op{{Name: "constant", Since: 1, Out: []Port{{Name: "result", Type: "T"}}, Types: []Types{all},
		Attrs: []Attr{{Name: "bytes", Type: "string"}, {Name: "file", Type: "string"}, {Name: "key", Type: "string"}, {Name: "offset", Type: "int"},
			{Name: "value", Type: "any"}}}}
	d.ops["import"] = []*Op{{Name: "import", Since: 1, Out: []Port{{Name: "result", Type: "T"}}, Types: []Types{all}}}
	d.ops["export"] = []*Op{{Name: "export", Since: 1, In: []Port{{Name: "tensor", Type: "T"}}, Types: []Types{all}}}
	d.ops["check"] = []*Op{{Name: "check", Since: 1, In: []Port{{Name: "index", Type: "T"}, {Name: "place", Type: "T"}}, Types: []Types{all},
		Attrs: []Attr{{Name: "high", Type: "int"}, {Name: "low", Type: "int"}, {Name: "of", Type: "string"}, {Name: "offset", Type: "int"},
			{Name: "shape", Type: "ints"}, {Name: "stride", Type: "int"}}}}
	d.ops["sequence"] = []*Op{{Name: "sequence", Since: 1}}
	return d
}

func kernelOp(k *declaration.Kernel) *Op {
	o := &Op{Name: k.Name, Since: 1}
	for i := range k.Operands {
		x := &k.Operands[i]
		p := Port{Name: x.Name(), Aliases: slices.Clone(x.Names[1:]), Type: typeText(x.Type), Optional: x.Optional, Variadic: x.Variadic}
		if p.Variadic && !p.Optional {
			p.Least = 1
		}
		if x.Out {
			o.Out = append(o.Out, p)
		} else {
			o.In = append(o.In, p)
		}
	}
	for _, t := range k.Types {
		o.Types = append(o.Types, Types{Var: t.Name, Allowed: allowed(t)})
	}
	for _, a := range k.Attrs {
		o.Attrs = append(o.Attrs, kernelAttr(a))
	}
	return o
}

func typeText(t string) string {
	if d, err := scalar.ParseDType(t); err == nil {
		return TypeName(d)
	}
	return t
}

func allowed(t declaration.TypeVar) []string {
	var out []string
	for _, d := range scalar.DTypes() {
		if t.Allows(d) {
			out = append(out, TypeName(d))
		}
	}
	slices.Sort(out)
	return out
}

// kernelAttr describes an attribute. What kernels ask for without a default may depend on the call, so nothing is required here.
func kernelAttr(a declaration.Attr) Attr {
	out := Attr{Name: a.Name, Words: a.Words}
	switch a.Type {
	case declaration.NumberAttr:
		out.Type = "float"
	case declaration.IntAttr, declaration.AxisAttr:
		out.Type = "int"
	case declaration.BoolAttr:
		out.Type = "bool"
	case declaration.AxesAttr, declaration.PermAttr, declaration.IntsAttr:
		out.Type = "ints"
	case declaration.DTypeAttr:
		out.Type = "type"
	default:
		out.Type = "string"
	}
	if a.HasDefault {
		v := foreign.StringValue(a.Default)
		if f, err := strconv.ParseFloat(a.Default, 64); err == nil {
			v = foreign.FloatValue(f)
		}
		if i, err := strconv.ParseInt(a.Default, 10, 64); err == nil {
			v = foreign.IntValue(i)
		}
		if b, err := strconv.ParseBool(a.Default); err == nil && out.Type == "bool" {
			v = foreign.BoolValue(b)
		}
		out.Default = &v
	}
	return out
}
