package manual

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxREADME is the maximum number of lines of the README.
const maxREADME = 200

var figure = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)

// unprovenFigures returns the rows of the README's table whose numbers are not together in one row
// of the manual's tables, and the number of rows.
func unprovenFigures(readme, page string) (out []string, rows int) {
	_, section, _ := strings.Cut(readme, "\n## Figures\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		named := figure.FindAllString(line, -1)
		if !strings.HasPrefix(line, "| ") || len(named) == 0 {
			continue
		}
		rows++
		if !slices.ContainsFunc(strings.Split(page, "\n"), func(row string) bool {
			known := figure.FindAllString(row, -1)
			return strings.HasPrefix(row, "| ") && !slices.ContainsFunc(named, func(n string) bool { return !slices.Contains(known, n) })
		}) {
			out = append(out, line)
		}
	}
	return out, rows
}

func TestREADMEFiguresAreInManual(t *testing.T) {
	readme, page := string(read(t, "../../README.md")), string(read(t, "figures.md"))+string(read(t, "figures-faults.md"))
	got, rows := unprovenFigures(readme, page)
	for _, row := range got {
		t.Errorf("no row of figures.md and figures-faults.md has: %s", row)
	}
	if rows < 6 {
		t.Errorf("the README has %d rows of figures", rows)
	}
	if got, _ := unprovenFigures(strings.Replace(readme, "| memory idle | ", "| memory idle | 9", 1), page); len(got) != 1 {
		t.Errorf("of one wrong figure it finds %q", got)
	}
}

func TestREADMEIsShort(t *testing.T) {
	if n := strings.Count(string(read(t, "../../README.md")), "\n"); n > maxREADME {
		t.Errorf("%d lines", n)
	}
}

// maxPicture is how many bytes a picture may have.
const maxPicture = 60_000

func TestREADMEPicturesAreSmall(t *testing.T) {
	readme := string(read(t, "../../README.md"))
	pictures, err := filepath.Glob("pictures/*")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%q, %v", pictures, err)
	}
	for _, name := range pictures {
		if n := len(read(t, name)); n > maxPicture || !strings.Contains(readme, "](web/manual/"+name+")") {
			t.Errorf("%s has %d bytes, or the README does not show it", name, n)
		}
	}
}
