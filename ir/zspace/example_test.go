package zspace_test

import (
	"fmt"

	"tensortapestry.org/tapc/ir/zspace"
)

// A matrix product reads whole rows of its left operand: each index point (row,
// column) selects a box of shape [1, 5].
func ExampleProjectionMap_Apply() {
	left, _ := zspace.ParseProjectionMap("(d0, d1) -> [d0 - 10, 0] + [1, 5]")
	index := zspace.MustShape(10, 12)
	shards, _ := index.Split(0, 4)
	for _, shard := range shards {
		selected, _ := left.Apply(shard)
		fmt.Println(shard, "reads", selected)
	}
	// Output:
	// zr[0:4, 0:12] reads zr[-10:-6, 0:5]
	// zr[4:8, 0:12] reads zr[-6:-2, 0:5]
	// zr[8:10, 0:12] reads zr[-2:0, 0:5]
}

func ExampleProjectionMap_FindCollision() {
	sum, _ := zspace.ParseProjectionMap("(d0, d1) -> [d0] + [1]")
	c, found, _, _ := sum.FindCollision(zspace.MustShape(4, 4), zspace.SearchBudget)
	fmt.Println(found, c.A, c.B, "both write", c.Cell)
	// Output:
	// true [0, 0] [0, 1] both write [0]
}

func ExampleProjectionMap_ShardableDims() {
	out, _ := zspace.ParseProjectionMap("(d0, d1) -> [d0] + [1]")
	for _, v := range out.ShardableDims(zspace.MustShape(4, 4)) {
		fmt.Println(v.Dim, v.OK, v.Reason)
	}
	// Output:
	// 0 true in output dimension 0 a step of d0 moves 1 cells and writes 1
	// 1 false overlap: the output does not depend on d1, so all shards would write the same cells
}
