package loomdoc

// Linear describes result = x A + b with its signature, for x [batch, in],
// A [in, out], b [out] and result [batch, out]. The index is that of a result
// that begins at 0; every range may begin anywhere.
func Linear(label string, x, a, b, result Tensor) Op {
	s := result.Range.Shape()
	in := x.Range.Shape()[1]
	return Op{
		Label: label, Kernel: "op:linear",
		In:    Operands{"x": {x}, "A": {a}, "b": {b}},
		Out:   Operands{"result": {result}},
		Index: &Range{Start: []int{0, 0}, End: s},
		Signature: &Signature{
			Inputs: map[string][]Projection{
				"x": {Project([][]int{{1, 0}, {0, 0}}, x.Range.Start, []int{1, in})},
				"A": {Project([][]int{{0, 0}, {0, 1}}, a.Range.Start, []int{in, 1})},
				"b": {Project([][]int{{0, 1}}, b.Range.Start, []int{1})},
			},
			Outputs: map[string][]Projection{"result": {Identity(result.Range.Start)}},
		},
	}
}

// Matmul describes Z = X Y with its signature, for X [rows, in], Y [in, cols]
// and Z [rows, cols].
func Matmul(label string, x, y, z Tensor) Op {
	in := x.Range.Shape()[1]
	return Op{
		Label: label, Kernel: "op:matmul",
		In:    Operands{"X": {x}, "Y": {y}},
		Out:   Operands{"Z": {z}},
		Index: &Range{Start: []int{0, 0}, End: z.Range.Shape()},
		Signature: &Signature{
			Inputs: map[string][]Projection{
				"X": {Project([][]int{{1, 0}, {0, 0}}, x.Range.Start, []int{1, in})},
				"Y": {Project([][]int{{0, 0}, {0, 1}}, y.Range.Start, []int{in, 1})},
			},
			Outputs: map[string][]Projection{"Z": {Identity(z.Range.Start)}},
		},
	}
}

// Cellwise describes a kernel that computes each cell of result from the same
// cells of the tensors at one input port, with its signature.
func Cellwise(label, kernel, port string, tensors []Tensor, result Tensor) Op {
	maps := make([]Projection, len(tensors))
	for i, t := range tensors {
		maps[i] = Identity(t.Range.Start)
	}
	shape := result.Range.Shape()
	return Op{
		Label: label, Kernel: kernel,
		In:    Operands{port: tensors},
		Out:   Operands{"result": {result}},
		Index: &Range{Start: make([]int, len(shape)), End: shape},
		Signature: &Signature{
			Inputs:  map[string][]Projection{port: maps},
			Outputs: map[string][]Projection{"result": {Identity(result.Range.Start)}},
		},
	}
}
