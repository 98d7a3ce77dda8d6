package dot

import (
	"encoding/binary"
	"fmt"
	"math"

	"tensortapestry.org/tapc/ir"
)

var adjectives = [...]string{"red", "green", "blue", "yellow", "orange", "purple", "cyan", "magenta", "lime", "pink", "happy",
	"sleepy", "funny", "silly", "bouncy", "jumpy", "dizzy"}

var nouns = [...]string{"apple", "banana", "cherry", "date", "fig", "grape", "kiwi", "lemon", "mango", "elf", "monkey", "leader",
	"penguin", "tiger", "bear", "lion", "cat", "dog", "fish", "bird"}

// Alias gives the short name of an id, such as funny:date:41: two words and a number, all made from the id. n counts up from 0
// for ids whose names would be the same.
func Alias(u ir.UUID, n int) string {
	word := func(i int) uint32 { return binary.BigEndian.Uint32(u[4*i:]) }
	h := int64(int32(word(0) ^ word(1) ^ word(2) ^ word(3)))
	switch {
	case h == math.MinInt32:
		h = math.MaxInt32
	case h < 0:
		h = -h
	}
	return fmt.Sprintf("%s:%s:%d", adjectives[h%int64(len(adjectives))], nouns[h/int64(len(adjectives))%int64(len(nouns))], h%32+10+int64(n))
}

// aliasesOf names all nodes, each differently, in order.
func aliasesOf(nodes []*item) map[ir.NodeID]string {
	aliases, taken := map[ir.NodeID]string{}, map[string]bool{}
	for _, it := range nodes {
		n := 0
		for taken[Alias(it.uuid, n)] {
			n++
		}
		alias := Alias(it.uuid, n)
		taken[alias] = true
		aliases[it.node.ID] = "«" + alias + "»"
	}
	return aliases
}
