// Package library runs libraries that tapc built (tapc build --emit=lib) on slices, without cgo.
//
//	m, err := library.Open("libmodel.so", library.Options{Threads: 1, Instances: 4})
//	scores := make([]float32, 10)
//	err = m.Run(ctx, library.Values{"image": image}, library.Values{"scores": scores})
//
// A library may also be a part of the program (OpenBytes, with a file that //go:embed took in). It is for Linux, macOS and FreeBSD. It imports nothing
// of tapc, and nothing of tapc but examples and tests imports it. docs/libraries.md is the guide. Read next: model.go.
package library
