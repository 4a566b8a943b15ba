package sdktest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// frame is the document of a sandboxed frame, a separate target.
func (s *screen) frame(ends string) *screen {
	s.t.Helper()
	var id target.ID
	eventually(s.t, time.Minute, "there is a frame of "+ends, func() (bool, string) {
		all, err := chromedp.Targets(s.ctx)
		must(s.t, err)
		for _, found := range all {
			if strings.HasSuffix(found.URL, ends) {
				id = found.TargetID
			}
		}
		return id != "", s.text()
	})
	ctx, cancel := chromedp.NewContext(s.ctx, chromedp.WithTargetID(id), chromedp.WithDetachOnCancel())
	s.t.Cleanup(cancel)
	f := &screen{t: s.t, ctx: ctx, base: s.base, open: map[network.RequestID]struct{}{}}
	must(s.t, chromedp.Listen(ctx, f.onEvent))
	command(f, cdplog.Enable, cdp.Empty{}) // reports earlier entries too
	command(f, cdpruntime.Enable, cdp.Empty{})
	return f
}

// TestVisualEditorEmail: an email is saved with its design, opens again, and is plain HTML after
// the HTML is edited.
func TestVisualEditorEmail(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.load("/broadcasts")
	s.press("New broadcast")
	s.fill("Name", "Winter")
	s.fill("From", "news@example.test")
	s.press("Blank")
	s.press("Start writing")
	f := s.frame("/visual.html")
	f.sees("Hello", "first_name", "Unsubscribe")
	if origin := evaluate[string](f, `window.origin`); origin != "null" {
		t.Errorf("the frame has the origin %s", origin)
	}
	// The second paragraph is empty, and becomes a heading.
	evaluate[bool](f, `(() => { document.querySelector('.ProseMirror').focus(); getSelection().collapse(document.querySelectorAll('.ProseMirror p')[1], 0); return true; })()`)
	command(f, input.InsertText, input.InsertTextParams{Text: "Workshops for "})
	f.sees("Workshops for")
	f.fill("Block type", "heading1")
	f.fill("Variable", "contact.last_name")
	evaluate[bool](f, `document.querySelector('.ProseMirror').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', keyCode: 37, bubbles: true, cancelable: true}))`)
	f.fill("Fallback", "you")
	id := evaluate[string](s, `location.pathname.split('/').pop()`)
	var draft struct {
		HTML   string
		Design *string
	}
	var made string
	eventually(t, time.Minute, "what is written is saved", func() (bool, string) {
		_, raw := api.do(t, "GET", "/broadcasts/"+id, nil)
		must(t, json.Unmarshal(raw, &draft))
		made = draft.HTML
		return draft.Design != nil && strings.Contains(*draft.Design, `"fallback":"you"`) && strings.Contains(made, ">Workshops for {{{contact.last_name|you}}}</h1>"), made
	})
	for _, part := range []string{"{{{contact.first_name|there}}}", `href="{{{UNSUBSCRIBE_URL}}}"`, `<h1 style="`} {
		if !strings.Contains(made, part) {
			t.Errorf("no %s in the HTML: %s", part, made)
		}
	}
	for _, violation := range append(s.axe(), f.axe()...) {
		t.Error(violation)
	}
	s.fine("writing")
	f.fine("writing, in the frame")

	s.load("/broadcasts/" + id)
	f = s.frame("/visual.html")
	f.sees("Workshops for", "last_name")
	f.fine("opened again")
	s.press("HTML")
	s.sees("The visual editor created this HTML")
	s.types("x")
	s.sees("The email is now edited as HTML")
	eventually(t, time.Minute, "the design is dropped", func() (bool, string) {
		api.get(t, "/broadcasts/"+id, &draft)
		return draft.Design == nil && draft.HTML == "x"+made, draft.HTML
	})
	s.press("Undo")
	eventually(t, time.Minute, "the design is back", func() (bool, string) {
		api.get(t, "/broadcasts/"+id, &draft)
		return draft.Design != nil && draft.HTML == made, draft.HTML
	})
	s.frame("/visual.html").sees("Workshops for")
	s.load("/broadcasts/" + id + "/review")
	s.sees("Winter")
	if status, b := api.do(t, "PATCH", "/broadcasts/"+id, map[string]any{"syntax": "plain", "html": "<p>x</p>\n<p>{{ RootURL }} ${y}</p>"}); status != 200 {
		t.Fatalf("%d %s", status, b)
	}
	s.load("/broadcasts/" + id + "/review")
	s.sees("{{ RootURL }} (html, line 2) is a tag of another service")
	s.sees("${y} (html, line 2) looks like a tag of another service")
	s.fine("reviewed")
}

// TestVisualEditorInsert: an inserted button is selected, so that typing replaces its text, and an
// image, so that it gets a URL.
func TestVisualEditorInsert(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.load("/templates")
	s.press("New template")
	s.fill("Name", "Inserted")
	s.press("Blank")
	s.press("Create template")
	f := s.frame("/visual.html")
	f.sees("Hello")
	evaluate[bool](f, `(() => { document.querySelector('.ProseMirror').focus(); getSelection().collapse(document.querySelectorAll('.ProseMirror p')[1], 0); return true; })()`)
	for _, thing := range []string{"button", "columns", "button", "image", "divider"} {
		f.fill("Insert", thing)
	}
	f.fine("inserted")
	var kept struct{ Design *string }
	eventually(t, time.Minute, "all that was inserted is saved", func() (bool, string) {
		api.get(t, "/templates/inserted", &kept)
		if kept.Design == nil {
			return false, ""
		}
		count := func(kind string) int { return strings.Count(*kept.Design, `"type":"`+kind+`"`) }
		return count("button") == 2 && count("image") == 1 && count("horizontalRule") == 1 && count("twoColumns") == 1, *kept.Design
	})
}

// TestVisualEditorTemplate, published, and sent by its alias.
func TestVisualEditorTemplate(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.load("/templates")
	s.press("New template")
	s.fill("Name", "Order shipped")
	s.press("Blank")
	s.press("Create template")
	f := s.frame("/visual.html")
	f.sees("Hello", "NAME")
	evaluate[bool](f, `(() => { document.querySelector('.ProseMirror').focus(); getSelection().collapse(document.querySelectorAll('.ProseMirror p')[1], 0); return true; })()`)
	command(f, input.InsertText, input.InsertTextParams{Text: "Your order is on its way."})
	var kept struct {
		HTML   string
		Design *string
		Status string
	}
	eventually(t, time.Minute, "what is written is saved", func() (bool, string) {
		api.get(t, "/templates/order-shipped", &kept)
		return kept.Design != nil && strings.Contains(kept.HTML, "on its way.</p>"), kept.HTML
	})
	if !strings.Contains(kept.HTML, "{{{NAME}}}") {
		t.Errorf("no variable in the HTML: %s", kept.HTML)
	}
	for _, violation := range append(s.axe(), f.axe()...) {
		t.Error(violation)
	}
	s.press("Publish")
	s.sees("Published")
	mail := map[string]any{"from": "shop@example.test", "to": []string{"zofia@example.org"}, "template": map[string]any{"id": "order-shipped", "variables": map[string]any{"NAME": "Zofia"}}}
	status, raw := api.do(t, "POST", "/emails", mail)
	var sent struct{ ID, HTML string }
	if status != 200 || json.Unmarshal(raw, &sent) != nil {
		t.Fatalf("sent by the template: %d %s", status, raw)
	}
	api.get(t, "/emails/"+sent.ID, &sent)
	if !strings.Contains(sent.HTML, "Zofia") || !strings.Contains(sent.HTML, "on its way.") {
		t.Errorf("what was sent: %s", sent.HTML)
	}
	s.fine("writing")
	f.fine("writing, in the frame")
}
