package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// cursor puts the cursor to the beginning of a paragraph of the visual editor.
func (s *screen) cursor(paragraph int) {
	s.t.Helper()
	evaluate[bool](s, fmt.Sprintf(`(() => { document.querySelector('.ProseMirror').focus(); getSelection().collapse(document.querySelectorAll('.ProseMirror p')[%d], 0); return true; })()`, paragraph))
}

// writes inserts text at the cursor.
func (s *screen) writes(text string) {
	s.t.Helper()
	command(s, input.InsertText, input.InsertTextParams{Text: text})
}

// draftContent is a template or broadcast as the API answers it.
type draftContent struct {
	ID, HTML, Syntax string
	Subject          *string
	Design           *string
	Variants         map[string]struct{ Subject, HTML, Text, Design *string }
	Variables        []struct{ Key, Type string }
}

// waits until what the editor saved fits.
func (d *draftContent) until(t *testing.T, api client, path, what string, fits func() bool) {
	t.Helper()
	eventually(t, time.Minute, what, func() (bool, string) {
		*d = draftContent{}
		status, answer := api.do(t, "GET", path, nil)
		if status != 200 {
			return false, string(answer)
		}
		must(t, json.Unmarshal(answer, d))
		return fits(), d.HTML
	})
}

// newTemplate makes a template by the dialog and opens it.
func (s *screen) newTemplate(name, start string) {
	s.t.Helper()
	s.load("/templates")
	s.press("New template")
	s.fill("Name", name)
	s.press(start)
	s.press("Create template")
}

// looks looks at a page and its frame at two widths, light and dark.
func (s *screen) looks(name string, frame *screen) {
	s.t.Helper()
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			s.look(width, scheme)
			where := fmt.Sprintf("%s.%d.%s", name, width, scheme)
			s.fits(where)
			if frame != nil {
				frame.fits(where + ", in the frame")
			}
			if dir := os.Getenv(picturesEnv); dir != "" {
				must(s.t, chromedp.Do(s.ctx, chromedp.EmulateViewport(width, 1700))) // frames below the window are not painted
				s.shoot(filepath.Join(dir, where+".png"))
			}
		}
	}
	s.look(1280, "light")
}

// TestShowIfAndRepeatInTheBrowser: a condition and a loop are put around blocks, changed, undone one
// by one, and taken away again.
func TestShowIfAndRepeatInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.allow("/render") // a preview may be asked for while a variable gets another type
	s.newTemplate("Order", "Blank")
	var kept draftContent
	kept.until(t, api, "/templates/order", "a new template is Liquid", func() bool { return kept.Syntax == "liquid" })
	s.press("Add a variable")
	s.fillLast("Variable", "ITEMS")
	s.fillLast("Type", "list")
	s.press("Test data")
	s.fill("Values as JSON", `{"NAME": "Zofia", "ITEMS": [{"name": "Lamp", "price": 49.5}]}`)
	s.press("Use these values")
	f := s.frame("/visual.html")
	f.sees("Hello")
	f.cursor(1)
	f.writes("For Zofia")
	f.fill("Insert", "showIf")
	f.sees("Show if NAME is set")
	eventually(t, time.Minute, "the field of the condition has the focus", func() (bool, string) {
		return evaluate[bool](f, `document.activeElement.closest('.visual-fields')?.dataset.kind === 'showIf'`), f.text()
	})
	f.fill("Comparison", "equals")
	f.fill("Value", `O"Neill`)
	kept.until(t, api, "/templates/order", "the condition is saved", func() bool {
		return strings.Contains(kept.HTML, `{% if NAME == 'O"Neill' %}`) && strings.Contains(kept.HTML, "{% endif %}")
	})
	f.press("Undo") // the value
	f.press("Undo") // the comparison
	kept.until(t, api, "/templates/order", "two steps are undone", func() bool { return strings.Contains(kept.HTML, `{% if NAME and NAME != "" %}`) })
	f.press("Undo") // the condition
	kept.until(t, api, "/templates/order", "the condition is undone, not the text before it", func() bool {
		return !strings.Contains(kept.HTML, "{%") && strings.Contains(kept.HTML, "For Zofia")
	})
	f.press("Redo")
	f.sees("Show if NAME is set")
	f.press("Remove, keep the content")
	kept.until(t, api, "/templates/order", "the condition is taken away", func() bool { return !strings.Contains(kept.HTML, "{%") && strings.Contains(kept.HTML, "For Zofia") })
	f.press("Undo")
	f.sees("Show if NAME is set")
	f.cursor(2)
	f.writes("Each: ")
	f.fill("Insert", "repeat")
	f.sees("Repeat for each item in ITEMS")
	f.fill("Variable", "item.name")
	f.fill("Insert", "divider")
	kept.until(t, api, "/templates/order", "the loop is saved", func() bool {
		return strings.Contains(kept.HTML, "{% for item in ITEMS %}") && strings.Contains(kept.HTML, "Each: {{ item.name }}") && strings.Contains(kept.HTML, "<hr") && strings.Contains(kept.HTML, "{% endfor %}")
	})
	f.press("Undo")
	kept.until(t, api, "/templates/order", "the divider is undone", func() bool {
		return strings.Contains(kept.HTML, "Each: {{ item.name }}") && !strings.Contains(kept.HTML, "<hr")
	})
	s.looks("blocks", f)
	for _, violation := range append(s.axe(), f.axe()...) {
		t.Error(violation)
	}
	s.fine("blocks")
	f.fine("blocks, in the frame")
}

// TestLiquidErrorInTheBrowser: what the server refuses is shown with its place, and nothing is lost.
func TestLiquidErrorInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.allow("422") // logged by Chromium itself
	s.newTemplate("Order", "HTML")
	s.sees("Add a variable")
	s.types("{% if NAME == 'x' %}\n<p>one</p>\n{{ NAME | shout }}{% endif %}\n")
	s.sees("Not saved: ", "(line 3, column ")
	s.press("Go to line 3")
	if line := evaluate[string](s, `document.querySelector('.code-host').shadowRoot.querySelector('.cm-activeLine').innerText`); !strings.Contains(line, "shout") {
		t.Errorf("the cursor is in the line %q", line)
	}
	eventually(t, time.Minute, "the place is marked", func() (bool, string) {
		return evaluate[bool](s, `!!document.querySelector('.code-host').shadowRoot.querySelector('.cm-lintRange-error')`), s.text()
	})
	s.looks("liquid-error", nil)
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	s.selects("shout")
	s.writes("upcase")
	var kept draftContent
	kept.until(t, api, "/templates/order", "what is right is saved", func() bool { return strings.Contains(kept.HTML, "{{ NAME | upcase }}") })
	if strings.Contains(s.text(), "Not saved") {
		t.Error("the page still says that it is not saved")
	}
	s.fine("an error of Liquid")
}

// selects selects a text in the code editor.
func (s *screen) selects(text string) {
	s.t.Helper()
	evaluate[bool](s, fmt.Sprintf(`(() => {
		const root = document.querySelector('.code-host').shadowRoot;
		const walk = document.createTreeWalker(root.querySelector('.cm-content'), NodeFilter.SHOW_TEXT);
		for (let node = walk.nextNode(); node; node = walk.nextNode()) {
			const at = node.data.indexOf(%[1]q);
			if (at < 0) continue;
			root.querySelector('.cm-content').focus();
			root.getSelection ? root.getSelection().setBaseAndExtent(node, at, node, at + %[1]q.length) : getSelection().setBaseAndExtent(node, at, node, at + %[1]q.length);
			return true;
		}
		return false;
	})()`, text))
}

// TestLanguagesOfDraftInTheBrowser: a language begins as a copy, marks what it lacks, and is removed
// and brought back.
func TestLanguagesOfDraftInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	_, answer := api.do(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "name": "Winter", "subject": "Three evenings", "preview_text": "In Bergen",
		"syntax": "liquid", "html": "<p>Hello {{ contact.first_name }}</p>"})
	var draft draftContent
	must(t, json.Unmarshal(answer, &draft))
	path := "/broadcasts/" + draft.ID
	s := newScreen(t, in.url, b.session(t))
	s.load(path)
	s.press("More actions")
	s.press("Add a language")
	s.fill("Language code", "de-de-")
	s.sees("Enter a code like de or pt-BR")
	s.fill("Language code", "pt_br")
	s.sees("Brazilian Portuguese")
	s.submits()
	s.sees("Brazilian Portuguese uses the default for: Subject, Preview text, HTML")
	s.looks("languages-missing", nil)
	s.press("Copy from default")
	s.fill("Subject", "Três noites")
	s.types("Olá ")
	draft.until(t, api, path, "the language is saved", func() bool {
		v, ok := draft.Variants["pt-BR"]
		return ok && v.Subject != nil && *v.Subject == "Três noites" && v.HTML != nil && *v.HTML == "Olá <p>Hello {{ contact.first_name }}</p>" && v.Text == nil
	})
	if *draft.Subject != "Three evenings" || draft.HTML != "<p>Hello {{ contact.first_name }}</p>" {
		t.Errorf("the default became %q, %q", *draft.Subject, draft.HTML)
	}
	s.looks("languages", nil)
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	s.press("Close") // the message of the copy
	s.press("Actions for Brazilian Portuguese")
	s.press("Remove Brazilian Portuguese")
	draft.until(t, api, path, "the language is gone", func() bool { return len(draft.Variants) == 0 })
	s.press("Undo")
	draft.until(t, api, path, "the language is back", func() bool {
		subject := draft.Variants["pt-BR"].Subject
		return subject != nil && *subject == "Três noites"
	})
	s.press("pt-BR")
	if subject := evaluate[string](s, `document.querySelector('#c-subject').value`); subject != "Três noites" {
		t.Errorf("the subject is %q", subject)
	}
	if status, answer := api.do(t, "PATCH", path, map[string]any{"variants": map[string]any{"fr": map[string]any{"subject": "Trois soirs"}}}); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	s.allow("409")
	s.fill("Subject", "Outras noites")
	s.sees("Another user changed this at the same time")
	s.press("Save my version")
	draft.until(t, api, path, "both languages are kept", func() bool {
		own, other := draft.Variants["pt-BR"].Subject, draft.Variants["fr"].Subject
		return own != nil && *own == "Outras noites" && other != nil && *other == "Trois soirs"
	})
	s.fine("languages")
}

// TestPlainDraftBecomesLiquidInTheBrowser: what would mean something else is shown and protected.
func TestPlainDraftBecomesLiquidInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	plain := "<p>Hello {{{contact.first_name|there}}}</p>\n<p>Write {{ name }} and {% if %} like this</p>\n"
	_, answer := api.do(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "name": "Winter", "subject": "Three evenings", "html": plain})
	var draft draftContent
	must(t, json.Unmarshal(answer, &draft))
	path := "/broadcasts/" + draft.ID
	s := newScreen(t, in.url, b.session(t))
	s.load(path)
	s.press("Use Liquid")
	s.sees("These texts are protected", "{% raw %}{{ name }}{% endraw %}")
	s.looks("convert", nil)
	s.submits()
	draft.until(t, api, path, "the draft is Liquid", func() bool {
		return draft.Syntax == "liquid" && strings.Contains(draft.HTML, "{% raw %}{{ name }}{% endraw %} and {% raw %}{% if %}{% endraw %} like this") && strings.Contains(draft.HTML, "{{{contact.first_name|there}}}")
	})
	s.press("Undo")
	draft.until(t, api, path, "the draft is plain", func() bool { return draft.Syntax == "plain" && draft.HTML == plain })
	s.fine("a conversion")
}

// TestMJMLInTheBrowser: MJML is written, uploaded and kept; its errors are shown; HTML is made of it.
func TestMJMLInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.newTemplate("Order", "MJML")
	var kept draftContent
	kept.until(t, api, "/templates/order", "the first HTML is made", func() bool {
		return strings.Contains(kept.HTML, "mj-column-per-100") && strings.Contains(kept.HTML, "Hello {{{NAME}}},") && strings.HasPrefix(*kept.Design, `{"type":"mjml","source":"<mjml>`)
	})
	s.uploads("Open a file", fmt.Sprintf(`new File([%q], 'order.mjml')`, `<mjml><mj-head><mj-style inline="inline">.big { color: #123456 }</mj-style></mj-head><mj-body>
<mj-section><mj-column>
<mj-raw>{% if NAME == "Zofia" %}</mj-raw>
<mj-text css-class="big"><p class="big">Your order, {{ NAME | upcase }}</p></mj-text>
<mj-raw>{% endif %}</mj-raw>
<mj-text nonsense="1">more</mj-text>
</mj-column></mj-section></mj-body></mjml>`))
	s.sees("Line 6: ", "nonsense")
	kept.until(t, api, "/templates/order", "the uploaded source is converted", func() bool {
		return strings.Contains(kept.HTML, "Your order, {{ NAME | upcase }}") && strings.Contains(kept.HTML, `{% if NAME == "Zofia" %}`) && strings.Contains(kept.HTML, "color: #123456") && strings.Contains(*kept.Design, "nonsense")
	})
	s.looks("mjml", nil)
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	s.load("/templates/" + kept.ID)
	s.sees("MJML", "Open a file")
	s.fine("MJML")
	s.newTemplate("Pasted", "HTML")
	s.sees("Add a variable")
	s.selectsAll()
	s.strike("Backspace", false)
	s.writes("<mjml><mj-body><mj-section><mj-column><mj-text>Pasted</mj-text></mj-column></mj-section></mj-body></mjml>")
	s.sees("This text is MJML")
	s.press("Make HTML of it")
	kept.until(t, api, "/templates/pasted", "the pasted source is converted", func() bool {
		return strings.Contains(kept.HTML, "mj-column-per-100") && strings.Contains(kept.HTML, "Pasted")
	})
	s.fine("pasted MJML")
}

// selectsAll selects everything in the code editor.
func (s *screen) selectsAll() {
	s.t.Helper()
	eventually(s.t, time.Minute, "there is an editor", func() (bool, string) {
		return evaluate[bool](s, `(() => { const c = document.querySelector('.code-host')?.shadowRoot?.querySelector('.cm-content'); c?.focus(); return !!c; })()`), s.text()
	})
	command(s, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 65, Modifiers: 2, Commands: []string{"selectAll"}})
}

// pictureFile is a script that makes a PNG file of a width, whose color tells it apart.
func pictureFile(color string, width int) string {
	return fmt.Sprintf(`new Promise((done) => { const c = document.createElement('canvas'); c.width = %d; c.height = 120; const g = c.getContext('2d');
		g.fillStyle = '%s'; g.fillRect(0, 0, c.width, 120); g.fillStyle = '#fff'; g.beginPath(); g.arc(60, 60, 40, 0, 7); g.fill(); c.toBlob((b) => done(new File([b], '%s.png', {type: 'image/png'}))); })`, width, color, strings.TrimPrefix(color, "#"))
}

// TestImagesInTheBrowser: images are dropped, pasted and picked; their alternative text is asked for;
// the library describes and deletes them.
func TestImagesInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.load("/images")
	s.sees("No images yet")
	s.looks("images-none", nil)
	s.newTemplate("Order", "Blank")
	f := s.frame("/visual.html")
	f.sees("Hello")
	f.cursor(1)
	f.writes("Before")
	evaluate[bool](f, pictureFile("#1f4fd8", 1400)+`.then((file) => { const p = document.querySelectorAll('.ProseMirror p')[1].getBoundingClientRect(); const data = new DataTransfer(); data.items.add(file);
		return document.querySelector('.ProseMirror').dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: data, clientX: p.x + 5, clientY: p.y + 5})) || true; })`)
	f.sees("No alternative text", "Say what it shows")
	f.fill("Alternative text", "A blue lamp")
	var kept draftContent
	kept.until(t, api, "/templates/order", "the dropped image is saved", func() bool {
		return strings.Contains(kept.HTML, `alt="A blue lamp"`) && strings.Contains(kept.HTML, in.url+"/i/") && strings.Contains(kept.HTML, `width="552"`) && strings.Index(kept.HTML, "Before") < strings.Index(kept.HTML, "<img")
	})
	eventually(t, time.Minute, "the image is shown", func() (bool, string) {
		return evaluate[bool](f, `[...document.querySelectorAll('.visual-image img')].some((i) => i.src.startsWith('data:image/') && i.naturalWidth === 600)`), f.text()
	})
	f.press("Undo") // the alternative text
	f.press("Undo")
	kept.until(t, api, "/templates/order", "the image is undone", func() bool { return !strings.Contains(kept.HTML, "<img") && strings.Contains(kept.HTML, "Before") })
	f.press("Redo")
	f.press("Redo")
	f.cursor(0)
	evaluate[bool](f, pictureFile("#1d7a3c", 300)+`.then((file) => { const data = new DataTransfer(); data.items.add(file);
		return document.querySelector('.ProseMirror').dispatchEvent(new ClipboardEvent('paste', {bubbles: true, cancelable: true, clipboardData: data})) || true; })`)
	kept.until(t, api, "/templates/order", "the pasted image is saved", func() bool {
		return strings.Count(kept.HTML, "<img") == 2 && strings.Contains(kept.HTML, `width="300"`)
	})
	f.fill("Insert", "image")
	f.press("Choose an image")
	s.sees("Drop images here")
	s.press("A blue lamp")
	s.looks("images-pick", nil)
	s.press("Use this image")
	kept.until(t, api, "/templates/order", "the picked image is saved", func() bool { return strings.Count(kept.HTML, `alt="A blue lamp"`) == 2 })
	s.looks("images-editor", f)
	for _, violation := range append(s.axe(), f.axe()...) {
		t.Error(violation)
	}
	s.fine("images in an email")
	f.fine("images in an email, in the frame")
	s.allow("422")
	s.load("/images")
	s.uploads("Drop images here, or choose files", `new File(['<svg xmlns="http://www.w3.org/2000/svg"/>'], 'logo.svg', {type: 'image/svg+xml'})`)
	s.sees("logo.svg was not added: ")
	s.uploads("Drop images here, or choose files", pictureFile("#8a1f1f", 640))
	s.fill("Alternative text", "A red lamp")
	s.submits()
	s.sees("A red lamp", "640 × 120")
	s.looks("images", nil)
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	s.press("Actions for A red lamp")
	s.press("Delete")
	s.sees("No email uses it")
	s.submits()
	s.press("Actions for A blue lamp")
	s.press("Delete")
	s.sees("It was used in emails")
	s.submits()
	var left struct{ Data []struct{ Alt *string } }
	eventually(t, time.Minute, "one image is left", func() (bool, string) {
		api.get(t, "/images", &left)
		return len(left.Data) == 1, s.text()
	})
	s.fine("the library")
}

// uploads puts a file that a script makes into the file field with this label.
func (s *screen) uploads(label, file string) {
	s.t.Helper()
	script := fmt.Sprintf(`(async () => { const f = document.querySelector('input[type=file][aria-label=' + JSON.stringify(%q) + ']'); if (!f) return false; const d = new DataTransfer();
		d.items.add(await (%s)); f.files = d.files; f.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`, label, file)
	eventually(s.t, time.Minute, "there is a file field "+label, func() (bool, string) { return evaluate[bool](s, script), s.text() })
}

// TestVisualLanguagesInTheBrowser: each language has a visual document of its own, and a change goes
// to the one that it was made in, even right before another one is opened.
func TestVisualLanguagesInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.newTemplate("Order", "Blank")
	f := s.frame("/visual.html")
	f.sees("Hello")
	s.press("More actions")
	s.press("Add a language")
	s.fill("Language code", "de")
	s.submits()
	s.press("Copy from default")
	f = s.frame("/visual.html")
	f.sees("Hello")
	f.cursor(0)
	f.writes("Guten Tag! ")
	s.press("Default")
	var kept draftContent
	kept.until(t, api, "/templates/order", "what was typed is the language's", func() bool {
		de := kept.Variants["de"]
		return de.HTML != nil && strings.Contains(*de.HTML, "Guten Tag! Hello") && de.Design != nil && strings.Contains(*de.HTML, `lang="de"`) && !strings.Contains(kept.HTML, "Guten")
	})
	f.cursor(0)
	f.writes("Good day! ")
	kept.until(t, api, "/templates/order", "what was typed is the default's", func() bool {
		return strings.Contains(kept.HTML, "Good day! Hello") && !strings.Contains(*kept.Variants["de"].HTML, "Good")
	})
	s.press("de")
	f.sees("Guten Tag! Hello")
	s.press("HTML")
	s.types("x")
	s.sees("The email is now edited as HTML")
	kept.until(t, api, "/templates/order", "the language is HTML, the default is not", func() bool {
		de := kept.Variants["de"]
		return de.Design == nil && kept.Design != nil && strings.HasPrefix(*de.HTML, "x")
	})
	s.fine("languages in the visual editor")
	f.fine("languages in the visual editor, in the frame")
}

// TestTwoPeopleOnVisualDraft: the second of two people chooses between the versions, and loses none
// before.
func TestTwoPeopleOnVisualDraft(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	one, two := newScreen(t, in.url, b.session(t)), newScreen(t, in.url, b.session(t))
	one.newTemplate("Order", "Blank")
	var kept draftContent
	kept.until(t, api, "/templates/order", "the HTML is made", func() bool { return strings.Contains(kept.HTML, "Hello {{{NAME}}},</p>") })
	two.allow("409")
	two.load("/templates/" + kept.ID)
	second := two.frame("/visual.html")
	second.sees("Hello")
	first := one.frame("/visual.html")
	first.sees("Hello")
	first.cursor(0)
	first.fill("Insert", "showIf")
	kept.until(t, api, "/templates/order", "the first saves", func() bool { return strings.Contains(kept.HTML, "{% if") })
	for _, mine := range []bool{false, true} {
		second.cursor(0)
		second.writes("Second. ")
		two.sees("Another user changed this at the same time")
		if !mine {
			two.looks("conflict", second)
			two.press("Use their version")
			second.sees("Show if NAME is set")
			first.cursor(0)
			first.writes("First. ")
			kept.until(t, api, "/templates/order", "the first saves again", func() bool { return strings.Contains(kept.HTML, "First. ") })
			continue
		}
		two.press("Save my version")
		kept.until(t, api, "/templates/order", "the second's is saved", func() bool {
			return strings.Contains(kept.HTML, "Second. ") && strings.Contains(kept.HTML, "{% if") && !strings.Contains(kept.HTML, "First. ")
		})
	}
	one.fine("the first")
	two.fine("the second")
}

// TestSavedBlocksInTheBrowser: a block is made of a part of an email, used in another one, and changed
// in both.
func TestSavedBlocksInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.newTemplate("One", "Blank")
	f := s.frame("/visual.html")
	f.sees("Hello")
	f.cursor(1)
	f.writes("Harbour & Pine, Bergen")
	f.fill("Insert", "keep")
	s.sees("Emails refer to the block by this name")
	s.fill("Name", "Footer")
	s.looks("block-new", f)
	s.submits()
	f.sees("Saved block", "Footer")
	var kept draftContent
	kept.until(t, api, "/templates/one", "the block stands in the email", func() bool {
		return strings.Contains(kept.HTML, `{% block "Footer" %}`) && !strings.Contains(kept.HTML, "Harbour")
	})
	s.newTemplate("Two", "Blank")
	f = s.frame("/visual.html")
	f.sees("Hello")
	f.cursor(1)
	f.fill("Insert", "saved Footer")
	kept.until(t, api, "/templates/two", "the block stands in the other email", func() bool { return strings.Contains(kept.HTML, `{% block "Footer" %}`) })
	f.press("Undo")
	kept.until(t, api, "/templates/two", "the block is undone", func() bool { return !strings.Contains(kept.HTML, "{% block") })
	f.press("Redo")
	kept.until(t, api, "/templates/two", "the block is back", func() bool { return strings.Contains(kept.HTML, "{% block") })
	f.fine("blocks, in the frame")
	s.load("/blocks")
	s.sees("Footer")
	s.looks("blocks-list", nil)
	s.press("Footer")
	s.sees("Saving changes all templates and drafts with this block")
	s.types("{% if nothing")
	s.allow("422")
	s.press("Save")
	s.sees("(line 1, column")
	s.looks("block-refused", nil)
	s.selectsAll()
	s.strike("Backspace", false)
	s.writes("<p>Harbour & Pine, Oslo</p>")
	s.press("Save")
	s.sees("All emails with this block have the new version")
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	for _, name := range []string{"one", "two"} {
		status, answer := api.do(t, "POST", "/templates/"+name+"/render", map[string]any{})
		if status != 200 || !strings.Contains(string(answer), "Pine, Oslo") {
			t.Errorf("%s renders %d %s", name, status, answer)
		}
	}
	s.allow("409")
	s.press("More actions")
	s.press("Delete")
	s.submits()
	s.sees("uses this block")
	s.fine("blocks")
}

// TestHeavyEmailInTheBrowser: long HTML and heavy images are named.
func TestHeavyEmailInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	noise := image.NewRGBA(image.Rect(0, 0, 700, 700))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.Uint32()) | 0xff*byte(i%4/3)
	}
	var file bytes.Buffer
	must(t, png.Encode(&file, noise))
	status, answer := api.do(t, "POST", "/images", map[string]any{"content": file.Bytes(), "alt": "noise"})
	var made struct{ URL string }
	if status != 201 {
		t.Fatalf("%d %s", status, answer)
	}
	must(t, json.Unmarshal(answer, &made))
	_, answer = api.do(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "name": "Winter", "subject": "Three evenings", "syntax": "liquid",
		"html": `<p><img src="` + made.URL + `" alt="noise"></p>` + strings.Repeat("<p>Hello there, this is a line.</p>\n", 3200)})
	var draft draftContent
	must(t, json.Unmarshal(answer, &draft))
	s := newScreen(t, in.url, b.session(t))
	s.load("/broadcasts/" + draft.ID)
	s.sees("Gmail cuts off what is longer than 102 KB", "Above 1 MB they load slowly on phones")
	s.looks("heavy", nil)
	s.types("Before ")
	s.press("Choose an image")
	s.press("noise")
	s.press("Use this image")
	draft.until(t, api, "/broadcasts/"+draft.ID, "the picked image stands in the HTML", func() bool {
		return strings.HasPrefix(draft.HTML, `Before <img src="`+made.URL+`" alt="noise" width="552" style="max-width:100%;height:auto"><p><img`)
	})
	evaluate[bool](s, pictureFile("#1d7a3c", 300)+`.then((file) => { const data = new DataTransfer(); data.items.add(file);
		return document.querySelector('.code-host').shadowRoot.querySelector('.cm-content').dispatchEvent(new ClipboardEvent('paste', {bubbles: true, cancelable: true, composed: true, clipboardData: data})) || true; })`)
	draft.until(t, api, "/broadcasts/"+draft.ID, "the pasted image stands in the HTML", func() bool { return strings.Contains(draft.HTML, `alt="" width="300"`) })
	s.fine("a heavy email")
}
