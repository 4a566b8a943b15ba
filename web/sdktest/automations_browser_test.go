package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// focused is a script that returns the name of the control that has the focus.
const focused = `(() => {
	const e = document.activeElement;
	return (e.getAttribute('aria-label') || [...(e.labels ?? [])].map((l) => l.innerText).join(' ') || e.innerText || e.value || '').trim().replace(/\s+/g, ' ');
})()`

// keysOf has the virtual key codes of keys without a character.
var keysOf = map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}

// hit presses a key in the browser.
func (s *screen) hit(key string) {
	s.t.Helper()
	p := input.DispatchKeyEventParams{Type: "keyDown", Key: key, Code: key, WindowsVirtualKeyCode: keysOf[key], Text: map[string]string{"Enter": "\r", " ": " "}[key]}
	if key == " " {
		p.Code = "Space"
	}
	command(s, input.DispatchKeyEvent, p)
	p.Type, p.Text = "keyUp", ""
	command(s, input.DispatchKeyEvent, p)
}

// tabTo presses Tab until a control whose name begins with words has the focus.
func (s *screen) tabTo(words string) {
	s.t.Helper()
	var seen []string
	for range 150 {
		name := evaluate[string](s, focused)
		if strings.HasPrefix(name, words) {
			return
		}
		seen = append(seen, name)
		s.hit("Tab")
	}
	s.t.Fatalf("Tab does not come to %s: %q", words, slices.Compact(seen))
}

// pick opens the menu of a button and chooses an item with the arrow keys.
func (s *screen) pick(button, item string) {
	s.t.Helper()
	s.tabTo(button)
	s.hit("Enter")
	s.is("the menu of "+button+" has the focus", `document.activeElement.getAttribute('role') === 'menuitem'`)
	for range 30 {
		if evaluate[string](s, focused) == item {
			s.hit("Enter")
			return
		}
		s.hit("ArrowDown")
	}
	s.t.Fatalf("the menu of %s has no %s", button, item)
}

// choose comes to a choice and takes the option that begins with words, by typing.
func (s *screen) choose(label, words string) {
	s.t.Helper()
	s.tabTo(label)
	must(s.t, chromedp.Do(s.ctx, chromedp.KeyEvent(words)))
	s.is(label+" is "+words, fmt.Sprintf(`document.activeElement.selectedOptions?.[0]?.text.startsWith(%q)`, words))
	time.Sleep(1100 * time.Millisecond) // the browser forgets what was typed
}

// typeInto comes to a field and types a text in place of what it has.
func (s *screen) typeInto(label, text string) {
	s.t.Helper()
	s.tabTo(label)
	evaluate[bool](s, `(document.activeElement.select(), true)`)
	must(s.t, chromedp.Do(s.ctx, chromedp.KeyEvent(text)))
}

// enter comes to a button and presses it with Enter.
func (s *screen) enter(words string) {
	s.t.Helper()
	s.tabTo(words)
	s.hit("Enter")
}

// opens waits for a dialog with a title.
func (s *screen) opens(title string) {
	s.t.Helper()
	s.is("the dialog "+title+" opens", fmt.Sprintf(`[...document.querySelectorAll('dialog[open] h2')].pop()?.innerText === %q`, title))
}

// onBox waits until the box of a step of a type has the focus.
func (s *screen) onBox(words string) {
	s.t.Helper()
	s.is("the box of "+words+" has the focus", fmt.Sprintf(`!document.querySelector('dialog[open]') && document.activeElement.matches('.flow-open') && document.activeElement.innerText.replace(/\s+/g, ' ').includes(%q)`, words))
}

// flowOf is what the test reads of an automation.
type flowOf struct {
	ID, Status string
	Version    int
	Steps      []struct {
		Key, Type string
		Config    json.RawMessage
	}
	Connections []struct{ From, To, Type string }
}

// shape has the connections of a flow with the types of their steps.
func (f *flowOf) shape() (out []string) {
	types := map[string]string{}
	for _, s := range f.Steps {
		types[s.Key] = s.Type
	}
	for _, c := range f.Connections {
		out = append(out, types[c.From]+" "+c.Type+" "+types[c.To])
	}
	slices.Sort(out)
	return out
}

// lookAll checks a page at two widths, light and dark, and writes pictures if they are asked for.
func (s *screen) lookAll(name string) {
	s.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1440, 390} {
			s.look(width, scheme)
			s.fits(fmt.Sprintf("%s at %d px", name, width))
			for _, fault := range s.axe() {
				s.t.Errorf("%s at %d, %s: %s", name, width, scheme, fault)
			}
			if dir := os.Getenv(picturesEnv); dir != "" {
				s.shoot(filepath.Join(dir, fmt.Sprintf("automations-%s.%d.%s.png", name, width, scheme)))
			}
		}
	}
	s.look(1440, "light")
	s.fine(name)
}

// TestAutomationByKeyboard: an automation with a trigger, a delay, a condition with an email on each side,
// a split and a goal is built on the canvas with the keyboard alone, saved, enabled and shown again.
func TestAutomationByKeyboard(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	for _, name := range []string{"Welcome", "Offer"} {
		var made struct{ ID string }
		nodeOutput(api.ask(t, "POST", "/templates", map[string]any{"name": name, "from": "Harbour <news@example.test>", "subject": name, "html": "<p>Hello {{{PLAN}}}</p>",
			"variables": []map[string]any{{"key": "PLAN", "type": "string"}}}, http.StatusCreated)).into(t, &made)
		api.ask(t, "POST", "/templates/"+made.ID+"/publish", nil, http.StatusOK)
	}
	api.ask(t, "POST", "/segments", map[string]any{"name": "Customers"}, http.StatusCreated)
	api.ask(t, "POST", "/contacts", map[string]any{"email": "bob@example.org"}, http.StatusCreated)
	var contact struct{ ID string }
	nodeOutput(api.ask(t, "POST", "/contacts", map[string]any{"email": "ann@example.org", "first_name": "Ann"}, http.StatusCreated)).into(t, &contact)
	s := newScreen(t, in.url, b.session(t))
	s.look(1440, "light")
	s.load("/automations")
	s.sees("No automations yet")
	s.fine("an empty list")
	s.build()
	var flow flowOf
	s.readFlow(api, &flow)
	want := []string{"condition condition_met send_email", "condition condition_not_met send_email", "delay default condition", "send_email default split", "send_email default split",
		"split condition_met goal", "split condition_not_met goal", "trigger default delay"}
	if got := flow.shape(); !slices.Equal(got, want) || flow.Version != 2 {
		t.Errorf("version %d has %q, want %q", flow.Version, got, want)
	}
	for _, step := range flow.Steps {
		for kind, config := range map[string]string{"delay": `{"duration":"3 days"}`, "condition": `{"type":"rule","field":"event.plan","operator":"eq","value":"pro"}`, "split": `{"percent":30}`} {
			if step.Type == kind && string(step.Config) != config {
				t.Errorf("%s is %s, want %s", kind, step.Config, config)
			}
		}
	}
	s.enter("Enable")
	s.sees("Welcome series is enabled")
	s.readFlow(api, &flow)
	if flow.Status != "enabled" {
		t.Errorf("the automation is %s", flow.Status)
	}
	for _, address := range []string{"ann@example.org", "bob@example.org"} {
		api.ask(t, "POST", "/events/send", map[string]any{"event": "order.paid", "email": address, "payload": map[string]any{"plan": "pro"}}, http.StatusAccepted)
	}
	eventually(t, time.Minute, "two runs wait", func() (bool, string) {
		var report struct{ Started, Running int }
		api.get(t, "/automations/"+flow.ID+"/report", &report)
		return report.Started == 2 && report.Running == 2, fmt.Sprintf("%+v", report)
	})
	s.seePages(flow.ID, contact.ID)
	asMember(t, in, b, flow.ID)
}

// readFlow reads the automation of the page.
func (s *screen) readFlow(api client, flow *flowOf) {
	s.t.Helper()
	api.get(s.t, "/automations/"+evaluate[string](s, `location.pathname.split('/')[3]`), flow)
}

// build makes the automation with the keyboard alone.
func (s *screen) build() {
	t := s.t
	t.Helper()
	s.enter("New automation")
	s.opens("New automation")
	s.typeInto("Name", "Welcome series")
	s.enter("Next")
	s.opens("Trigger")
	s.choose("Starts with", "Another event")
	s.typeInto("Event name", "order.paid")
	s.enter("Create automation")
	s.sees("1. Trigger", "order.paid")
	s.settle()
	s.pick("Add a step after step 1", "Delay")
	s.opens("Delay")
	s.typeInto("Duration", "3")
	s.enter("Add step")
	s.onBox("2. Delay 3 days")
	s.pick("Add a step after step 2", "Condition")
	s.opens("Condition")
	s.typeInto("Field", "event.plan")
	s.typeInto("Value", "pro")
	s.enter("Add step")
	s.onBox("3. Condition event.plan is pro")
	for _, branch := range []struct{ name, template string }{{"Not met", "Offer"}, {"Met", "Welcome"}} {
		s.pick("Add a step to “"+branch.name+"”", "Send email")
		s.opens("Send email")
		s.choose("Template", branch.template)
		s.choose("Source of PLAN", "Field")
		s.typeInto("Field for PLAN", "event.plan")
		s.enter("Add step")
		s.onBox("Send email " + branch.template)
	}
	s.pick("Add a step after step 3", "Send email")
	s.opens("Send email")
	s.choose("Template", "Offer")
	s.lookAll("send-email")
	s.hit("Escape")
	s.pick("Add a step after step 3", "Split")
	s.opens("Split")
	s.typeInto("Share of the first branch", "30")
	s.enter("Add step")
	s.onBox("6. Split 30% / 70%")
	s.pick("Add a step after step 6", "Goal")
	s.opens("Goal")
	s.choose("Met when", "The contact is in a segment")
	s.choose("Segment", "Customers")
	s.enter("Add step")
	s.onBox("7. Goal in Customers")
	s.enter("Move step 7 up")
	s.is("the button keeps the focus", focused+` === 'Move step 6 up'`)
	s.enter("Move step 6 down")
	s.onBox("7. Goal in Customers") // the last step can't move down
	s.pick("Add a step after step 7", "Delay")
	s.opens("Delay")
	s.hit("Escape")
	s.is("Escape adds nothing", `!document.querySelector('dialog[open]') && document.querySelectorAll('.flow-box').length === 7`)
	s.lookAll("canvas-unsaved")
	s.enter("Save")
	s.sees("Saved", "Version 2")
}

// seePages looks at all pages of the automation, and at its contact.
func (s *screen) seePages(id, contact string) {
	s.t.Helper()
	for _, page := range []struct{ name, path, text string }{
		{"list", "", "Welcome series"}, {"canvas", "/" + id, "7. Goal"}, {"report", "/" + id + "/report", "Funnel"}, {"runs", "/" + id + "/runs", "ann@example.org"}, {"settings", "/" + id + "/settings", "Opt-outs end the run"},
	} {
		s.load("/automations" + page.path)
		s.sees(page.text)
		s.lookAll(page.name)
	}
	s.load("/automations/" + id + "/runs")
	s.press("ann@example.org")
	s.sees("Path", "1. Trigger", "All runs")
	s.lookAll("run")
	s.load("/automations/" + id)
	s.press("JSON")
	s.is("the flow is shown as JSON", `document.querySelector('textarea').value.includes('"duration": "3 days"')`)
	s.fill("Flow as JSON", `{"steps": [{"key": "start", "type": "begin", "config": {}}], "connections": []}`)
	s.sees("steps[0].type: is not a type of step")
	s.lookAll("json")
	s.press("Discard")
	s.load("/automations/" + id + "/test")
	s.sees("No test yet")
	s.press("Made-up contact")
	s.fill("Payload as JSON", `{"plan": "pro"}`)
	s.press("Run test")
	s.sees("Path", "4. Send email")
	s.press("Welcome")
	s.lookAll("test")
	s.load("/contacts/" + contact)
	s.sees("In Welcome series")
	s.press("Why was a step not reached?")
	s.fill("Automation", id)
	s.is("the steps are listed", `[...document.querySelectorAll('.contact-why option')].some((o) => o.text.startsWith('4. Send email'))`)
	s.fill("Step", evaluate[string](s, `[...document.querySelectorAll('.contact-why option')].find((o) => o.text.startsWith('4. Send email')).value`))
	s.is("it is explained", `document.querySelector('.contact-why .notice')?.innerText.length > 10`)
	s.lookAll("contact")
}

// asMember checks that a member sees why the automation can't be enabled or changed.
func asMember(t *testing.T, in *instance, owner *browser, id string) {
	t.Helper()
	me := owner.want(t, http.StatusOK, "GET", "/users/me", nil)
	owner.team = me["teams"].([]any)[0].(map[string]any)["id"].(string)
	made := owner.want(t, http.StatusCreated, "POST", "/invitations", map[string]any{"email": "member@example.test", "role": "member"})
	b := newBrowser(t, in.url)
	b.want(t, http.StatusOK, "POST", "/auth/invitation", map[string]any{"code": afterHash(made["url"]), "password": "a long enough pass phrase", "name": "Somebody"})
	s := newScreen(t, in.url, b.session(t))
	s.load("/automations/" + id)
	s.sees("Only an owner or admin can enable, disable or stop", "Only an owner or admin can change an enabled automation.")
	s.is("nothing can be changed", `!document.querySelector('.flow-plus, .flow-acts') && [...document.querySelectorAll('.head button')].some((b) => b.innerText === 'Disable' && b.disabled)`)
	s.lookAll("member")
}
