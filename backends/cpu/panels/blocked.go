package panels

import (
	"encoding/binary"
	"io"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Blocked says how panels hold the operand of a narrow contraction. A panel is tile.NarrowPanel rows or columns ("lanes") wide, and
// has blocks of tile.NarrowBlock bytes of each lane along the fold, zeros where there are none. Behind them, the panels of bytes have
// the sum of each lane's, as int32.
//
// Bytes have the signs that the instructions take: those of lines none, those across one. Others are moved by 128, and so is their
// zero point.
type Blocked struct {
	Form BlockForm
	From scalar.DType // of the elements: float32, which is rounded, bfloat16, int8 or uint8
	Run  int64        // values of the fold after which a new block begins; 0 is after all
}

// BlockForm is the order of the numbers in a block.
type BlockForm uint8

// The forms of panels.
const (
	wide   BlockForm = iota // not narrow
	Lines                   // lane by lane in a block: the left operand
	Across                  // group by group in a block, the lanes of each side by side: the right operand
)

// IsBytes says whether the panels hold bytes, and not bfloat16.
func (l Blocked) IsBytes() bool { return l.From.IsInt() }

// Size is the bytes of an element of a panel.
func (l Blocked) Size() int64 {
	if l.IsBytes() {
		return 1
	}
	return 2
}

// Flip is what a byte's bits are changed by to have the sign that the panel needs.
func (l Blocked) Flip() byte {
	if l.Form == Lines && l.From == scalar.Int8 || l.Form == Across && l.From == scalar.UInt8 {
		return 0x80
	}
	return 0
}

// BlockBytes is the size of a block: some bytes of the reduction for every lane of a panel.
const BlockBytes = tile.NarrowPanel * tile.NarrowBlock

// Blocks is how many blocks a panel has for a fold.
func (l Blocked) Blocks(fold int64) int64 {
	if l.Run > 0 && l.Run < fold {
		return fold / l.Run * l.Blocks(l.Run)
	}
	return (fold*l.Size() + tile.NarrowBlock - 1) / tile.NarrowBlock
}

// PanelBytes is the size of a panel for a fold.
func (l Blocked) PanelBytes(fold int64) int64 {
	n := l.Blocks(fold) * BlockBytes
	if l.IsBytes() {
		n += 4 * tile.NarrowPanel
	}
	return n
}

// at is where a panel has a value: that of a lane, k along the fold.
func (l Blocked) at(lane, k int64) int64 {
	runs := int64(0)
	if l.Run > 0 {
		runs, k = k/l.Run*l.Blocks(l.Run), k%l.Run
	}
	b := k * l.Size()
	block, in := (runs+b/tile.NarrowBlock)*BlockBytes, b%tile.NarrowBlock
	if l.Form == Lines {
		return block + lane*tile.NarrowBlock + in
	}
	return block + in/4*4*tile.NarrowPanel + lane*4 + in%4
}

// groupedBytes is the size of all panels of groups.
func (l Layout) groupedBytes() int64 {
	return Extents(l.Groups) * ((l.Columns + l.Width - 1) / l.Width) * l.Blocked.PanelBytes(Extents(l.Reduced))
}

// packGrouped is pack for narrow panels.
func (l Layout) packGrouped(w io.Writer, data []byte) error {
	reduced, size := offsets(l.Reduced), int64(l.Size)
	panel := make([]byte, l.Blocked.PanelBytes(int64(len(reduced))))
	return l.eachPanel(w, data, panel, reduced, func(first, live int64) {
		clear(panel)
		for k, at := range reduced {
			for lane := range live {
				l.Blocked.put(panel, lane, int64(k), data[first+(at+lane*l.Step)*size:])
			}
		}
		if l.Blocked.IsBytes() {
			l.Blocked.addUp(panel, live, int64(len(reduced)))
		}
	})
}

// put puts the element that data begins with into a panel.
func (l Blocked) put(panel []byte, lane, k int64, data []byte) {
	to := panel[l.at(lane, k):]
	switch l.From {
	case scalar.Float32:
		binary.LittleEndian.PutUint16(to, bf16Bits(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	case scalar.BFloat16:
		to[0], to[1] = data[0], data[1]
	default:
		to[0] = data[0] ^ l.Flip()
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
func (l Blocked) addUp(panel []byte, live, fold int64) {
	sums := panel[len(panel)-4*tile.NarrowPanel:]
	for lane := range live {
		sum := int32(0)
		for k := range fold {
			if x := panel[l.at(lane, k)]; l.Form == Across {
				sum += int32(int8(x))
			} else {
				sum += int32(x)
			}
		}
		binary.LittleEndian.PutUint32(sums[4*lane:], uint32(sum))
	}
}
