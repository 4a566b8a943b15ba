package picture

import (
	"image"
	"image/draw"
)

// orientation is how a picture must be turned to be shown, by the values of EXIF (2.32, 4.6.5.1.6):
// 1 is upright.
type orientation int

const upright orientation = 1

// turns reports whether width and height change places.
func (o orientation) turns() bool { return o >= 5 }

// place returns where a picture of the given size, before it is turned, begins in the pixels of the
// turned one, and how far apart neighbors in a row and in a column are; all in pixels.
func (o orientation) place(width, height int) (begin, right, down int) {
	w, h := width, height
	switch o {
	case 2: // mirrored
		return w - 1, -1, w
	case 3: // upside down
		return w*h - 1, -1, -w
	case 4: // upside down and mirrored
		return (h - 1) * w, 1, -w
	case 5: // mirrored at its diagonal; rows of the turned picture have h pixels
		return 0, h, 1
	case 6: // turned left; the turned picture is turned right
		return h - 1, h, -1
	case 7:
		return w*h - 1, -h, -1
	case 8:
		return (w - 1) * h, -h, 1
	}
	return 0, 1, w
}

// resize returns m with the given size after it was turned by o. Each pixel is the mean of the
// pixels that it covers, weighted by the covered area; size is never larger than m.
func resize(m image.Image, size image.Point, o orientation) *image.RGBA {
	out := image.NewRGBA(image.Rectangle{Max: size})
	width, height := size.X, size.Y
	if o.turns() {
		width, height = height, width
	}
	from := m.Bounds()
	begin, right, down := o.place(width, height)
	row := image.NewRGBA(image.Rect(0, 0, from.Dx(), 1))
	line := make([]uint64, 4*width) // sums of a row of m
	sums := make([]uint64, 4*width) // of the rows that a row of out covers
	area := uint64(from.Dx()) * uint64(from.Dy())
	y := 0 // row of out before it is turned
	for n := range from.Dy() {
		draw.Draw(row, row.Rect, m, image.Pt(from.Min.X, from.Min.Y+n), draw.Src)
		sumRow(line, row.Pix, width)
		// Row n covers [n, n+1) × height, and row y [y, y+1) × from.Dy(), in the same unit.
		for at, end := n*height, (n+1)*height; at < end; {
			next := min(end, (y+1)*from.Dy())
			weight := uint64(next - at)
			for i, v := range line {
				sums[i] += v * weight
			}
			if at = next; at == (y+1)*from.Dy() {
				pixel := 4 * (begin + y*down)
				for i := 0; i < len(sums); i += 4 {
					for c := range 4 {
						out.Pix[pixel+c] = uint8((sums[i+c] + area/2) / area)
						sums[i+c] = 0
					}
					pixel += 4 * right
				}
				y++
			}
		}
	}
	return out
}

// sumRow sets each pixel of line to the sum of the pixels of a row that it covers: width pixels of
// len(row)/4.
func sumRow(line []uint64, row []byte, width int) {
	clear(line)
	from := len(row) / 4
	if from == width {
		for i, v := range row {
			line[i] = uint64(v) * uint64(width)
		}
		return
	}
	x := 0
	for n := range from {
		p := row[4*n : 4*n+4 : 4*n+4]
		for at, end := n*width, (n+1)*width; at < end; {
			next := min(end, (x+1)*from)
			weight := uint64(next - at)
			q := line[4*x : 4*x+4 : 4*x+4]
			q[0] += uint64(p[0]) * weight
			q[1] += uint64(p[1]) * weight
			q[2] += uint64(p[2]) * weight
			q[3] += uint64(p[3]) * weight
			if at = next; at == (x+1)*from {
				x++
			}
		}
	}
}
