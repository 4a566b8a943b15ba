package picture

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// logo are bounds as of a logo, and mailed those of an image in mail, but smaller.
var (
	logo   = &Bounds{Bytes: 64 << 10, Side: 100}
	mailed = &Bounds{Bytes: 64 << 10, Side: 200, Pixels: 20_000, Widths: []int{60, 30}, GIF: true}
)

// Pictures of one pixel.
const (
	lossy      = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	seeThrough = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
	animated   = "UklGRlIAAABXRUJQVlA4WAoAAAASAAAAAAAAAAAAQU5JTQYAAAD/////AABBTk1GJgAAAAAAAAAAAAAAAAAAAGQAAABWUDhMDQAAAC8AAAAQBxAREYiI/gcA"
)

func unbase64(t *testing.T, text string) []byte {
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

// as16 encodes a PNG of 16 bits a color.
func as16(b *bytes.Buffer, m image.Image) error {
	wide := image.NewNRGBA64(m.Bounds())
	wide.Set(1, 0, color.NRGBA64{0x8000, 0x4000, 0xffff, 0x8000})
	return png.Encode(b, wide)
}

func asCMYK(b *bytes.Buffer, m image.Image) error {
	_, err := b.Write(madeJPEG(frame{kind: 0xc0, width: m.Bounds().Dx(), height: m.Bounds().Dy(), sampling: []byte{0x11, 0x11, 0x11, 0x11}, adobe: true}))
	return err
}

// animation returns a GIF of two frames with a comment, XMP metadata, a loop, and HTML behind its
// end.
func animation(t *testing.T, width, height int) []byte {
	t.Helper()
	frames := &gif.GIF{LoopCount: 3, Delay: []int{5, 7}, Disposal: []byte{1, 2}}
	for i := range 2 {
		m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White, color.Transparent})
		m.SetColorIndex(i, 0, 1)
		frames.Image = append(frames.Image, m)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, frames); err != nil {
		t.Fatal(err)
	}
	const head = 13 // there is no color table for all frames
	extra := "\x21\xfe\x06secret\x00" + "\x21\xff\x0bXMP DataXMP\x07<x:xmp>\x00" + "\x21\x01\x0c............\x04text\x00"
	return []byte(string(b.Bytes()[:head]) + extra + string(b.Bytes()[head:]) + "<script>1</script>")
}

// frame describes a JPEG that madeJPEG makes.
type frame struct {
	kind          byte // marker of the frame
	width, height int
	sampling      []byte // of each component
	adobe         bool   // CMYK
	scans         int    // after the first: of the coefficients of a progressive one
	scan          []byte // the content of each of them
}

// madeJPEG returns a JPEG whose samples all have one value: each block takes one bit a component in
// a progressive file, and two otherwise.
func madeJPEG(f frame) []byte {
	b := []byte("\xff\xd8")
	add := func(marker byte, data ...byte) {
		b = binary.BigEndian.AppendUint16(append(b, 0xff, marker), uint16(len(data)+2))
		b = append(b, data...)
	}
	if f.adobe {
		add(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x00")...)
	}
	add(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	head := []byte{8, byte(f.height >> 8), byte(f.height), byte(f.width >> 8), byte(f.width), byte(len(f.sampling))}
	scan := []byte{byte(len(f.sampling))}
	most, total := [2]int{1, 1}, 0
	for i, hv := range f.sampling {
		head = append(head, byte(i+1), hv, 0)
		scan = append(scan, byte(i+1), 0)
		most = [2]int{max(most[0], int(hv>>4)), max(most[1], int(hv&15))}
		total += int(hv>>4) * int(hv&15)
	}
	add(f.kind, head...)
	one := append([]byte{1}, make([]byte, 15)...)
	add(0xc4, append(append([]byte{0}, one...), 0)...)       // the DC code 0: no difference
	add(0xc4, append(append([]byte{0x10}, one...), 0xe0)...) // the AC code 0: the end of 2^14 blocks and more
	bits := 1
	last := byte(0)
	if f.kind != 0xc2 {
		add(0xc4, append(append([]byte{0x10}, one...), 0)...) // the AC code 0: the end of a block
		bits, last = 2, 63
	}
	add(0xda, append(scan, 0, last, 0)...)
	blocks := total * ((f.width + 8*most[0] - 1) / (8 * most[0])) * ((f.height + 8*most[1] - 1) / (8 * most[1]))
	b = append(b, make([]byte, (blocks*bits+7)/8+8)...)
	for range f.scans {
		add(0xda, 1, 1, 0, 1, 63, 0)
		b = append(b, f.scan...)
	}
	return append(b, 0xff, 0xd9)
}

// withSegment returns a JPEG with another segment at its begin.
func withSegment(b []byte, marker byte, data string) []byte {
	head := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, marker}, uint16(len(data)+2))
	return append(append(head, data...), b[2:]...)
}

// exif returns an EXIF segment with an orientation.
func exif(o int, big bool) string {
	head, order := "II*\x00", binary.AppendByteOrder(binary.LittleEndian)
	if big {
		head, order = "MM\x00*", binary.BigEndian
	}
	b := order.AppendUint32([]byte(head), 10) // of the directory, behind two bytes that nothing refers to
	b = order.AppendUint16(append(b, 0, 0), 2)
	for _, entry := range [][2]int{{0x0100, 77}, {0x0112, o}} {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, uint16(entry[0])), 3), 1)
		b = order.AppendUint16(order.AppendUint16(b, uint16(entry[1])), 0)
	}
	return "Exif\x00\x00" + string(b) + "GPS 52.5"
}

func withChunk(b []byte, kind, data string) []byte {
	const head = 8 + 25
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	chunk = append(append(chunk, kind...), data...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return []byte(string(b[:head]) + string(chunk) + string(b[head:]))
}

// header returns the first chunk of a PNG.
func header(width, height uint32, depth, kind, interlaced byte) []byte {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	head = append(head, depth, kind, 0, 0, interlaced)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head))
}

// sizesOf describes a picture: its type and its sizes.
func sizesOf(t *testing.T, p *Picture) string {
	t.Helper()
	out := p.Type
	for _, s := range p.Sizes {
		out += fmt.Sprintf(" %d×%d", s.Width, s.Height)
		m, kind, err := image.Decode(bytes.NewReader(s.Bytes))
		if err != nil || "image/"+kind != p.Type || m.Bounds().Dx() != s.Width || m.Bounds().Dy() != s.Height {
			t.Errorf("%s is %s: %v", out, kind, err)
		}
	}
	return out
}

func TestRead(t *testing.T) {
	upside := withSegment(drawn(t, 90, 40, asJPEG), 0xe1, exif(6, true))
	for _, tt := range []struct {
		name   string
		file   []byte
		within *Bounds
		want   string
	}{
		{"PNG", drawn(t, 100, 40, asPNG), logo, "image/png 100×40"},
		{"JPEG", drawn(t, 30, 100, asJPEG), logo, "image/jpeg 30×100"},
		{"lossy WebP", unbase64(t, lossy), logo, "image/jpeg 1×1"},
		{"WebP with transparent parts", unbase64(t, seeThrough), logo, "image/png 1×1"},
		{"wide PNG", drawn(t, 180, 90, asPNG), mailed, "image/png 60×30 30×15"},
		{"PNG of 16 bits", drawn(t, 50, 10, as16), mailed, "image/png 50×10 30×6"},
		{"narrow PNG", drawn(t, 29, 200, asPNG), mailed, "image/png 29×200"},
		{"PNG of the smaller size", drawn(t, 30, 20, asPNG), mailed, "image/png 30×20"},
		{"PNG of the larger size", drawn(t, 60, 20, asPNG), mailed, "image/png 60×20 30×10"},
		{"flat PNG", drawn(t, 200, 1, asPNG), mailed, "image/png 60×1 30×1"},
		{"turned JPEG", upside, mailed, "image/jpeg 40×90 30×68"},
		{"CMYK", drawn(t, 40, 20, asCMYK), mailed, "image/jpeg 40×20 30×15"},
		{"still GIF", drawn(t, 100, 100, asGIF), mailed, "image/gif 100×100"},
		{"animation", animation(t, 150, 120), mailed, "image/gif 150×120"},
	} {
		p, err := Read(t.Context(), "file", tt.file, tt.within)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := sizesOf(t, p); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	good, loop := drawn(t, 60, 60, asPNG), animation(t, 20, 20)
	mail := *mailed
	mail.Bytes, mail.Side, mail.Pixels = 8<<20, 40_000, 1<<31
	for name, tt := range map[string]struct {
		file   []byte
		within *Bounds
		parts  string
	}{
		"nothing":                {nil, logo, "must not be empty"},
		"too many bytes":         {make([]byte, logo.Bytes+1), logo, "has 65 KB, and the limit is 64 KB"},
		"too wide":               {drawn(t, 101, 1, asPNG), logo, "is 101 × 1 pixels, and the limit is 100 × 100"},
		"too high":               {drawn(t, 1, 101, asJPEG), logo, "is 1 × 101 pixels"},
		"too many pixels":        {drawn(t, 200, 101, asPNG), mailed, "has 0.0 megapixels (200 × 101)"},
		"SVG":                    {[]byte(`<?xml version="1.0"?><SVG xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`), logo, "is an SVG: use a PNG"},
		"GIF as a logo":          {drawn(t, 2, 2, asGIF), logo, "is a GIF: use a PNG"},
		"AVIF":                   {[]byte("\x00\x00\x00\x20ftypavif\x00\x00\x00\x00"), mailed, "is an AVIF: use a PNG, a JPEG, a GIF"},
		"HEIC":                   {[]byte("\x00\x00\x00\x20ftypheic\x00\x00\x00\x00"), logo, "is a HEIC: use a PNG"},
		"PDF":                    {[]byte("%PDF-1.7"), logo, "is a PDF: use a PNG"},
		"HTML":                   {[]byte("<!doctype html><script>1</script>"), logo, "is not a picture that can be read: use a PNG"},
		"animated WebP":          {unbase64(t, animated), mailed, "is an animated WebP: use a GIF"},
		"animated PNG":           {withChunk(good, "acTL", "\x00\x00\x00\x02\x00\x00\x00\x00"), mailed, "is an animated PNG"},
		"cut PNG":                {good[:len(good)-20], logo, "is damaged or cut off"},
		"PNG without a head":     {good[:10], logo, "is damaged or cut off"},
		"cut JPEG":               {drawn(t, 60, 60, asJPEG)[:300], logo, "is damaged or cut off"},
		"arithmetic JPEG":        {madeJPEG(frame{kind: 0xc9, width: 8, height: 8, sampling: []byte{0x11}}), logo, "is of a rare kind"},
		"WebP without pixels":    {unbase64(t, lossy)[:16], logo, "is damaged or cut off"},
		"PNG with no width":      {append(header(0, 5, 8, 2, 0), good[33:]...), logo, "is damaged or cut off"},
		"PNG of other size":      {append(header(60, 61, 8, 6, 0), good[33:]...), logo, "is damaged or cut off"},
		"PNG of 30,000 pixels":   {header(30_000, 30_000, 8, 2, 0), logo, "30000 × 30000 pixels"},
		"PNG that needs memory":  {header(5000, 4000, 16, 6, 1), &mail, "needs too much memory to be read at 5000 × 4000 pixels"},
		"JPEG that needs memory": {madeJPEG(frame{kind: 0xc2, width: 4000, height: 3000, sampling: []byte{0x11, 0x11, 0x11}}), &mail, "needs too much memory"},
		"JPEG of many scans":     {madeJPEG(frame{kind: 0xc2, width: 8, height: 8, sampling: []byte{0x11}, scans: 50}), &mail, "is a JPEG of more than 50 scans"},
		"wide GIF":               {animation(t, 201, 10), mailed, "is 201 × 10 pixels"},
		"cut GIF":                {loop[:len(loop)/2], mailed, "is damaged or cut off"},
		"GIF without an end":     {bytes.TrimSuffix(loop, []byte(";<script>1</script>")), mailed, "is damaged or cut off"},
		"GIF without a frame":    {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), mailed, "is damaged or cut off"},
		"GIF without pixels":     {[]byte("GIF89a\x00\x00\x01\x00\x00\x00\x00;"), mailed, "is damaged or cut off"},
		"GIF with a large frame": {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x02\x00\x01\x00\x00\x02\x02\x44\x01\x00;"), mailed, "is damaged or cut off"},
		"GIF with few pixels":    {[]byte("GIF89a\x05\x00\x05\x00\x00\x00\x00,\x00\x00\x00\x00\x05\x00\x05\x00\x00\x02\x02\x44\x01\x00;"), mailed, "is damaged or cut off"},
		"GIF of too many pixels": {hugeGIF(40_000, 40_000, 1), &mail, "has frames of more than 400 megapixels together"},
		"JPEG that grows":        {rough(t, 180, 150), &Bounds{Bytes: len(rough(t, 180, 150)) + 1, Side: 200}, "KB as a JPEG of 180 × 150 pixels"},
		"GIF without colors":     {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00;"), mailed, "is damaged or cut off"},
	} {
		_, err := Read(t.Context(), "file", tt.file, tt.within)
		if err == nil || !strings.HasPrefix(err.Error(), "validation_error: `file` ") || !strings.Contains(err.Error(), tt.parts) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rough returns a JPEG of a low quality, which becomes larger.
func rough(t *testing.T, width, height int) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = byte(i*i>>7) ^ byte(i*31)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 20}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hugeGIF returns a GIF of a size with frames that have no pixels.
func hugeGIF(width, height, frames int) []byte {
	b := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte("GIF89a"), uint16(width)), uint16(height))
	b = append(b, 0x80, 0, 0, 1, 1, 1, 2, 2, 2)
	for range frames {
		b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(append(b, ',', 0, 0, 0, 0), uint16(width)), uint16(height))
		b = append(b, 0, 2, 0)
	}
	return append(b, ';')
}

// TestNothingButPixelsStays: metadata, and what other programs would read in the file, is removed.
func TestNothingButPixelsStays(t *testing.T) {
	const secret = "secret"
	jpg := drawn(t, 20, 20, asJPEG)
	for name, file := range map[string][]byte{
		"EXIF":           withSegment(jpg, 0xe1, exif(1, false)+secret),
		"ICC profile":    withSegment(jpg, 0xe2, "ICC_PROFILE\x00\x01\x01"+secret),
		"XMP":            withSegment(jpg, 0xe1, "http://ns.adobe.com/xap/1.0/\x00"+secret),
		"JPEG comment":   withSegment(jpg, 0xfe, secret),
		"JPEG and HTML":  append(bytes.Clone(jpg), "<script>"+secret...),
		"PNG text":       withChunk(drawn(t, 20, 20, asPNG), "tEXt", "a\x00"+secret),
		"PNG profile":    withChunk(drawn(t, 20, 20, asPNG), "iCCP", "a\x00\x00"+secret),
		"PNG and HTML":   append(drawn(t, 20, 20, asPNG), "<script>"+secret...),
		"GIF with texts": animation(t, 20, 20),
		"WebP and HTML":  append(unbase64(t, seeThrough), "<script>"+secret...),
	} {
		p, err := Read(t.Context(), "file", file, mailed)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range []string{secret, "Exif", "GPS", "XMP", "ICC", "iCCP", "script", "text"} {
			if bytes.Contains(p.Sizes[0].Bytes, []byte(part)) {
				t.Errorf("%s: there is %s in %q", name, part, p.Sizes[0].Bytes)
			}
		}
	}
}

// TestAnimationKeepsItsFrames with their times and how often they repeat.
func TestAnimationKeepsItsFrames(t *testing.T) {
	file := animation(t, 20, 10)
	p, err := Read(t.Context(), "file", file, mailed)
	if err != nil {
		t.Fatal(err)
	}
	before, err := gif.DecodeAll(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	after, err := gif.DecodeAll(bytes.NewReader(p.Sizes[0].Bytes))
	if err != nil || fmt.Sprint(after) == "" || after.LoopCount != 3 || len(after.Image) != 2 {
		t.Fatalf("%+v %v", after, err)
	}
	for i, m := range after.Image {
		if !bytes.Equal(m.Pix, before.Image[i].Pix) || after.Delay[i] != before.Delay[i] || after.Disposal[i] != before.Disposal[i] {
			t.Errorf("frame %d differs", i)
		}
	}
}

// TestOrientation: a picture whose corner is red before it was turned has it in the right place.
func TestOrientation(t *testing.T) {
	for o, corner := range map[int]image.Point{
		0: {0, 0}, 1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}, 9: {0, 0},
	} {
		m := image.NewGray(image.Rect(0, 0, 48, 16))
		for i := range m.Pix {
			if i%48 < 16 && i/48 < 8 {
				m.Pix[i] = 255
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 100}); err != nil {
			t.Fatal(err)
		}
		p, err := Read(t.Context(), "file", withSegment(b.Bytes(), 0xe1, exif(o, o%2 == 0)), mailed)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Sizes[0]
		if turned := s.Width == 16; turned != (o >= 5 && o <= 8) {
			t.Errorf("orientation %d: %d × %d", o, s.Width, s.Height)
		}
		shown, err := jpeg.Decode(bytes.NewReader(s.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []image.Point{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			light, _, _, _ := shown.At(c.X*(s.Width-1), c.Y*(s.Height-1)).RGBA()
			if (light > 0x8000) != (c == corner) {
				t.Errorf("orientation %d: brightness %x at %v", o, light>>8, c)
			}
		}
	}
}

func TestResizeAverages(t *testing.T) {
	m := image.NewNRGBA(image.Rect(5, 5, 8, 7)) // 3 × 2
	for i := range m.Pix {
		m.Pix[i] = 255
	}
	m.Set(5, 5, color.NRGBA{0, 0, 0, 255})
	m.Set(7, 6, color.NRGBA{255, 0, 0, 0})
	out := resize(m, image.Pt(2, 1), upright)
	// Each pixel covers one and a half columns of two rows.
	if got, want := fmt.Sprint(out.Pix), "[170 170 170 255 170 170 170 170]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAnEndedContextStopsDecoding of the rest.
func TestAnEndedContextStopsDecoding(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, "file", drawn(t, 60, 60, asPNG), logo); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{lossy, seeThrough, animated} {
		b, _ := base64.StdEncoding.DecodeString(text)
		f.Add(b)
	}
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Add(madeJPEG(frame{kind: 0xc2, width: 9, height: 9, sampling: []byte{0x22, 0x11, 0x11}}))
	f.Add(withSegment(madeJPEG(frame{kind: 0xc0, width: 9, height: 9, sampling: []byte{0x11}}), 0xe1, exif(8, true)))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00aaabbb,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00;"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(t.Context(), "file", b, mailed)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "validation_error: `file` ") {
				t.Errorf("%v", err)
			}
			return
		}
		for _, s := range p.Sizes {
			if s.Width < 1 || s.Width > mailed.Side || s.Height < 1 || s.Height > mailed.Side || len(s.Bytes) > mailed.Bytes {
				t.Errorf("%s %d × %d", p.Type, s.Width, s.Height)
			}
		}
		sizesOf(t, p)
	})
}
