// Operators writes the page of ONNX's operators.
//
//	go run ./tools/onnx/operators docs/onnx.md
package main

import (
	"fmt"
	"os"

	"tensortapestry.org/tapc/tools/onnx/operators/page"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: operators FILE")
		os.Exit(2)
	}
	text, err := page.Page()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}
