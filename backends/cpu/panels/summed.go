package panels

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// Summed writes a block, and knows the digest and the check of what was written.
type Summed struct {
	hash  hash.Hash
	check check
	to    io.Writer
}

// NewSummed writes to something.
func NewSummed(to io.Writer) *Summed { return &Summed{hash: sha256.New(), to: to} }

// Digest is the SHA-256.
func (s *Summed) Digest() []byte { return s.hash.Sum(nil) }

// Check is the number of check_of in runtime/csrc/weights.c.
func (s *Summed) Check() uint64 { return s.check.sum() }

// Write is as an io.Writer has it.
func (s *Summed) Write(p []byte) (int, error) {
	s.hash.Write(p)
	s.check.write(p)
	return s.to.Write(p)
}

// check is that number. Each lane takes every eighth word.
type check struct {
	lanes [8]uint64
	rest  []byte // less than a word for each lane
}

const checkFactor = 0x9e3779b97f4a7c15

func (c *check) write(p []byte) {
	const step = 8 * len(c.lanes)
	if len(c.rest) > 0 {
		n := min(len(p), step-len(c.rest))
		c.rest, p = append(c.rest, p[:n]...), p[n:]
		if len(c.rest) < step {
			return
		}
		c.words(c.rest)
		c.rest = c.rest[:0]
	}
	for ; len(p) >= step; p = p[step:] {
		c.words(p)
	}
	c.rest = append(c.rest, p...)
}

func (c *check) words(p []byte) {
	for i := range c.lanes {
		c.lanes[i] = (c.lanes[i] ^ binary.LittleEndian.Uint64(p[8*i:])) * checkFactor
	}
}

func (c *check) sum() (all uint64) {
	for _, x := range c.lanes {
		all = (all ^ x ^ x>>32) * checkFactor
	}
	return all
}
