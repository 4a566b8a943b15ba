package pages

import (
	"html"
	"strings"

	"mailer/app"
)

// markup is HTML that is safe to write: constants of this package, and text from escaped.
// html/template is not used: linking it keeps every method of the program, 3 MB, and small servers
// have little memory.
type markup string

// escaped escapes text for use between tags and in quoted attributes.
func escaped(text string) markup { return markup(html.EscapeString(text)) }

// element returns content between begin and end; empty if content is empty.
func element(begin, content, end markup) markup {
	if content == "" {
		return ""
	}
	return begin + content + end
}

// render returns the whole page. style is the content of its style element.
func (page *hostedPage) render(lang string, style markup) string {
	var b strings.Builder
	put := func(parts ...markup) {
		for _, part := range parts {
			b.WriteString(string(part))
		}
	}
	title := escaped(page.Title) + element(" – ", escaped(page.Team), "")
	put("<!doctype html>\n<html lang=\"", escaped(lang), "\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n", page.robots(),
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>", title, "</title>\n<style>", style, "</style>\n",
		element(`<script src="`, escaped(page.Script), "\" defer></script>\n"), "</head>\n<body>\n<main>\n")
	if page.Team != "" {
		put(`<p class="team">`, page.sign(), "<bdi>", escaped(page.Team), "</bdi></p>\n")
	}
	put("<h1>", page.Heading, "</h1>\n",
		element(`<p class="note good" role="status"><span>`, page.Saved, "</span></p>\n"),
		element(`<p class="note" role="status">`, page.Notice, "</p>\n"))
	for _, line := range page.Lines {
		put("<p>", line, "</p>\n")
	}
	for _, line := range page.Own {
		put(element(`<p dir="auto">`, escaped(legible(line)), "</p>\n"))
	}
	put(page.facts(), element(`<iframe sandbox="" referrerpolicy="no-referrer" src="`, escaped(page.Frame), "\"></iframe>\n"))
	put(page.articles())
	put(element(`<p class="note" dir="ltr">`, escaped(page.Target), "</p>\n"), page.form(), page.nav(), "</main>\n</body>\n</html>\n")
	return b.String()
}

// robots returns Head, or else the tag that keeps search engines away unless the page is listed.
func (page *hostedPage) robots() markup {
	if page.Head != "" || page.Listed {
		return page.Head
	}
	return "<meta name=\"robots\" content=\"noindex\">\n"
}

// articles returns the list of articles.
func (page *hostedPage) articles() markup {
	var b strings.Builder
	for i := range page.Articles {
		r := &page.Articles[i]
		for _, part := range []markup{
			`<li><a href="` + escaped(r.Address) + `"><bdi>`, escaped(r.Title), "</bdi></a>\n", element(`<p><time datetime="`+escaped(r.Time)+`">`, escaped(r.Date), "</time></p>\n"),
			element("<p><bdi>", escaped(r.Text), "</bdi></p>\n"), "</li>\n",
		} {
			b.WriteString(string(part))
		}
	}
	return element("<ul class=\"issues\">\n", markup(b.String()), "</ul>\n")
}

// sign returns a team's logo, or the letter in its place.
func (page *hostedPage) sign() markup {
	if page.Theme.logo != "" {
		return `<img class="logo" src="` + escaped(page.Theme.logo) + `" alt="" referrerpolicy="no-referrer">`
	}
	return element(`<span class="mark" aria-hidden="true">`, escaped(page.Mark), "</span>")
}

// facts returns the header lines of an email.
func (page *hostedPage) facts() (lines markup) {
	for _, f := range page.Facts {
		lines += "<dt>" + escaped(f.Name) + "</dt><dd><bdi>" + escaped(legible(f.Value)) + "</bdi></dd>\n"
	}
	return element("<dl>\n", lines, "</dl>\n")
}

// form returns the page's form; empty: none.
func (page *hostedPage) form() markup {
	if page.Button == "" {
		return page.Form
	}
	var topics markup
	if len(page.Topics) > 0 {
		topics = "<fieldset>\n<legend>" + escaped(page.Legend) + "</legend>\n" + page.topics() + "</fieldset>\n"
	}
	return "<form method=\"post\">\n" + topics + `<button type="submit">` + escaped(page.Button) + "</button>\n</form>\n"
}

func (page *hostedPage) topics() markup {
	var b strings.Builder
	for i := range page.Topics {
		t := &page.Topics[i]
		id, about := escaped(t.ID), escaped(t.Description)
		box := `<input type="checkbox" id="topic-` + id + `" name="` + id + `" value="opt_in"`
		if t.Subscription == app.OptIn {
			box += " checked"
		}
		if about != "" {
			box += ` aria-describedby="about-` + id + `"`
		}
		for _, part := range []markup{
			"<div class=\"topic\">\n", `<input type="hidden" name="` + shownTopic + `" value="` + id + "\">\n", box, ">\n",
			`<label for="topic-` + id + `"><bdi>`, escaped(t.Name), "</bdi></label>\n",
			element(`<p id="about-`+id+`"><bdi>`, about, "</bdi></p>\n"), "</div>\n",
		} {
			b.WriteString(string(part))
		}
	}
	return markup(b.String())
}

func (page *hostedPage) nav() markup {
	var links markup
	for _, l := range page.Links {
		rel := markup("")
		if l.Foreign {
			rel = ` rel="noopener noreferrer nofollow"`
		}
		links += `<a href="` + escaped(l.Address) + `"` + rel + `>` + escaped(l.Text) + "</a>\n"
	}
	return element("<nav>\n", links, "</nav>\n")
}
