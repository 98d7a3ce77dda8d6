package compare

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields in ONNX's protobuf.
const (
	modelGraph     = 7
	graphOutput    = 12
	valueInfoName  = 1
	nothingInModel = "it has no graph"
)

// WithOutputs gives a model with further outputs: tensors between its operations, by name. Fields of a protobuf message may come again, so they go
// behind the graph's own. The types of outputs are left for who reads the model to find.
func WithOutputs(model []byte, names []string) ([]byte, error) {
	var out, more []byte
	for _, name := range names {
		info := protowire.AppendString(protowire.AppendTag(nil, valueInfoName, protowire.BytesType), name)
		more = protowire.AppendBytes(protowire.AppendTag(more, graphOutput, protowire.BytesType), info)
	}
	found := false
	for rest := model; len(rest) > 0; {
		num, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(num, kind, rest[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		field := rest[:n+size]
		if num == modelGraph && kind == protowire.BytesType {
			graph, _ := protowire.ConsumeBytes(rest[n:])
			field = protowire.AppendBytes(protowire.AppendTag(nil, num, kind), append(graph[:len(graph):len(graph)], more...))
			found = true
		}
		out, rest = append(out, field...), rest[n+size:]
	}
	if !found {
		return nil, errors.New(nothingInModel)
	}
	return out, nil
}
