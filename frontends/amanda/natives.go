package amanda

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
)

// IsOutput says whether an operation that Lower made gives a value the name of an output, as no vocabulary's do.
func IsOutput(domain, op string) bool { return domain == "tapc" && op == Output }

// Natives are what the operations that Lower makes are mapped by.
func Natives() map[string]mapping.Native {
	return map[string]mapping.Native{"tapc:" + Output: func(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
		v, err := r.Value(op.In[0])
		return []foreign.Value{v}, err
	}}
}
