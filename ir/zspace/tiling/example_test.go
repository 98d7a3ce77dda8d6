package tiling_test

import (
	"fmt"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

func ExampleCheck() {
	a, _ := zspace.ParseRange("[0:4, 0:3]")
	b, _ := zspace.ParseRange("[3:8, 0:3]")
	fault, _ := tiling.Check(zspace.MustShape(8, 3), []zspace.Range{a, b})
	fmt.Println(fault)
	// Output:
	// overlap: parts 0 and 1 share zr[3:4, 0:3]
}
