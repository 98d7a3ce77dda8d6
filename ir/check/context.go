package check

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// MaxFindings bounds how many errors one constraint lists, and how many other findings.
const MaxFindings = 1000

// Context is what a constraint's check works with: the graph, indexes of it that are built once for all constraints, and
// where to report. It is used by one goroutine.
type Context struct {
	ctx    context.Context
	env    *Environment
	graph  *ir.Graph
	id     string // of the constraint that runs
	found  diag.List
	errors int // of the constraint that runs; the rest are other findings
	others int
	turns  int
	flows  map[*ir.Kind]*ir.Flow
	cache  map[string]any
}

func newContext(ctx context.Context, e *Environment, g *ir.Graph) *Context {
	return &Context{ctx: ctx, env: e, graph: g, flows: map[*ir.Kind]*ir.Flow{}, cache: map[string]any{}}
}

// Graph is the graph that is verified. Checks must not change it.
func (c *Context) Graph() *ir.Graph { return c.graph }

// Environment is the environment that the graph is verified against.
func (c *Context) Environment() *Environment { return c.env }

// Flow is the graph's index of producers and consumers among nodes of a kind.
func (c *Context) Flow(kind *ir.Kind) *ir.Flow {
	f := c.flows[kind]
	if f == nil {
		f = ir.NewFlow(c.graph, kind)
		c.flows[kind] = f
	}
	return f
}

// Cached gives the value that build made for this graph under a key, building it the first time. The constraints that share
// a key must agree on the type.
func Cached[T any](c *Context, key string, build func() T) T {
	if v, ok := c.cache[key]; ok {
		return v.(T)
	}
	v := build()
	c.cache[key] = v
	return v
}

// Go says whether the check should go on to the next node: false once there are more errors than are listed, or the caller
// has given up. It is cheap enough to ask for every node.
func (c *Context) Go() bool {
	c.turns++
	return c.errors <= MaxFindings && (c.turns%1024 != 0 || c.ctx.Err() == nil)
}

// Each gives the nodes with a body of a type, in order, for as long as the check should go on.
func Each[B ir.Body](c *Context) iter.Seq2[*ir.Node, B] {
	return func(yield func(*ir.Node, B) bool) {
		for n := range c.graph.Nodes() {
			if b, ok := n.Body.(B); ok && (!c.Go() || !yield(n, b)) {
				return
			}
		}
	}
}

// Error makes an error of the present constraint at a node; field is the JSON pointer inside the node, or "".
func (c *Context) Error(code string, n *ir.Node, field, format string, args ...any) diag.Diagnostic {
	return diag.Errorf(code, c.id, c.At(n, field), format, args...)
}

// Warning makes a warning of the present constraint at a node.
func (c *Context) Warning(code string, n *ir.Node, field, format string, args ...any) diag.Diagnostic {
	d := c.Error(code, n, field, format, args...)
	d.Severity = diag.Warning
	return d
}

// At gives the place of a field of a node, also for a node without a body.
func (c *Context) At(n *ir.Node, field string) diag.Location {
	if n.Body == nil {
		return diag.Location{File: c.graph.File, Line: int(n.Pos.Line), Column: int(n.Pos.Col), Node: n.Label}
	}
	return c.graph.At(n, field)
}

// Report adds a finding. Beyond MaxFindings it is only counted.
func (c *Context) Report(d diag.Diagnostic) {
	count := &c.others
	if d.Severity == diag.Error {
		count = &c.errors
	}
	if *count++; *count <= MaxFindings {
		c.found = append(c.found, d)
	}
}

// PortField is the JSON pointer of an entry of a node's port; side is "inputs" or "outputs".
func PortField(side, port string, entry int) string {
	return "/body/" + side + "/" + escape(port) + "/" + strconv.Itoa(entry)
}

// TagField is the JSON pointer of a node's tag of a kind.
func TagField(kind *ir.Kind) string { return "/tags/" + escape(kind.URI) }

// escape writes a name as one token of a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
