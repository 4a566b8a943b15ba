// Package picture reads uploaded pictures: PNG, JPEG, GIF and still WebP. The content of a file
// decides, not its name. Dimensions, and the memory that a decoder will need, are known before
// pixels are decoded. The result is encoded anew from the pixels, so that it holds no metadata and
// nothing else that the upload may have carried.
//
// Failure policy: an unusable file is refused with an *app.Error that names the field and a format
// to use.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"runtime/debug"

	"golang.org/x/image/webp"

	"mailer/app"
)

// Picture is a picture that mail programs and browsers can show.
type Picture struct {
	Type  string // image/png, image/jpeg or image/gif
	Sizes []Size // the widest first
}

// Size is a picture in one of its sizes.
type Size struct {
	Bytes         []byte
	Width, Height int // pixels
}

// Bounds are the limits of a picture.
type Bounds struct {
	Bytes  int   // size of the file, and of each encoded size
	Side   int   // pixels of its longer side
	Pixels int   // width × height
	Widths []int // sizes to make, the widest first; a narrower picture keeps its width. Empty: only its own
	GIF    bool  // GIFs are accepted
}

// maxMemory bounds the memory that decoding and resizing one picture needs, in bytes.
const maxMemory = 170 << 20

// file is an uploaded file of a known format.
type file struct {
	field string
	bytes []byte
	*format
	image.Config
	orientation orientation
	memory      int64 // bytes of its pixels while it is decoded
	collect     int   // see source
}

// format is a supported file format.
type format struct {
	kind   string
	fits   func(b []byte) bool
	config func(r io.Reader) (image.Config, error)
	decode func(r io.Reader) (image.Image, error)
	// examine checks what the decoder does not, and sets orientation and memory.
	examine func(f *file) error
}

var formats = []format{
	{"image/png", starts("\x89PNG\r\n\x1a\n"), png.DecodeConfig, png.Decode, examinePNG},
	{"image/jpeg", starts("\xff\xd8\xff"), jpeg.DecodeConfig, jpeg.Decode, examineJPEG},
	{"image/webp", isWebP, webp.DecodeConfig, webp.Decode, examineWebP},
}

// otherSignatures are formats that are refused by name.
var otherSignatures = []struct {
	name string
	fits func(b []byte) bool
}{
	{"a GIF", starts("GIF8")},
	{"an SVG", func(b []byte) bool { return bytes.Contains(bytes.ToLower(b[:min(len(b), 1024)]), []byte("<svg")) }},
	{"an AVIF", func(b []byte) bool { return major("avif")(b) || major("avis")(b) }},
	{"a HEIC", func(b []byte) bool { return major("heic")(b) || major("mif1")(b) }},
	{"a BMP", starts("BM")},
	{"a TIFF", func(b []byte) bool { return starts("II*\x00")(b) || starts("MM\x00*")(b) }},
	{"a PDF", starts("%PDF-")},
}

func starts(magic string) func(b []byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

// major returns a test for the major brand of an ISO base media file.
func major(name string) func(b []byte) bool {
	return func(b []byte) bool { return len(b) >= 12 && string(b[4:12]) == "ftyp"+name }
}

func isWebP(b []byte) bool {
	return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP"
}

func (b *Bounds) useHint() string {
	if b.GIF {
		return "use a PNG, a JPEG, a GIF or a WebP that is not animated"
	}
	return "use a PNG, a JPEG or a WebP that is not animated"
}

// Read reads a picture from an uploaded file and makes its sizes. A WebP becomes a PNG, or a JPEG if
// it is lossy and opaque: several mail programs do not show WebP. A GIF keeps its frames and its
// size. The orientation of a JPEG is applied. Decoding stops when ctx ends. Only one picture should
// be read at a time: it may need 200 MB. field is the name of the field in errors. Errors:
// CodeValidation; that of ctx.
func Read(ctx context.Context, field string, b []byte, within *Bounds) (*Picture, error) {
	if len(b) == 0 {
		return nil, app.Invalid(field, "must not be empty: %s", within.useHint())
	}
	if len(b) > within.Bytes {
		return nil, app.Invalid(field, "has %d KB, and the limit is %d KB: use a smaller picture", (len(b)+1023)>>10, within.Bytes>>10)
	}
	if within.GIF && isGIF(b) {
		return readGIF(field, b, within)
	}
	f, err := open(field, b, within)
	if err != nil {
		return nil, err
	}
	if err := within.check(field, f.Width, f.Height); err != nil {
		return nil, err
	}
	size := within.sizes(f)[0]
	need := f.memory + 4*int64(size.X)*int64(size.Y)
	if need > maxMemory {
		return nil, app.Invalid(field, "needs too much memory to be read at %d × %d pixels: use a smaller picture, or save it as a plain JPEG, or as a PNG of 8 bits without interlacing", f.Width, f.Height)
	}
	defer free(need)
	return f.read(ctx, within)
}

// read decodes a file and makes the sizes of the picture.
func (f *file) read(ctx context.Context, within *Bounds) (*Picture, error) {
	pixels, err := f.decode(&source{ctx: ctx, Reader: bytes.NewReader(f.bytes), collect: f.collect})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unreadable(f.field, err)
	}
	if pixels.Bounds().Dx() != f.Width || pixels.Bounds().Dy() != f.Height {
		return nil, damaged(f.field)
	}
	return encodeSizes(f, pixels, within)
}

// largePicture is the memory, in bytes, from which a decoded picture is freed immediately. Otherwise
// the next one could be decoded while the memory of the last is not collected yet.
const largePicture = 8 << 20

// free returns the memory of a decoded picture to the system.
func free(bytes int64) {
	if bytes > largePicture {
		debug.FreeOSMemory()
	}
}

// check refuses dimensions above the limits.
func (b *Bounds) check(field string, width, height int) error {
	if width > b.Side || height > b.Side {
		return app.Invalid(field, "is %d × %d pixels, and the limit is %d × %d: use a smaller picture", width, height, b.Side, b.Side)
	}
	if b.Pixels > 0 && width*height > b.Pixels {
		return app.Invalid(field, "has %.1f megapixels (%d × %d), and the limit is %.1f: use a smaller picture", float64(width*height)/1e6, width, height, float64(b.Pixels)/1e6)
	}
	return nil
}

// sizes returns the sizes to make of a file, the widest first, after its orientation was applied.
func (b *Bounds) sizes(f *file) (out []image.Point) {
	size := image.Pt(f.Width, f.Height)
	if f.orientation.turns() {
		size = image.Pt(size.Y, size.X)
	}
	for _, width := range b.Widths {
		if width < size.X {
			out = append(out, image.Pt(width, max(1, (size.Y*width+size.X/2)/size.X)))
		} else if len(out) == 0 {
			out = append(out, size)
		}
	}
	if len(out) == 0 {
		out = append(out, size)
	}
	return out
}

// open recognizes a file and reads its header. Error: CodeValidation.
func open(field string, b []byte, within *Bounds) (*file, error) {
	for i := range formats {
		if !formats[i].fits(b) {
			continue
		}
		f := &file{field: field, bytes: b, format: &formats[i], orientation: upright}
		var err error
		if f.Config, err = f.config(bytes.NewReader(b)); err != nil {
			return nil, unreadable(field, err)
		}
		if f.Width <= 0 || f.Height <= 0 {
			return nil, damaged(field)
		}
		return f, f.examine(f)
	}
	for _, o := range otherSignatures {
		if o.fits(b) {
			return nil, app.Invalid(field, "is %s: %s", o.name, within.useHint())
		}
	}
	return nil, app.Invalid(field, "is not a picture that can be read: %s", within.useHint())
}

func damaged(field string) error {
	return app.Invalid(field, "is damaged or cut off: save the picture again and upload it")
}

// unreadable returns the error of a file that a decoder refused.
func unreadable(field string, err error) error {
	var jpegKind jpeg.UnsupportedError
	var pngKind png.UnsupportedError
	if errors.As(err, &jpegKind) || errors.As(err, &pngKind) {
		return app.Invalid(field, "is of a rare kind that can't be read: save the picture again as a plain PNG or JPEG and upload it")
	}
	return damaged(field)
}

// source reads a file for a decoder. It fails once its context has ended.
type source struct {
	ctx context.Context
	*bytes.Reader
	collect int // bytes after which garbage is collected; 0: as always
	read    int // since the last collection
}

// Read implements io.Reader.
func (r *source) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	if r.read += n; r.collect > 0 && r.read >= r.collect {
		runtime.GC()
		r.read = 0
	}
	return n, err
}

// ReadByte implements io.ByteReader.
func (r *source) ReadByte() (byte, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.ReadByte()
}

// examinePNG refuses animations and sets the memory. image/png makes one image, and another one for
// each pass of an interlaced file, which together are as large.
func examinePNG(f *file) error {
	const depthAt, colorAt, interlaceAt = 24, 25, 28 // in the header, which the decoder has read
	const paletted = 3
	each := int64(4)
	switch {
	case f.bytes[depthAt] == 16:
		each = 8
	case f.bytes[colorAt] == paletted:
		each = 1
	}
	f.memory = each * int64(f.Width) * int64(f.Height)
	if f.bytes[interlaceAt] != 0 {
		f.memory *= 2
	}
	head, _, _ := bytes.Cut(f.bytes, []byte("IDAT"))
	if bytes.Contains(head, []byte("\x00\x00\x00\x08acTL")) {
		return app.Invalid(f.field, "is an animated PNG, which mail programs do not play: use a GIF, or a PNG that is not animated")
	}
	return nil
}

const (
	// webpTrees is the memory that the Huffman trees of a lossless WebP may take, in bytes, whatever
	// its size: up to 2,600 sets of them.
	webpTrees = 128 << 20
	// webpCollect is the part of a lossless WebP after which garbage is collected, in bytes: some
	// hundred bytes may make the decoder allocate a tree of 50 KB twice.
	webpCollect = 128 << 10
)

// examineWebP refuses animations and sets the memory.
func examineWebP(f *file) error {
	const animation, alpha = 0x02, 0x10
	kind, pixels := "", int64(f.Width)*int64(f.Height)
	if len(f.bytes) > 20 {
		kind = string(f.bytes[12:16])
	}
	switch {
	case kind == "VP8X" && f.bytes[20]&animation != 0:
		return app.Invalid(f.field, "is an animated WebP: use a GIF, or a WebP that is not animated")
	case kind == "VP8X" && f.bytes[20]&alpha != 0:
		f.memory, f.collect = webpTrees+11*pixels, webpCollect // the alpha channel is decoded like a lossless picture
	case kind == "VP8 ":
		f.memory = 2 * pixels
	default:
		f.memory, f.collect = webpTrees+8*pixels, webpCollect
	}
	return nil
}

// encodeSizes encodes the sizes of a decoded picture.
func encodeSizes(f *file, pixels image.Image, within *Bounds) (*Picture, error) {
	p := &Picture{Type: f.kind}
	if f.kind == "image/webp" {
		p.Type = "image/png"
		if _, lossy := pixels.(*image.YCbCr); lossy {
			p.Type = "image/jpeg"
		}
	}
	for i, size := range within.sizes(f) {
		if i > 0 || f.orientation != upright || size != pixels.Bounds().Size() || !encodesWell(pixels) {
			pixels = resize(pixels, size, f.orientation)
			f.orientation = upright // of the result
		}
		b, err := encode(pixels, p.Type, within.Bytes)
		if errors.Is(err, errTooLarge) {
			return nil, app.Invalid(f.field, "takes more than %d KB as a %s of %d × %d pixels: use a JPEG or a smaller picture", within.Bytes>>10, names[p.Type], size.X, size.Y)
		}
		if err != nil {
			return nil, fmt.Errorf("encode a picture: %w", err)
		}
		p.Sizes = append(p.Sizes, Size{Bytes: b, Width: size.X, Height: size.Y})
	}
	return p, nil
}

var names = map[string]string{"image/png": "PNG", "image/jpeg": "JPEG"}

// encodesWell reports whether the encoders have a fast path for an image, and write 8 bits a color.
func encodesWell(m image.Image) bool {
	switch m.(type) {
	case *image.Gray, *image.Paletted, *image.NRGBA, *image.RGBA, *image.YCbCr:
		return true
	}
	return false
}

// jpegQuality is the quality of encoded JPEGs: differences are hard to see, at half the size of 95.
const jpegQuality = 85

func encode(m image.Image, kind string, maxBytes int) ([]byte, error) {
	out := bounded{left: maxBytes}
	if kind == "image/jpeg" {
		err := jpeg.Encode(&out, m, &jpeg.Options{Quality: jpegQuality})
		return out.Bytes(), err
	}
	err := png.Encode(&out, m)
	return out.Bytes(), err
}

var errTooLarge = errors.New("the encoded picture is too large")

// bounded is a buffer that refuses more than left bytes.
type bounded struct {
	bytes.Buffer
	left int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}
