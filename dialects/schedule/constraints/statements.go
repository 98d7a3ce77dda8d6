package constraints

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
)

var statements = check.Constraint{
	ID: "StatementConstraint",
	Doc: "Loops, operands and statements of a kernel have different names, which are identifiers. Every statement runs over loops of the " +
		"kernel, in ascending order, and has a well-typed value: it loads operands that are read, uses earlier statements that are not " +
		"stored, and only loops that run where they are used; a reduction runs over loops that do not run already. The value of a " +
		"stored statement has the type of its operand, which is written. Every written operand is stored exactly once, and its access " +
		"sends different points of the statement's loops to different cells.",
	Requires: []string{"OperandAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0351", Meaning: "a name in a kernel is not an identifier, or is there twice"},
		{ID: "TAP0352", Meaning: "a statement or a reduction runs over loops that do not exist, or out of order"},
		{ID: "TAP0353", Meaning: "a statement is stored to an operand that does not exist or is not written"},
		{ID: "TAP0354", Meaning: "a value is missing, or refers to an operand, statement or loop that it can not use"},
		{ID: "TAP0355", Meaning: "types disagree in a value, or between it and its operand"},
		{ID: "TAP0356", Meaning: "a reduction runs over a loop that runs already"},
		{ID: "TAP0357", Meaning: "a value depends on a loop that does not run there"},
		{ID: "TAP0358", Meaning: "a written operand is not stored exactly once"},
		{ID: "TAP0359", Meaning: "a statement stores two points of its loops to the same cell"},
		{ID: "TAP0360", Meaning: "a warning: whether a statement stores two points to the same cell could not be decided"},
	},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			s := &statementCheck{c: c, n: n, k: k, good: true}
			s.names()
			for i := range k.Statements {
				s.statement(i)
			}
			s.stores()
		}
	},
}

// statementCheck checks the statements of one kernel.
type statementCheck struct {
	c    *check.Context
	n    *ir.Node
	k    *schedule.Kernel
	at   int                // number of the statement that is checked
	runs []int              // loops that run at the present place of its value
	said map[[2]string]bool // what was reported to depend on which loop
	good bool               // nothing was found in the kernel so far
}

func (s *statementCheck) report(code, field, expected, found, format string, args ...any) {
	s.good = false
	s.c.Report(s.c.Error(code, s.n, field, "%s: %s", s.c.Graph().Name(s.n.ID), fmt.Sprintf(format, args...)).Want(expected, found))
}

// value reports something about the value of the present statement.
func (s *statementCheck) value(code, expected, found, format string, args ...any) {
	s.report(code, fmt.Sprint("/body/statements/", s.at, "/value"), expected, found,
		"statement %s: %s", s.k.Statements[s.at].Name, fmt.Sprintf(format, args...))
}

func (s *statementCheck) names() {
	seen := make(map[string]string, len(s.k.Loops)+len(s.k.Operands)+len(s.k.Statements))
	name := func(kind string, i int, name string) {
		field := fmt.Sprint("/body/", kind, "/", i, "/name")
		if !check.IsIdentifier(name) {
			s.report("TAP0351", field, "a letter or _, then letters, digits or _", strconv.Quote(name), "a name is not an identifier")
		} else if other, twice := seen[name]; twice {
			s.report("TAP0351", field, "a name of its own", fmt.Sprintf("%q, as %s", name, other), "a name is there twice")
		}
		seen[name] = fmt.Sprint(kind, "/", i)
	}
	for i := range s.k.Operands {
		name("operands", i, s.k.Operands[i].Name)
	}
	for i := range s.k.Loops {
		name("loops", i, s.k.Loops[i].Name)
	}
	for i := range s.k.Statements {
		name("statements", i, s.k.Statements[i].Name)
	}
}

func (s *statementCheck) statement(i int) {
	st := &s.k.Statements[i]
	s.at, s.runs, s.said = i, s.runs[:0], map[[2]string]bool{}
	for _, l := range st.Over {
		if l < 0 || l >= int64(len(s.k.Loops)) || len(s.runs) > 0 && s.runs[len(s.runs)-1] >= int(l) {
			s.report("TAP0352", fmt.Sprint("/body/statements/", i, "/over"), fmt.Sprintf("numbers of the %s, ascending", check.Count(len(s.k.Loops), "loop")),
				fmt.Sprint(st.Over), "statement %s runs over loops that do not exist, or out of order", st.Name)
			return
		}
		s.runs = append(s.runs, int(l))
	}
	stored := st.Store >= 0 && st.Store < int64(len(s.k.Operands))
	switch {
	case st.Store != -1 && !stored, stored && s.k.Operands[st.Store].Mode != schedule.Write:
		s.report("TAP0353", fmt.Sprint("/body/statements/", i, "/store"), "-1 or the number of an operand that is written",
			strconv.FormatInt(st.Store, 10), "statement %s can not be stored there", st.Name)
		return
	case st.Value == nil:
		s.value("TAP0354", "a value", "none", "there is no value")
		return
	}
	if !s.expr(st.Value) || !stored {
		return
	}
	o := &s.k.Operands[st.Store]
	if st.Value.Type != o.Type() {
		s.value("TAP0355", fmt.Sprintf("%s, as operand %s has", o.DType, o.Name), st.Value.Type.String(), "the value has the wrong type")
	}
	s.follows(o)
}

// expr checks a value where the loops in s.runs run. It says whether the value's type can be relied on.
func (s *statementCheck) expr(e *scalar.Expr) bool {
	switch e.Op {
	case scalar.Const:
		return s.typed(e, e.Value.DType)
	case scalar.Loop:
		if e.Ref < 0 || e.Ref >= len(s.k.Loops) {
			s.value("TAP0354", check.Count(len(s.k.Loops), "loop"), fmt.Sprint("loop ", e.Ref), "a loop does not exist")
			return false
		}
		s.running(e.Ref, "its value")
		return s.typed(e, scalar.Int64)
	case scalar.Load:
		return s.load(e)
	case scalar.Local:
		return s.local(e)
	case scalar.Reduce:
		return s.reduce(e)
	case scalar.NoOp, scalar.Attr:
		s.value("TAP0354", "an operator of scheduled kernels", e.Op.String(), "the value is not instantiated")
		return false
	}
	return s.operator(e)
}

// typed checks that a leaf has the type of what it stands for.
func (s *statementCheck) typed(e *scalar.Expr, want scalar.DType) bool {
	if e.Type == want && want != scalar.Invalid {
		return true
	}
	s.value("TAP0355", want.String(), e.Type.String(), "%v has the wrong type", e.Op)
	return false
}

// running checks that a loop runs here, or has one value only.
func (s *statementCheck) running(loop int, what string) {
	key := [2]string{what, s.k.Loops[loop].Name}
	if l := &s.k.Loops[loop]; !slices.Contains(s.runs, loop) && l.Extent() != 1 && !s.said[key] {
		s.said[key] = true
		s.value("TAP0357", "loops that run there: "+loopNames(s.k, wide(s.runs)), l.Name, "%s depends on a loop that does not run there", what)
	}
}

func wide(loops []int) []int64 {
	out := make([]int64, len(loops))
	for i, l := range loops {
		out[i] = int64(l)
	}
	return out
}

func (s *statementCheck) load(e *scalar.Expr) bool {
	if e.Ref < 0 || e.Ref >= len(s.k.Operands) || s.k.Operands[e.Ref].Mode != schedule.Read {
		s.value("TAP0354", "an operand that is read", "operand "+strconv.Quote(s.k.OperandName(e.Ref)), "it loads what it can not")
		return false
	}
	s.follows(&s.k.Operands[e.Ref])
	return s.typed(e, s.k.Operands[e.Ref].Type())
}

// follows checks that an operand's access follows only loops that run here.
func (s *statementCheck) follows(o *schedule.Operand) {
	for l := range s.k.Loops {
		if o.Follows(l) {
			s.running(l, "operand "+o.Name)
		}
	}
}

func (s *statementCheck) local(e *scalar.Expr) bool {
	if e.Ref < 0 || e.Ref >= s.at || s.k.Statements[e.Ref].Store != -1 || s.k.Statements[e.Ref].Value == nil {
		s.value("TAP0354", "an earlier statement that is not stored", "statement "+strconv.Quote(s.k.LocalName(e.Ref)), "it uses what it can not")
		return false
	}
	from := &s.k.Statements[e.Ref]
	for _, l := range from.Over {
		if l >= 0 && l < int64(len(s.k.Loops)) {
			s.running(int(l), "statement "+from.Name)
		}
	}
	return s.typed(e, from.Value.Type)
}

func (s *statementCheck) reduce(e *scalar.Expr) bool {
	wanted := 1
	if e.Monoid == scalar.At {
		wanted = 2
	}
	if len(e.Args) != wanted || scalar.MonoidName(e.Monoid) == "" || wanted == 2 && len(e.Over) != 1 {
		s.value("TAP0354", "one argument and an operator that folds, or at with one loop", fmt.Sprintf("%d arguments", len(e.Args)), "a reduction is malformed")
		return false
	}
	if wanted == 2 && !s.index(e.Args[1]) {
		return false
	}
	before := len(s.runs)
	defer func() { s.runs = s.runs[:before] }()
	for i, l := range e.Over {
		switch {
		case l < 0 || l >= len(s.k.Loops) || i > 0 && e.Over[i-1] >= l:
			s.value("TAP0352", fmt.Sprintf("numbers of the %s, ascending", check.Count(len(s.k.Loops), "loop")), fmt.Sprint(e.Over),
				"a reduction runs over loops that do not exist, or out of order")
			return false
		case slices.Contains(s.runs, l):
			s.value("TAP0356", "a loop that does not run already", s.k.Loops[l].Name, "a reduction runs over a loop that runs already")
			return false
		}
		s.runs = append(s.runs, l)
	}
	return s.expr(e.Args[0]) && s.inferred(e)
}

// index checks the index of an at, which is computed outside its loop.
func (s *statementCheck) index(e *scalar.Expr) bool {
	if !s.expr(e) {
		return false
	}
	if e.Type != scalar.Int64 {
		s.value("TAP0355", scalar.Int64.String(), e.Type.String(), "the index of at has the wrong type")
		return false
	}
	return true
}

func (s *statementCheck) operator(e *scalar.Expr) bool {
	if len(e.Args) != e.Op.Arity() {
		s.value("TAP0354", check.Count(e.Op.Arity(), "argument"), fmt.Sprint(len(e.Args)), "%v has the wrong number of arguments", e.Op)
		return false
	}
	good := true
	for _, a := range e.Args {
		good = s.expr(a) && good
	}
	return good && s.inferred(e)
}

// inferred checks a type against what its typed arguments give.
func (s *statementCheck) inferred(e *scalar.Expr) bool {
	if e.Op == scalar.Cast {
		return s.typed(e, e.Type)
	}
	var again *scalar.Expr
	var err error
	if e.IsAt() {
		return s.typed(e, e.Args[0].Type)
	}
	if e.Op == scalar.Bitcast {
		again, err = scalar.NewBitcast(e.Type, e.Args[0])
	} else if e.Op == scalar.Reduce {
		again = scalar.NewReduce(e.Monoid, e.Over, e.Args[0])
		_, err = scalar.New(e.Monoid, e.Args[0], e.Args[0])
	} else {
		again, err = scalar.New(e.Op, slices.Clone(e.Args)...)
	}
	if err != nil {
		s.value("TAP0355", "arguments of types that the operator takes", err.Error(), "%v is ill-typed", e.Op)
		return false
	}
	return s.typed(e, again.Type)
}

// stores checks that each written operand is stored once, and injectively.
func (s *statementCheck) stores() {
	by := make([][]int, len(s.k.Operands))
	for i, st := range s.k.Statements {
		if st.Store >= 0 && st.Store < int64(len(by)) {
			by[st.Store] = append(by[st.Store], i)
		}
	}
	for o := range s.k.Operands {
		if s.k.Operands[o].Mode != schedule.Write || len(by[o]) == 1 {
			continue
		}
		names := make([]string, len(by[o]))
		for i, st := range by[o] {
			names[i] = s.k.Statements[st].Name
		}
		s.report("TAP0358", fmt.Sprint("/body/operands/", o), "one statement that stores it", fmt.Sprint(len(names), " ", names),
			"operand %s is not stored exactly once", s.k.Operands[o].Name)
	}
	if !s.good {
		return
	}
	for i, st := range s.k.Statements {
		if st.Store >= 0 {
			s.injective(i)
		}
	}
}

func (s *statementCheck) injective(i int) {
	st := &s.k.Statements[i]
	box, access := uses.Running(s.k, st.Over), s.k.Operands[st.Store].Access
	if unitRows(access, box) {
		return
	}
	field := fmt.Sprint("/body/statements/", i)
	hit, found, decided, err := cellMap(access).FindCollision(box, images.Budget)
	switch {
	case found:
		s.report("TAP0359", field, "different cells for different points",
			fmt.Sprintf("cell %v from %v and from %v of loops %s", hit.Cell, hit.A, hit.B, s.loops()), "statement %s stores two points to one cell", st.Name)
	case err != nil || !decided:
		s.c.Report(s.c.Warning("TAP0360", s.n, field, "%s: whether statement %s stores two points to one cell is not known",
			s.c.Graph().Name(s.n.ID), st.Name).Want("an access that can be decided", access.String()))
	}
}

// cellMap is an access as a projection: a point of the loops selects one cell.
func cellMap(a zspace.AffineMap) zspace.ProjectionMap {
	one := make(zspace.Point, len(a.Offset))
	for i := range one {
		one[i] = 1
	}
	return zspace.ProjectionMap{AffineMap: a, Shape: one}
}

func (s *statementCheck) loops() string {
	all := make([]int64, len(s.k.Loops))
	for i := range all {
		all[i] = int64(i)
	}
	return loopNames(s.k, all)
}

// unitRows says whether every loop of more than one value has a row of its own in an access, as in most stores: then
// different points go to different cells.
func unitRows(a zspace.AffineMap, box zspace.Range) bool {
	for l := range box.Start {
		if box.End[l]-box.Start[l] <= 1 {
			continue
		}
		alone := slices.ContainsFunc(a.Projection, func(row []int64) bool {
			for j, x := range row {
				if (x != 0) != (j == l) && (j == l || box.End[j]-box.Start[j] > 1) {
					return false
				}
			}
			return true
		})
		if !alone {
			return false
		}
	}
	return true
}
