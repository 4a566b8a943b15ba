package pages

import (
	"html"
	"strings"

	"mailer/app"
)

// markup is HTML that is fit to stand in a page: made of constants of this
// package, and of text that escaped wrote. Pages are put together here rather
// than by html/template: linking that keeps every method of the program, 3 MB of
// it, and memory is what a small server has least of.
type markup string

// escaped writes text so that it stands for itself, between tags and in quoted
// attributes.
func escaped(text string) markup { return markup(html.EscapeString(text)) }

// element is a piece of markup between two others; nothing where it is empty.
func element(begin, content, end markup) markup {
	if content == "" {
		return ""
	}
	return begin + content + end
}

// render writes the whole page. style is the content of its one style element.
func (page *hostedPage) render(lang string, style markup) string {
	var b strings.Builder
	put := func(parts ...markup) {
		for _, part := range parts {
			b.WriteString(string(part))
		}
	}
	title := escaped(page.Title) + element(" – ", escaped(page.Team), "")
	put("<!doctype html>\n<html lang=\"", escaped(lang), "\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" content=\"noindex\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>", title, "</title>\n<style>", style, "</style>\n</head>\n<body>\n<main>\n")
	if page.Team != "" {
		put(`<p class="team">`, page.sign(), "<bdi>", escaped(page.Team), "</bdi></p>\n")
	}
	put("<h1>", page.Heading, "</h1>\n",
		element(`<p class="note good" role="status"><span>`, page.Saved, "</span></p>\n"),
		element(`<p class="note" role="status">`, page.Notice, "</p>\n"))
	for _, line := range page.Lines {
		put("<p>", line, "</p>\n")
	}
	put(page.facts(), element(`<iframe sandbox="" referrerpolicy="no-referrer" src="`, escaped(page.Frame), "\"></iframe>\n"))
	put(element(`<p class="note" dir="ltr">`, escaped(page.Target), "</p>\n"), page.form(), page.nav(), "</main>\n</body>\n</html>\n")
	return b.String()
}

// sign is the logo beside the name of a team, or the letter that stands for one.
func (page *hostedPage) sign() markup {
	if page.Theme.logo != "" {
		return `<img class="logo" src="` + escaped(page.Theme.logo) + `" alt="" referrerpolicy="no-referrer">`
	}
	return element(`<span class="mark" aria-hidden="true">`, escaped(page.Mark), "</span>")
}

// facts are the lines over an email.
func (page *hostedPage) facts() (lines markup) {
	for _, f := range page.Facts {
		lines += "<dt>" + escaped(f.Name) + "</dt><dd><bdi>" + escaped(legible(f.Value)) + "</bdi></dd>\n"
	}
	return element("<dl>\n", lines, "</dl>\n")
}

// form is the one form of a page; nothing for a page without a button.
func (page *hostedPage) form() markup {
	if page.Button == "" {
		return ""
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
