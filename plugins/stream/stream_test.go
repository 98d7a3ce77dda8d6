package stream

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/wire"
)

// source gives chunks one after the other, then io.EOF.
func source(chunks [][]byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(chunks) == 0 {
			return nil, io.EOF
		}
		c := chunks[0]
		chunks = chunks[1:]
		return c, nil
	}
}

// cut cuts bytes at places that depend on the seed.
func cut(data []byte, seed []byte) [][]byte {
	var chunks [][]byte
	for i := 0; len(data) > 0; i++ {
		n := len(data)
		if len(seed) > 0 {
			n = min(n, int(seed[i%len(seed)])+1)
		}
		chunks, data = append(chunks, data[:n]), data[n:]
	}
	return chunks
}

func TestGraphsSurviveAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := irtest.Random(t, rapid.SampledFrom([]irtest.Dialect{irtest.Operations, irtest.Applications, irtest.Schedule}).Draw(t, "dialect"))
		var data []byte
		if err := Send(g, func(chunk []byte) error { data = append(data, chunk...); return nil }); err != nil {
			t.Fatal(err)
		}
		got, err := Receive(source(cut(data, rapid.SliceOf(rapid.Byte()).Draw(t, "cuts"))), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := irtest.DiffAll(g, got); diff != "" {
			t.Error(diff)
		}
		if len(data) == 0 {
			return
		}
		var limit *LimitError
		if _, err := Receive(source(cut(data, nil)), int64(len(data)-1)); !errors.As(err, &limit) {
			t.Errorf("one byte too many gives %v", err)
		}
	})
}

func TestErrorsEndStreams(t *testing.T) {
	stop := errors.New("stop")
	if err := Send(irtest.Chain(2), func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("sending: %v", err)
	}
	if _, err := Receive(func() ([]byte, error) { return nil, stop }, NoLimit); !errors.Is(err, stop) {
		t.Errorf("receiving: %v", err)
	}
	var damaged *wire.Error
	if _, err := Receive(source([][]byte{{0xff, 0x13}}), NoLimit); !errors.As(err, &damaged) {
		t.Errorf("damage: %v", err)
	}
}

func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want, got []byte
		var sizes []int
		w := NewWriter(func(chunk []byte) error {
			sizes, got = append(sizes, len(chunk)), append(got, chunk...)
			return nil
		})
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 3*ChunkSize/2), 0, 5).Draw(t, "writes") {
			part := bytes.Repeat([]byte{byte(i)}, n)
			want = append(want, part...)
			if k, err := w.Write(part); k != n || err != nil {
				t.Fatal(k, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Error("other bytes came out")
		}
		for i, n := range sizes {
			if n != ChunkSize && (i < len(sizes)-1 || n == 0 || n > ChunkSize) {
				t.Errorf("chunks of %v bytes", sizes)
			}
		}
	})
}

func FuzzReceive(f *testing.F) {
	text, err := wire.Marshal(irtest.Chain(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, []byte{0})
	f.Add(text, []byte{7, 200})
	f.Add([]byte{8, 1, 0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{3})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		whole, err := Receive(source([][]byte{data}), 1<<20)
		parts, failed := Receive(source(cut(data, cuts)), 1<<20)
		if (err == nil) != (failed == nil) {
			t.Fatalf("whole: %v; in parts: %v", err, failed)
		}
		if err == nil {
			if diff := irtest.DiffAll(whole, parts); diff != "" {
				t.Error(diff)
			}
		}
	})
}
