package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

var within = Bounds{Bytes: 64 << 10, Side: 100}

// Pictures of one pixel.
const (
	lossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	clear    = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
	animated = "UklGRlIAAABXRUJQVlA4WAoAAAASAAAAAAAAAAAAQU5JTQYAAAD/////AABBTk1GJgAAAAAAAAAAAAAAAAAAAGQAAABWUDhMDQAAAC8AAAAQBxAREYiI/gcA"
)

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drawn returns an encoded picture of the given size.
func drawn(t *testing.T, width, height int, encode func(b *bytes.Buffer, m image.Image) error) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	m.Set(0, 0, color.NRGBA{200, 30, 30, 255})
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(b *bytes.Buffer, m image.Image) error  { return png.Encode(b, m) }
func asJPEG(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }
func asGIF(b *bytes.Buffer, m image.Image) error  { return gif.Encode(b, m, nil) }

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		file   []byte
		kind   string
		w, h   int
		stays  bool
		decode func(b []byte) (image.Image, error)
	}{
		{"PNG", drawn(t, 100, 40, asPNG), "image/png", 100, 40, true, decode(png.Decode)},
		{"JPEG", drawn(t, 30, 100, asJPEG), "image/jpeg", 30, 100, true, decode(jpeg.Decode)},
		{"lossy WebP", decoded(t, lossy), "image/jpeg", 1, 1, false, decode(jpeg.Decode)},
		{"WebP with transparent parts", decoded(t, clear), "image/png", 1, 1, false, decode(png.Decode)},
	} {
		p, err := Read("content", tt.file, within)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if p.Type != tt.kind || p.Width != tt.w || p.Height != tt.h || bytes.Equal(p.Bytes, tt.file) != tt.stays {
			t.Errorf("%s: %s %d × %d", tt.name, p.Type, p.Width, p.Height)
		}
		if m, err := tt.decode(p.Bytes); err != nil || m.Bounds().Dx() != tt.w {
			t.Errorf("%s is no %s: %v", tt.name, tt.kind, err)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	good := drawn(t, 60, 60, asPNG)
	for name, tt := range map[string]struct {
		file  []byte
		parts string
	}{
		"nothing":             {nil, "must not be empty"},
		"too many bytes":      {make([]byte, within.Bytes+1), "has 65 KB, and the limit is 64 KB"},
		"too wide":            {drawn(t, 101, 1, asPNG), "is 101 × 1 pixels, and the limit is 100 × 100"},
		"too high":            {drawn(t, 1, 101, asJPEG), "is 1 × 101 pixels"},
		"SVG":                 {[]byte(`<?xml version="1.0"?><SVG xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`), "is an SVG: use a PNG"},
		"GIF":                 {drawn(t, 2, 2, asGIF), "is a GIF: use a PNG"},
		"AVIF":                {[]byte("\x00\x00\x00\x20ftypavif\x00\x00\x00\x00"), "is an AVIF: use a PNG"},
		"HEIC":                {[]byte("\x00\x00\x00\x20ftypheic\x00\x00\x00\x00"), "is a HEIC: use a PNG"},
		"PDF":                 {[]byte("%PDF-1.7"), "is a PDF: use a PNG"},
		"HTML":                {[]byte("<!doctype html><script>1</script>"), "is not a picture that can be read: use a PNG"},
		"animated WebP":       {decoded(t, animated), "is an animated WebP: use a PNG"},
		"cut PNG":             {good[:len(good)-20], "is damaged or cut off"},
		"PNG without a head":  {good[:10], "is damaged or cut off"},
		"cut JPEG":            {drawn(t, 60, 60, asJPEG)[:300], "is damaged or cut off"},
		"WebP without pixels": {decoded(t, lossy)[:16], "is damaged or cut off"},
		"PNG with no width":   {append(append([]byte{}, good[:16]...), append(make([]byte, 8), good[24:]...)...), "is damaged or cut off"},
	} {
		_, err := Read("content", tt.file, within)
		if err == nil || !strings.HasPrefix(err.Error(), "validation_error: `content` ") || !strings.Contains(err.Error(), tt.parts) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDimensionLimit: a file that claims huge dimensions is refused by its header.
func TestDimensionLimit(t *testing.T) {
	head := []byte("IHDR\x00\x00\x75\x30\x00\x00\x75\x30\x08\x02\x00\x00\x00")
	huge := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	huge = binary.BigEndian.AppendUint32(huge, crc32.ChecksumIEEE(head))
	if _, err := Read("content", huge, within); err == nil || !strings.Contains(err.Error(), "30000 × 30000 pixels") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{lossy, clear, animated} {
		b, _ := base64.StdEncoding.DecodeString(text)
		f.Add(b)
	}
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read("content", b, within)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "validation_error: `content` ") {
				t.Errorf("%v", err)
			}
			return
		}
		if p.Width < 1 || p.Width > within.Side || p.Height < 1 || p.Height > within.Side || p.Type != "image/png" && p.Type != "image/jpeg" {
			t.Errorf("%s %d × %d", p.Type, p.Width, p.Height)
		}
	})
}
