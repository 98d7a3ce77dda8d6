package kernels

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
)

// Parse reads kernel declarations and works out every case of theirs.
func Parse(file, text string) ([]*declaration.Kernel, error) {
	decls, err := declaration.Parse(file, text)
	for _, d := range decls {
		if line, err := example.Check(d); err != nil {
			return nil, &declaration.SyntaxError{File: file, Line: line, Err: fmt.Errorf("kernel %s: %w", d.Name, err)}
		}
	}
	return decls, err
}
