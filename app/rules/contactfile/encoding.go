package contactfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// noText replaces characters that the file's encoding does not define. It is never valid in UTF-8,
// so that the row is reported.
const noText = 0xff

// ErrGzip means that the file is compressed with gzip, which is not supported.
var ErrGzip = errors.New("the file is compressed with gzip: unpack it first")

// decoded returns a reader that converts a file from UTF-8, UTF-16 in either byte order, or
// Windows-1252 to UTF-8. Error: ErrGzip, and those of r.
func decoded(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, importBuffer)
	start, err := b.Peek(peekBytes)
	if err != nil && err != io.EOF {
		return nil, err
	}
	order, lead := order16(start)
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return nil, ErrGzip
	case bytes.HasPrefix(start, []byte(byteOrderMark)):
		_, err = b.Discard(len(byteOrderMark))
		return b, err
	case order != nil:
		_, err = b.Discard(lead)
		return &transcoder{b: b, fill: fromUTF16(order)}, err
	}
	return &lazyDecoder{b: b}, nil
}

const (
	peekBytes     = 256 // bytes of a file from which its encoding is detected
	byteOrderMark = "\ufeff"
)

// order16 returns the byte order of a UTF-16 file and the length of its mark; nil: another
// encoding.
func order16(start []byte) (order binary.ByteOrder, lead int) {
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(start, []byte("\xfe\xff")):
		return binary.BigEndian, 2
	}
	return zeroOrder(start), 0
}

// zeroOrder detects UTF-16 without a mark by zero bytes: half of the first characters are ASCII,
// and nearly all zeros are on the same side of them.
func zeroOrder(start []byte) binary.ByteOrder {
	var zeros [2]int
	units := len(start) / 2
	for i := range units * 2 {
		if start[i] == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case units < 2:
	case zeros[1]*2 >= units && zeros[0]*4 <= zeros[1]:
		return binary.LittleEndian
	case zeros[0]*2 >= units && zeros[1]*4 <= zeros[0]:
		return binary.BigEndian
	}
	return nil
}

// lazyDecoder reads a file that may be UTF-8 or Windows-1252 until the first non-ASCII bytes
// decide.
type lazyDecoder struct {
	b    *bufio.Reader
	then io.Reader // nil: undecided
}

// Read implements io.Reader.
func (u *lazyDecoder) Read(p []byte) (int, error) {
	if u.then != nil {
		return u.then.Read(p)
	}
	if _, err := u.b.Peek(1); err != nil || len(p) == 0 {
		return 0, err
	}
	chunk, _ := u.b.Peek(min(len(p), u.b.Buffered())) // already buffered
	n := bytes.IndexFunc(chunk, func(r rune) bool { return r >= utf8.RuneSelf })
	if n < 0 {
		n = len(chunk)
	}
	if n > 0 {
		return u.b.Read(p[:n])
	}
	first, err := u.b.Peek(utf8.UTFMax)
	if err != nil && err != io.EOF {
		return 0, err
	}
	u.then = u.b
	if r, size := utf8.DecodeRune(first); r == utf8.RuneError && size == 1 {
		u.then = &transcoder{b: u.b, fill: from1252}
	}
	return u.then.Read(p)
}

// transcoder converts a file to UTF-8.
type transcoder struct {
	b         *bufio.Reader
	fill      func(out, in []byte, end bool) (decoded []byte, took int)
	out, rest []byte
}

// Read implements io.Reader.
func (t *transcoder) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		in, err := t.b.Peek(4) // two UTF-16 units
		if len(in) == 0 || err != nil && err != io.EOF {
			return 0, err
		}
		in, _ = t.b.Peek(t.b.Buffered())
		took := 0
		t.out, took = t.fill(t.out[:0], in, err == io.EOF)
		t.rest = t.out
		if _, err := t.b.Discard(took); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// fromUTF16 returns a decoder for UTF-16 units. An unpaired surrogate is invalid.
func fromUTF16(order binary.ByteOrder) func(out, in []byte, end bool) ([]byte, int) {
	return func(out, in []byte, end bool) ([]byte, int) {
		i := 0
		for ; i+1 < len(in); i += 2 {
			r := rune(order.Uint16(in[i:]))
			switch {
			case !utf16.IsSurrogate(r):
				out = utf8.AppendRune(out, r)
			case i+3 >= len(in) && !end:
				return out, i
			case i+3 < len(in) && utf16.DecodeRune(r, rune(order.Uint16(in[i+2:]))) != utf8.RuneError:
				out = utf8.AppendRune(out, utf16.DecodeRune(r, rune(order.Uint16(in[i+2:]))))
				i += 2
			default:
				out = append(out, noText)
			}
		}
		if end && i < len(in) {
			out, i = append(out, noText), i+1
		}
		return out, i
	}
}

// upper1252 maps the bytes 0x80 to 0x9f; zero: undefined.
var upper1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

func from1252(out, in []byte, _ bool) ([]byte, int) {
	for _, c := range in {
		switch {
		case c < 0x80:
			out = append(out, c)
		case c >= 0xa0:
			out = utf8.AppendRune(out, rune(c))
		case upper1252[c-0x80] == 0:
			out = append(out, noText)
		default:
			out = utf8.AppendRune(out, upper1252[c-0x80])
		}
	}
	return out, len(in)
}
