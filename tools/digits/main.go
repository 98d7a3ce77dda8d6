// Command digits makes the classifier example: it draws synthetic handwritten
// digits, trains a 784-512-512-10 perceptron on them, and writes the weights, ten
// test images with a preview, and the classifier's graph.
//
//	go run ./tools/digits -o examples/classifier
//
// Training takes a minute or two. The same source, flags and machine give the
// same bytes, whatever GOMAXPROCS is. It fails, and writes nothing, if the net is
// not good enough. Imports only the standard library and the packages under
// tools. Read next: train.go, graph.go.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/tools/examples/atomicfile"
)

func main() {
	dir := flag.String("o", "examples/classifier", "directory to write to")
	only := flag.String("only", "all", "what to write: all, or graph (no training)")
	plan := standard
	flag.Uint64Var(&plan.seed, "seed", plan.seed, "seed of the images and of the first weights")
	flag.Parse()
	if flag.NArg() > 0 || (*only != "all" && *only != "graph") {
		fmt.Fprintf(os.Stderr, "digits: unexpected arguments %q, -only=%s\n", flag.Args(), *only)
		os.Exit(2)
	}
	if err := run(*dir, *only == "all", plan); err != nil {
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

// run renders every file before it writes the first.
func run(dir string, train bool, plan plan) error {
	files := map[string][]byte{}
	graph, err := classifier()
	if err != nil {
		return err
	}
	files["classifier.loom.json"] = graph
	if train {
		if err := trained(files, plan); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := atomicfile.Write(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// trained adds the weights and the test images.
func trained(files map[string][]byte, plan plan) error {
	net, err := train(plan, os.Stderr)
	if err != nil {
		return err
	}
	if files["weights.safetensors"], err = weights(net); err != nil {
		return err
	}
	return samples(files, net, plan.seed)
}
