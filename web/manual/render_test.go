package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

func (m markdown) ids() (out []string) {
	for _, h := range nodes[*ast.Heading](m) {
		out = append(out, headingID(h))
	}
	return out
}

// maxCode is how many characters a line of code has, its end among them. On the phone it is
// broken in two or three.
const maxCode = 98

// faults are what a page must not have, and links that lead nowhere.
func faults(m markdown, ids map[string][]string) (out []string) {
	for _, n := range nodes[*ast.RawHTML](m) {
		out = append(out, "HTML: "+string(n.Segments.Value(m.source)))
	}
	for range nodes[*ast.HTMLBlock](m) {
		out = append(out, "a block of HTML")
	}
	for range nodes[*ast.Image](m) {
		out = append(out, "an image")
	}
	if title, ok := m.tree.FirstChild().(*ast.Heading); !ok || title.Level != 1 {
		out = append(out, "no title at its beginning")
	}
	for _, b := range nodes[*ast.FencedCodeBlock](m) {
		for line := range strings.Lines(string(b.Lines().Value(m.source))) {
			if utf8.RuneCountInString(line) > maxCode {
				out = append(out, "a line of code that no screen holds: "+line)
			}
		}
	}
	for _, l := range nodes[*ast.Link](m) {
		file, anchor, _ := strings.Cut(string(l.Destination), "#")
		switch known, ok := ids[strings.TrimSuffix(file, ".md")]; {
		case file == "" && slices.Contains(ids[m.name], anchor): // in this page
		case strings.HasPrefix(file, "https://"):
		case !strings.HasSuffix(file, ".md"), !ok, anchor != "" && !slices.Contains(known, anchor):
			out = append(out, "a link to "+string(l.Destination))
		}
	}
	return out
}

func TestManualLinks(t *testing.T) {
	all := readPages()
	ids := map[string][]string{}
	for _, m := range all {
		ids[m.name] = m.ids()
	}
	for _, m := range all {
		for _, fault := range faults(m, ids) {
			t.Errorf("%s.md has %s", m.name, fault)
		}
	}
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) != len(all) {
		t.Errorf("index.md lists %d of %d pages, %v", len(all)-1, len(pages)-1, err)
	}
	bad := parse("bad", []byte("a <b>b</b>\n\n<p>c</p>\n\n![d](d.png) [e](nowhere.md) [f](start.md#nowhere) [g](#nowhere) [h](/h) [i](javascript:i)\n\n```sh\n"+strings.Repeat("j", maxCode)+"\n```\n"))
	if got := faults(bad, ids); len(got) != 11 {
		t.Errorf("of 11 faults it finds %q", got)
	}
}

// maxWords is the maximum number of words of a page, tables and code included. A longer page is
// split by subject, except for the generated table of cases of Liquid.
const maxWords = 1200

// countWords counts words that have a letter or a digit.
func countWords(text string) (n int) {
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

func TestManualPagesAreShort(t *testing.T) {
	for _, m := range readPages() {
		if n := countWords(string(m.source)); n > maxWords && m.name != "liquid-cases" {
			t.Errorf("%s.md has %d words, more than %d: split it by subject", m.name, n, maxWords)
		}
	}
	if n := countWords("| a | `b c` |\n|---|---|\n```sh\nd --e 1\n```\n"); n != 7 {
		t.Errorf("it counts %d words of 7", n)
	}
}

// brokenLinks returns broken links and pictures of the README. Its links are relative to the
// repository.
func brokenLinks(readme markdown, ids map[string][]string) (out []string) {
	var targets []string
	for _, l := range nodes[*ast.Link](readme) {
		targets = append(targets, string(l.Destination))
	}
	for _, i := range nodes[*ast.Image](readme) {
		targets = append(targets, string(i.Destination))
	}
	for _, target := range targets {
		file, anchor, _ := strings.Cut(target, "#")
		if strings.HasPrefix(target, "https://") || file == "" && slices.Contains(readme.ids(), anchor) {
			continue
		}
		page, isPage := strings.CutPrefix(strings.TrimSuffix(file, ".md"), "web/manual/")
		if _, err := os.Stat(filepath.Join("..", "..", file)); file == "" || err != nil || anchor != "" && !(isPage && slices.Contains(ids[page], anchor)) {
			out = append(out, target)
		}
	}
	return out
}

func TestREADMELinks(t *testing.T) {
	ids := map[string][]string{}
	for _, m := range readPages() {
		ids[m.name] = m.ids()
	}
	for _, target := range brokenLinks(parse("README", read(t, "../../README.md")), ids) {
		t.Errorf("README.md leads to %s", target)
	}
	bad := parse("README", []byte("[a](web/manual/nowhere.md) [b](web/manual/start.md#nowhere) [c](#nowhere) ![d](d.png) [e](web/manual/start.md#install)\n"))
	if got := brokenLinks(bad, ids); len(got) != 4 {
		t.Errorf("of 4 links it finds %q", got)
	}
}

// block is one of code as a page shows it, to be copied into a file.
type block struct{ page, lang, code string }

// duplicateFiles returns blocks of one language that share a line, while neither contains the
// other: two versions of one file.
func duplicateFiles(blocks []block) (out []string) {
	for i, a := range blocks {
		for _, b := range blocks[i+1:] {
			same := slices.ContainsFunc(strings.Split(a.code, "\n"), func(line string) bool {
				return len(line) > 12 && slices.Contains(strings.Split(b.code, "\n"), line)
			})
			if a.lang == b.lang && same && !strings.Contains(a.code, b.code) && !strings.Contains(b.code, a.code) {
				out = append(out, fmt.Sprintf("%s.md and %s.md show one %s in two ways:\n%s\n%s", a.page, b.page, a.lang, a.code, b.code))
			}
		}
	}
	return out
}

// TestManualFilesAreConsistent: a file to copy is the same on every page.
func TestManualFilesAreConsistent(t *testing.T) {
	var files []block
	for _, m := range append(readPages(), parse("../../README", read(t, "../../README.md"))) {
		for _, b := range nodes[*ast.FencedCodeBlock](m) {
			if lang := string(b.Language(m.source)); !slices.Contains([]string{"sh", "text", "python", "json"}, lang) {
				files = append(files, block{m.name, lang, string(b.Lines().Value(m.source))})
			}
		}
	}
	for _, clash := range duplicateFiles(files) {
		t.Error(clash)
	}
	if len(files) < 9 {
		t.Errorf("%d files are shown", len(files))
	}
	files = append(files, block{"bad", "nginx", "\n        proxy_http_version 1.1;\n    proxy_read_timeout 9s;\n"})
	if got := duplicateFiles(files); len(got) != 1 {
		t.Errorf("of one file in two wordings it finds %q", got)
	}
}
