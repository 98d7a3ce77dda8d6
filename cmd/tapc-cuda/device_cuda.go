//go:build cuda

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"gorgonia.org/cu"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
)

// attributeSharedOptin is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, which cu does not name.
const attributeSharedOptin = cu.DeviceAttribute(97)

func listDevices() ([]deviceInfo, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, &deviceError{"counting devices", err}
	}
	devices := make([]deviceInfo, n)
	for i := range devices {
		d, err := cu.GetDevice(i)
		if err != nil {
			return nil, &deviceError{fmt.Sprintf("device %d", i), err}
		}
		if devices[i], err = describe(d); err != nil {
			return nil, err
		}
	}
	return devices, nil
}

func describe(d cu.Device) (deviceInfo, error) {
	info := deviceInfo{Ordinal: int(d), Driver: cu.Version()}
	var major, minor int
	var errs [6]error
	info.Name, errs[0] = d.Name()
	major, errs[1] = d.Attribute(cu.ComputeCapabilityMajor)
	minor, errs[2] = d.Attribute(cu.ComputeCapabilityMinor)
	info.Multiprocessors, errs[3] = d.Attribute(cu.MultiprocessorCount)
	info.MemoryBytes, errs[4] = d.TotalMem()
	info.SharedBytes, errs[5] = d.Attribute(attributeSharedOptin)
	info.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	if err := errors.Join(errs[:]...); err != nil {
		return info, &deviceError{fmt.Sprintf("describing device %d", int(d)), err}
	}
	return info, nil
}

// session is one list on one device. All of it happens on one thread of the operating system, because
// a context belongs to the thread that made it.
type session struct {
	list    *launchlist.List
	dir     string
	stream  cu.Stream
	buffers map[string]cu.DevicePtr
	kernels []cu.Function // of each launch
	slots   [][]uint64    // of each launch's arguments
}

// runList runs a list on the device of that number. Files that it names are relative to dir.
func runList(p *launchlist.List, dir string, ordinal int) (r *report, err error) {
	err = withSession(p, dir, ordinal, func(s *session, info deviceInfo) error {
		r = &report{Device: info}
		return s.measure(r)
	})
	return r, err
}

// timeList runs a list once, says so, and then as many times as each line of in says, of which it tells the time.
func timeList(p *launchlist.List, dir string, ordinal int, in io.Reader, out io.Writer) error {
	return withSession(p, dir, ordinal, func(s *session, info deviceInfo) error {
		return answer(in, out, info, func(passes int) (float64, error) {
			ms, err := s.timed(passes, false)
			if err != nil {
				return 0, err
			}
			return ms[0], nil
		})
	})
}

// withSession gives do a list whose first pass is over.
func withSession(p *launchlist.List, dir string, ordinal int, do func(*session, deviceInfo) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, err := cu.GetDevice(ordinal)
	if err != nil {
		return &deviceError{fmt.Sprintf("device %d", ordinal), err}
	}
	info, err := describe(d)
	if err != nil {
		return err
	}
	context, err := d.MakeContext(cu.SchedAuto)
	if err != nil {
		return &deviceError{"making a context", err}
	}
	defer context.Destroy() // frees the memory and the module with it
	s := &session{list: p, dir: dir, buffers: map[string]cu.DevicePtr{}}
	if err := s.prepare(info); err != nil {
		return err
	}
	if err := s.firstPass(); err != nil {
		return err
	}
	return do(s, info)
}

func (s *session) prepare(info deviceInfo) error {
	var err error
	if s.stream, err = cu.MakeStream(cu.DefaultStream); err != nil {
		return &deviceError{"making a stream", err}
	}
	for _, b := range s.list.Buffers {
		if err := s.fill(b); err != nil {
			return fmt.Errorf("buffer %s: %w", b.Name, err)
		}
	}
	image, err := os.ReadFile(launchlist.Path(s.dir, s.list.Module))
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	module, err := cu.LoadData(string(image))
	if err != nil {
		return &deviceError{fmt.Sprintf("loading module %s on compute capability %s", s.list.Module, info.ComputeCapability), err}
	}
	for i, l := range s.list.Launches {
		if err := s.resolve(module, l, info); err != nil {
			return fmt.Errorf("launches[%d]: %w", i, err)
		}
	}
	return nil
}

// resolve finds a launch's kernel and lays out its arguments in slots of 8 bytes, which is what
// cu.Function.Launch reads whatever the parameter's size.
func (s *session) resolve(module cu.Module, l launchlist.Launch, info deviceInfo) error {
	fn, err := module.Function(l.Kernel)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", l.Kernel, err)
	}
	if l.Shared > int64(info.SharedBytes) {
		return fmt.Errorf("kernel %s: %d bytes of dynamic shared memory, %s has %d", l.Kernel, l.Shared, info.Name, info.SharedBytes)
	}
	if err := allowShared(fn, l.Shared); err != nil {
		return &deviceError{"kernel " + l.Kernel, err}
	}
	slots := make([]uint64, len(l.Args))
	for i, a := range l.Args {
		slots[i] = a.Bits
		if a.Kind == launchlist.KindBuffer {
			slots[i] = uint64(s.buffers[a.Buffer]) + uint64(a.Offset)
		}
	}
	s.kernels, s.slots = append(s.kernels, fn), append(s.slots, slots)
	return nil
}

func (s *session) launch(i int) error {
	l := &s.list.Launches[i]
	pointers := make([]unsafe.Pointer, len(s.slots[i]))
	for j := range pointers {
		pointers[j] = unsafe.Pointer(&s.slots[i][j])
	}
	err := s.kernels[i].Launch(int(l.Grid[0]), int(l.Grid[1]), int(l.Grid[2]),
		int(l.Block[0]), int(l.Block[1]), int(l.Block[2]), int(l.Shared), s.stream, pointers)
	if err != nil {
		return &deviceError{fmt.Sprintf("launches[%d] of kernel %s", i, l.Kernel), err}
	}
	return nil
}

func (s *session) firstPass() error {
	for i := range s.list.Launches {
		if err := s.launch(i); err != nil {
			return err
		}
		// Waiting each time names the kernel that fails.
		if err := s.stream.Synchronize(); err != nil {
			return &deviceError{fmt.Sprintf("launches[%d] of kernel %s", i, s.list.Launches[i].Kernel), err}
		}
	}
	for _, o := range s.list.Outputs {
		if err := s.save(o); err != nil {
			return fmt.Errorf("output %s: %w", o.Buffer, err)
		}
	}
	return nil
}

// chunk bounds the host memory that a copy to or from a file takes.
const chunk = 16 << 20

func (s *session) fill(b launchlist.Buffer) error {
	p, err := cu.MemAlloc(b.Bytes)
	if err != nil {
		return &deviceError{fmt.Sprintf("allocating %d bytes", b.Bytes), err}
	}
	s.buffers[b.Name] = p
	if b.Byte != nil {
		if err := cu.MemsetD8(p, *b.Byte, b.Bytes); err != nil {
			return &deviceError{"setting bytes", err}
		}
	}
	if b.File == "" {
		return nil
	}
	f, err := os.Open(launchlist.Path(s.dir, b.File))
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != b.Bytes {
		return errors.Join(err, fmt.Errorf("%s: expected %d bytes, found %d", b.File, b.Bytes, info.Size()))
	}
	return chunks(b.Bytes, func(at int64, part []byte) error {
		if _, err := io.ReadFull(f, part); err != nil {
			return err
		}
		if err := cu.MemcpyHtoD(p+cu.DevicePtr(at), unsafe.Pointer(&part[0]), int64(len(part))); err != nil {
			return &deviceError{"copying to the device", err}
		}
		return nil
	})
}

func (s *session) save(o launchlist.Output) error {
	p := s.buffers[o.Buffer]
	var bytes int64
	for _, b := range s.list.Buffers {
		if b.Name == o.Buffer {
			bytes = b.Bytes
		}
	}
	return launchlist.Create(launchlist.Path(s.dir, o.File), func(w io.Writer) error {
		return chunks(bytes, func(at int64, part []byte) error {
			if err := cu.MemcpyDtoH(unsafe.Pointer(&part[0]), p+cu.DevicePtr(at), int64(len(part))); err != nil {
				return &deviceError{"copying from the device", err}
			}
			_, err := w.Write(part)
			return err
		})
	})
}

// chunks calls each for consecutive parts of total bytes, with one piece of memory for all of them.
func chunks(total int64, each func(at int64, part []byte) error) error {
	memory := make([]byte, min(total, chunk))
	for at := int64(0); at < total; at += int64(len(memory)) {
		if err := each(at, memory[:min(total-at, int64(len(memory)))]); err != nil {
			return err
		}
	}
	return nil
}

// measure repeats all launches, first as they are and then with an event after each.
func (s *session) measure(r *report) error {
	r.PassesMS = []float64{}
	r.Launches = make([]launchReport, len(s.list.Launches))
	for i, l := range s.list.Launches {
		r.Launches[i] = launchReport{Kernel: l.Kernel, MS: []float64{}}
	}
	for range s.list.Warmup {
		if _, err := s.timed(1, false); err != nil {
			return err
		}
	}
	for range s.list.Repeat {
		ms, err := s.timed(1, false)
		if err != nil {
			return err
		}
		r.PassesMS = append(r.PassesMS, ms[0])
	}
	for range s.list.Repeat {
		ms, err := s.timed(1, true)
		if err != nil {
			return err
		}
		for i := range r.Launches {
			r.Launches[i].MS = append(r.Launches[i].MS, ms[i])
		}
	}
	return nil
}

// timed runs all launches some times and returns what they took together, or each.
func (s *session) timed(passes int, each bool) ([]float64, error) {
	events := []cu.Event{}
	defer func() {
		for i := range events {
			cu.DestroyEvent(&events[i])
		}
	}()
	mark := func() error {
		e, err := cu.MakeEvent(cu.DefaultEvent)
		if err != nil {
			return &deviceError{"making an event", err}
		}
		events = append(events, e)
		if err := e.Record(s.stream); err != nil {
			return &deviceError{"recording an event", err}
		}
		return nil
	}
	if err := mark(); err != nil {
		return nil, err
	}
	for range passes {
		for i := range s.list.Launches {
			if err := s.launch(i); err != nil {
				return nil, err
			}
			if !each {
				continue
			}
			if err := mark(); err != nil {
				return nil, err
			}
		}
	}
	if !each {
		if err := mark(); err != nil {
			return nil, err
		}
	}
	return elapsed(events)
}

// elapsed waits for the last event and returns the milliseconds between each and the next; 0 if there
// is only one.
func elapsed(events []cu.Event) ([]float64, error) {
	if err := events[len(events)-1].Synchronize(); err != nil {
		return nil, &deviceError{"waiting for the launches", err}
	}
	ms := make([]float64, max(1, len(events)-1))
	for i := 1; i < len(events); i++ {
		var err error
		if ms[i-1], err = events[i-1].Elapsed(events[i]); err != nil {
			return nil, &deviceError{"reading an event", err}
		}
	}
	return ms, nil
}

// mostPasses bounds what is asked for in a line.
const mostPasses = 1_000_000

// answer says on which device a list is, and then for each line of in, a number of passes, what these took.
func answer(in io.Reader, out io.Writer, info deviceInfo, passes func(n int) (ms float64, err error)) error {
	w := json.NewEncoder(out)
	if err := w.Encode(struct {
		Device deviceInfo `json:"device"`
	}{info}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil || n < 1 || n > mostPasses {
			return fmt.Errorf("input: %q, expected a number of 1 to %d", lines.Text(), mostPasses)
		}
		ms, err := passes(n)
		if err != nil {
			return err
		}
		if err := w.Encode(struct {
			MS float64 `json:"ms"`
		}{ms}); err != nil {
			return err
		}
	}
	return lines.Err()
}
