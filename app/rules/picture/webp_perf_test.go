//go:build perf && linux

package picture

import (
	"compress/lzw"
	"encoding/binary"
	"io"
	"slices"
)

func lzwOf(w io.Writer) io.WriteCloser { return lzw.NewWriter(w, lzw.LSB, 2) }

// bitWriter writes bits, the lowest first, as lossless WebP has them.
type bitWriter struct {
	out []byte
	n   int
}

func (w *bitWriter) put(bits uint32, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.n/8] |= byte(bits>>i&1) << (w.n % 8)
		w.n++
	}
}

// one writes a tree with one symbol, which then takes no bits.
func (w *bitWriter) one(symbol uint32) {
	w.put(1, 1) // simple
	w.put(0, 1) // one symbol
	w.put(1, 1) // of eight bits
	w.put(symbol, 8)
}

// shape returns the length of the short codes of a tree of all symbols, and how many have it. The
// others are one bit longer.
func shape(alphabet int) (short, n int) {
	for 2<<short <= alphabet {
		short++
	}
	return short, alphabet - 2*(alphabet-1<<short)
}

// all writes a tree of all symbols.
func (w *bitWriter) all(alphabet int) {
	short, n := shape(alphabet)
	used := []int{short, short + 1, 16, 17} // of the code for lengths, with two bits each; 16 repeats
	w.put(0, 1)
	w.put(19-4, 4)
	for _, symbol := range []int{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} {
		if slices.Contains(used, symbol) {
			w.put(2, 3)
		} else {
			w.put(0, 3)
		}
	}
	w.put(0, 1) // all lengths follow
	run := func(code uint32, n int) {
		for n > 0 {
			w.put(code, 2)
			for n--; n >= 3; {
				r := min(n, 6)
				w.put(1, 2)
				w.put(uint32(r-3), 2)
				n -= r
			}
		}
	}
	run(0, n)
	run(2, alphabet-n)
}

// code writes a symbol by a tree of all symbols.
func (w *bitWriter) code(alphabet, symbol int) {
	length, n := shape(alphabet)
	if symbol >= n {
		symbol, length = symbol+n, length+1
	}
	for i := range length {
		w.put(uint32(symbol>>(length-1-i)&1), 1)
	}
}

// flatWebP returns a lossless WebP of one color. sets is the number of sets of trees; 0: one. With a
// palette its pixels are indexes.
func flatWebP(width, height, sets int, palette bool) []byte {
	w := &bitWriter{}
	w.put(0x2f, 8)
	w.put(uint32(width-1), 14)
	w.put(uint32(height-1), 14)
	w.put(1, 1)
	w.put(0, 3)
	if palette {
		w.put(1, 1)
		w.put(3, 2)     // color indexing
		w.put(256-1, 8) // colors
		w.put(0, 1)     // no cache
		for range 5 {
			w.one(0)
		}
	}
	w.put(0, 1)
	const cacheBits = 11
	w.put(1, 1) // a cache, which makes the first tree larger
	w.put(cacheBits, 4)
	if sets == 0 {
		w.put(0, 1)
		for range 5 {
			w.one(0)
		}
	} else {
		w.put(1, 1)
		const tile = 5
		w.put(tile-2, 3)
		across, down := (width+1<<tile-1)>>tile, (height+1<<tile-1)>>tile
		// The image of the numbers of sets: red is the high byte, green the low one.
		w.put(0, 1)
		w.all(256 + 24)
		w.all(256)
		w.one(0)
		w.one(255)
		w.one(0)
		for i := range across * down {
			set := min(i, sets-1)
			if i == across*down-1 {
				set = sets - 1
			}
			w.code(256+24, set&255)
			w.code(256, set>>8)
		}
		for range sets {
			w.all(256 + 24 + 1<<cacheBits)
			w.all(256)
			w.all(256)
			w.all(256)
			w.all(40)
			if len(w.out) > 4<<20 {
				break // the rest is cut off
			}
		}
		pixels := width * height
		for ; pixels%4096 != 0 || pixels == width*height; pixels-- {
			w.code(256+24+1<<cacheBits, 0)
			w.code(256, 0)
			w.code(256, 0)
			w.code(256, 0)
		}
		for ; pixels > 0; pixels -= 4096 { // copies of the last pixel
			w.code(256+24+1<<cacheBits, 256+23)
			w.put(1<<10-1, 10)
			w.code(40, 1)
		}
	}
	if len(w.out)%2 == 1 {
		w.out = append(w.out, 0)
	}
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(w.out)+12))
	b = binary.LittleEndian.AppendUint32(append(b, "WEBPVP8L"...), uint32(len(w.out)))
	return append(b, w.out...)
}
