package cpu

import (
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/ir"
)

// What tests that use backends/cpu/cputest, which imports this package, look at.
var Header = header

// WrittenFlag is how much compilers optimize what is written out.
const WrittenFlag = writtenFlag

type Builder = builder

// MemoryOf gives the bytes of a program's arena, and those that each thread has beside it.
func MemoryOf(g *ir.Graph) (arena, thread int64, err error) {
	p, err := newProgram(g, "test", "test")
	if err != nil {
		return 0, 0, err
	}
	if _, err := p.single(isa.Scheduled); err != nil {
		return 0, 0, err
	}
	return p.ArenaBytes(), p.Thread, nil
}
