package manual

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// converter parses and renders pages.
var converter = goldmark.New(goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// markdown is a page as it was written.
type markdown struct {
	name   string
	source []byte
	tree   ast.Node
}

func parse(name string, source []byte) markdown {
	return markdown{name, source, converter.Parser().Parse(text.NewReader(source))}
}

// listedPage finds the pages that index.md lists.
var listedPage = regexp.MustCompile(`(?m)^\* \[[^]]+\]\(([a-z-]+)\.md\): `)

// readPages reads index.md and, in its order, the pages that it lists.
func readPages() []markdown {
	// Embedded files can always be read, and a test finds that each listed page is there.
	source, _ := files.ReadFile("index.md")
	all := []markdown{parse("index", source)}
	for _, m := range listedPage.FindAllSubmatch(source, -1) {
		name := string(m[1])
		source, _ := files.ReadFile(name + ".md")
		all = append(all, parse(name, source))
	}
	return all
}

// pagesOf returns the pages that index.md, the first of all, lists.
func pagesOf(all []markdown) (pages []page) {
	about, groups, group := map[string]string{}, map[string]string{}, ""
	for _, n := range nodes[ast.Node](all[0]) {
		switch n := n.(type) {
		case *ast.Heading:
			group = all[0].words(n)
		case *ast.Link:
			name := strings.TrimSuffix(string(n.Destination), ".md")
			_, about[name], _ = strings.Cut(all[0].words(n.Parent()), ": ")
			groups[name] = group
		}
	}
	for _, m := range all[1:] {
		pages = append(pages, m.page(groups[m.name], about[m.name]))
	}
	return pages
}

// page returns what the contents show of a page.
func (m markdown) page(group, about string) page {
	p := page{Page: m.name, Group: group, Text: about}
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
		p.Headings = append(p.Headings, heading{headingID(h), m.words(h), line})
	}
	return p
}

// nodes returns the nodes of a kind, in the order of the page.
func nodes[T ast.Node](m markdown) (out []T) {
	_ = ast.Walk(m.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if found, ok := n.(T); ok && entering {
			out = append(out, found)
		}
		return ast.WalkContinue, nil
	})
	return out
}

// words returns the text of a node.
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

// headingID returns the anchor of a heading.
func headingID(h *ast.Heading) string {
	v, _ := h.AttributeString("id")
	b, _ := v.([]byte)
	return string(b)
}

// render returns the HTML of a page, without its title and with URLs for links to pages.
func (m markdown) render() []byte {
	for _, l := range nodes[*ast.Link](m) {
		target := string(l.Destination)
		file, anchor, _ := strings.Cut(target, "#")
		if strings.HasSuffix(file, ".md") {
			target = prefix + "/" + strings.TrimSuffix(file, ".md")
			if anchor != "" {
				target += "#" + anchor
			}
			l.Destination = []byte(target)
		}
	}
	if title := m.tree.FirstChild(); title != nil {
		m.tree.RemoveChild(m.tree, title)
	}
	var b bytes.Buffer
	_ = converter.Renderer().Render(&b, m.source, m.tree) // a buffer takes everything
	return b.Bytes()
}
