package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// upload gives the file field of the page a file that a script makes.
func (s *screen) upload(blob, name string) {
	s.t.Helper()
	evaluate[bool](s, fmt.Sprintf(`(async () => { const files = new DataTransfer(); files.items.add(new File([await (%s)], %q));
		const field = document.querySelector('input[type=file]'); field.files = files.files; field.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`, blob, name))
}

// drawn is a PNG of 320 × 80 pixels, as a script makes it.
const drawn = `new Promise((done) => { const c = document.createElement('canvas'); c.width = 320; c.height = 80; const g = c.getContext('2d');
	g.fillStyle = '#1f4fd8'; g.beginPath(); g.arc(40, 40, 36, 0, 7); g.fill(); g.fillRect(96, 24, 200, 32); c.toBlob(done); })`

// picture writes a picture of the page, where pictures are asked for.
func (s *screen) picture(name string, widths ...int64) {
	s.t.Helper()
	for _, width := range widths {
		s.look(width, "light")
		s.fits(fmt.Sprintf("%s at %d px", name, width))
		if dir := os.Getenv(picturesEnv); dir != "" {
			s.shoot(filepath.Join(dir, fmt.Sprintf("%s.%d.png", name, width)))
		}
	}
	s.look(1280, "light")
}

// TestBrandInTheBrowser: a new user sets the brand; it is used in a new email and on the
// unsubscribe page.
func TestBrandInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	api.ask(t, "POST", "/contacts", map[string]any{"email": "ann@example.org", "first_name": "Ann"}, http.StatusCreated)
	s := newScreen(t, in.url, b.session(t))
	s.load("/team?part=settings")
	s.sees("Drop a picture here", "PNG, JPEG or WebP")
	s.allow("422") // which the browser notes
	s.upload(`new Blob(['<svg xmlns="http://www.w3.org/2000/svg"/>'], {type: 'image/png'})`, "logo.png")
	s.sees("Is an SVG: use a PNG")
	s.upload(drawn, "logo.webp")
	s.sees("Logo saved")
	s.is("the logo is shown", `document.querySelector('.brand-drop img')?.naturalWidth === 320`)
	s.fill("Color", "#ffd400")
	s.sees("1.4:1, text needs 4.5:1")
	s.fill("Color", "#1f4fd8")
	s.sees("easy to read")
	s.fill("Font", "georgia")
	s.fill("Footer", "Acme Inc.\n1 Main St, Springfield")
	evaluate[bool](s, `(() => { document.querySelector('.brand [type=submit]').click(); return true; })()`)
	s.sees("Saved")
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	s.picture("brand", 360, 390, 820, 1280)
	s.fine("the card")

	s.load("/broadcasts")
	s.press("New broadcast")
	s.is("it begins with a layout", `document.querySelector('dialog [type=radio]:checked').value === 'announcement'`)
	s.is("the sender has the team's name", `[...document.querySelectorAll('dialog input')].some((e) => /^.+ <news@example.test>$/.test(e.value))`)
	s.fill("Name", "Winter")
	for _, violation := range s.axe() {
		t.Error(violation)
	}
	s.picture("starts", 360, 390, 820, 1280)
	s.press("Start writing")
	f := s.frame("/visual.html")
	f.sees("Your news in one line", "Acme Inc.", "Unsubscribe")
	f.is("the logo is shown in the editor", `document.querySelector('.visual-brand img')?.naturalWidth === 320`)
	id := evaluate[string](s, `location.pathname.split('/').pop()`)
	var draft struct{ HTML, From string }
	eventually(t, time.Minute, "the email is made", func() (bool, string) {
		_, raw := api.do(t, "GET", "/broadcasts/"+id, nil)
		must(t, json.Unmarshal(raw, &draft))
		return strings.Contains(draft.HTML, "Acme Inc."), draft.HTML
	})
	for _, want := range []string{`src="` + in.url + `/i/`, `width="192"`, `height="48"`, "background-color:#1f4fd8", "font-family:Georgia", "Acme Inc.<br/>1 Main St, Springfield", `href="{{{UNSUBSCRIBE_URL}}}"`} {
		if !strings.Contains(draft.HTML, want) {
			t.Errorf("no %s in %s", want, draft.HTML)
		}
	}
	f.is("typing leaves the logo alone", `getSelection().anchorNode?.textContent !== '' && !document.querySelector('.visual-brand.ProseMirror-selectednode')`)
	s.picture("announcement", 390, 820, 1280)
	s.fine("writing")
	f.fine("writing, in the frame")

	// Another brand changes no email that was saved, also where it is opened.
	api.ask(t, "PATCH", "/team/brand", map[string]any{"color": "#a02020"}, http.StatusOK)
	made := draft.HTML
	s.load("/broadcasts/" + id)
	f = s.frame("/visual.html")
	f.sees("Your news in one line")
	s.is("it is saved", `!!document.querySelector('.saved')`)
	s.load("/broadcasts")
	s.press("New broadcast")
	s.fill("Name", "Spring")
	s.press("Last broadcast")
	s.sees("A copy of “Winter”")
	s.press("Start writing")
	s.frame("/visual.html").sees("Your news in one line")
	copied := evaluate[string](s, `location.pathname.split('/').pop()`)
	for _, one := range []string{id, copied} {
		if api.get(t, "/broadcasts/"+one, &draft); draft.HTML != made {
			t.Errorf("%s changed: %s", one, draft.HTML)
		}
	}
	s.fine("the last one again")
}

// TestStarterDesignsOpen in the editor, of broadcasts and of templates.
func TestStarterDesignsOpen(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	for _, one := range [][2]string{{"Announcement", "Your news in one line"}, {"Digest", "Headline 3"}, {"Receipt", "ORDER_NUMBER"}, {"Blank", "Hello"}} {
		start, sees := one[0], one[1]
		s.load("/templates")
		s.press("New template")
		s.fill("Name", start)
		s.press(start)
		s.press("Create template")
		f := s.frame("/visual.html")
		f.sees(sees, "No footer yet")
		var made struct{ HTML string }
		eventually(t, time.Minute, "it has HTML", func() (bool, string) {
			api.get(t, "/templates/"+strings.ToLower(start), &made)
			return strings.Contains(made.HTML, `role="presentation"`), made.HTML
		})
		if strings.Contains(made.HTML, "No footer yet") || start != "Blank" && !strings.Contains(made.HTML, "font-weight:600") {
			t.Errorf("%s: %s", start, made.HTML)
		}
		s.fine(start)
		f.fine(start + ", in the frame")
		s.picture("template-"+strings.ToLower(start), 390, 1280)
	}
	s.load("/broadcasts")
	s.press("New broadcast")
	s.fill("Name", "Of a template")
	s.press("Template")
	s.press("Start writing")
	s.frame("/visual.html").sees("Hello")
	s.load("/templates")
	s.press("New template")
	s.fill("Name", "By hand")
	s.press("HTML")
	s.press("Create template")
	s.sees("Remote content is blocked")
	var made struct{ HTML, Design string }
	if api.get(t, "/templates/by-hand", &made); made.Design != "" || !strings.Contains(made.HTML, "<p>Hello {{{NAME}}},</p>") {
		t.Errorf("by hand: %+v", made)
	}
	s.fine("by hand")
}
