package picture

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"errors"
	"io"

	"mailer/app"
)

// maxFramePixels bounds the pixels of all frames of a GIF together: each is decoded once, and a few
// bytes may stand for thousands.
const maxFramePixels = 400_000_000

var (
	errGIF       = errors.New("invalid GIF")
	errGIFPixels = errors.New("too many pixels")
)

func isGIF(b []byte) bool { return starts("GIF87a")(b) || starts("GIF89a")(b) }

// readGIF reads a GIF (GIF89a specification). Its frames stay as they are, but each was decoded
// once. Comments, texts, metadata, and what follows the end are removed.
func readGIF(field string, b []byte, within *Bounds) (*Picture, error) {
	const head = 13
	if len(b) < head {
		return nil, damaged(field)
	}
	width, height := int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	if width == 0 || height == 0 {
		return nil, damaged(field)
	}
	if err := within.check(field, width, height); err != nil {
		return nil, err
	}
	g := gifReader{in: b, width: width, height: height}
	switch err := g.read(); {
	case errors.Is(err, errGIFPixels):
		return nil, app.Invalid(field, "has frames of more than %d megapixels together: use fewer or smaller frames", maxFramePixels/1_000_000)
	case err != nil:
		return nil, damaged(field)
	}
	return &Picture{Type: "image/gif", Sizes: []Size{{Bytes: g.out, Width: width, Height: height}}}, nil
}

// gifReader copies a GIF.
type gifReader struct {
	in            []byte // what was not read yet
	out           []byte
	width, height int
	frames        int
	pixels        int  // of all frames
	shared        bool // there is a color table for all frames
	codes         *lzw.Reader
}

// ownColors is the flag of a color table.
const ownColors = 0x80

// take returns the next n bytes.
func (g *gifReader) take(n int) ([]byte, error) {
	if n > len(g.in) {
		return nil, errGIF
	}
	b := g.in[:n]
	g.in = g.in[n:]
	return b, nil
}

// copy copies the next n bytes.
func (g *gifReader) copy(n int) ([]byte, error) {
	b, err := g.take(n)
	g.out = append(g.out, b...)
	return b, err
}

// colors copies a color table if the highest bit of packed says that there is one.
func (g *gifReader) colors(packed byte) error {
	if packed&ownColors == 0 {
		return nil
	}
	_, err := g.copy(3 << (packed&7 + 1))
	return err
}

// blocks returns the next sub-blocks with their lengths, and the empty one at their end.
func (g *gifReader) blocks() ([]byte, error) {
	for at := 0; ; {
		if at >= len(g.in) {
			return nil, errGIF
		}
		length := int(g.in[at])
		if at += 1 + length; length == 0 {
			return g.take(at)
		}
	}
}

// read copies the whole file.
func (g *gifReader) read() error {
	const trailer, extension, frame = 0x3b, 0x21, 0x2c
	head, err := g.copy(13)
	if err != nil {
		return err
	}
	if err := g.colors(head[10]); err != nil {
		return err
	}
	g.shared = head[10]&ownColors != 0
	for {
		kind, err := g.take(1)
		if err != nil {
			return err
		}
		switch kind[0] {
		case trailer:
			if g.frames == 0 {
				return errGIF
			}
			g.out = append(g.out, trailer)
			return nil
		case extension:
			err = g.extension()
		case frame:
			g.out = append(g.out, frame)
			err = g.frame()
		default:
			err = errGIF
		}
		if err != nil {
			return err
		}
	}
}

// extension copies an extension that controls how frames are shown, and drops others.
func (g *gifReader) extension() error {
	const control, application = 0xf9, 0xff
	label, err := g.take(1)
	if err != nil {
		return err
	}
	blocks, err := g.blocks()
	if err != nil {
		return err
	}
	loops := label[0] == application && len(blocks) == 17 && (string(blocks[:12]) == "\x0bNETSCAPE2.0" || string(blocks[:12]) == "\x0bANIMEXTS1.0")
	if loops || label[0] == control && len(blocks) == 6 {
		g.out = append(append(g.out, 0x21, label[0]), blocks...)
	}
	return nil
}

// frame copies a frame and checks that it can be decoded.
func (g *gifReader) frame() error {
	head, err := g.copy(9)
	if err != nil {
		return err
	}
	left, top := int(binary.LittleEndian.Uint16(head)), int(binary.LittleEndian.Uint16(head[2:]))
	width, height := int(binary.LittleEndian.Uint16(head[4:])), int(binary.LittleEndian.Uint16(head[6:]))
	if left+width > g.width || top+height > g.height || !g.shared && head[8]&ownColors == 0 {
		return errGIF
	}
	if g.pixels += width * height; g.pixels > maxFramePixels {
		return errGIFPixels
	}
	if err := g.colors(head[8]); err != nil {
		return err
	}
	bits, err := g.copy(1)
	if err != nil || bits[0] < 2 || bits[0] > 8 {
		return errGIF
	}
	blocks, err := g.blocks()
	if err != nil {
		return err
	}
	if g.codes == nil {
		g.codes = new(lzw.Reader)
	}
	g.codes.Reset(&subBlocks{in: blocks}, lzw.LSB, int(bits[0]))
	if _, err := io.CopyN(io.Discard, g.codes, int64(width)*int64(height)); err != nil {
		return errGIF
	}
	g.out = append(g.out, blocks...)
	g.frames++
	return nil
}

// subBlocks reads the content of sub-blocks.
type subBlocks struct {
	in   []byte
	part bytes.Reader
}

// ReadByte implements io.ByteReader.
func (s *subBlocks) ReadByte() (byte, error) {
	if s.part.Len() == 0 && !s.next() {
		return 0, io.EOF
	}
	return s.part.ReadByte()
}

// Read implements io.Reader.
func (s *subBlocks) Read(p []byte) (int, error) {
	if s.part.Len() == 0 && !s.next() {
		return 0, io.EOF
	}
	return s.part.Read(p)
}

func (s *subBlocks) next() bool {
	if len(s.in) == 0 || s.in[0] == 0 {
		return false
	}
	length := int(s.in[0])
	s.part.Reset(s.in[1 : 1+length])
	s.in = s.in[1+length:]
	return true
}
