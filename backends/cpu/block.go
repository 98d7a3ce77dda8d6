package cpu

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// block is the one block of memory that holds a program's constants, each as its kernels read it: as it is, in panels, or
// both. The versions of a program share it.
type block struct {
	constants []tensorops.Const
	of        map[ir.NodeID]int // number of the constant of a tensor
	size      map[ir.NodeID]int64
	pieces    []piece
	bytes     int64
}

// piece is a constant in one form.
type piece struct {
	constant int
	offset   int64
	bytes    int64
	panels   *panelLayout // nil for the constant as it is
}

func newBlock(constants []tensorops.Const) *block {
	b := &block{constants: constants, of: map[ir.NodeID]int{}}
	for i, c := range constants {
		b.of[c.Tensor] = i
	}
	return b
}

// place gives the offset of a constant in a form, which is added if it is not there yet.
func (b *block) place(constant int, bytes int64, panels *panelLayout) int64 {
	for _, p := range b.pieces {
		if p.constant == constant && (p.panels == nil) == (panels == nil) && (panels == nil || p.panels.equal(*panels)) {
			return p.offset
		}
	}
	at := b.bytes
	b.pieces = append(b.pieces, piece{constant, at, bytes, panels})
	b.bytes = at + (bytes+63)/64*64
	return at
}

// writeFile writes the block, piece by piece.
func (b *block) writeFile(path string, load LoadConst) error {
	f, err := os.Create(path)
	if err != nil {
		return diag.Fault("%v", err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	at := int64(0)
	for _, p := range b.pieces {
		if err := b.writePiece(w, p, load, p.offset-at); err != nil {
			return err
		}
		at = p.offset + p.bytes
	}
	if _, err := w.Write(make([]byte, b.bytes-at)); err != nil {
		return diag.Fault("%v", err)
	}
	if err := w.Flush(); err != nil {
		return diag.Fault("%v", err)
	}
	return f.Close()
}

// writePiece writes one piece behind some zeros.
func (b *block) writePiece(w io.Writer, p piece, load LoadConst, gap int64) error {
	t, err := load(b.constants[p.constant])
	if err != nil {
		return err
	}
	if _, err := w.Write(make([]byte, gap)); err != nil {
		return diag.Fault("%v", err)
	}
	if p.panels != nil {
		if err := p.panels.pack(w, t.Data); err != nil {
			return diag.Fault("%v", err)
		}
		return nil
	}
	if int64(len(t.Data)) != p.bytes {
		return diag.Fault("a constant has %d bytes, not %d", len(t.Data), p.bytes)
	}
	_, err = w.Write(t.Data)
	return err
}

// assembly writes the file that makes the block part of a program, and gives its path.
func (b *block) assembly(path, file string) error {
	text := fmt.Sprintf(".section .rodata\n.balign 4096\n.globl tapc_constants\ntapc_constants:\n.incbin %q\n"+
		".section .note.GNU-stack,\"\",%%progbits\n", file)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return diag.Fault("%v", err)
	}
	return nil
}

var _ tensorfile.Tensor
