package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
)

// What a program has in memory is known when it is compiled. Tensors are as large as the graph says, and code as compilers wrote it; the rest is bounded here,
// and a test holds programs to it.
const (
	processBytes   = 2_020_000 // the C library, the run-time library, the buffers of files, and the main thread's stack
	libraryBytes   = 560_000   // the C library's mathematical functions, which are a library of their own
	fusedBytes     = 192 << 10 // of these, products and additions in one, which other kernels have as instructions
	stepBytes      = 512       // what is said of a step, and its call
	stackBytes     = 16 << 10  // the part of a thread's stack that is used, without arrays
	unpackingBytes = 96 << 10  // the buffers through which an input is unpacked
	pageBytes      = 4 << 10
	pagesBytes     = 128 << 10 // buffers of so many bytes have pages of their own
	hugeBytes      = 2 << 20   // a page of the arena, up to the last whole one of these
)

// threadBytes is what a thread besides the first has in memory at most, but for workspaces.
func (p *program) threadBytes() int64 { return stackBytes + p.Process.Stack + 64 }

// groups is what is said of groups of threads.
func (p *program) groups() cabi.Groups {
	if p.devices == nil {
		return cabi.Groups{Devices: 1}
	}
	return cabi.Groups{Devices: int64(len(p.devices.Devices)), Bytes: p.Group(), List: p.devices.Devices, Collectives: p.devices.Collectives}
}

// peakBytes is what a program that runs on one thread has in memory at most.
func (p *program) peakBytes() (sum int64) {
	for _, t := range p.memoryTerms() {
		sum += t.Bytes
	}
	return sum
}

// memoryTerms are the parts of that. Inputs are read before anything is written to the arena and the outputs. (An archive's table of contents comes on top.)
func (p *program) memoryTerms() []backends.MemoryTerm {
	inputs, outputs := bytesOf(p, p.Inputs), bytesOf(p, p.Outputs)
	steps := int64(0)
	for _, id := range p.steps {
		if _, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			steps++
		}
	}
	process := int64(processBytes) + p.Process.Stack
	switch {
	case p.Process.Library:
		process += libraryBytes
	case p.Process.Fused:
		process += fusedBytes
	}
	arena := inMemory(p.ArenaBytes())
	return []backends.MemoryTerm{
		{What: "the process: C library, buffers of files, stack", Bytes: process},
		{What: fmt.Sprintf("code of %d kernels", steps), Bytes: p.Process.Code + steps*stepBytes, Code: true},
		{What: "constants", Bytes: p.Block.Bytes},
		{What: "inputs", Bytes: inputs},
		{What: "outputs", Bytes: outputs},
		{What: "arena: what kernels hand to each other, and workspaces", Bytes: arena},
		{What: "inputs while they are unpacked, beyond outputs and arena", Bytes: max(0, unpackingBytes-outputs-arena)},
	}
}

// bytesOf gives what tensors take together; one in the memory of another one takes none.
func bytesOf(p *program, list []tensorops.Named) (sum int64) {
	for _, x := range list {
		t := tensorops.TensorOf(p.g, x.Tensor)
		shape := t.Range.Shape()
		if s, ok := p.SharedAs(x.Tensor); ok && p.Outputs[s.Output].Tensor == x.Tensor {
			continue
		} else if ok {
			shape = s.Room
		}
		bytes := int64(t.Type().Size())
		for _, n := range shape {
			bytes *= n
		}
		sum += inMemory(bytes)
	}
	return sum
}

// inMemory is what a buffer takes.
func inMemory(bytes int64) int64 {
	if bytes < pagesBytes {
		return isa.Align(bytes, 64) + 64
	}
	return isa.Align(bytes, pageBytes) + pageBytes
}
