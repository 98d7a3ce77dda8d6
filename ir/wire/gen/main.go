// Command gen writes tapc.proto, the schema of the protobuf form, from the field declarations of the dialects. It is run in the
// folder of package wire, by go generate.
package main

import (
	"fmt"
	"os"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/wire"
)

func main() {
	file := "tapc.proto"
	if _, err := os.Stat("schema.go"); err != nil { // run from the root of the module
		file = "ir/wire/" + file
	}
	if err := write(file, wire.Schema(dialects.Registry())); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write replaces a file as a whole.
func write(file string, data []byte) error {
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
