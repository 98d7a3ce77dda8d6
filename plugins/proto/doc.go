// Package proto is the Go code of plugin.proto, the protocol between tapc and its plugins.
//
// The .pb.go files are generated, by a program that needs nothing but Go ("go generate"), and checked in. Only plugins and
// plugins/host use this package. Read next: plugin.proto, then docs/plugins.md.
package proto

//go:generate go run -C gen . .. plugin.proto

import _ "embed"

// Schema is plugin.proto.
//
//go:embed plugin.proto
var Schema []byte
