package layouts

import (
	"fmt"
	"strconv"

	"tensortapestry.org/tapc/ir"
)

// repeated gives each operation a number that those have which are planned alike: operations at the same place of a run of equal parts that follow
// each other, as the layers of a network do.
func repeated(steps []step) []int {
	words := fingerprints(steps)
	from, period, length := longest(words)
	class := make([]int, len(steps))
	for i := range class {
		class[i] = i
		if i >= from && i < from+length {
			class[i] = from + (i-from)%period
		}
	}
	return class
}

// terms writes what the graph says that an operation takes; "" of known kernels.
func (o *operation) terms() string {
	if o.said == nil {
		return ""
	}
	return fmt.Sprint(*o.said.Said())
}

// fingerprints gives operations numbers that are equal where operations are, and read what operations equally far before them, or inputs, give.
func fingerprints(steps []step) []int {
	made, words := map[ir.NodeID]int{}, make([]int, len(steps))
	numbers, alone := numbers[string]{}, map[*step]int{}
	for i, s := range steps {
		n, ok := alone[s.like]
		if !ok {
			n, _ = numbers.of(s.op.text())
			alone[s.like] = n
		}
		text := strconv.AppendInt(nil, int64(n), 10)
		for k, a := range s.op.operands {
			if a.out {
				made[s.tensors[k]] = i
			} else if at, ok := made[s.tensors[k]]; ok {
				text = strconv.AppendInt(append(text, ' '), int64(k), 10)
				text = strconv.AppendInt(append(text, ' '), int64(i-at), 10)
			}
		}
		words[i], _ = numbers.of(string(text))
	}
	return words
}

// text is what of an operation its plans and prices depend on.
func (o *operation) text() string {
	b := fmt.Appendf(nil, "%v %v %s", o.dims, o.work, o.terms())
	for _, a := range o.operands {
		b = fmt.Appendf(b, "%v %v %v %v;", a.out, a.dims, a.halo, a.bytes)
	}
	return string(b)
}

// maxPeriod bounds how long a repeated part is looked for.
const maxPeriod = 4096

// longest finds the run of equal parts that has most operations, and the shortest part of it.
func longest(words []int) (from, period, length int) {
	for p := 1; p <= min(len(words)/2, maxPeriod); p++ {
		run := 0
		for i := p; i <= len(words); i++ {
			if i < len(words) && words[i] == words[i-p] {
				run++
				continue
			}
			if n := run + p; run >= p && n > length {
				from, period, length = i-n, p, n
			}
			run = 0
		}
	}
	return from, max(period, 1), length
}
