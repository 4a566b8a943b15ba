package sdktest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
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
