package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/server"
	"mailer/app/tenants/reports"
	"mailer/db"
)

func newIsolation(t *testing.T, mode app.Compat) *isolation {
	t.Helper()
	s := newHooked(t, func(cfg *server.Config) { cfg.Compat, cfg.PagesHost = mode, "pages.test" })
	m := &isolation{testAPI: s.testAPI, doc: readDocument(t, document())}
	foreign, full := s.newTeam("theirs")
	m.ours, m.theirs = twinTeam{"ours", s.team, s.full}, twinTeam{"theirs", foreign, full}
	for _, of := range []twinTeam{m.theirs, m.ours} { // the own team last: its cursors must not match the other's
		m.fill(of)
	}
	domain := m.find(m.ours, "/domains")[0].row["name"].(string)
	m.keys = map[string]string{
		"owner": m.ours.full, "admin": s.role(s.team.ID, app.RoleAdmin), "member": s.role(s.team.ID, app.RoleMember),
		"sending": s.key(s.team.ID, app.KeyInput{Permission: app.SendingAccess}),
		"domain":  s.key(s.team.ID, app.KeyInput{Permission: app.SendingAccess, Domain: domain}),
	}
	m.create(m.ours.full, `{"name":"spare"}`) // for the deletion of the newest
	return m
}

// fill creates one of everything in a team, and several of what is deleted in more than one way.
func (m *isolation) fill(of twinTeam) {
	m.t.Helper()
	post := func(target, body string, header ...string) string {
		m.t.Helper()
		w := m.as(of.full, "POST", target, strings.ReplaceAll(body, "TEAM", of.name), header...)
		if w.Code != http.StatusOK && w.Code != http.StatusCreated {
			m.t.Fatalf("POST %s: %d %s", target, w.Code, w.Body)
		}
		return decoded[struct{ ID string }](m.t, w).ID
	}
	patch := func(target, body string) {
		m.t.Helper()
		if w := m.as(of.full, "PATCH", target, strings.ReplaceAll(body, "TEAM", of.name)); w.Code != http.StatusOK {
			m.t.Fatalf("PATCH %s: %d %s", target, w.Code, w.Body)
		}
	}
	domain, err := m.server.Domains.AddDomain(m.t.Context(), of.team.ID, app.DomainInput{Name: of.name + ".example", Trusted: true, ClickTracking: true})
	if err != nil {
		m.t.Fatal(err)
	}
	m.create(of.full, fmt.Sprintf(`{"name":"%s key","permission":"sending_access","domain_id":%q}`, of.name, domain.ID))
	hook := post("/webhooks", `{"endpoint":"https://TEAM.example/in","events":["contact.created","topic.created"]}`)
	post("/topics", `{"name":"TEAM spare","default_subscription":"opt_in"}`)
	topic := post("/topics", `{"name":"TEAM news","default_subscription":"opt_in","visibility":"public"}`)
	post("/contact-properties", `{"key":"TEAM_size","type":"string","fallback_value":"TEAM"}`)
	segment := post("/segments", `{"name":"TEAM segment"}`)
	for i := range 6 {
		post("/contacts", fmt.Sprintf(`{"email":"c%d@bücher.TEAM.example","first_name":"TEAM","segments":[{"id":%q}],"topics":[{"id":%q,"subscription":"opt_in"}]}`, i, segment, topic))
		post("/suppressions", fmt.Sprintf(`{"email":"s%d@BÜCHER.TEAM.example"}`, i))
	}
	for i := range 3 {
		post("/segments", fmt.Sprintf(`{"name":"TEAM spare %d"}`, i))
		post("/blocks", fmt.Sprintf(`{"name":"TEAM block %d","html":"<p>TEAM</p>"}`, i))
		id := post("/templates", fmt.Sprintf(`{"name":"TEAM template","alias":"TEAM-%d","from":"a@TEAM.example","subject":"TEAM","html":"<p>TEAM</p>"}`, i))
		post("/templates/"+id+"/publish", "")
		patch("/templates/"+id, `{"subject":"TEAM anew"}`)
		post("/feeds", fmt.Sprintf(`{"url":"https://TEAM.example/feed","topic_id":%q,"template_id":%q,"schedule":"daily 09:00"}`, topic, id))
	}
	for i, role := range []app.Role{app.RoleOwner, app.RoleOwner, app.RoleMember, app.RoleMember} {
		if _, _, err := m.server.Accounts.CreateAccount(m.t.Context(), fmt.Sprintf("m%d@%s.example", i, of.name), of.team.ID, role, false); err != nil {
			m.t.Fatal(err)
		}
		post("/invitations", fmt.Sprintf(`{"email":"i%d@TEAM.example","role":"member"}`, i))
	}
	for i := range 3 {
		body, header := form(m.t, field{"file", aPicture(m.t, 9, 9+i)}, field{"alt", of.name})
		post("/images", body, header)
	}
	m.fillReports(of, domain.ID)
	m.fillSignUp(of, segment, topic, post)
	m.fillAutomations(of, post)
	patch("/topics/"+topic, `{"archive":"public"}`)
	m.fillArchive(of, topic)
	m.fillMail(of, segment, topic, post)
	patch("/broadcasts/"+m.find(of, "/broadcasts")[0].row["id"].(string), `{"subject":"TEAM anew"}`)
	body, header := form(m.t, csvFile("email,first_name", "no address,"+of.name, "i@"+of.name+".example,I"))
	imported := post("/contacts/imports", body, header)
	m.eventually(of.full, "/contacts/imports/"+imported, `"completed"`)
	event := m.find(of, "/webhooks/{id}/events")[0].row["id"].(string)
	m.eventually(of.full, "/webhooks/"+hook+"/events/"+event+"/attempts", `"thanks`)
}

// fillReports makes a team reports about its domain.
func (m *isolation) fillReports(of twinTeam, domainID string) {
	m.t.Helper()
	begin := clock.Now().Add(-24 * time.Hour).Unix()
	var done reports.Imported
	for i := range 3 {
		xml := fmt.Sprintf(`<feedback><report_metadata><org_name>%s</org_name><email>a@%[1]s.example</email><report_id>%[1]s-%d</report_id><date_range><begin>%d</begin><end>%d</end></date_range></report_metadata><policy_published><domain>%[1]s.example</domain><p>none</p></policy_published></feedback>`,
			of.name, i, begin, begin+3600)
		if err := m.server.Reports.Import(m.t.Context(), of.team.ID, domainID, of.name, strings.NewReader(xml), &done); err != nil || done.Imported != i+1 {
			m.t.Fatalf("%+v, %v", done, err)
		}
	}
}

// fillSignUp makes a team forms, opt-ins and consents.
func (m *isolation) fillSignUp(of twinTeam, segment, topic string, post func(target, body string, header ...string) string) {
	m.t.Helper()
	confirmation := post("/templates", `{"name":"TEAM confirmation","subject":"TEAM","html":"<a href=\"{{{CONFIRM_URL}}}\">yes</a> <a href=\"{{{REFUSE_URL}}}\">no</a>","variables":[{"key":"CONFIRM_URL","type":"string"},{"key":"REFUSE_URL","type":"string"}]}`)
	post("/templates/"+confirmation+"/publish", "")
	form := ""
	for i := range 3 {
		form = post("/forms", fmt.Sprintf(`{"name":"TEAM form %d","from":"a@TEAM.example","topics":[{"id":%q}],"segments":[%q],"confirmation_template":%q}`, i, topic, segment, confirmation))
		post("/contacts/opt-in", fmt.Sprintf(`{"email":"o%d@TEAM.example","first_name":"TEAM","form":%q}`, i, form))
	}
	contact := m.find(of, "/contacts")[0].row["id"].(string)
	err := m.store.Write(m.t.Context(), func(tx *db.Tx) error {
		for range 2 {
			c := app.Consent{ID: app.NewID(), TeamID: of.team.ID, ContactID: contact, FormID: form, CreatedAt: tx.Now,
				Record: app.ConsentRecord{Email: "c@" + of.name + ".example", Text: of.name, Topics: []app.ConsentItem{{ID: topic, Name: of.name}}, RequestedAt: tx.Now}}
			if err := tx.InsertConsent(&c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// fillAutomations makes a team events, automations and runs.
func (m *isolation) fillAutomations(of twinTeam, post func(target, body string, header ...string) string) {
	m.t.Helper()
	contact := m.find(of, "/contacts")[0].row["id"].(string)
	for i := range 4 {
		post("/events", fmt.Sprintf(`{"name":"TEAM.event.%d","schema":{"TEAM":"string"}}`, i))
		id := post("/automations", fmt.Sprintf(`{"name":"TEAM %d","steps":[{"key":"TEAM","type":"trigger","config":{"event_name":"TEAM.event.%d"}}],"connections":[]}`, i, i))
		err := m.store.Write(m.t.Context(), func(tx *db.Tx) error {
			for range 2 {
				run := app.Run{ID: app.NewID(), TeamID: of.team.ID, AutomationID: id, Version: 1, ContactID: contact, Status: app.RunCompleted, StepKey: of.name, StepN: 1,
					Context: app.RunContext{EventName: of.name}, CreatedAt: tx.Now, StartedAt: tx.Now, CompletedAt: tx.Now}
				if err := tx.InsertRun(&run); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// fillArchive adds issues to the archive of a topic.
func (m *isolation) fillArchive(of twinTeam, topic string) {
	m.t.Helper()
	err := m.store.Write(m.t.Context(), func(tx *db.Tx) error {
		for range 3 {
			issue := app.Issue{ID: app.NewID(), TeamID: of.team.ID, TopicID: topic, BroadcastID: app.NewID(), Subject: of.name, HTML: of.name, SentAt: tx.Now}
			if _, err := tx.InsertIssue(&issue); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// fillMail makes a team emails and broadcasts: sent ones, and as the newest
// ones that can still be changed.
func (m *isolation) fillMail(of twinTeam, segment, topic string, post func(target, body string, header ...string) string) {
	m.t.Helper()
	const send = `{"from":"a@TEAM.example","to":"b@TEAM.example","subject":"TEAM","text":"TEAM"`
	sent := post("/emails", send+`,"attachments":[{"filename":"TEAM.txt","content":"aGk="}]}`)
	m.eventually(of.full, "/emails/"+sent, `"last_event":"sent"`)
	for i := range 3 {
		post("/routes", fmt.Sprintf(`{"match":"r%d@TEAM.example","actions":[{"type":"webhook"}]}`, i))
		m.receive(of.team.ID, "in@"+of.name+".example", strings.ReplaceAll(aReply, "m1@example.net", fmt.Sprint(i, "@", of.name, ".example")))
	}
	const news = `{"name":"TEAM","from":"a@TEAM.example","subject":"TEAM","html":"<a href=\"https://TEAM.example/x\">TEAM</a>","segment_id":"SEGMENT"`
	broadcast := post("/broadcasts", strings.ReplaceAll(news, "SEGMENT", segment)+`,"send":true}`)
	m.eventually(of.full, "/broadcasts/"+broadcast, `"status":"sent"`)
	post("/broadcasts", strings.ReplaceAll(news, "SEGMENT", segment)+`,"topic_id":"`+topic+`","send":true}`)
	recipient := m.find(of, "/broadcasts/{id}/recipients")[0].row["id"].(string)
	err := m.store.Write(m.t.Context(), func(tx *db.Tx) error {
		for range 3 {
			d := app.Doubt{ID: app.NewID(), TeamID: of.team.ID, EmailID: sent, Relay: "us-east-1", Recipients: []string{"b@" + of.name + ".example"}, CreatedAt: tx.Now}
			if err := tx.InsertDoubt(d); err != nil {
				return err
			}
		}
		if err := tx.SettleDoubts(sent, "canceled"); err != nil { // else each would be looked after
			return err
		}
		return tx.CountClick(broadcast, recipient, 0)
	})
	if err != nil {
		m.t.Fatal(err)
	}
	for range 3 {
		post("/broadcasts", strings.ReplaceAll(news, "SEGMENT", segment)+`}`)
		post("/emails", send+`,"scheduled_at":"in 20 days"}`)
	}
}
