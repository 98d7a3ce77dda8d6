package cpu

import (
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
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

// peakBytes is what a program that runs on one thread has in memory at most. Inputs are read before anything is written to the
// arena and the outputs; a packed one is there twice more while it is unpacked. (An archive's table of contents comes on top.)
func (p *program) peakBytes() int64 {
	largest := int64(0)
	tensors := func(list []tensorops.Named) (sum int64) {
		for _, x := range list {
			t := tensorops.TensorOf(p.g, x.Tensor)
			n, _ := t.Range.Size()
			bytes := inMemory(n * int64(t.Type().Size()))
			sum += bytes
			largest = max(largest, bytes)
		}
		return sum
	}
	inputs := tensors(p.Inputs)
	unpacking := 2 * largest
	steps := int64(0)
	for _, id := range p.steps {
		if _, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			steps++
		}
	}
	return processBytes + steps*stepBytes + p.OnStack + p.Block.Bytes + inputs + max(tensors(p.Outputs)+inMemory(p.ArenaBytes()), unpacking)
}

// inMemory is what a buffer takes.
func inMemory(bytes int64) int64 {
	if bytes < hugeBytes {
		return isa.Align(bytes, 4096) + 4096
	}
	return isa.Align(bytes, hugeBytes)
}
