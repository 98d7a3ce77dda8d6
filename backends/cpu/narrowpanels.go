package cpu

import (
	"encoding/binary"
	"io"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// narrowLayout says how panels hold the operand of a narrow contraction. A panel is tile.NarrowPanel rows or columns ("lanes") wide, and
// has blocks of tile.NarrowBlock bytes of each lane along the fold, zeros where there are none. Behind them, the panels of bytes have
// the sum of each lane's, as int32.
//
// Bytes have the signs that the instructions take: those of lines none, those across one. Others are moved by 128, and so is their
// zero point.
type narrowLayout struct {
	form narrowForm
	from scalar.DType // of the elements: float32, which is rounded, bfloat16, int8 or uint8
	run  int64        // values of the fold after which a new block begins; 0 is after all
}

type narrowForm uint8

const (
	wide   narrowForm = iota // not narrow
	lines                    // lane by lane in a block: the left operand
	across                   // group by group in a block, the lanes of each side by side: the right operand
)

// isBytes says whether the panels hold bytes, and not bfloat16.
func (l narrowLayout) isBytes() bool { return l.from.IsInt() }

// size is the bytes of an element of a panel.
func (l narrowLayout) size() int64 {
	if l.isBytes() {
		return 1
	}
	return 2
}

// flip is what a byte's bits are changed by to have the sign that the panel needs.
func (l narrowLayout) flip() byte {
	if l.form == lines && l.from == scalar.Int8 || l.form == across && l.from == scalar.UInt8 {
		return 0x80
	}
	return 0
}

const blockBytes = tile.NarrowPanel * tile.NarrowBlock

// blocks is how many blocks a panel has for a fold.
func (l narrowLayout) blocks(fold int64) int64 {
	if l.run > 0 && l.run < fold {
		return fold / l.run * l.blocks(l.run)
	}
	return (fold*l.size() + tile.NarrowBlock - 1) / tile.NarrowBlock
}

// panelBytes is the size of a panel for a fold.
func (l narrowLayout) panelBytes(fold int64) int64 {
	n := l.blocks(fold) * blockBytes
	if l.isBytes() {
		n += 4 * tile.NarrowPanel
	}
	return n
}

// at is where a panel has a value: that of a lane, k along the fold.
func (l narrowLayout) at(lane, k int64) int64 {
	runs := int64(0)
	if l.run > 0 {
		runs, k = k/l.run*l.blocks(l.run), k%l.run
	}
	b := k * l.size()
	block, in := (runs+b/tile.NarrowBlock)*blockBytes, b%tile.NarrowBlock
	if l.form == lines {
		return block + lane*tile.NarrowBlock + in
	}
	return block + in/4*4*tile.NarrowPanel + lane*4 + in%4
}

func (l panelLayout) narrowBytes() int64 {
	return extents(l.groups) * ((l.columns + l.width - 1) / l.width) * l.narrow.panelBytes(extents(l.fold))
}

// packNarrow is pack for narrow panels.
func (l panelLayout) packNarrow(w io.Writer, data []byte) error {
	fold, size := offsets(l.fold), int64(l.size)
	panel := make([]byte, l.narrow.panelBytes(int64(len(fold))))
	for _, group := range offsets(l.groups) {
		for column := int64(0); column < l.columns; column += l.width {
			live := min(l.width, l.columns-column)
			first := (l.base + group + column*l.step) * size
			if err := l.inside(first, fold, live, data); err != nil {
				return err
			}
			clear(panel)
			for k, at := range fold {
				for lane := range live {
					from := data[first+(at+lane*l.step)*size:]
					l.narrow.put(panel, lane, int64(k), from)
				}
			}
			if l.narrow.isBytes() {
				l.narrow.addUp(panel, live, int64(len(fold)))
			}
			if _, err := w.Write(panel); err != nil {
				return err
			}
		}
	}
	return nil
}

// put puts the element that data begins with into a panel.
func (l narrowLayout) put(panel []byte, lane, k int64, data []byte) {
	to := panel[l.at(lane, k):]
	switch l.from {
	case scalar.Float32:
		binary.LittleEndian.PutUint16(to, bf16Bits(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	case scalar.BFloat16:
		to[0], to[1] = data[0], data[1]
	default:
		to[0] = data[0] ^ l.flip()
	}
}

// bf16Bits rounds to bfloat16, to nearest even; NaN stays NaN.
func bf16Bits(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// addUp puts the lanes' sums behind a panel's blocks.
func (l narrowLayout) addUp(panel []byte, live, fold int64) {
	sums := panel[len(panel)-4*tile.NarrowPanel:]
	for lane := range live {
		sum := int32(0)
		for k := range fold {
			if x := panel[l.at(lane, k)]; l.form == across {
				sum += int32(int8(x))
			} else {
				sum += int32(x)
			}
		}
		binary.LittleEndian.PutUint32(sums[4*lane:], uint32(sum))
	}
}
