package picture

import (
	"bytes"
	"encoding/binary"
	"image/color"

	"mailer/app"
)

// maxScans bounds the scans of a JPEG: each may take as long as the whole picture, and needs only a
// few bytes. Programs write about ten.
const maxScans = 50

// Markers of JPEG (ITU T.81, table B.1).
const (
	markerFirstFrame  = 0xc0 // SOF0; SOF1 and SOF2 follow
	markerProgressive = 0xc2
	markerFirstReset  = 0xd0 // RST0
	markerLastReset   = 0xd7
	markerEnd         = 0xd9 // EOI
	markerScan        = 0xda // SOS
	markerExif        = 0xe1 // APP1
)

// examineJPEG limits the scans, and sets orientation and memory.
func examineJPEG(f *file) error {
	if bytes.Count(f.bytes, []byte{0xff, markerScan}) > maxScans {
		return app.Invalid(f.field, "is a JPEG of more than %d scans: save the picture again and upload it", maxScans)
	}
	pixels := int64(f.Width) * int64(f.Height)
	samples, progressive := 3*pixels, bytes.Contains(f.bytes, []byte{0xff, markerProgressive})
	for kind, data := range segments(f.bytes) {
		switch {
		case kind >= markerFirstFrame && kind <= markerProgressive:
			samples = jpegSamples(data, f.Width, f.Height)
		case kind == markerExif && f.orientation == upright:
			f.orientation = exifOrientation(data)
		}
	}
	f.memory = samples
	if progressive {
		f.memory += 4 * samples // coefficients, until the last scan
	}
	if f.ColorModel == color.CMYKModel || f.ColorModel == color.RGBAModel {
		f.memory += 4 * pixels // converted
	}
	return nil
}

// segments yields the kind and content of each segment before the first scan, as image/jpeg finds
// them.
func segments(b []byte) func(yield func(kind byte, data []byte) bool) {
	return func(yield func(kind byte, data []byte) bool) {
		for at := 2; ; {
			marker := bytes.IndexByte(b[min(at, len(b)):], 0xff)
			if marker < 0 {
				return
			}
			for at += marker; at < len(b) && b[at] == 0xff; {
				at++ // fill bytes
			}
			if at >= len(b) || b[at] == markerEnd || b[at] == markerScan {
				return
			}
			kind := b[at]
			at++
			if kind == 0 || kind >= markerFirstReset && kind <= markerLastReset {
				continue
			}
			if at+2 > len(b) {
				return
			}
			length := int(binary.BigEndian.Uint16(b[at:]))
			if length < 2 || at+length > len(b) || !yield(kind, b[at+2:at+length]) {
				return
			}
			at += length
		}
	}
}

// jpegSamples returns how many samples a frame has, by its header (ITU T.81, B.2.2): a component may
// have fewer than the picture has pixels.
func jpegSamples(frame []byte, width, height int) (n int64) {
	const head, each = 6, 3
	if len(frame) < head {
		return 4 * int64(width) * int64(height)
	}
	parts := int(frame[head-1])
	var most [2]int
	for i := range parts {
		if at := head + each*i + 1; at < len(frame) {
			most[0], most[1] = max(most[0], int(frame[at]>>4)), max(most[1], int(frame[at]&15))
		}
	}
	if most[0] == 0 || most[1] == 0 {
		return 4 * int64(width) * int64(height)
	}
	// Whole units are stored, of which the picture may fill a part.
	across, down := (width+8*most[0]-1)/(8*most[0]), (height+8*most[1]-1)/(8*most[1])
	for i := range parts {
		if at := head + each*i + 1; at < len(frame) {
			n += 64 * int64(across) * int64(down) * int64(frame[at]>>4) * int64(frame[at]&15)
		}
	}
	return n
}

// exifOrientation returns the orientation in an APP1 segment; upright if there is none. Only the
// first directory is read (EXIF 2.32, 4.6.2).
func exifOrientation(data []byte) orientation {
	const tagOrientation, typeShort = 0x0112, 3
	tiff, ok := bytes.CutPrefix(data, []byte("Exif\x00\x00"))
	if !ok || len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return upright
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == tagOrientation && order.Uint16(entries[2:]) == typeShort {
			if o := orientation(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			break
		}
		entries = entries[12:]
	}
	return upright
}
