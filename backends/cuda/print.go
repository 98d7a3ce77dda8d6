package cuda

import (
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/codegen"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/ir/scalar"
)

// StaticShared is how many bytes of shared memory a block has without asking for more when it is launched.
const StaticShared = 48 << 10

// printer writes a tree as a CUDA kernel. What a tree leaves open, and a compiler decides, is nothing but registers.
type printer struct {
	cnest.Tree
	lane   string // the variable of the loop of lanes
	shared []*tree.Memory
	launch *launch
}

// launch is what a printed kernel asks for.
type launch struct {
	blocks, lanes int64
	dynamic       int64 // bytes of shared memory
	async         bool  // it uses the functions of tapc_device.cuh
}

// printTree writes the kernel of a tree with one loop of blocks, which has one of lanes; wide: its indices may not fit 32 bits.
func printTree(t *cnest.Text, w *cexpr.Writer, f *tree.Func, params []string, wide bool) (*launch, error) {
	if len(f.Body) != 1 {
		return nil, fmt.Errorf("%d regions, and a kernel is one", len(f.Body))
	}
	p := &printer{Tree: cnest.Tree{Text: t, Index: "int", W: w}, launch: &launch{}}
	p.Stmt = p.stmt
	blocks, ok := f.Body[0].(*tree.For)
	if !ok || blocks.Bind != tree.Block {
		return nil, fmt.Errorf("no loop of blocks")
	}
	p.launch.blocks, _ = blocks.To.Number()
	for _, m := range f.Operands {
		if wide || m.Elements() > math.MaxInt32 {
			p.Index = "int64_t"
		}
	}
	for _, s := range blocks.Body {
		switch s := s.(type) {
		case *tree.Declare:
			p.shared = append(p.shared, s.Memory)
		case *tree.For:
			if p.launch.lanes, ok = s.To.Number(); !ok || s.Bind != tree.Lane || p.lane != "" {
				return nil, fmt.Errorf("no single loop of lanes")
			}
			p.lane = s.Var.Name
			t.Open("extern \"C\" __global__ void __launch_bounds__(%d) %s(%s) {", p.launch.lanes, f.Name, strings.Join(params, ", "))
			p.declareShared()
			t.Line("const %s %s = blockIdx.x;", p.Index, blocks.Var.Name)
			t.Line("const %s %s = threadIdx.x;", p.Index, s.Var.Name)
			p.List(s.Body)
			t.Close()
		default:
			return nil, fmt.Errorf("blocks have memory and lanes, and nothing else")
		}
	}
	if p.lane == "" {
		return nil, fmt.Errorf("no loop of lanes")
	}
	return p.launch, nil
}

// declareShared declares the memory of the block: arrays, or parts of one that is asked for at the launch where they take more than every
// block has.
func (p *printer) declareShared() {
	total := int64(0)
	for _, m := range p.shared {
		total += (m.Bytes() + 15) / 16 * 16
	}
	if total <= StaticShared {
		for _, m := range p.shared {
			p.Line("__shared__ __align__(16) %s %s[%d];", p.Element(m), m.Name, m.Elements())
		}
		return
	}
	p.launch.dynamic = total
	p.Line("extern __shared__ __align__(16) unsigned char tapc_shared[];")
	at := int64(0)
	for _, m := range p.shared {
		p.Line("%s *const %s = (%s *)(tapc_shared + %d);", p.Element(m), m.Name, p.Element(m), at)
		at += (m.Bytes() + 15) / 16 * 16
	}
}

func (p *printer) stmt(s tree.Stmt) {
	switch s := s.(type) {
	case *tree.For:
		p.For(s, "#pragma unroll")
	case *tree.Let:
		p.Let(s)
	case *tree.If:
		p.If(s)
	case *tree.Declare:
		p.Line("%s %s[%d];", p.Element(s.Memory), s.Memory.Name, s.Memory.Elements())
	case *tree.At:
		p.At(s)
	case *tree.Branch:
		p.Branch(s)
	case *tree.Map:
		p.Map(s)
	case *tree.Dot:
		p.dot(s)
	case *tree.Combine:
		p.combine(s)
	case *tree.Copy:
		p.copy(s)
	case tree.Commit:
		p.launch.async = true
		p.Line("tapc_cp_async_commit();")
	case tree.Wait:
		p.launch.async = true
		p.Line("tapc_cp_async_wait<%d>();", s.Pending)
	case tree.Barrier:
		p.Line("__syncthreads();")
	}
}

// dot writes the micro-kernel: a lane reads a column of A and a row of B into registers, and adds their products.
func (p *printer) dot(s *tree.Dot) {
	t := s.Acc.Type
	k := s.K.Name
	if s.Trips() <= 64 {
		p.Line("#pragma unroll")
	} else {
		p.Line("#pragma unroll 4")
	}
	p.Open("for (%s %s = %s; %s < %s; %s++) {", p.Index, k, s.From, k, s.To, k)
	p.Line("%s a[%d], b[%d];", p.W.Type(t), s.Rows(), s.Cols())
	p.each(s.R, s.Rows(), func() { p.Line("a[%s] = %s;", s.R.Name, p.Value(s.A)) })
	p.each(s.C, s.Cols(), func() { p.Line("b[%s] = %s;", s.C.Name, p.Value(s.B)) })
	p.each(s.R, s.Rows(), func() {
		p.each(s.C, s.Cols(), func() {
			acc := cnest.Lvalue(tree.Access{Memory: s.Acc, At: []*tree.Index{tree.Use(s.R), tree.Use(s.C)}})
			product := p.W.Apply(scalar.Mul, t.Wide(), t.Wide(), fmt.Sprintf("a[%s]", s.R.Name), fmt.Sprintf("b[%s]", s.C.Name))
			p.Line("%s = %s;", acc, p.W.Apply(scalar.Add, t.Wide(), t.Wide(), acc, product))
		})
	})
	p.Close()
}

// each writes an unrolled loop.
func (p *printer) each(v *tree.Var, n int64, body func()) {
	p.Line("#pragma unroll")
	p.Open("for (int %s = 0; %s < %d; %s++) {", v.Name, v.Name, n, v.Name)
	body()
	p.Close()
}

// combine writes the steps in which lanes, and then warps through shared memory, combine what they have.
func (p *printer) combine(s *tree.Combine) {
	v, t := cnest.Lvalue(s.Value), s.Value.Memory.Type.Wide()
	shuffle := func(lanes int64) {
		for d := int64(1); d < lanes; d *= 2 {
			p.Line("%s = %s;", v, p.W.Apply(s.Monoid, t, t, v, p.exchanged(t, v, d)))
		}
	}
	shuffle(min(s.Lanes, codegen.WarpLanes))
	if s.Lanes <= codegen.WarpLanes {
		return
	}
	p.Line("if (%s %% 32 == 0) %s[%s / 32] = %s;", p.lane, s.Scratch.Name, p.lane, v)
	p.Line("__syncthreads();")
	p.Line("%s = %s[%s %% %d];", v, s.Scratch.Name, p.lane, s.Lanes/codegen.WarpLanes)
	shuffle(s.Lanes / codegen.WarpLanes)
	p.Line("__syncthreads();")
}

// exchanged writes the value that the lane at a distance has: numbers of fewer than 4 bytes travel as int.
func (p *printer) exchanged(t scalar.DType, v string, distance int64) string {
	text := fmt.Sprintf("__shfl_xor_sync(0xffffffffu, %s, %d)", v, distance)
	if t.Size() < 4 {
		return fmt.Sprintf("(%s)__shfl_xor_sync(0xffffffffu, (int)%s, %d)", p.W.Type(t), v, distance)
	}
	if !t.IsFloat() && t.Size() == 8 { // the 64-bit integers of <stdint.h> are long, those of the function long long
		return fmt.Sprintf("(%s)__shfl_xor_sync(0xffffffffu, (long long)%s, %d)", p.W.Type(t), v, distance)
	}
	return text
}

func (p *printer) copy(s *tree.Copy) {
	bytes := s.Count * int64(s.Dst.Memory.Type.Size())
	switch {
	case s.Async:
		p.launch.async = true
		p.Line("tapc_cp_async_%d(&%s, &%s);", bytes, cnest.Lvalue(s.Dst), cnest.Lvalue(s.Src))
	case s.Count == 1:
		p.Line("%s = %s;", cnest.Lvalue(s.Dst), cnest.Lvalue(s.Src))
	default:
		p.Line("__builtin_memcpy(&%s, &%s, %d);", cnest.Lvalue(s.Dst), cnest.Lvalue(s.Src), bytes)
	}
}
