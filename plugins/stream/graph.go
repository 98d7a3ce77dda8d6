package stream

import (
	"io"
	"math"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/wire"
)

// NoLimit is a limit that no graph reaches.
const NoLimit = math.MaxInt64

// Send sends a graph in chunks.
func Send(g *ir.Graph, send func(chunk []byte) error) error {
	w := wire.NewWriter(g)
	for {
		chunk, err := w.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = send(chunk)
		}
		if err != nil {
			return err
		}
	}
}

// Receive reads a graph from the chunks that next gives until it gives io.EOF. What is decoded is bounded by what is read,
// and that by max bytes; more is a *LimitError, and what can not be decoded a *wire.Error. The graph is not verified.
func Receive(next func() ([]byte, error), max int64) (*ir.Graph, error) {
	r := wire.NewReader(dialects.Registry(), wire.Limits{Bytes: NoLimit, Nodes: maxNodes})
	left := max
	for {
		chunk, err := next()
		if err == io.EOF {
			return r.Finish()
		}
		if err != nil {
			return nil, err
		}
		if left -= int64(len(chunk)); left < 0 {
			return nil, &LimitError{What: "bytes", Max: max}
		}
		if err := r.Feed(chunk); err != nil {
			return nil, err
		}
	}
}

// maxNodes bounds the numbers of nodes.
const maxNodes = 1 << 28
