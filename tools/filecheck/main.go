// Command filecheck checks that a text contains what the CHECK directives of a file ask for. It is a drop-in
// replacement for LLVM's FileCheck; see docs/filecheck.md. The engine is package check.
package main

import (
	"os"

	"tensortapestry.org/tapc/tools/filecheck/check"
)

func main() {
	os.Exit(check.Main(check.Command{
		Name: "filecheck", Args: os.Args[1:], Getenv: os.Getenv,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}
