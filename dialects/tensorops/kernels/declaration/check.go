package declaration

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// checkParts makes sure that what every declaration has is there, and that its types are declared.
func (d *Kernel) checkParts() (line int, err error) {
	if d.Doc == "" {
		return 0, fmt.Errorf("expected a clause doc, found none")
	}
	if !slices.ContainsFunc(d.Operands, func(o Operand) bool { return o.Out }) {
		return 0, fmt.Errorf("expected a clause out, found none")
	}
	return 0, d.checkTypes()
}

// check looks for what is wrong in a declaration by itself: names used and not declared or declared twice, types that do not
// exist, outputs that nothing stores. It gives the line, 0 for the declaration as a whole.
func (d *Kernel) check() (line int, err error) {
	for i := range d.Operands {
		if err := d.checkOperand(&d.Operands[i]); err != nil {
			return d.Operands[i].Line, fmt.Errorf("operand %s: %w", d.Operands[i].Name(), err)
		}
	}
	for i := range d.Attrs {
		if err := d.checkAttr(&d.Attrs[i]); err != nil {
			return d.Attrs[i].Line, fmt.Errorf("attribute %s: %w", d.Attrs[i].Name, err)
		}
	}
	if line, err := d.checkNames(); err != nil {
		return line, err
	}
	if line, err := d.checkTexts(); err != nil {
		return line, err
	}
	if d.Equation != "" {
		return 0, d.checkEquation()
	}
	for _, o := range d.Operands {
		if stored := slices.ContainsFunc(d.Lets, func(l Let) bool { return l.Name == o.Name() }); o.Out && !stored {
			return o.Line, fmt.Errorf("output %s: expected a clause \"let %s = …\", found none", o.Name(), o.Name())
		}
	}
	return 0, nil
}

// checkEquation looks at a declaration by an equation: a text, one variadic input and one output of one type.
func (d *Kernel) checkEquation() error {
	a, ok := d.Attr(d.Equation)
	if !ok || a.Type != TextAttr || len(d.Attrs) != 1 {
		return fmt.Errorf("expected a text as the only attribute, named by the clause equation, found %q", d.Equation)
	}
	in, out := d.Sides()
	if len(d.Operands) != 2 || in == nil || out == nil || !in.Variadic || in.Type != out.Type || len(d.Lets)+len(d.Sizes)+len(d.Needs) > 0 {
		return fmt.Errorf("expected one variadic input, an output of its type and no statements beside the clause equation")
	}
	return nil
}

func (d *Kernel) checkTypes() error {
	for i, v := range d.Types {
		if slices.ContainsFunc(d.Types[:i], func(w TypeVar) bool { return w.Name == v.Name }) {
			return fmt.Errorf("type variable %s is declared twice", v.Name)
		}
		earlier := func(name string) bool {
			return name == "" || slices.ContainsFunc(d.Types[:i], func(w TypeVar) bool { return w.Name == name })
		}
		if !earlier(v.Of) {
			return fmt.Errorf("type variable %s: expected an earlier type variable in %s(…), found %q", v.Name, v.Class, v.Of)
		}
		if !earlier(v.Wide) {
			return fmt.Errorf("type variable %s: expected an earlier type variable that it is as wide as, found %q", v.Name, v.Wide)
		}
	}
	return nil
}

func (d *Kernel) checkOperand(o *Operand) error {
	if _, ok := d.TypeVar(o.Type); !ok {
		if _, err := scalar.ParseDType(o.Type); err != nil {
			return fmt.Errorf("expected a type variable or a dtype, found %q", o.Type)
		}
	}
	if o.Out && (o.Else != "" || slices.ContainsFunc(o.Index, func(x IndexItem) bool { return x.Use == Broadcast })) {
		return fmt.Errorf("an output is neither broadcast nor has it an else")
	}
	for _, x := range o.Index {
		for _, y := range x.To {
			if !d.IsDim(y.Name()) {
				return fmt.Errorf("expected a dimension that is declared, found %q", y.Name())
			}
		}
		if x.Each && !o.Variadic {
			return fmt.Errorf("%s... needs a variadic operand", x.Dim)
		}
		if x.Attr == "" {
			continue
		}
		want := AxesAttr
		if x.Use == Permute {
			want = PermAttr
		}
		if a, ok := d.Attr(x.Attr); !ok || a.Of != x.Group || a.Type != want {
			return fmt.Errorf("expected an attribute of type %s(%s), found %q", want, x.Group, x.Attr)
		}
	}
	return nil
}

func (d *Kernel) checkAttr(a *Attr) error {
	switch a.Type {
	case AxesAttr, PermAttr, IntsAttr:
		if !d.IsGroup(a.Of) && (a.Type != IntsAttr || a.Of != "") {
			return fmt.Errorf("expected a group of dimensions, found %q", a.Of)
		}
	case AxisAttr:
		if !d.IsGroup(a.Of) || !d.IsGroup(a.Then) {
			return fmt.Errorf("expected two groups of dimensions, found %q and %q", a.Of, a.Then)
		}
	case DTypeAttr:
		if _, ok := d.TypeVar(a.Of); !ok {
			return fmt.Errorf("expected a type variable, found %q", a.Of)
		}
	}
	if !a.HasDefault {
		return nil
	}
	if other, ok := d.Attr(a.Default); ok && other != a && other.Type == a.Type {
		return nil
	}
	value := a.Fallback()
	if expected, ok := a.Accepts(value); !ok {
		return fmt.Errorf("the default %q: kernel %s, parameter %s: expected %s, found %s", a.Default, d.Name, a.Name, expected, ValueText(value))
	}
	return nil
}

// checkNames makes sure that one name means one thing.
func (d *Kernel) checkNames() (int, error) {
	seen := map[string]string{}
	add := func(name, what string) error {
		if old, ok := seen[name]; ok && (old != what || what != "a dimension") {
			return fmt.Errorf("%q is %s and %s", name, old, what)
		}
		if isFunction(name) && what != "a local value" || slices.Contains(known, name) {
			return fmt.Errorf("%q is a word of the language", name)
		}
		seen[name] = what
		return nil
	}
	for _, o := range d.Operands {
		for i, n := range o.Names {
			if i > 0 && seen[n] != "an operand" { // a further name stands in graphs only
				continue
			}
			if old, ok := seen[n]; ok {
				return o.Line, fmt.Errorf("%q is %s and an operand", n, old)
			}
			seen[n] = "an operand"
		}
	}
	for _, a := range d.Attrs {
		if err := add(a.Name, "an attribute"); err != nil {
			return a.Line, err
		}
	}
	for _, o := range d.Operands {
		for _, x := range o.Index {
			if len(x.To) > 0 {
				continue
			}
			if err := add(x.Name(), "a dimension"); err != nil {
				return o.Line, err
			}
		}
	}
	for _, l := range d.Sizes {
		if err := add(l.Name, "a dimension"); err != nil {
			return l.Line, err
		}
	}
	for _, l := range d.Lets {
		if i, ok := d.Named(l.Name); ok && d.Operands[i].Out {
			if seen[l.Name] == "a stored output" {
				return l.Line, fmt.Errorf("output %s is stored twice", l.Name)
			}
			seen[l.Name] = "a stored output"
			continue
		}
		if err := add(l.Name, "a local value"); err != nil {
			return l.Line, err
		}
	}
	return 0, nil
}

// checkTexts makes sure that every name in an expression is declared.
func (d *Kernel) checkTexts() (int, error) {
	for i := range d.Operands {
		o := &d.Operands[i]
		for _, x := range o.Index {
			if err := d.checkText(x.At, 0); err != nil {
				return o.Line, err
			}
		}
		if err := d.checkText(o.Else, 0); err != nil {
			return o.Line, err
		}
	}
	for _, l := range append(slices.Clone(d.Sizes), d.Needs...) {
		if err := d.checkText(l.Text, 0); err != nil {
			return l.Line, err
		}
	}
	for i, l := range d.Lets {
		if err := d.checkText(l.Text, i); err != nil {
			return l.Line, err
		}
	}
	return 0, d.checkText(d.Cost, len(d.Lets))
}

// checkText checks the names of a text that may use the first lets.
func (d *Kernel) checkText(text string, lets int) error {
	skip := 0
	for _, w := range Words(text) {
		if skip > 0 { // the word of is(ATTR, WORD)
			skip--
			continue
		}
		_, isType := d.TypeVar(w.Name)
		switch {
		case w.Call && w.Name == "is":
			a, ok := d.Attr(first(w.Args))
			if !ok || a.Type != WordAttr || len(w.Args) != 2 || !slices.Contains(a.Words, w.Args[1]) {
				return fmt.Errorf("expected is(ATTRIBUTE, WORD) with a word of the attribute, found is(%s)", join(w.Args))
			}
			skip = 2
		case w.Call && w.Name == "fold":
			skip = 1 // the operator
		case w.Call && !isType && !isFunction(w.Name):
			return fmt.Errorf("expected a function, found %q", w.Name)
		case !w.Call && !d.isValue(w.Name, lets):
			return fmt.Errorf("expected a name that is declared, found %q", w.Name)
		}
	}
	return nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func join(list []string) string {
	text := ""
	for i, s := range list {
		if i > 0 {
			text += ", "
		}
		text += s
	}
	return text
}

// isValue says whether a name may stand alone in an expression that may use the first lets.
func (d *Kernel) isValue(name string, lets int) bool {
	i, isOperand := d.Named(name)
	_, isAttr := d.Attr(name)
	_, isType := d.TypeVar(name)
	_, dtypeErr := scalar.ParseDType(name)
	if isOperand && d.Operands[i].Out {
		return false // it is written, not read
	}
	return isAttr || isType || dtypeErr == nil || isOperand || d.IsDim(name) || slices.Contains(known, name) ||
		slices.ContainsFunc(d.Lets[:lets], func(l Let) bool { return l.Name == name })
}
