// Package picture reads uploaded pictures: PNG, JPEG and still WebP. The content of a file
// decides, not its name. Dimensions are checked before pixels are decoded.
//
// Failure policy: an unusable file is refused with an *app.Error that names the field and a format
// to use.
package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"mailer/app"
)

// Picture is a picture that mail programs and browsers can show.
type Picture struct {
	Bytes         []byte
	Type          string // image/png or image/jpeg
	Width, Height int    // pixels
}

// Bounds are the limits of a picture.
type Bounds struct {
	Bytes int // size of the file
	Side  int // pixels of its longer side
}

// format is a supported file format.
type format struct {
	kind   string
	config func(b []byte) (image.Config, error)
	decode func(b []byte) (image.Image, error)
}

var formats = []struct {
	fits func(b []byte) bool
	format
}{
	{starts("\x89PNG\r\n\x1a\n"), format{"image/png", config(png.DecodeConfig), decode(png.Decode)}},
	{starts("\xff\xd8\xff"), format{"image/jpeg", config(jpeg.DecodeConfig), decode(jpeg.Decode)}},
	{isWebP, format{"image/webp", config(webp.DecodeConfig), decode(webp.Decode)}},
}

// otherSignatures are formats that are refused by name.
var otherSignatures = []struct {
	name string
	fits func(b []byte) bool
}{
	{"a GIF", starts("GIF8")},
	{"an SVG", func(b []byte) bool { return bytes.Contains(bytes.ToLower(b[:min(len(b), 1024)]), []byte("<svg")) }},
	{"an AVIF", major("avif")},
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

// isAnimated reports whether a WebP has several frames, by its extended header.
func isAnimated(b []byte) bool {
	const animation = 0x02
	return len(b) > 20 && string(b[12:16]) == "VP8X" && b[20]&animation != 0
}

func config(read func(r io.Reader) (image.Config, error)) func(b []byte) (image.Config, error) {
	return func(b []byte) (image.Config, error) { return read(bytes.NewReader(b)) }
}

func decode(read func(r io.Reader) (image.Image, error)) func(b []byte) (image.Image, error) {
	return func(b []byte) (image.Image, error) { return read(bytes.NewReader(b)) }
}

const useHint = "use a PNG, a JPEG or a WebP that is not animated"

// decodeSlot limits decoding to one picture at a time, since it needs up to 50 MB.
var decodeSlot = make(chan struct{}, 1)

// Read reads a picture from an uploaded file. PNG and JPEG are returned unchanged. A WebP is
// converted to JPEG, or to PNG if it has transparency: several mail programs do not show WebP. The
// call waits while another picture is decoded. field is the name of the field in errors. Error:
// CodeValidation.
func Read(field string, b []byte, within Bounds) (*Picture, error) {
	if len(b) == 0 {
		return nil, app.Invalid(field, "must not be empty: %s", useHint)
	}
	if len(b) > within.Bytes {
		return nil, app.Invalid(field, "has %d KB, and the limit is %d KB: use a smaller picture", (len(b)+1023)>>10, within.Bytes>>10)
	}
	f, err := formatOf(field, b)
	if err != nil {
		return nil, err
	}
	size, err := f.config(b)
	if err != nil || size.Width == 0 || size.Height == 0 {
		return nil, damaged(field)
	}
	if size.Width > within.Side || size.Height > within.Side {
		return nil, app.Invalid(field, "is %d × %d pixels, and the limit is %d × %d: use a smaller picture", size.Width, size.Height, within.Side, within.Side)
	}
	decodeSlot <- struct{}{}
	defer func() { <-decodeSlot }()
	pixels, err := f.decode(b)
	if err != nil {
		return nil, damaged(field)
	}
	p := &Picture{Bytes: b, Type: f.kind, Width: size.Width, Height: size.Height}
	if f.kind == "image/webp" {
		if err := p.convert(pixels); err != nil {
			return nil, err
		}
		if len(p.Bytes) > 2*within.Bytes {
			return nil, app.Invalid(field, "is too large when it is turned from WebP into %s: use a PNG or a JPEG", p.Type)
		}
	}
	return p, nil
}

func formatOf(field string, b []byte) (*format, error) {
	for i := range formats {
		if !formats[i].fits(b) {
			continue
		}
		if formats[i].kind == "image/webp" && isAnimated(b) {
			return nil, app.Invalid(field, "is an animated WebP: %s", useHint)
		}
		return &formats[i].format, nil
	}
	for _, o := range otherSignatures {
		if o.fits(b) {
			return nil, app.Invalid(field, "is %s: %s", o.name, useHint)
		}
	}
	return nil, app.Invalid(field, "is not a picture that can be read: %s", useHint)
}

func damaged(field string) error {
	return app.Invalid(field, "is damaged or cut off: save the picture again and upload it")
}

// convert converts a decoded picture to a format that every mail program shows.
func (p *Picture) convert(pixels image.Image) error {
	var out bytes.Buffer
	err := error(nil)
	if whole, ok := pixels.(interface{ Opaque() bool }); ok && whole.Opaque() {
		p.Type, err = "image/jpeg", jpeg.Encode(&out, pixels, &jpeg.Options{Quality: 90})
	} else {
		p.Type, err = "image/png", (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, pixels)
	}
	if err != nil {
		return fmt.Errorf("encode a picture: %w", err)
	}
	p.Bytes = out.Bytes()
	return nil
}
