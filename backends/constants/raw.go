package constants

import (
	"encoding/base64"
	"fmt"
	"io"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// raw gives a constant that is its tensor's own bytes: in the graph, or from an offset of a file on. The number of bytes is
// checked before any is read.
func (l *Loader) raw(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	out := tensorfile.Tensor{DType: t.Type(), Shape: t.Range.Shape()}
	n, err := t.Range.Size()
	if err != nil {
		return out, err
	}
	if out.DType == scalar.Invalid || n > maxRaw {
		return out, fmt.Errorf("%s%v: expected at most %d elements of a known dtype", t.DType, out.Shape, int64(maxRaw))
	}
	size := n * int64(out.DType.Size())
	if c.File == "" {
		out.Data, err = base64.StdEncoding.DecodeString(c.Bytes)
		if err == nil && int64(len(out.Data)) != size {
			err = fmt.Errorf("expected %d bytes, found %d", size, len(out.Data))
		}
	} else {
		out.Data, err = l.part(c.File, c.Offset, size)
	}
	if err != nil {
		return out, err
	}
	return out, out.Check()
}

// maxRaw bounds the elements of a constant.
const maxRaw = 1 << 40

func (l *Loader) part(file string, offset, size int64) ([]byte, error) {
	path, err := l.Path(file)
	if err != nil {
		return nil, err
	}
	f, err := inputfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if offset > info.Size() || size > info.Size()-offset {
		return nil, fmt.Errorf("%s: expected %d bytes at %d, and the file has %d", file, size, offset, info.Size())
	}
	data := make([]byte, size)
	_, err = io.ReadFull(io.NewSectionReader(f, offset, size), data)
	return data, err
}
