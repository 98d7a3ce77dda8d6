package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// What a program has in memory is known when it is compiled. Tensors are as large as the graph says; the rest is bounded here,
// and a test holds programs to it.
const (
	processBytes = 6 << 20  // the C library, the run-time library, the buffers of files, and the main thread's stack
	stepBytes    = 16 << 10 // the code of a kernel and what is said about it
	stackBytes   = 1 << 20  // the part of a thread's stack that kernels use
	hugeBytes    = 2 << 20  // what large buffers are rounded up to
)

// threadBytes is what a thread besides the first has in memory at most.
func (p *program) threadBytes() int64 { return stackBytes + p.OnStack + inMemory(p.Thread) }

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

// memoryTerms are the parts of that. Inputs are read before anything is written to the arena and the outputs; a packed one is there twice more
// while it is unpacked. (An archive's table of contents comes on top.)
func (p *program) memoryTerms() []backends.MemoryTerm {
	inputs, largest := bytesOf(p.g, p.Inputs)
	outputs, other := bytesOf(p.g, p.Outputs)
	steps := int64(0)
	for _, id := range p.steps {
		if _, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			steps++
		}
	}
	arena, unpacking := inMemory(p.ArenaBytes()), 2*max(largest, other)
	return []backends.MemoryTerm{
		{What: "the process: C library, buffers of files, stack", Bytes: processBytes + p.OnStack},
		{What: fmt.Sprintf("code of %d kernels", steps), Bytes: steps * stepBytes},
		{What: "constants", Bytes: p.Block.Bytes},
		{What: "inputs", Bytes: inputs},
		{What: "outputs", Bytes: outputs},
		{What: "arena: what kernels hand to each other, and workspaces", Bytes: arena},
		{What: "inputs while they are unpacked, beyond outputs and arena", Bytes: max(0, unpacking-outputs-arena)},
	}
}

// bytesOf gives what tensors take together, and the largest one.
func bytesOf(g *ir.Graph, list []tensorops.Named) (sum, largest int64) {
	for _, x := range list {
		t := tensorops.TensorOf(g, x.Tensor)
		n, _ := t.Range.Size()
		bytes := inMemory(n * int64(t.Type().Size()))
		sum, largest = sum+bytes, max(largest, bytes)
	}
	return sum, largest
}

// inMemory is what a buffer takes.
func inMemory(bytes int64) int64 {
	if bytes < hugeBytes {
		return isa.Align(bytes, 4096) + 4096
	}
	return isa.Align(bytes, hugeBytes)
}
