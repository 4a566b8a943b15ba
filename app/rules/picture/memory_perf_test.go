//go:build perf && linux

package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// inMail are the bounds of images in mail.
var inMail = &Bounds{Bytes: 5 << 20, Side: 12_000, Pixels: 16_000_000, Widths: []int{1200, 600}, GIF: true}

// hostileFiles are files that are small, or within all limits, and need as much memory or time as
// possible.
var hostileFiles = map[string]func() []byte{
	"PNG of 16 megapixels":                        func() []byte { return flatPNG(4000, 4000, 8, 6, 0) },
	"PNG of 16 bits":                              func() []byte { return flatPNG(4000, 4000, 16, 6, 0) },
	"narrow PNG of 16 bits":                       func() []byte { return flatPNG(1100, 12_000, 16, 6, 0) },
	"interlaced PNG":                              func() []byte { return flatPNG(4000, 4000, 8, 6, 1) },
	"interlaced PNG of 16 bits":                   func() []byte { return flatPNG(4000, 2500, 16, 6, 1) },
	"interlaced PNG of 16 bits and 16 megapixels": func() []byte { return flatPNG(4000, 4000, 16, 6, 1) },
	"PNG that claims 30,000 pixels":               func() []byte { return flatPNG(30_000, 30_000, 8, 0, 0) },
	"PNG of one row of 12,000":                    func() []byte { return flatPNG(12_000, 1, 16, 6, 1) },
	"PNG of noise":                                noisyPNG,
	"JPEG of 16 megapixels": func() []byte {
		return madeJPEG(frame{kind: 0xc0, width: 4000, height: 4000, sampling: []byte{0x11, 0x11, 0x11}})
	},
	"JPEG in CMYK": func() []byte {
		return madeJPEG(frame{kind: 0xc0, width: 1100, height: 12_000, sampling: []byte{0x11, 0x11, 0x11, 0x11}, adobe: true})
	},
	"progressive JPEG 4:4:4 of 11 megapixels": func() []byte {
		return madeJPEG(frame{kind: 0xc2, width: 3400, height: 3300, sampling: []byte{0x11, 0x11, 0x11}})
	},
	"progressive JPEG 4:4:4 of 16 megapixels": func() []byte {
		return madeJPEG(frame{kind: 0xc2, width: 4000, height: 4000, sampling: []byte{0x11, 0x11, 0x11}})
	},
	"progressive JPEG 4:2:0 of 16 megapixels": func() []byte {
		return madeJPEG(frame{kind: 0xc2, width: 4000, height: 4000, sampling: []byte{0x22, 0x11, 0x11}})
	},
	"progressive JPEG 4:2:0, narrow and turned": func() []byte {
		return withSegment(madeJPEG(frame{kind: 0xc2, width: 12_000, height: 1150, sampling: []byte{0x22, 0x11, 0x11}}), 0xe1, exif(6, true))
	},
	"progressive JPEG in CMYK": func() []byte {
		return madeJPEG(frame{kind: 0xc2, width: 2900, height: 2800, sampling: []byte{0x11, 0x11, 0x11, 0x11}, adobe: true})
	},
	"progressive JPEG of 49 scans": manyScans,
	"JPEG of noise":                noisyJPEG,
	"JPEG cut off after its head": func() []byte {
		return madeJPEG(frame{kind: 0xc2, width: 3400, height: 3300, sampling: []byte{0x11, 0x11, 0x11}})[:700]
	},
	"WebP":                func() []byte { return flatWebP(2200, 2150, 0, false) },
	"WebP with a palette": func() []byte { return flatWebP(2200, 2150, 0, true) },
	"WebP of 2,600 sets of the largest trees": func() []byte { return flatWebP(1600, 1600, 2600, false) },
	"WebP of 2,600 sets and a palette":        func() []byte { return flatWebP(2200, 2150, 2600, true) },
	"WebP of 2,600 sets and 16 megapixels":    func() []byte { return flatWebP(4000, 4000, 2600, true) },
	"WebP of 65,535 sets of trees":            func() []byte { return flatWebP(1600, 1600, 65_535, false) },
	"GIF of 5 MB":                             func() []byte { return flatGIF(4000, 4000, 25) },
	"GIF of 300,000 frames":                   func() []byte { return flatGIF(1, 1, 300_000) },
}

// TestPerfHostileFilesTakeLittleMemory reads each file in a process of its own, twice, and measures
// how far its memory rises above what it was before: at most 200 MiB, in at most ten seconds.
func TestPerfHostileFilesTakeLittleMemory(t *testing.T) {
	if name := os.Getenv("PICTURE"); name != "" {
		readMeasured(t, hostileFiles[name]())
		return
	}
	for name := range hostileFiles {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPerfHostileFilesTakeLittleMemory$", "-test.v")
		cmd.Env = append(os.Environ(), "PICTURE="+name)
		out, err := cmd.CombinedOutput()
		_, line, _ := strings.Cut(string(out), "RESULT ")
		line, _, _ = strings.Cut(line, "\n")
		var peak int
		var took float64
		if _, scanErr := fmt.Sscanf(line, "%d MiB, %f s", &peak, &took); scanErr != nil {
			t.Errorf("%s: %v %v\n%s", name, err, scanErr, out)
			continue
		}
		t.Logf("%-50s %s", name, line)
		if peak > 200 || took > 10 {
			t.Errorf("%s: %s", name, line)
		}
	}
}

func readMeasured(t *testing.T, file []byte) {
	idle := bytes.Repeat([]byte{1}, 40<<20) // as a server has: the collector works the later the more there is
	defer runtime.KeepAlive(idle)
	debug.FreeOSMemory()
	before := memory(t, "VmRSS")
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins anew
		t.Fatal(err)
	}
	began := time.Now()
	result := ""
	for range 2 {
		p, err := Read(t.Context(), "file", file, inMail)
		if result = fmt.Sprint(err); err == nil {
			result = sizesOf(t, &Picture{Type: p.Type})
			for _, s := range p.Sizes {
				result += fmt.Sprintf(" %d×%d %d KB", s.Width, s.Height, len(s.Bytes)>>10)
			}
		}
	}
	took := time.Since(began).Seconds() / 2
	fmt.Printf("RESULT %d MiB, %.1f s for %d KB: %s\n", (memory(t, "VmHWM")-before)>>10, took, len(file)>>10, result)
}

// memory returns a line of the status of this process in KB.
func memory(t *testing.T, name string) (kb int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), name+":")
	if _, err := fmt.Sscan(line, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}

// flatPNG returns a PNG of zeros.
func flatPNG(width, height uint32, depth, kind, interlaced byte) []byte {
	samples := map[byte]int{0: 1, 2: 3, 3: 1, 6: 4}[kind]
	var data bytes.Buffer
	z := zlib.NewWriter(&data)
	passes := [][4]int{{1, 1, 0, 0}} // distance of columns and rows, and the first of them
	if interlaced != 0 {
		passes = [][4]int{{8, 8, 0, 0}, {8, 8, 4, 0}, {4, 8, 0, 4}, {4, 4, 2, 0}, {2, 4, 0, 2}, {2, 2, 1, 0}, {1, 2, 0, 1}}
	}
	for _, p := range passes {
		across, down := (int(width)-p[2]+p[0]-1)/p[0], (int(height)-p[3]+p[1]-1)/p[1]
		if across == 0 || width > 20_000 {
			continue
		}
		row := make([]byte, 1+across*samples*int(depth)/8)
		for range down {
			_, _ = z.Write(row)
		}
	}
	_ = z.Close()
	b := chunked(header(width, height, depth, kind, interlaced), "IDAT", data.Bytes())
	return chunked(b, "IEND", nil)
}

func chunked(b []byte, kind string, data []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	at := len(b)
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

func noiseOf(width, height int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	seed := uint32(1)
	for i := range m.Pix {
		seed = seed*1664525 + 1013904223
		m.Pix[i] = byte(seed >> 24)
	}
	return m
}

func noisyPNG() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, noiseOf(1300, 1000))
	return b.Bytes()
}

func noisyJPEG() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, noiseOf(4000, 4000), &jpeg.Options{Quality: 1})
	return b.Bytes()
}

// manyScans returns a progressive JPEG that passes over its coefficients as often as allowed.
func manyScans() []byte {
	// Codes of 15 bits for 2^15-1 blocks each.
	blocks, data, bits, n := 16_000_000/64, []byte(nil), uint64(0), 0
	for ; blocks > 0; blocks -= 1<<15 - 1 {
		bits, n = bits<<15|0x3ffe, n+15
		for ; n >= 8; n -= 8 {
			c := byte(bits >> (n - 8))
			if data = append(data, c); c == 0xff {
				data = append(data, 0)
			}
		}
	}
	return madeJPEG(frame{kind: 0xc2, width: 4000, height: 4000, sampling: []byte{0x22, 0x11, 0x11}, scans: 48, scan: append(data, 0, 0)})
}

// flatGIF returns a GIF of frames with one color.
func flatGIF(width, height, frames int) []byte {
	b := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte("GIF89a"), uint16(width)), uint16(height))
	b = append(b, 0x80, 0, 0, 1, 1, 1, 2, 2, 2)
	var codes bytes.Buffer
	w := lzwOf(&codes)
	_, _ = w.Write(make([]byte, width*height))
	_ = w.Close()
	for range frames {
		b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(append(b, ',', 0, 0, 0, 0), uint16(width)), uint16(height))
		b = append(b, 0, 2)
		for left := codes.Bytes(); len(left) > 0; {
			n := min(255, len(left))
			b = append(append(b, byte(n)), left[:n]...)
			left = left[n:]
		}
		b = append(b, 0)
	}
	return append(b, ';')
}
