package host

import "tensortapestry.org/tapc/plugins/confine"

// Impatient makes tapc wait for no process whose output has ended, until the function that it gives is called.
func Impatient() func() {
	before := strayPatience
	strayPatience = 0
	return func() { strayPatience = before }
}

// Without leaves layers of the confinement out.
func (o Options) Without(l confine.Layer) Options {
	o.off = l
	return o
}
