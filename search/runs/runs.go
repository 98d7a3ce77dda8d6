// Package runs finds what repeats in a list, and where to divide it evenly.
//
// It knows no operations: search/layouts gives them numbers, plans equal ones once, and divides them into stages.
package runs

import "strconv"

// maxPeriod bounds how long a repeated part is looked for.
const maxPeriod = 4096

// Run is a part of a list that consists of equal parts: where it begins, how long each part is, and how long the run, 0 where nothing repeats.
type Run struct{ From, Period, Length int }

// Near says whether a place is in the first two parts of the run or in the last one, or beside it: what is in others is the same.
func (r Run) Near(i int) bool {
	return i < r.From+2*r.Period || i >= r.From+r.Length-r.Period
}

// Repeat finds the longest run of parts whose steps are of equal kinds and read what steps equally far before them, or inputs, give.
func (l *List) Repeat(kinds []int) Run {
	made, words, numbers := map[int]int{}, make([]int, len(l.Steps)), Numbers[string]{}
	for i, s := range l.Steps {
		text := strconv.AppendInt(nil, int64(kinds[i]), 10)
		for k, o := range s {
			if o.Out {
				made[o.Tensor] = i
			} else if at, ok := made[o.Tensor]; ok {
				text = strconv.AppendInt(append(text, ' '), int64(k), 10)
				text = strconv.AppendInt(append(text, ' '), int64(i-at), 10)
			}
		}
		words[i], _ = numbers.Of(string(text))
	}
	l.Repeats = Longest(words)
	return l.Repeats
}

// Longest finds the run that has most words, and the shortest part of it.
func Longest(words []int) Run {
	from, period, length := 0, 0, 0
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
	return Run{from, max(period, 1), length}
}

// Numbers gives things numbers in the order in which they come.
type Numbers[K comparable] map[K]int

func (n Numbers[K]) Of(key K) (number int, fresh bool) {
	number, known := n[key]
	if !known {
		number = len(n)
		n[key] = number
	}
	return number, !known
}
