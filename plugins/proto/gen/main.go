// Command gen writes the Go code of plugin.proto, without protoc: it compiles the file itself and gives the result to the
// generators of protobuf and gRPC, which it runs as tools of its own module. Run it with "go generate" in plugins/proto.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const module = "tensortapestry.org/tapc/plugins/proto"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY FILE.proto...")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(dir string, files []string) error {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := c.Compile(context.Background(), files...)
	if err != nil {
		return err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: proto.String("module=" + module)}
	seen := map[string]bool{}
	for _, f := range compiled {
		req.ProtoFile = appendFile(req.ProtoFile, f, seen)
	}
	for _, tool := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := run(tool, req, dir); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	return nil
}

// appendFile adds a file behind those that it imports.
func appendFile(list []*descriptorpb.FileDescriptorProto, f protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[f.Path()] {
		return list
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		list = appendFile(list, f.Imports().Get(i).FileDescriptor, seen)
	}
	return append(list, protoutil.ProtoFromFileDescriptor(f))
}

// run gives a generator its request and writes the files of its answer.
func run(tool string, req *pluginpb.CodeGeneratorRequest, dir string) error {
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", tool)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s", answer.GetError())
	}
	for _, f := range answer.File {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
