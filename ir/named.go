package ir

import (
	"slices"
	"strings"
)

// SortByName gives a list in the order of its entries' names; of equal names the earlier entry comes first. It tells of each entry whose
// name an earlier one has, by its number in the list that was given, in the order of the result.
func SortByName[E any](list []E, name func(*E) string, twice func(i int)) []E {
	sorted := true
	for i := 1; i < len(list) && sorted; i++ {
		sorted = name(&list[i-1]) < name(&list[i])
	}
	if sorted {
		return list
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(name(&list[a]), name(&list[b])) })
	out := make([]E, 0, len(list))
	for i, k := range order {
		if i > 0 && name(&list[order[i-1]]) == name(&list[k]) {
			twice(k)
		}
		out = append(out, list[k])
	}
	return out
}
