//go:build linux || darwin || freebsd

package library

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"unsafe"
)

// Model is a library that is loaded. All methods may be called from any goroutine. A run takes one of the model's instances, which have threads and
// scratch memory of their own, and waits where all are busy.
type Model struct {
	path            string
	handle          uintptr
	options         Options
	places          int32 // of cores that instances have
	name, text      string
	inputs, outputs []Tensor
	sized           sized
	call            functions
	idle            chan uintptr  // instances that no run has
	unmade          chan struct{} // an element for each instance that may be made
	closing         chan struct{}
	close           sync.Once
	closed          error // of Close
}

// Name is the program's name.
func (m *Model) Name() string { return m.name }

// Description is what the program says of itself, as JSON text.
func (m *Model) Description() string { return m.text }

// Inputs gives the inputs in their order.
func (m *Model) Inputs() []Tensor { return slices.Clone(m.inputs) }

// Outputs gives the outputs in their order.
func (m *Model) Outputs() []Tensor { return slices.Clone(m.outputs) }

// MakeOutputs gives slices for all outputs but those that have the memory of an input.
func (m *Model) MakeOutputs() Values {
	v := Values{}
	for _, t := range m.outputs {
		if t.Beside == "" {
			v[t.Name] = t.Make()
		}
	}
	return v
}

// Run computes the outputs, which it writes to slices of the caller's, from the inputs. All of them are needed, and no output may overlap another slice.
// After an error the outputs are undefined. The context ends waiting for an instance; a run itself, which does not begin
// under a context that is over, goes to its end. An output that has the memory of an
// input is written there, and may be left out. Of a model for several sizes it is a run at the greatest.
func (m *Model) Run(ctx context.Context, inputs, outputs Values) error {
	return m.runVersion(ctx, shapes{nil, m.inputs, m.outputs}, inputs, outputs)
}

// RunAt is Run at sizes of all dimensions that have several, by name. The tensors have the shapes of that size.
func (m *Model) RunAt(ctx context.Context, sizes map[string]int64, inputs, outputs Values) error {
	v, err := m.at(sizes)
	if err != nil {
		return err
	}
	return m.runVersion(ctx, v, inputs, outputs)
}

// runVersion runs at a size.
func (m *Model) runVersion(ctx context.Context, v shapes, inputs, outputs Values) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	in, err := addresses("input", v.inputs, inputs, &pin)
	if err != nil {
		return err
	}
	out, err := addresses("output", v.outputs, outputs, &pin)
	if err != nil {
		return err
	}
	said := make([]byte, errorBytes)
	pin.Pin(&in[0])
	pin.Pin(&out[0])
	pin.Pin(&said[0])
	instance, err := m.take(ctx)
	if err != nil {
		return err
	}
	var status int32
	if len(v.at) > 0 {
		pin.Pin(&v.at[0])
		status = m.call.runAt(instance, unsafe.Pointer(&v.at[0]), unsafe.Pointer(&in[0]), unsafe.Pointer(&out[0]), unsafe.Pointer(&said[0]), errorBytes)
	} else {
		status = m.call.run(instance, unsafe.Pointer(&in[0]), unsafe.Pointer(&out[0]), unsafe.Pointer(&said[0]), errorBytes)
	}
	m.idle <- instance
	if status != 0 {
		return fault(Status(status), "%s", text(&said[0]))
	}
	return nil
}

// take gives an instance: one that is idle, else a new one, else the next that becomes idle.
func (m *Model) take(ctx context.Context) (uintptr, error) {
	select {
	case <-m.closing:
		return 0, m.isClosed()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	default:
	}
	select {
	case instance := <-m.idle:
		return instance, nil
	default:
	}
	select {
	case instance := <-m.idle:
		return instance, nil
	case <-m.unmade:
		instance, err := m.create()
		if err != nil {
			m.unmade <- struct{}{}
		}
		return instance, err
	case <-m.closing:
		return 0, m.isClosed()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (m *Model) isClosed() error { return fault(BadArgument, "%s is closed", m.path) }

// create makes an instance. Those whose threads are bound to cores are made one after the other, before any run.
func (m *Model) create() (uintptr, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	said := make([]byte, errorBytes)
	pin.Pin(&said[0])
	instance := m.call.create(int32(m.options.Threads), unsafe.Pointer(&said[0]), errorBytes)
	if instance == 0 {
		return 0, fault(Failed, "%s", text(&said[0]))
	}
	if !m.options.Pin {
		return instance, nil
	}
	if status := m.call.pin(instance, m.places, unsafe.Pointer(&said[0]), errorBytes); status != 0 {
		m.call.destroy(instance)
		return 0, fault(Status(status), "%s", text(&said[0]))
	}
	m.places++
	return instance, nil
}

// Close waits for runs that are in progress, ends the threads and unloads the library.
func (m *Model) Close() error {
	m.close.Do(func() {
		close(m.closing)
		for range cap(m.idle) {
			select {
			case instance := <-m.idle:
				m.call.destroy(instance)
			case <-m.unmade:
			}
		}
		m.closed = opened.close(m.path, m.handle)
	})
	return m.closed
}
