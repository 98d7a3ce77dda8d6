package planfile

import (
	"encoding/json"
	"fmt"

	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Device is one that a plan has. Memory is in bytes, 0 if that is not said.
type Device struct {
	Memory int64 `json:"memory,omitempty" doc:"in bytes"`
}

// Place says on which devices the shards of an operation are: one list for each, in their order.
type Place struct {
	Target string
	Shards [][]int64
	From   diag.Location
}

type filePlace struct {
	Target  string            `json:"target" doc:"a kernel or a label"`
	Devices []json.RawMessage `json:"devices" form:"places" doc:"for each shard, in their order, the number of a device, or a list of some, each of which computes the shard for itself"`
}

// devices reads a number of devices, or a list of them.
func (r *reader) devices(p *Plan, f *file) error {
	if f.Devices == nil {
		return nil
	}
	bad := func(found string) error {
		return r.fault("TAP0837", "/devices", "the devices are no number and no list of some").
			Want(fmt.Sprintf(`1 to %d, or a list such as [{"memory": 1000000}, {}]`, MaxDevices), found)
	}
	var n int64
	if err := jsonfile.Decode(f.Devices, &n); err == nil {
		if n < 1 || n > MaxDevices {
			return bad(fmt.Sprint(n))
		}
		p.Devices = make([]Device, n)
	} else if err := jsonfile.Decode(f.Devices, &p.Devices); err != nil || len(p.Devices) < 1 || len(p.Devices) > MaxDevices {
		return bad(short(string(f.Devices)))
	}
	for i, d := range p.Devices {
		if d.Memory < 0 {
			return r.fault("TAP0837", fmt.Sprintf("/devices/%d/memory", i), "device %d has a negative memory", i).Want("bytes", fmt.Sprint(d.Memory))
		}
	}
	if points := p.Mesh.Devices(); len(p.Mesh) > 0 && points != int64(len(p.Devices)) {
		return r.fault("TAP0837", "/devices", "the mesh has another number of devices").Want(fmt.Sprint(points), fmt.Sprint(len(p.Devices)))
	}
	return nil
}

// place reads where the shards of operations are: for each a number, or a list of some.
func (r *reader) place(p *Plan, f *file) error {
	seen := map[string]bool{}
	for i, x := range f.Place {
		at := fmt.Sprintf("/place/%d", i)
		switch {
		case x.Target == "":
			return r.fault("TAP0836", at, "the place names no target").Want(`"target": a kernel or a label`, "none")
		case seen[x.Target]:
			return r.fault("TAP0836", at+"/target", "%s is placed twice", x.Target).Want("one place", "another")
		case len(x.Devices) == 0:
			return r.fault("TAP0836", at, "the place of %s is not said", x.Target).Want(`"devices": [0, 1], a device or a list of devices for each shard`, "none")
		case len(p.Devices) == 0:
			return r.fault("TAP0836", at, "%s is placed, and the plan has no devices", x.Target).Want(`"devices": how many there are`, "none")
		}
		seen[x.Target] = true
		place := Place{Target: x.Target, From: r.at(at)}
		for k, text := range x.Devices {
			devices, err := r.shard(p, fmt.Sprintf("%s/devices/%d", at, k), text)
			if err != nil {
				return err
			}
			place.Shards = append(place.Shards, devices)
		}
		p.Place = append(p.Place, place)
	}
	return nil
}

// shard reads the devices of one shard.
func (r *reader) shard(p *Plan, at string, text []byte) ([]int64, error) {
	var one int64
	list := []int64{}
	if err := jsonfile.Decode(text, &one); err == nil {
		list = []int64{one}
	} else if err := jsonfile.Decode(text, &list); err != nil || len(list) == 0 {
		return nil, r.fault("TAP0836", at, "a shard is on no device").Want("the number of a device, or a list of some", short(string(text)))
	}
	seen := map[int64]bool{}
	for _, d := range list {
		if d < 0 || d >= int64(len(p.Devices)) || seen[d] {
			return nil, r.fault("TAP0836", at, "a shard is on a device that is not there, or twice on one").Want(fmt.Sprintf("devices 0 to %d, each once", len(p.Devices)-1), short(string(text)))
		}
		seen[d] = true
	}
	return list, nil
}
