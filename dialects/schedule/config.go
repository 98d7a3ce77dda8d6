package schedule

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// Config is what was decided about how a kernel is carried out on one target. It is all that a back end needs beside the kernel: a tree
// (backends/tree) is a pure function of both. passes/tile chooses it among the candidates of the target's back end.
type Config struct {
	Target     string // a processor that a back end knows, such as sm_80
	Stages     []Stage
	Workspaces []Workspace // by scope: what the back end says that the stages take
}

// Workspace is memory that a kernel of a CPU has while it runs: one for all threads together (DeviceScope), or one for each thread (PrivateScope). It
// holds nothing when the kernel begins, and is free for others when it ends.
type Workspace struct {
	Scope Scope
	Bytes int64
}

// WorkspacesOf gives the workspaces of so many bytes, of which 0 is none.
func WorkspacesOf(device, private int64) (out []Workspace) {
	for _, w := range []Workspace{{DeviceScope, device}, {PrivateScope, private}} {
		if w.Bytes > 0 {
			out = append(out, w)
		}
	}
	return out
}

// BytesOf gives what workspaces have in memory of a scope, 0 for none.
func BytesOf(list []Workspace, s Scope) int64 {
	for _, w := range list {
		if w.Scope == s {
			return w.Bytes
		}
	}
	return 0
}

// Holds says whether workspaces are as large as those that are needed.
func Holds(list, needed []Workspace) bool {
	return !slices.ContainsFunc(needed, func(w Workspace) bool { return BytesOf(list, w.Scope) < w.Bytes })
}

// WorkspaceText writes workspaces as the text form of a config does.
func WorkspaceText(list []Workspace) string {
	var words []string
	for _, w := range list {
		words = append(words, fmt.Sprintf("%s %d", w.Scope, w.Bytes))
	}
	return "workspaces: [" + strings.Join(words, ", ") + "]"
}

// Stage is one algorithm of a kernel: its only one, or one of several that follow each other block by block, as those of an attention do.
type Stage struct {
	Algorithm  Algorithm
	Tiles      []Tiling    // by role
	Placements []Placement // of operands that are not read where they are
	Micro      string      // the micro-kernel, by name: a row of the back end's table; empty where the algorithm has none
	Threads    bool        // the tasks of a CPU kernel are shared between threads
	Order      []Role      // of loops, the outermost first: the two over tasks, then the two over what registers hold; empty is m, n, n, m
	Prefetch   Prefetch    // what is asked for before its turn
	Ahead      int64       // how many values of the reduction before their use register tiles ask for columns; 0 is UsualAhead for packed ones, and not at all for those read in place
	Lanes      int64       // of the vectors of rows; 0 is as many as a processor's vectors have
	Stream     []string    // results of rows that go past the caches, by the names of operands
}

// UsualAhead is by how many values of the reduction a register tile asks for packed columns before their use where a stage does not say so: they come
// from a cache.
const UsualAhead = 8

// Prefetch is what a register tile of a contraction asks for while it multiplies, of what tiles after it read.
type Prefetch uint8

// The prefetches.
const (
	PrefetchNothing   Prefetch = iota
	PrefetchRows               // the rows of the next register tile, which are not packed
	PrefetchColumns            // the panels of the next columns: each tile a part of them, with its blocks of the reduction
	PrefetchStrip              // the same panels, by the last tiles that use the present ones: a line with every value of the reduction
	PrefetchMacroTile          // the columns of the next macro-tile, which its thread then packs
)

var prefetches = []string{"", "rows", "columns", "strip", "macro_tile"}

// String gives the prefetch's word, "" of nothing.
func (p Prefetch) String() string { return prefetches[p] }

// Algorithm is how a stage is carried out.
type Algorithm uint8

// The algorithms.
const (
	Loops        Algorithm = iota // every cell for itself
	Contraction                   // tiles of sums of products
	Reduction                     // lines, each reduced by lanes together, and what goes on with them
	LowPrecision                  // tiles of sums of products of bytes or bfloat16, by the instructions that a processor has
	Transformed                   // tiles of a convolution, transformed, multiplied, and transformed back
	Rows                          // rows of vectors
	Scan                          // reductions all of whose values are computed together
)

var algorithms = []string{"loops", "contraction", "reduction", "low_precision", "transformed", "rows", "scan"}

// String gives the algorithm's word.
func (a Algorithm) String() string { return algorithms[a] }

// Role is what a dimension of a stage is to its algorithm.
type Role uint8

// The roles: rows, columns and the reduced dimension of a contraction; lines and their elements; images, rows and columns of a convolution's results.
const (
	RoleM Role = iota
	RoleN
	RoleK
	RoleLine
	RoleElement
	RoleImage
	RoleDown
	RoleAcross
)

var roles = []string{"m", "n", "k", "line", "element", "image", "down", "across"}

// String gives the role's word.
func (r Role) String() string { return roles[r] }

// Tiling is how a dimension is cut: the sizes of its tiles, each a multiple of the next, the outermost level first. The first is the
// part of one block of a GPU or one task of a CPU; the second is the part of a lane, or what registers hold; the third is the lanes of a vector.
// The last of a reduced dimension is what runs at once: a task has all of it if there is no other.
type Tiling struct {
	Role  Role
	Sizes []int64
}

// Scope is who has the memory of a placement.
type Scope uint8

// The scopes.
const (
	SharedScope   Scope = iota // lanes of a GPU block
	PrivateScope               // a CPU thread
	DeviceScope                // all threads of a CPU: a copy is made before anything is computed
	ConstantScope              // the program: a copy of a constant is made when it is built
)

var scopes = []string{"shared", "private", "device", "constant"}

// String gives the scope's word.
func (s Scope) String() string { return scopes[s] }

// Placement says that tiles of an operand are copied before they are read: to memory of a scope, in which Depth tiles have room, so that
// Depth - 1 are under way while one is used. What all threads of a CPU read is packed in rounds of so many panels, each of which is used before the
// next; 0 is all of them at once.
type Placement struct {
	Operand string // by name
	Scope   Scope
	Depth   int64
	Panels  int64
}

// PanelBytes is the width of a panel of the right operand of a contraction: a cache line, a whole number of vectors on every target, so
// that a packed constant serves them all. Tiles are whole panels wide, or whole tiles make a panel.
const PanelBytes = LineBytes

// LineBytes is the size of a line of a cache, what travels at least.
const LineBytes = 64

// Tile gives the sizes of a role's tiles, nil if the stage does not have it.
func (s *Stage) Tile(r Role) []int64 {
	for _, t := range s.Tiles {
		if t.Role == r {
			return t.Sizes
		}
	}
	return nil
}

// Depth gives how many tiles of an operand have room, 0 if it is read where it is.
func (s *Stage) Depth(operand string) int64 {
	for _, p := range s.Placements {
		if p.Operand == operand {
			return p.Depth
		}
	}
	return 0
}

// For gives the config of a target, nil if there is none.
func (k *Kernel) For(target string) *Config {
	for i := range k.Configs {
		if k.Configs[i].Target == target {
			return &k.Configs[i]
		}
	}
	return nil
}

// Forget takes away the config of a target.
func (k *Kernel) Forget(target string) {
	k.Configs = slices.DeleteFunc(k.Configs, func(c Config) bool { return c.Target == target })
}

// Clone gives a config with the same facts.
func (c Config) Clone() Config {
	c.Stages, c.Workspaces = slices.Clone(c.Stages), slices.Clone(c.Workspaces)
	for i := range c.Stages {
		s := &c.Stages[i]
		s.Tiles, s.Placements, s.Order, s.Stream = slices.Clone(s.Tiles), slices.Clone(s.Placements), slices.Clone(s.Order), slices.Clone(s.Stream)
		for j := range s.Tiles {
			s.Tiles[j].Sizes = slices.Clone(s.Tiles[j].Sizes)
		}
	}
	return c
}

// Fields names the config's facts.
func (c *Config) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "target", Style: ir.Positional}, &c.Target)
	f.List(ir.Field{Num: 2, Name: "stages"}, len(c.Stages), func(n int) { c.Stages = make([]Stage, n) },
		func(i int, f ir.Fields) { c.Stages[i].fields(f) })
	f.List(ir.Field{Num: 3, Name: "workspaces", Optional: true}, len(c.Workspaces), func(n int) { c.Workspaces = make([]Workspace, n) }, func(i int, f ir.Fields) {
		ir.Enum(f, ir.Field{Num: 1, Name: "scope", Style: ir.Positional}, scopes, &c.Workspaces[i].Scope)
		f.Int(ir.Field{Num: 2, Name: "bytes", Style: ir.Positional}, &c.Workspaces[i].Bytes)
	})
}

func (s *Stage) fields(f ir.Fields) {
	ir.Enum(f, ir.Field{Num: 1, Name: "algorithm", Style: ir.Positional}, algorithms, &s.Algorithm)
	f.List(ir.Field{Num: 2, Name: "tiles", Optional: true}, len(s.Tiles), func(n int) { s.Tiles = make([]Tiling, n) }, func(i int, f ir.Fields) {
		ir.Enum(f, ir.Field{Num: 1, Name: "role", Style: ir.Positional}, roles, &s.Tiles[i].Role)
		f.Ints(ir.Field{Num: 2, Name: "sizes", Style: ir.Positional}, &s.Tiles[i].Sizes)
	})
	f.List(ir.Field{Num: 3, Name: "placements", Optional: true}, len(s.Placements), func(n int) { s.Placements = make([]Placement, n) }, func(i int, f ir.Fields) {
		p := &s.Placements[i]
		f.String(ir.Field{Num: 1, Name: "operand", Style: ir.Positional}, &p.Operand)
		ir.Enum(f, ir.Field{Num: 2, Name: "scope", Style: ir.Positional}, scopes, &p.Scope)
		f.Int(ir.Field{Num: 3, Name: "depth", Style: ir.Positional}, &p.Depth)
		f.Int(ir.Field{Num: 4, Name: "panels", Optional: true}, &p.Panels)
	})
	f.String(ir.Field{Num: 4, Name: "micro", Optional: true}, &s.Micro)
	f.Bool(ir.Field{Num: 5, Name: "threads", Optional: true}, &s.Threads)
	f.List(ir.Field{Num: 6, Name: "order", Optional: true}, len(s.Order), func(n int) { s.Order = make([]Role, n) }, func(i int, f ir.Fields) {
		ir.Enum(f, ir.Field{Num: 1, Name: "role", Style: ir.Positional}, roles, &s.Order[i])
	})
	ir.Enum(f, ir.Field{Num: 7, Name: "prefetch", Optional: true}, prefetches, &s.Prefetch)
	f.Int(ir.Field{Num: 8, Name: "lanes", Optional: true}, &s.Lanes)
	f.List(ir.Field{Num: 9, Name: "stream", Optional: true}, len(s.Stream), func(n int) { s.Stream = make([]string, n) }, func(i int, f ir.Fields) {
		f.String(ir.Field{Num: 1, Name: "operand", Style: ir.Positional}, &s.Stream[i])
	})
	f.Int(ir.Field{Num: 10, Name: "ahead", Optional: true}, &s.Ahead)
}

// String gives a config in a line: its stages, with their tiles from the outermost level in, and what is placed where.
func (c *Config) String() string {
	if c == nil || len(c.Stages) == 0 {
		return "loops"
	}
	var stages []string
	for _, s := range c.Stages {
		words := []string{s.Algorithm.String()}
		for _, t := range s.Tiles {
			words = append(words, t.Role.String()+" "+strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Sizes), "[]"), " ", "/"))
		}
		for _, p := range s.Placements {
			word := fmt.Sprintf("%s %s×%d", p.Operand, p.Scope, p.Depth)
			if words = append(words, word); p.Panels > 0 {
				words[len(words)-1] += fmt.Sprintf(" in rounds of %d panels", p.Panels)
			}
		}
		for _, more := range []struct {
			said bool
			word string
		}{{s.Micro != "", s.Micro}, {len(s.Order) > 0, "order " + strings.Trim(fmt.Sprint(s.Order), "[]")}, {s.Lanes > 0, fmt.Sprint("lanes ", s.Lanes)},
			{len(s.Stream) > 0, "stream " + strings.Join(s.Stream, " ")}, {s.Prefetch != PrefetchNothing, "prefetch " + s.Prefetch.String()},
			{s.Ahead > 0, fmt.Sprint("ahead ", s.Ahead)}, {s.Threads, "threads"}} {
			if more.said {
				words = append(words, more.word)
			}
		}
		stages = append(stages, strings.Join(words, ", "))
	}
	return strings.Join(stages, "; then ")
}
