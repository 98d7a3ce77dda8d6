// Package trees writes tile trees (backends/tree) as C: those that the package codegen makes, of kernels that are loops or have scans,
// those of rows of vectors, and those of products, whose leaves are templates. It must not import backends/cpu. Read next: trees.go, vectors.go, backends/codegen.
package trees

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/codegen"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/backends/tree/effort"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// limits are what a thread may have for itself.
var limits = tree.Limits{Private: 64 << 20}

// Loops makes the tree of a kernel whose loops are cut as their levels say, which the C compiler vectorises.
func Loops(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*tree.Func, error) {
	return Verified(codegen.Loops(k.Name, &nest.Analysis{Kernel: k, Buffers: buffers}, tree.Thread))
}

// Scan makes the tree of a kernel that has scans.
func Scan(a *nest.Analysis) (*tree.Func, error) {
	f, err := codegen.Scan(a.Kernel.Name, a)
	if err != nil {
		return nil, err
	}
	return Verified(f)
}

// Verified verifies a tree that another package made.
func Verified(f *tree.Func) (*tree.Func, error) { return f, tree.Verify(f, limits) }

// Workspaces says what a kernel has for itself: the memory of a thread that its tree declares, and that of all of them.
func Workspaces(f *tree.Func) []schedule.Workspace {
	private := int64(0)
	tree.Walk(f.Body, func(s tree.Stmt) {
		if loop, ok := s.(*tree.For); ok && loop.Bind == tree.Thread {
			private = max(private, bytesOf(loop.Body, tree.Private))
		}
	})
	return schedule.WorkspacesOf(end(f), private)
}

// printer writes a tree as C: a function for the tasks of its threads, and one that has a pool carry them out.
type printer struct {
	cnest.Tree
	e       *unit.Unit
	read    map[*tree.Memory]bool
	private int64 // bytes that a thread has
	vector  vectorLoop
	stream  bool // some results went past the caches
	kernel
	outside []*tree.Var // of the loops around regions
	table   string      // of addresses, that templates are given
}

// kernel is a kernel that is written by a tree.
type kernel struct {
	name      string
	f         *tree.Func
	k         *schedule.Kernel
	templates Templates
	regions   map[string]int // by name
}

// Templates are what a tree's leaves are printed from: functions that are named for the kernel and the template.
type Templates interface {
	Templates() string                                // the text of the functions
	Constant(operand int) (slot int)                  // of an operand that was packed when the program was built, in the kernel's table
	Region(loop *tree.For) (name, picoseconds string) // what the tasks of a loop are called, and how long each takes
	Threads() bool                                    // whether several threads do them
	Common(template string) (function string)         // the name of a function that all kernels have together, which it defines
}

// common is what the names of templates begin with that all kernels have together: C of their own, which a back end defines.
const common = "tapc_"

// vectorLoop is the loop of a vector's lanes that a statement is in.
type vectorLoop struct {
	along *tree.For // nil for none
	lanes int
	whole bool   // all lanes are there
	count string // how many are
	own   map[*tree.Memory]bool
}

// Write writes a kernel by its tree.
func Write(e *unit.Unit, kernel string, f *tree.Func, k *schedule.Kernel) string {
	return write(e, kernel, f, k, func(*tree.For) float64 { return e.Nanoseconds(k, unit.SerialRate) })
}

// WriteScan writes a kernel that has scans. What is stored at indices takes as long as what is done for each; else, it is all that is read and written, and
// what is kept between statements.
func WriteScan(e *unit.Unit, kernel string, f *tree.Func, k *schedule.Kernel) string {
	bytes := e.OperandBytes(k)
	if bytesOf(f.Body, tree.Workspace) > 0 {
		bytes *= sortedBytes
	}
	return write(e, kernel, f, k, func(loop *tree.For) float64 {
		each := effort.Of(&tree.Func{Body: []tree.Stmt{loop}})
		if done := (each.Operations + each.Global) * float64(each.Blocks); done < maxOperations {
			return done / unit.SerialRate
		}
		return bytes / unit.StagedRate
	})
}

// WriteRows writes a kernel whose results are rows of vectors of some lanes. What follows the first region joins what that left.
func WriteRows(e *unit.Unit, kernel string, f *tree.Func, k *schedule.Kernel, lanes int64) string {
	return write(e, kernel, f, k, func(loop *tree.For) float64 {
		if left := bytesOf(f.Body, tree.Workspace); left > 0 && loop == f.Body[len(f.Body)-1] {
			return float64(left) / unit.PackRate
		}
		return e.Nanoseconds(k, unit.VectorRate*float64(lanes))
	})
}

// WriteLeaves writes a kernel whose tree has leaves.
func WriteLeaves(e *unit.Unit, name string, f *tree.Func, k *schedule.Kernel, templates Templates) string {
	e.Refuse(tree.Verify(f, limits))
	p := newPrinter(e, new(cnest.Text))
	p.kernel = kernel{name, f, k, templates, map[string]int{}}
	return templates.Templates() + p.write(templates.Region)
}

// Function writes a function of a tree that the leaves of a kernel call.
func Function(t *cnest.Text, e *unit.Unit, kernelName string, k *schedule.Kernel, f *tree.Func) {
	e.Refuse(tree.Verify(f, limits))
	p := newPrinter(e, t)
	p.kernel = kernel{name: kernelName, f: f, k: k}
	params, unused, linkage, result := "void *const *b", "(void)b", "TAPC_FN", "void"
	var at []string // where memories are
	for _, x := range f.Params {
		name, kind := "", "int64_t "
		switch m := x.Memory; {
		case m == nil:
			name = x.Var.Name
		case x.Value:
			name, kind = m.Name, p.element(m)+" "
		default:
			constant := map[bool]string{false: "const "}[m.Written]
			name, kind = m.Name+"_at", constant+"void *"
			at = append(at, fmt.Sprintf("%s%s *const %s = %s;", constant, p.element(m), m.Name, name))
		}
		params, unused = params+", "+kind+name, unused+", (void)"+strings.TrimSuffix(name, "_at")
	}
	if f.Seldom {
		linkage = "static __attribute__((noinline))"
	}
	if f.Result != nil {
		result = p.element(f.Result.Memory)
	}
	p.Open("\n%s %s %s_%s(%s) {", linkage, result, kernelName, f.Name, params)
	pointersOf(p.Text, e, k, p.survey(f.Body))
	for _, line := range at {
		p.Line("%s", line)
	}
	p.Line("%s;", unused)
	p.List(f.Body)
	if f.Result != nil {
		p.Line("return %s;", p.lvalue(*f.Result))
	}
	p.Close()
}

// given says whether a function is given a variable, or the value of a memory.
func (p *printer) given(v *tree.Var, m *tree.Memory) bool {
	return slices.ContainsFunc(p.f.Params, func(x tree.Param) bool { return x.Memory == m && x.Var == v && (m == nil || x.Value) })
}

func newPrinter(e *unit.Unit, t *cnest.Text) *printer {
	p := &printer{Tree: cnest.Tree{Text: t, Index: "int64_t", W: e.W}, e: e, table: "b"}
	p.Stmt = p.stmt
	return p
}

const (
	sortedBytes   = 4       // of workspaces, about, for each of operands
	maxOperations = 1 << 50 // beyond it is a loop whose ends are not known
)

// write writes a region of tasks for each loop of threads, which takes some nanoseconds on one of them.
func write(e *unit.Unit, name string, f *tree.Func, k *schedule.Kernel, nanoseconds func(loop *tree.For) float64) string {
	p := newPrinter(e, new(cnest.Text))
	p.kernel = kernel{name: name, f: f, k: k}
	return p.write(func(loop *tree.For) (region, each string) {
		tasks, _ := loop.To.Number()
		if region = "task"; loop != f.Body[len(f.Body)-1] {
			region = "first_task"
		}
		return region, unit.Each(nanoseconds(loop), tasks)
	})
}

// write writes the functions of regions, and the one that carries them out.
func (p *printer) write(region func(loop *tree.For) (name, each string)) string {
	var calls cnest.Text
	p.calls(&calls, p.f.Body, region)
	p.Line("")
	p.e.Open(p.Text, p.name)
	for line := range strings.Lines(calls.String()) {
		p.Line("%s", strings.TrimSuffix(line, "\n"))
	}
	p.Close()
	return p.String()
}

// calls writes regions and the loops around them.
func (p *printer) calls(calls *cnest.Text, body []tree.Stmt, region func(loop *tree.For) (name, each string)) {
	for _, s := range body {
		loop, ok := s.(*tree.For)
		if !ok {
			continue
		}
		if v := loop.Var.Name; loop.Bind == tree.Serial {
			calls.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", v, loop.From, v, loop.To, v, loop.Step)
			p.outside = append(p.outside, loop.Var)
			p.calls(calls, loop.Body, region)
			p.outside = p.outside[:len(p.outside)-1]
			calls.Close()
			continue
		}
		name, each := region(loop)
		tasks, constant := loop.To.Number()
		threads := !constant || tasks > 1
		if p.templates != nil {
			threads = p.templates.Threads()
			if p.regions[name]++; p.regions[name] > 1 {
				name += fmt.Sprint(p.regions[name])
			}
		}
		name = p.name + "_" + name
		p.region(name, loop)
		part := p.part(loop)
		if len(part) == 0 {
			unit.Region(calls, threads, loop.To.String(), each, name, "(void *)b")
			continue
		}
		var at []string
		for _, x := range part {
			at = append(at, x.value)
		}
		calls.Open("{")
		calls.Line("%s_part part = {b, %s};", name, strings.Join(at, ", "))
		unit.Region(calls, threads, loop.To.String(), each, name, "&part")
		calls.Close()
	}
}

// fact is a number that the tasks of a region are told: its name in these, and its value where they are called.
type fact struct{ name, value string }

// part gives what the tasks of a loop are told beside the table of addresses: where the loops around it stand, and whether results go past the caches.
func (p *printer) part(loop *tree.For) (out []fact) {
	for _, v := range p.outside {
		out = append(out, fact{v.Name, v.Name})
	}
	bytes := int64(0)
	tree.Walk(loop.Body, func(s tree.Stmt) {
		if m, ok := s.(*tree.Map); ok {
			bytes = max(bytes, m.Stream)
		}
	})
	if bytes > 0 {
		out = append(out, fact{"past", fmt.Sprintf("tapc_far(tapc_threads(pool), %d)", bytes)})
	}
	return out
}

// region writes the function with which a thread carries out some tasks of a loop. Its context is the table of addresses, or that and what else they are told.
func (p *printer) region(name string, loop *tree.For) {
	if p.apart(loop) {
		p.Open("\nstatic __attribute__((noinline)) void %s_each(void *const *b, int64_t %s, int worker) {", name, loop.Var.Name)
		p.Line("(void)worker;")
		p.memories(loop)
		p.List(loop.Body)
		p.Close()
		unit.Task(p.Text, name, "")
		p.Line("for (int64_t task = begin; task < end; task++) %s_each(b, task, worker);", name)
		p.Close()
		return
	}
	if part := p.part(loop); len(part) == 0 {
		unit.Task(p.Text, name, "")
	} else {
		var at []string
		for _, x := range part {
			at = append(at, x.name)
		}
		p.Line("\ntypedef struct { void *const *b; int64_t %s; } %s_part;", strings.Join(at, ", "), name)
		unit.Task(p.Text, name, name+"_part")
		for _, v := range at {
			p.Line("const int64_t %s = part->%s;", v, v)
			p.Line("(void)%s;", v)
		}
	}
	p.memories(loop)
	v := loop.Var.Name
	choice := choiceIn(loop.Body)
	if choice != nil {
		p.begin(choice)
	}
	if loop.Together {
		inner := loop.Body[0].(*tree.For)
		x := inner.Var.Name
		p.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", x, inner.From, x, inner.To, x, inner.Step)
		p.Open("for (int64_t %s = begin; %s < end; %s++) {", v, v, v)
		p.List(inner.Body)
		p.Close(3)
		return
	}
	p.Open("for (int64_t %s = begin; %s < end; %s++) {", v, v, v)
	p.List(loop.Body)
	p.Close()
	if choice != nil {
		p.around(choice, func(c tree.Case) string { return c.End })
	}
	if p.stream {
		p.Line("tapc_fence();")
		p.stream = false
	}
	p.Close()
}

// memories declares what tasks of a loop use: addresses, memory of a thread, and what it did last.
func (p *printer) memories(loop *tree.For) {
	used := p.survey(loop.Body)
	pointersOf(p.Text, p.e, p.k, used)
	if len(used) == 0 || p.templates != nil {
		p.Line("(void)b;")
	}
	if own := bytesOf(loop.Body, tree.Private); own > 0 {
		p.private = 0
		p.Line("char *const own = (char *)b[%d] + worker * %s;", p.e.Private(own, tasksOf(loop)), tree.Const(own))
	}
	p.pointers()
	for _, s := range loop.Body {
		if once, ok := s.(*tree.Once); ok {
			p.Line("int64_t %s = -1;", once.Last.Name)
		}
	}
	p.ownTable(loop.Body)
}

// apart says whether each task of a loop is a function of its own: if it has functions of floats, whose numbers are more than registers. Within a loop of tasks compilers choose for this which
// of them stay there.
func (p *printer) apart(loop *tree.For) bool {
	if p.templates != nil || loop.Together || tasksOf(loop) < 2 || len(p.part(loop)) > 0 || choiceIn(loop.Body) != nil {
		return false
	}
	functions, once := false, false
	tree.Walk(loop.Body, func(s tree.Stmt) {
		switch s := s.(type) {
		case *tree.Once:
			once = true
		case *tree.Map:
			functions = functions || s.Value.Any(func(e *scalar.Expr) bool { return e.Op.Class() == scalar.Transcendental })
		}
	})
	return functions && !once
}

// tasksOf is how many a loop has, 0 if that is known when the program runs.
func tasksOf(loop *tree.For) int64 {
	n, _ := loop.To.Number()
	return n
}

// ownTable makes a table of its own for a thread whose templates find memories of its own as operands: behind those of all threads.
func (p *printer) ownTable(body []tree.Stmt) {
	p.table = "b"
	own := 0
	tree.Walk(body, func(s tree.Stmt) {
		if _, ok := s.(*tree.Hold); ok {
			own++
		}
	})
	if own > 0 {
		p.table = "table"
		p.Line("void *table[%d];", p.e.Table.First+own)
		p.Line("__builtin_memcpy(table, b, %d * sizeof *b);", p.e.Table.First)
	}
}

// begin asks which case of a choice the processor is for, and has a thread begin what that needs around all of its tasks; end ends that.
func (p *printer) begin(s *tree.Choose) {
	last := len(s.Cases) - 1
	p.Line("const unsigned has = %s;", map[bool]string{true: "TAPC_FEATURES", false: "0"}[last > 0])
	p.Line("(void)has;")
	p.Line("int choice = %d;", last)
	for i, c := range slices.Backward(s.Cases[:last]) {
		p.known(c, func() { p.Line("if (has & %s) choice = %d; // %s", c.Feature, i, c.Name) })
	}
	p.around(s, func(c tree.Case) string { return c.Begin })
}

func (p *printer) around(s *tree.Choose, call func(c tree.Case) string) {
	for i, c := range s.Cases {
		if call(c) != "" {
			p.known(c, func() { p.Line("if (choice == %d) %s;", i, call(c)) })
		}
	}
}

// known writes what needs a compiler that knows the instructions of a case.
func (p *printer) known(c tree.Case, write func()) {
	if c.Known == "" {
		write()
		return
	}
	p.Line("#if %s", c.Known)
	write()
	p.Line("#endif")
}

// choose writes the body of each case.
func (p *printer) choose(s *tree.Choose) {
	for i, c := range s.Cases {
		p.known(c, func() {
			p.Open("if (choice == %d) {", i)
			p.List(c.Body)
			p.Close()
		})
	}
}

// choiceIn finds the choice of tasks, nil if they have none.
func choiceIn(body []tree.Stmt) (out *tree.Choose) {
	tree.Walk(body, func(s tree.Stmt) {
		if c, ok := s.(*tree.Choose); ok {
			out = c
		}
	})
	return out
}

// pointers declares the pointers of what all tasks have together: workspaces, and constants that were packed.
func (p *printer) pointers() {
	slot, at := 0, int64(0)
	if all := bytesOf(p.f.Body, tree.Workspace); all > 0 {
		slot = p.e.Scratch(end(p.f))
	}
	for _, s := range p.f.Body {
		d, ok := s.(*tree.Declare)
		if !ok || d.Memory.Of != nil || p.templates != nil && !p.used(d.Memory) {
			if ok && d.Memory.Scope == tree.Workspace {
				at += isa.Align(d.Memory.Bytes(), 64)
			}
			continue
		}
		t := p.element(d.Memory)
		switch m := d.Memory; m.Scope {
		case tree.Constant:
			p.Line("const %s *const %s = b[%d]; // %s in panels", t, m.Name, p.templates.Constant(m.Operand), p.k.Operands[m.Operand].Name)
		case tree.Workspace:
			p.Line("%s *restrict const %s = (%s *)((char *)b[%d] + %s);", t, m.Name, t, slot, tree.Const(at))
			p.Line("(void)%s;", m.Name)
			at += isa.Align(m.Bytes(), 64)
		}
	}
}

// used says whether statements that are surveyed use a memory, or a view of it.
func (p *printer) used(m *tree.Memory) bool {
	for x := range p.read {
		if x == m || x.Of == m {
			return true
		}
	}
	return false
}

// end is where the last workspace ends.
func end(f *tree.Func) (bytes int64) {
	tree.Walk(f.Body, func(s tree.Stmt) {
		if d, ok := s.(*tree.Declare); ok && d.Memory.Scope == tree.Workspace && d.Memory.Of == nil {
			bytes = isa.Align(bytes, 64) + d.Memory.Bytes()
		}
	})
	return bytes
}

// element is the type of a memory's elements, or vectors.
func (p *printer) element(m *tree.Memory) string {
	switch n := int(m.Lanes); {
	case n == 0:
		return p.Element(m)
	case m.Mask > 0:
		return p.e.V.MaskType(int(m.Mask), n)
	default:
		return p.e.V.Type(m.Type, n)
	}
}

// survey finds the memories that statements read, and the operands that they use.
func (p *printer) survey(body []tree.Stmt) []int {
	p.read = map[*tree.Memory]bool{}
	named := map[int]bool{}
	note := func(a tree.Access) {
		if a.Memory.Scope == tree.Global {
			named[a.Memory.Operand] = true
		}
	}
	tree.Walk(body, func(s tree.Stmt) {
		for _, a := range tree.Reads(s) {
			p.read[a.Memory] = true
			note(a)
		}
		if s, ok := s.(*tree.Map); ok {
			note(s.Dst)
		}
	})
	return slices.Sorted(maps.Keys(named))
}

// bytesOf is what the memories of a scope take that are declared in some statements.
func bytesOf(body []tree.Stmt, scope tree.Scope) (bytes int64) {
	tree.Walk(body, func(s tree.Stmt) {
		if d, ok := s.(*tree.Declare); ok && d.Memory.Scope == scope {
			bytes += isa.Align(d.Memory.Bytes(), 64)
		}
	})
	return bytes
}

func (p *printer) stmt(s tree.Stmt) {
	switch s := s.(type) {
	case *tree.For:
		if s.Bind == tree.Vector {
			p.lanes(s)
		} else {
			p.For(s, fmt.Sprintf("#pragma GCC unroll %d", max(16, min(s.Trips(), unit.MaxUnrolled))))
		}
	case *tree.Let:
		p.Let(s)
		p.Line("(void)%s;", s.Var.Name) // not every part of a number that is delinearized is read
	case *tree.If:
		p.If(s)
	case *tree.Once:
		p.Open("if (%s != %s) {", s.Last.Name, s.Key)
		p.List(s.Body)
		p.Line("%s = %s;", s.Last.Name, s.Key)
		p.Close()
	case *tree.At:
		p.At(s)
	case *tree.Branch:
		p.branch(s)
	case *tree.Declare:
		p.declare(s.Memory)
	case *tree.Sort:
		p.Sort(s)
	case *tree.Map:
		p.compute(s)
	case *tree.Leaf:
		p.leaf(s)
	case *tree.Hold:
		m := s.Memory
		p.Line("table[%d] = (void *)((uintptr_t)%s + (uintptr_t)(%s) * %d);", p.e.Table.First+m.Operand, m.Name, s.Address(), m.Type.Size())
	case *tree.Choose:
		p.choose(s)
	case *tree.Combine:
		p.combine(s)
	case *tree.Prefetch:
		near := map[bool]string{true: "1, 3", false: "0, 2"}[s.Write]
		p.Line("TAPC_FETCH(%s, %s, %s);", s.Memory.Symbol(), s.At, near)
	}
}

func (p *printer) declare(m *tree.Memory) {
	if p.vector.along != nil {
		p.vector.own[m] = true
	}
	if m.Scope == tree.Registers && p.templates != nil {
		p.e.Stack(m.Bytes())
	}
	switch {
	case m.Scope == tree.Private:
		t := p.e.W.Stored(m.Type)
		if m.Lanes > 0 {
			t = p.element(m)
		}
		p.Line("%s *const %s = (%s *)(own + %d);", t, m.Name, t, p.private)
		p.private += isa.Align(m.Bytes(), 64)
	case m.Lanes > 0:
		p.Line("%s %s[%d];", p.element(m), m.Name, m.Elements()/m.Lanes)
	default:
		align := ""
		if p.templates != nil { // templates move whole vectors
			align = "_Alignas(64) "
		}
		p.Line("%s%s %s[%d];", align, p.Element(m), m.Name, m.Elements())
		if !p.read[m] {
			p.Line("(void)%s;", m.Name) // what would read it does so for points that there are none of
		}
	}
}

// lanes writes what the lanes of a vector do.
func (p *printer) lanes(s *tree.For) {
	count := s.To.Add(s.From.Times(-1))
	lanes, constant := count.Number()
	before := p.vector
	p.vector = vectorLoop{s, int(s.Lanes), constant && lanes == s.Lanes, "n", map[*tree.Memory]bool{}}
	p.Open("{")
	p.Line("const int64_t %s = %s;", s.Var.Name, s.From)
	p.Line("(void)%s;", s.Var.Name)
	switch v := count.Var(); {
	case constant:
		p.vector.count = fmt.Sprint(lanes)
		p.List(s.Body)
	case v != nil && p.given(v, nil):
		p.vector.count = v.Name
		p.List(s.Body)
	default:
		p.Line("const int n = (int)(%s - %s);", s.To, s.Var.Name)
		p.Open("if (n > 0) {")
		p.List(s.Body)
		p.Close()
	}
	p.Close()
	p.vector = before
}

// leaf writes the call of a template's function.
func (p *printer) leaf(s *tree.Leaf) {
	args, about := make([]string, 0, len(s.Args)), ""
	for _, a := range s.Args {
		switch {
		case a.At != nil:
			args = append(args, p.pointer(*a.At))
		case a.Ahead != nil:
			args, about = append(args, p.ahead(a.Ahead)...), " // the next "+a.Ahead.About
		case a.Number != nil:
			args = append(args, a.Number.String())
		default:
			args = append(args, p.table)
		}
	}
	name := s.Template
	if strings.HasPrefix(name, common) {
		name = p.templates.Common(name)
	} else {
		name = p.name + "_" + name
	}
	p.Line("%s(%s);%s", name, strings.Join(args, ", "), about)
}

// pointer is the address of an element, or of a vector.
func (p *printer) pointer(a tree.Access) string {
	m, at := a.Memory, a.Address()
	if m.Lanes > 0 {
		at = at.Div(m.Lanes)
	}
	if m.Of != nil {
		m = m.Of
	}
	if n, constant := at.Number(); constant && n == 0 {
		return m.Symbol()
	}
	return fmt.Sprintf("%s + %s", m.Symbol(), at)
}

// ahead is where a template asks for memory, and in what steps of bytes: numbers, as nothing need be there.
func (p *printer) ahead(x *tree.Ahead) []string {
	m, size := x.Memory, x.Memory.Type.Size()
	if m.Of != nil {
		m = m.Of
	}
	next, step := fmt.Sprintf("(uintptr_t)(%s)", x.From.Add(x.More)), fmt.Sprintf("(uintptr_t)%s", tree.Const(x.Step*int64(size)))
	if x.When != nil {
		next = fmt.Sprintf("(uintptr_t)(%s + (%s ? %s : 0))", x.From, x.When, x.More)
		step = fmt.Sprintf("(%s ? %s : 0)", x.When, step)
	}
	next = fmt.Sprintf("(uintptr_t)%s + %s * %d", m.Symbol(), next, size)
	if x.Alone {
		return []string{next}
	}
	return []string{next, step}
}

// combine writes the steps in which the lanes of a vector combine what they have: halves, quarters, ….
func (p *printer) combine(s *tree.Combine) {
	v, d, lanes := p.lvalue(s.Value), s.Value.Memory.Type, int(s.Lanes)
	value := func(text string) vector.Value {
		return vector.Value{Text: text, Type: d, Mask: int(s.Value.Memory.Mask)}
	}
	for distance := lanes / 2; distance > 0; distance /= 2 {
		p.Line("%s = %s;", v, p.e.V.Apply(s.Monoid, d, lanes, []vector.Value{value(v), value(vector.Exchanged(v, lanes, distance))}, false).Text)
	}
}

// lvalue is an element, or a vector of registers.
func (p *printer) lvalue(a tree.Access) string {
	m, at := a.Memory, a.Address()
	if m.Lanes == 0 {
		return fmt.Sprintf("%s[%s]", m.Symbol(), at)
	}
	if s := p.vector.along; s != nil {
		at = at.With(s.Var, s.From)
	}
	if p.given(nil, m) {
		return m.Name
	}
	if _, whole := at.Mod(m.Lanes).Number(); whole {
		return fmt.Sprintf("%s[%s]", m.Name, at.Div(m.Lanes))
	}
	return fmt.Sprintf("*(%s *)((%s *)%s + %s)", p.element(m), p.e.W.Type(m.Type), m.Name, at)
}

// stride is how far an access moves from one lane to the next.
func (p *printer) stride(a tree.Access) int64 {
	if p.vector.along == nil {
		return 0
	}
	n, _ := a.Address().Multiple(p.vector.along.Var)
	return n
}

// with puts an index in the place of a variable in all coordinates.
func with(at []*tree.Index, v *tree.Var, x *tree.Index) []*tree.Index {
	out := make([]*tree.Index, len(at))
	for i, y := range at {
		if y != nil {
			out[i] = y.With(v, x)
		}
	}
	return out
}

// pointersOf declares the pointers of some operands.
func pointersOf(t *cnest.Text, e *unit.Unit, k *schedule.Kernel, operands []int) {
	for _, i := range operands {
		o, constant, alone := k.Operands[i], "", "restrict "
		if o.Mode == schedule.Read {
			constant = "const "
			e.Raw(o.Buffer)
		}
		if e.Holds(o.Buffer) || overlaid(e, k, o) { // results may take the place of what they are made of
			alone = ""
		}
		t.Line("%s%s *%sp%d = b[%d]; // %s", constant, e.W.Stored(o.Type()), alone, i, e.Slot(o.Buffer), o.Name)
	}
}

// overlaid says whether an operand is an output over an input, or an input of a kernel that stores to an output over it.
func overlaid(e *unit.Unit, k *schedule.Kernel, o schedule.Operand) bool {
	over := func(buffer ir.NodeID) ir.NodeID {
		if b := e.Buffers[buffer]; b != nil {
			return b.Over
		}
		return ir.NoNode
	}
	return over(o.Buffer) != ir.NoNode || slices.ContainsFunc(k.Operands, func(w schedule.Operand) bool { return w.Mode == schedule.Write && over(w.Buffer) == o.Buffer })
}
