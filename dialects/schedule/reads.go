package schedule

import "tensortapestry.org/tapc/ir/zspace"

// Reads gives for each operand of a kernel the least boxes around the cells that its statements read, one for each place that reads it; none for what
// is written, or never read. The error says that a place has no 64-bit coordinates. Operands need no buffers.
func Reads(k *Kernel) ([][]zspace.Range, error) {
	out := make([][]zspace.Range, len(k.Operands))
	for _, u := range usesOf(k) {
		if u.err != nil {
			return nil, u.err
		}
		if !u.write && !u.never {
			out[u.operand] = append(out[u.operand], u.hull)
		}
	}
	return out, nil
}
