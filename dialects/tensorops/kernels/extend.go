package kernels

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
)

// With gives a library that has the kernels declared in a text besides those of this one, which stays as it is. Their names
// are in a namespace that is none of tapc's, so that no kernel that tapc gains takes them: in space, or in any if that is "".
// A name that is there already is an error.
func (l *Library) With(file, text, space string) (*Library, error) {
	more := &Library{byName: maps.Clone(l.byName), names: slices.Clone(l.names), families: slices.Clone(l.families)}
	err := more.load(file, text, func(file, text string) ([]*declaration.Kernel, error) {
		decls, err := Parse(file, text)
		for _, d := range decls {
			if err := checkSpace(d.Name, space); err != nil {
				return nil, &declaration.SyntaxError{File: file, Line: d.Line, Err: err}
			}
		}
		return decls, err
	})
	if err != nil {
		return nil, err
	}
	return more, nil
}

// checkSpace says whether a kernel that is none of tapc's may have a name.
func checkSpace(name, space string) error {
	own, bare, ok := strings.Cut(name, ":")
	want := "a name in a namespace of its own, such as mine:" + bare
	switch {
	case space != "" && !ok:
		want = fmt.Sprintf("the name %s:%s", space, name)
	case space != "" && own != space:
		want = fmt.Sprintf("the name %s:%s", space, bare)
	case !ok:
		want = "a name in a namespace, such as mine:" + name
	case !slices.Contains(namespaces, own):
		return nil
	}
	return fmt.Errorf("a kernel's name: expected %s, found %q", want, name)
}
