package manual

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"mailer/app/apptest"
	"mailer/app/pack"
)

var update = flag.Bool("update", false, "write pages.gz anew from the Markdown and the files")

// markdown is a page as it was written.
type markdown struct {
	name   string
	source []byte
	tree   ast.Node
}

// reader reads and renders pages. It is a library of the tests alone: in the program it
// would take 0.6 MB.
var reader = goldmark.New(goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func parse(name string, source []byte) markdown {
	return markdown{name, source, reader.Parser().Parse(text.NewReader(source))}
}

// readPages reads index.md and, in its order, the pages that it lists.
func readPages(t *testing.T) []markdown {
	t.Helper()
	all := []markdown{parse("index", read(t, "index.md"))}
	for _, m := range regexp.MustCompile(`(?m)^\* \[[^]]+\]\(([a-z-]+)\.md\): `).FindAllSubmatch(all[0].source, -1) {
		all = append(all, parse(string(m[1]), read(t, string(m[1])+".md")))
	}
	return all
}

// nodes are those of a kind, in the order of the page.
func nodes[T ast.Node](m markdown) (out []T) {
	_ = ast.Walk(m.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if found, ok := n.(T); ok && entering {
			out = append(out, found)
		}
		return ast.WalkContinue, nil
	})
	return out
}

// words are what a node says.
func (m markdown) words(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(m.source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// id is the anchor of a heading.
func id(h *ast.Heading) string {
	v, _ := h.AttributeString("id")
	b, _ := v.([]byte)
	return string(b)
}

func (m markdown) ids() (out []string) {
	for _, h := range nodes[*ast.Heading](m) {
		out = append(out, id(h))
	}
	return out
}

// entry is what the index says of a page.
func (m markdown) entry(about string) page {
	p := page{Page: m.name, Text: about}
	for _, h := range nodes[*ast.Heading](m) {
		if h.Level == 1 {
			p.Title = m.words(h)
			continue
		}
		line := ""
		for n := h.NextSibling(); n != nil && line == "" && n.Kind() != ast.KindHeading; n = n.NextSibling() {
			if n.Kind() == ast.KindParagraph {
				line = m.words(n)
			}
		}
		p.Headings = append(p.Headings, heading{id(h), m.words(h), line})
	}
	return p
}

// render is the HTML of a page: without its title, which stands in the head, and with
// links to pages as addresses; a link to the README is its words, since only the
// repository has one.
func (m markdown) render(t *testing.T) []byte {
	t.Helper()
	title, ok := m.tree.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		t.Fatalf("%s.md does not begin with its title", m.name)
	}
	for _, l := range nodes[*ast.Link](m) {
		target := string(l.Destination)
		file, anchor, _ := strings.Cut(target, "#")
		switch {
		case file == "../../README.md":
			for c := l.FirstChild(); c != nil; c = l.FirstChild() {
				l.Parent().InsertBefore(l.Parent(), l, c)
			}
			l.Parent().RemoveChild(l.Parent(), l)
		case strings.HasSuffix(file, ".md"):
			target = prefix + "/" + strings.TrimSuffix(file, ".md")
			if anchor != "" {
				target += "#" + anchor
			}
			l.Destination = []byte(target)
		}
	}
	m.tree.RemoveChild(m.tree, title)
	var b bytes.Buffer
	if err := reader.Renderer().Render(&b, m.source, m.tree); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestThePagesAreWhatTheMarkdownSays holds what is embedded against the Markdown, and
// against the files that are handed out.
func TestThePagesAreWhatTheMarkdownSays(t *testing.T) {
	all := readPages(t)
	about := map[string]string{}
	for _, l := range nodes[*ast.Link](all[0]) {
		_, line, _ := strings.Cut(all[0].words(l.Parent()), ": ")
		about[strings.TrimSuffix(string(l.Destination), ".md")] = line
	}
	var index bytes.Buffer
	for _, m := range all[1:] {
		b, err := json.Marshal(m.entry(about[m.name]))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&index, ",\n%s", b)
	}
	want := []apptest.File{{Name: "index.json", Content: []byte("[\n" + strings.TrimPrefix(index.String(), ",\n") + "\n]\n")}}
	for _, m := range all {
		want = append(want, apptest.File{Name: m.name + ".html", Content: m.render(t)})
	}
	for _, name := range slices.Sorted(maps.Keys(handedOut)) {
		want = append(want, apptest.File{Name: name, Content: read(t, name)})
	}
	if *update {
		if err := os.WriteFile("pages.gz", apptest.Pack(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err := pack.Each(read(t, "pages.gz"), func(name string, content []byte) bool {
		if n >= len(want) || want[n].Name != name || !bytes.Equal(want[n].Content, content) {
			t.Errorf("%s of pages.gz is not what the Markdown, or the file of that name, says: go test ./web/manual -update", name)
			return false
		}
		n++
		return true
	})
	if err != nil || n != len(want) {
		t.Errorf("pages.gz has %d of %d files (go test ./web/manual -update): %v", n, len(want), err)
	}
}

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

func TestLinksOfTheManualLeadSomewhere(t *testing.T) {
	all := append(readPages(t), parse("../../README", read(t, "../../README.md")))
	ids := map[string][]string{}
	for _, m := range all {
		ids[m.name] = m.ids()
	}
	for _, m := range all[:len(all)-1] {
		for _, fault := range faults(m, ids) {
			t.Errorf("%s.md has %s", m.name, fault)
		}
	}
	bad := parse("bad", []byte("a <b>b</b>\n\n<p>c</p>\n\n![d](d.png) [e](nowhere.md) [f](start.md#nowhere) [g](#nowhere) [h](/h) [i](javascript:i)\n"))
	if got := faults(bad, ids); len(got) != 9 {
		t.Errorf("of 9 faults it finds %q", got)
	}
}

// TestFilesInTheManualAreThoseOfTheREADME: what is to be copied into a file has one wording.
func TestFilesInTheManualAreThoseOfTheREADME(t *testing.T) {
	readme := string(read(t, "../../README.md"))
	files := 0
	for _, m := range readPages(t) {
		for _, block := range nodes[*ast.FencedCodeBlock](m) {
			if lang := string(block.Language(m.source)); !slices.Contains([]string{"sh", "text", "python", "json"}, lang) {
				files++
				if code := string(block.Lines().Value(m.source)); !strings.Contains(readme, code) {
					t.Errorf("%s.md: the README has no such %s:\n%s", m.name, lang, code)
				}
			}
		}
	}
	if files < 3 {
		t.Errorf("%d files are shown", files)
	}
}
