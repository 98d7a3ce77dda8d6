// Command linear-relu is a plugin for tapc with one pass, which merges a linear operation and the relu behind it into one
// linear operation with the activation relu.
//
// It is an example of a whole plugin: main.go is what it provides, merge.go is the rewrite, and main_test.go runs the
// conformance kit over it. See docs/plugins.md.
package main

import "tensortapestry.org/tapc/plugins"

func main() { plugins.Serve(plugin()) }

func plugin() plugins.Plugin {
	return plugins.Plugin{
		Name:    "linear-relu",
		Version: "1.0.0",
		Doc:     "Merges relu into the linear operation before it.",
		Passes: []plugins.Pass{{
			Name: "linear-relu",
			Doc:  "Merge linear and the relu behind it into one linear operation with an activation.",
			Run:  merge,
		}},
	}
}
