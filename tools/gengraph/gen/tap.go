package gen

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Tap is the sink that writes the text form, a line for each node.
type Tap struct {
	w     *bufio.Writer
	o     Options
	names []string // by value
}

// NewTap makes a sink that writes to w.
func NewTap(w io.Writer) *Tap { return &Tap{w: bufio.NewWriterSize(w, 1<<16)} }

// Begin writes the header.
func (s *Tap) Begin(o Options) error {
	s.o = o
	_, err := fmt.Fprintln(s.w, "tapc 1")
	return err
}

// name gives a tensor's name in the text: its own, or its number doubled; an operation has the odd number behind it.
func (s *Tap) name(v Value) string {
	if n := s.names[v]; n != "" {
		return "%" + n
	}
	return fmt.Sprintf("%%%d", 2*v)
}

// Input writes a tensor.
func (s *Tap) Input(v Value, name string) error {
	s.names = append(s.names, name)
	_, err := fmt.Fprintf(s.w, "%s = tensor float32 [0:%d, 0:%d]\n", s.name(v), s.o.Extent, s.o.Extent)
	return err
}

// ports writes the ports of an operation with a box behind each tensor, "" for the whole.
func (s *Tap) ports(op Op, box string) string {
	args := make([]string, len(op.Args))
	for i, a := range op.Args {
		args[i] = s.name(a) + box
	}
	in := ""
	switch op.Kernel {
	case "constant":
	case "exp":
		in = "(tensor: " + args[0] + ") "
	case "sub":
		in = "(a: " + args[0] + ", b: " + args[1] + ") "
	default:
		in = "(tensors: [" + strings.Join(args, ", ") + "]) "
	}
	return in + "-> (result: " + s.name(op.Result) + box + ")"
}

// Op writes a tensor, an operation and its shards.
func (s *Tap) Op(op Op, name string) error {
	if err := s.Input(op.Result, name); err != nil {
		return err
	}
	params := ""
	if op.Kernel == "constant" {
		params = "{value: 1.0} "
	}
	if s.o.Shape != Sharded {
		_, err := fmt.Fprintf(s.w, "operation op:%s %s%s\n", op.Kernel, params, s.ports(op, ""))
		return err
	}
	_, err := fmt.Fprintf(s.w, "%%%d = operation op:%s %s%s\n", 2*op.Result+1, op.Kernel, params, s.ports(op, ""))
	rows := s.o.Extent / int64(s.o.Shards)
	for i := range int64(s.o.Shards) {
		box := fmt.Sprintf("[%d:%d, 0:%d]", i*rows, (i+1)*rows, s.o.Extent)
		_, err = fmt.Fprintf(s.w, "application %%%d %s\n", 2*op.Result+1, s.ports(op, box))
	}
	return err
}

// EndChain does nothing.
func (s *Tap) EndChain(Value) error { return nil }

// End writes what is left.
func (s *Tap) End() error { return s.w.Flush() }
