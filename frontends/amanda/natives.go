package amanda

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
)

// IsAdded says whether an operation is one that Lower adds to a graph, and of no vocabulary: an Output or an Order.
func IsAdded(domain, op string) bool {
	return domain == foreign.Added && (op == Output || op == foreign.Order)
}

// Natives are what the operations that Lower adds are mapped by, and TensorFlow's for nothing but an order.
func Natives() map[string]mapping.Native {
	none := func(*mapping.Region, *foreign.Op) ([]foreign.Value, error) { return nil, nil }
	return map[string]mapping.Native{
		foreign.Added + ":" + Output: func(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
			v, err := r.Value(op.In[0])
			return []foreign.Value{v}, err
		},
		foreign.Added + ":" + foreign.Order: none,
		":" + nothing:                       none,
	}
}
