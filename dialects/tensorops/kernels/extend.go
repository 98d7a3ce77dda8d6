package kernels

import (
	"maps"
	"slices"
)

// With gives a library that has the kernels declared in a text besides those of this one, which stays as it is. A name that
// is there already is an error.
func (l *Library) With(file, text string) (*Library, error) {
	more := &Library{byName: maps.Clone(l.byName), names: slices.Clone(l.names), families: slices.Clone(l.families)}
	if err := more.Load(file, text); err != nil {
		return nil, err
	}
	return more, nil
}
