package host

import "tensortapestry.org/tapc/plugins/confine"

// Without leaves layers of the confinement out.
func (o Options) Without(l confine.Layer) Options {
	o.off = l
	return o
}
