// Vocabulary writes the page that says which operators of ONNX and of TensorFlow are each kernel.
//
//	go run ./tools/vocabulary docs/vocabularies.md
package main

import (
	"fmt"
	"os"

	"tensortapestry.org/tapc/tools/vocabulary/page"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vocabulary FILE")
		os.Exit(2)
	}
	text, err := page.Page()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vocabulary:", err)
		os.Exit(1)
	}
}
