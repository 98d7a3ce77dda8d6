package planfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxDevices bounds the points of a mesh.
const MaxDevices = 1 << 16

// Mesh is a box of devices: its axes, the first of which varies slowest in the numbers of devices.
type Mesh []Axis

// Axis is one dimension of a mesh.
type Axis struct {
	Name string
	Size int64
}

// Devices is the number of devices.
func (m Mesh) Devices() int64 {
	n := int64(1)
	for _, a := range m {
		n *= a.Size
	}
	return n
}

// Find gives the number of an axis, or -1.
func (m Mesh) Find(name string) int {
	return slices.IndexFunc(m, func(a Axis) bool { return a.Name == name })
}

// Axes are axes of a mesh, by their numbers: those along which one dimension is cut, the first of which varies slowest.
type Axes []int

// Layout says for each dimension of a tensor along which axes it is cut; Open, which may have axes added.
type Layout struct {
	Dims []Axes
	Open []bool
}

// Text writes a layout with the names of a mesh's axes: "[x, -, y*z]".
func (m Mesh) Text(dims []Axes) string {
	parts := make([]string, len(dims))
	for i, axes := range dims {
		parts[i] = m.Names(axes)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Names writes axes: "x*y", or "-" for none.
func (m Mesh) Names(axes Axes) string {
	if len(axes) == 0 {
		return "-"
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = m[a].Name
	}
	return strings.Join(names, "*")
}

// Parts is the number of parts that axes cut a dimension into.
func (m Mesh) Parts(axes Axes) int64 {
	n := int64(1)
	for _, a := range axes {
		n *= m[a].Size
	}
	return n
}

// Place is the number of the part that a device has of what axes cut.
func (m Mesh) Place(axes Axes, device int64) (n int64) {
	at := make([]int64, len(m))
	for i, a := range slices.Backward(m) {
		at[i], device = device%a.Size, device/a.Size
	}
	for _, a := range axes {
		n = n*m[a].Size + at[a]
	}
	return n
}

var axisName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (r *reader) mesh(p *Plan, f *file) error {
	for i, x := range f.Mesh {
		at := fmt.Sprintf("/mesh/%d", i)
		switch {
		case !axisName.MatchString(x.Axis):
			return r.fault("TAP0837", at, "the axis has no name").Want(`"axis": a letter, then letters and digits`, fmt.Sprintf("%q", x.Axis))
		case p.Mesh.Find(x.Axis) >= 0:
			return r.fault("TAP0837", at, "axis %s is there twice", x.Axis).Want("one axis of each name", x.Axis)
		case x.Size < 1 || x.Size > MaxDevices || p.Mesh.Devices()*x.Size > MaxDevices:
			return r.fault("TAP0837", at, "the mesh has a size that none can have").Want(fmt.Sprintf("1 to %d devices in all", MaxDevices), fmt.Sprint(x.Size))
		}
		p.Mesh = append(p.Mesh, Axis{x.Axis, x.Size})
	}
	return nil
}

func (r *reader) tensors(p *Plan, f *file) error {
	seen := map[string]bool{}
	for i, x := range f.Tensors {
		at := fmt.Sprintf("/tensors/%d", i)
		switch {
		case x.Tensor == "":
			return r.fault("TAP0838", at, "the annotation names no tensor").Want(`"tensor": a label`, "none")
		case seen[x.Tensor]:
			return r.fault("TAP0838", at+"/tensor", "tensor %s is annotated twice", x.Tensor).Want("one annotation", "another")
		}
		seen[x.Tensor] = true
		layout, err := r.layout(p.Mesh, at, x)
		if err != nil {
			return err
		}
		partial, err := r.partial(p.Mesh, at+"/partial", x, layout)
		if err != nil {
			return err
		}
		p.Tensors = append(p.Tensors, Annotation{Tensor: x.Tensor, Layout: layout, Partial: partial, Priority: x.Priority, From: r.at(at)})
	}
	return nil
}

// layout reads the dimensions of an annotation: axes with "*" between, "" or "-" for none, with "?" behind where more may be added.
func (r *reader) layout(m Mesh, at string, x fileTensor) (Layout, error) {
	var l Layout
	used := map[int]bool{}
	for d, text := range x.Dims {
		at := fmt.Sprintf("%s/dims/%d", at, d)
		names, open := strings.CutSuffix(strings.TrimSpace(text), "?")
		var axes Axes
		for _, name := range strings.Split(names, "*") {
			if name = strings.TrimSpace(name); names == "" || names == "-" {
				break
			}
			a := m.Find(name)
			if a < 0 {
				return l, r.fault("TAP0838", at, "the mesh has no axis %q", name).Want("an axis of "+m.axes(), text)
			}
			if used[a] {
				return l, r.fault("TAP0838", at, "axis %s cuts tensor %s twice", name, x.Tensor).Want("each axis at most once", text)
			}
			used[a] = true
			axes = append(axes, a)
		}
		l.Dims, l.Open = append(l.Dims, axes), append(l.Open, open)
	}
	return l, nil
}

// partial reads the axes along which a tensor is not combined yet: none that cuts it.
func (r *reader) partial(m Mesh, at string, x fileTensor, l Layout) (axes Axes, err error) {
	for i, name := range x.Partial {
		a := m.Find(name)
		if a < 0 {
			return nil, r.fault("TAP0838", fmt.Sprint(at, "/", i), "the mesh has no axis %q", name).Want("an axis of "+m.axes(), name)
		}
		if slices.Contains(axes, a) || slices.ContainsFunc(l.Dims, func(d Axes) bool { return slices.Contains(d, a) }) {
			return nil, r.fault("TAP0839", fmt.Sprint(at, "/", i), "tensor %s lies on axis %s twice", x.Tensor, name).Want("each axis at most once, cut or partial", name)
		}
		axes = append(axes, a)
	}
	return axes, nil
}

func (m Mesh) axes() string {
	if len(m) == 0 {
		return "a mesh, which the plan does not have"
	}
	var names []string
	for _, a := range m {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}
