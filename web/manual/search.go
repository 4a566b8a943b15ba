package manual

import (
	"cmp"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"mailer/web/rest"
)

const (
	maxQuery   = 100 // bytes of the query that are used
	maxTerms   = 8
	maxResults = 30
	snippet    = 80 // bytes shown before and after the first term
)

// section is the part of a page below one heading.
type section struct {
	address, title string
	text           string // without markup
	lower          string // title and text in lower case, for the search
}

var (
	headingTag = regexp.MustCompile(`<h2 id="([^"]+)">`)
	anyTag     = regexp.MustCompile(`<[^>]*>`)
	blanks     = regexp.MustCompile(`\s+`)
)

// sectionsOf splits the HTML of a page at its headings.
func sectionsOf(p page, body string) (out []section) {
	starts := headingTag.FindAllStringSubmatchIndex(body, -1)
	add := func(id, title, text string) {
		s := section{address: prefix + "/" + p.Page, title: p.Title, text: plainText(text)}
		if id != "" {
			s.address, s.title = s.address+"#"+id, p.Title+": "+title
		}
		s.lower = strings.ToLower(s.title + " " + s.text)
		out = append(out, s)
	}
	end := len(body)
	if len(starts) > 0 {
		end = starts[0][0]
	}
	add("", "", body[:end])
	for i, at := range starts {
		end = len(body)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		title, text, _ := strings.Cut(body[at[1]:end], "</h2>")
		add(body[at[2]:at[3]], plainText(title), text)
	}
	return out
}

func plainText(markup string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(html.UnescapeString(anyTag.ReplaceAllString(markup, " ")), " "))
}

// search returns the sections that contain all terms of a query, the best first: a term in a title
// counts more than one in the text.
func (s *site) search(query string) (out []section) {
	terms := strings.Fields(strings.ToLower(query[:min(len(query), maxQuery)]))
	terms = terms[:min(len(terms), maxTerms)]
	if len(terms) == 0 {
		return nil
	}
	scores := map[string]int{}
	for _, sec := range s.sections {
		title, score := strings.ToLower(sec.title), 0
		for _, term := range terms {
			switch {
			case strings.Contains(title, term):
				score += 10
			case strings.Contains(sec.lower, term):
				score++
			default:
				score = -maxTerms * 10
			}
		}
		if score > 0 {
			scores[sec.address] = score
			out = append(out, sec)
		}
	}
	slices.SortStableFunc(out, func(a, b section) int { return cmp.Compare(scores[b.address], scores[a.address]) })
	return out[:min(len(out), maxResults)]
}

// excerpt returns the part of a text around the first term of a query.
func excerpt(text, query string) string {
	at := -1
	for _, term := range strings.Fields(strings.ToLower(query)) {
		if at = strings.Index(strings.ToLower(text), term); at >= 0 {
			break
		}
	}
	at = min(max(at, 0), len(text)) // lower case can be longer
	from, to := max(0, at-snippet), min(len(text), at+2*snippet)
	if from > 0 {
		from += max(0, strings.IndexByte(text[from:], ' '))
	}
	if to < len(text) && strings.LastIndexByte(text[:to], ' ') > from {
		to = strings.LastIndexByte(text[:to], ' ')
	}
	return strings.ToValidUTF8(text[min(from, to):to], "")
}

// serveSearch answers a search. It needs no script.
func (s *site) serveSearch(x *rest.Exchange, r *http.Request) {
	query := strings.ToValidUTF8(r.URL.Query().Get("q"), "")
	found := s.search(query)
	var b strings.Builder
	for _, sec := range found {
		b.WriteString("<li><a href=\"" + sec.address + "\">" + html.EscapeString(sec.title) + "</a><br>" + html.EscapeString(excerpt(sec.text, query)) + "</li>\n")
	}
	list := "<p>No section contains all these words.</p>\n"
	if len(found) > 0 {
		list = "<ul class=\"manual-found\">\n" + b.String() + "</ul>\n"
	}
	x.Header().Set("Content-Type", htmlType)
	x.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodHead {
		// The client may be gone.
		_, _ = x.Write(s.document("search", "Search", article([]byte(list))))
	}
}
