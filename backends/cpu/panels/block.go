package panels

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// Piece is a constant in one form in the program's block of constants: as it is, or in panels for a contraction.
type Piece struct {
	Constant      int // number in Source.Constants
	Offset, Bytes int64
	panels        *Layout // nil for the constant as it is
	part          *Part   // nil for all of the constant
}

// Part is a box of a constant, as a device that reads no more of it has it.
type Part struct {
	DType      string
	Whole, Box zspace.Range
}

func (p *Part) equal(q *Part) bool {
	return p == q || p != nil && q != nil && p.Box.Equal(q.Box)
}

// Write writes the piece, made of the constant's bytes.
func (p Piece) Write(w io.Writer, data []byte) error {
	if p.part != nil {
		data = copies.Part(data, p.part.DType, p.part.Whole, p.part.Box)
	}
	if p.panels != nil {
		return p.panels.pack(w, data)
	}
	if int64(len(data)) != p.Bytes {
		return fmt.Errorf("cpu: a constant has %d bytes, expected %d", len(data), p.Bytes)
	}
	_, err := w.Write(data)
	return err
}

// Packed says whether the piece's bytes are not those of the constant.
func (p Piece) Packed() bool { return p.panels != nil || p.part != nil }

// LoadConst gives the value of a constant.
type LoadConst func(c tensorops.Const) (tensorfile.Tensor, error)

// Store is the one block of memory that holds a program's constants, each as its kernels read it. The versions of a program
// share it.
type Store struct {
	Constants []tensorops.Const
	loads     []LoadConst // of the constants; nil if one loads all
	Pieces    []Piece
	Bytes     int64
}

// Block is a store as the kernels of one graph see it.
type Block struct {
	*Store
	Of   map[ir.NodeID]int // number of the constant of a tensor
	Uses map[int64]int64   // bytes that kernels read, by offset
}

// NewBlock gives the block of one graph.
func NewBlock(constants []tensorops.Const) *Block {
	b := (&Store{Constants: constants}).Block()
	for i, c := range constants {
		b.Of[c.Tensor] = i
	}
	return b
}

// Block gives a block for another graph.
func (b *Store) Block() *Block {
	return &Block{Store: b, Of: map[ir.NodeID]int{}, Uses: map[int64]int64{}}
}

// Name says that a constant of the graph is the one of a number, which is that of an earlier one or the next, with what loads it.
func (b *Block) Name(c tensorops.Const, number int, load LoadConst) {
	if b.Of[c.Tensor] = number; number == len(b.Constants) {
		b.Constants, b.loads = append(b.Constants, c), append(b.loads, load)
	}
}

// Add gives the offset of a constant, or a part of it, in a form, which is added if it is not there yet.
func (b *Block) Add(constant int, bytes int64, panels *Layout, part *Part) int64 {
	for _, p := range b.Pieces {
		if p.Constant == constant && p.part.equal(part) && (p.panels != nil) == (panels != nil) && (panels == nil || p.panels.equal(*panels)) {
			b.Uses[p.Offset] = p.Bytes
			return p.Offset
		}
	}
	at := b.Bytes
	b.Uses[at] = bytes
	b.Pieces = append(b.Pieces, Piece{constant, at, bytes, panels, part})
	b.Bytes = isa.Align(at+max(bytes, 1), 64) // also an empty constant has a place
	return at
}

// WriteFile writes a file that has the block in it.
func (b *Store) WriteFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return diag.Fault("%v", err)
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

// load gives the value of a constant by its number.
func (b *Store) load(number int, load LoadConst) (tensorfile.Tensor, error) {
	if b.loads != nil {
		load = b.loads[number]
	}
	return load(b.Constants[number])
}

// Write writes the block, piece by piece: one constant is in memory at a time.
func (b *Store) Write(to io.Writer, load LoadConst) error {
	w := bufio.NewWriterSize(to, 1<<20) // it keeps its first error until Flush
	at := int64(0)
	for _, p := range b.Pieces {
		t, err := b.load(p.Constant, load)
		if err != nil {
			return err
		}
		w.Write(make([]byte, p.Offset-at))
		if err := p.Write(w, t.Data); err != nil {
			return diag.Fault("%v", err)
		}
		at = p.Offset + p.Bytes
	}
	w.Write(make([]byte, b.Bytes-at))
	if err := w.Flush(); err != nil {
		return diag.Fault("%v", err)
	}
	return nil
}

// Assembly writes the file that makes a block, written to file, part of a program.
func (b *Store) Assembly(path, file string) error {
	text := fmt.Sprintf(".section .rodata\n.balign 4096\n.globl tapc_constants\n.hidden tapc_constants\ntapc_constants:\n.incbin %q\n"+
		".section .note.GNU-stack,\"\",%%progbits\n", file)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return diag.Fault("%v", err)
	}
	return nil
}
