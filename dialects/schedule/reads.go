package schedule

import "tensortapestry.org/tapc/ir/zspace"

// Reads gives for each operand the least boxes around the cells that statements read, one for each load; the error is of one without 64-bit coordinates.
func Reads(k *Kernel) ([][]zspace.Range, error) { return touched(k, false) }

// Writes gives the same of what statements write, one box for each that stores.
func Writes(k *Kernel) ([][]zspace.Range, error) { return touched(k, true) }

func touched(k *Kernel, write bool) ([][]zspace.Range, error) {
	out := make([][]zspace.Range, len(k.Operands))
	for _, u := range usesOf(k) {
		if u.err != nil {
			return nil, u.err
		}
		if u.write == write && !u.never {
			out[u.operand] = append(out[u.operand], u.hull)
		}
	}
	return out, nil
}
