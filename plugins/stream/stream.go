// Package stream carries graphs and files over a gRPC stream in chunks, and puts them together again within limits.
//
// It knows chunks and the form of graphs inside them, not the messages that chunks travel in. The SDK (package plugins) and
// plugins/host share it; it must not import them. Read next: plugins/proto/plugin.proto.
package stream

import "fmt"

// ChunkSize is the greatest size of a chunk that is sent, in bytes.
const ChunkSize = 1 << 20

// MaxMessage is the greatest size of a message that either side takes: a chunk and what stands around it, or a report.
const MaxMessage = 4 << 20

// Writer cuts what is written into chunks. Each slice that send gets is its own to keep.
type Writer struct {
	send func(chunk []byte) error
	buf  []byte
}

// NewWriter makes a writer that sends chunks of ChunkSize; the last one may be shorter.
func NewWriter(send func(chunk []byte) error) *Writer { return &Writer{send: send} }

// Write adds bytes to the present chunk and sends those that are full.
func (w *Writer) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := min(len(p)-n, ChunkSize-len(w.buf))
		w.buf = append(w.buf, p[n:n+k]...)
		n += k
		if len(w.buf) == ChunkSize {
			if err := w.Flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Flush sends what has gathered, if anything.
func (w *Writer) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	chunk := w.buf
	w.buf = nil
	return w.send(chunk)
}

// LimitError says that a stream carried more than it may.
type LimitError struct {
	What string
	Max  int64
}

// Error names the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Max, e.What) }
