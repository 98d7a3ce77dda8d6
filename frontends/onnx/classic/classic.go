// Package classic maps the operators of ai.onnx.ml that rules can not say: decision trees and support vector machines, whose attributes
// are lists that refer to each other. It checks the lists; what is computed is said in frontends/mapping/rules/onnx_ml.map.
// It must not import frontends/onnx, which lists its operators. Read next: trees.go.
package classic

import (
	"maps"

	"tensortapestry.org/tapc/frontends/mapping"
)

// Natives gives the operators, by domain and type.
func Natives() map[string]mapping.Native {
	all := maps.Clone(trees)
	maps.Copy(all, machines)
	return all
}
