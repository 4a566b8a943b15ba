package server_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"mailer/app"
	"mailer/app/net/dnsprovider"
	"mailer/app/operate/certificates"
	"mailer/app/operate/requestlog"
	"mailer/app/operate/retention"
	"mailer/app/rules/brand"
	"mailer/app/rules/contactfile"
	"mailer/app/rules/dnsplan"
	"mailer/app/rules/feedback"
	"mailer/app/rules/plan"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/server"
	"mailer/app/tenants/accounts"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/app/testing/dnstest"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/dbtest"
	"mailer/smtpout"
)

// oldDatabase is the database of the first release with rows in every table, as SQL text. Its first
// lines are comments, the last of which has oldFacts.
const oldDatabase = "../../db/migrations/testdata/0.4.0.sql"

// oldSchema is the schema of that release.
const oldSchema = "../../db/migrations/base/schema.sql"

var update = flag.Bool("update", false, "write the database of old_database_test.go again, from this version of the program")

const (
	oldPassword = "correct horse battery staple 7"
	oldRegion   = "eu" // of the relay that is stored in the database
	// sentHalf of oldAudience recipients of the half-sent broadcast have the message.
	sentHalf, oldAudience = 5, 12
)

// oldFacts are what the database does not contain in plain text, and when it was made.
type oldFacts struct {
	MadeAt   time.Time                  `json:"made_at"`
	Keys     map[string]string          `json:"keys"`     // tokens of API keys, by name
	Sessions map[string]string          `json:"sessions"` // tokens of session cookies, by address
	TOTP     string                     `json:"totp"`
	Recovery string                     `json:"recovery"` // a recovery code
	Passkey  virtualwebauthn.Credential `json:"passkey"`
	User     []byte                     `json:"user"` // of the passkey
}

// oldRoundTripper answers for the endpoints of webhooks: 500 at those whose host begins with "down".
type oldRoundTripper struct {
	mu  sync.Mutex
	up  bool
	ids map[string]int // requests that were answered with 200, by host and event
}

func (e *oldRoundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	code := http.StatusOK
	if strings.HasPrefix(r.URL.Host, "down") && !e.up {
		code = http.StatusInternalServerError
	} else {
		e.ids[r.URL.Host+" "+r.Header.Get("Webhook-Id")]++
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("answer"))}, nil
}

func oldRelay(script testserver.Script) *testserver.FakeRelay {
	return testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 20, Daily: 5000, Profile: relayurl.ProfileSES}, script)
}

// oldMaker makes the database.
type oldMaker struct {
	*testserver.Server
	t     *testing.T
	zone  *dnstest.Zone
	facts oldFacts
	beta  *app.Key
	topic string
	never chan struct{}
	// signature is the DKIM signature of the email that is committed.
	signature string
}

// TestMakeOldDatabase writes the file of TestOldDatabase:
//
//	go test ./app/server -run TestMakeOldDatabase -update
//
// It needs to run again only if schema.sql changes before the first release.
func TestMakeOldDatabase(t *testing.T) {
	if !*update {
		t.Skip("-update writes the file")
	}
	testserver.Synctest(t, func(t *testing.T) {
		m := &oldMaker{t: t, zone: dnstest.NewZone("alpha.example", "alpha.example NS ns.test"), never: make(chan struct{})}
		m.facts = oldFacts{Keys: map[string]string{}, Sessions: map[string]string{}}
		defer close(m.never)
		m.start()
		m.addTeams()
		m.addPeople()
		m.addAudience()
		m.addMail()
		m.addBroadcasts()
		m.addRecords()
		testserver.Sleep(2 * time.Minute)
		m.addMailInProgress()
		m.Server = m.Crash()
		m.addWaiting()
		m.facts.MadeAt = time.Now().UTC()
		m.write()
	})
}

func (m *oldMaker) must(err error) {
	m.t.Helper()
	testserver.Must(m.t, err)
}

// answer is the script of the default relay, by the beginning of the recipient.
func (m *oldMaker) answer(o *app.Outgoing, n int) testserver.Answer {
	switch to, _, _ := strings.Cut(o.Recipients[0], "@"); to {
	case "defer":
		return testserver.ReplyWith(app.StageData, 451, "later")
	case "unknown":
		return testserver.ReplyPerRecipient(map[string]int{o.Recipients[0]: 550})
	case "large":
		return testserver.RefuseLocally
	case "lost":
		if n == 1 {
			return testserver.LoseReply
		}
	case "committed":
		m.sign(o)
		return testserver.ReplyAfter(m.never)
	case "begun":
		return testserver.After(m.never, testserver.Accept)
	case "capture":
		return testserver.Capture
	}
	return nil
}

// sign signs a message as a real relay does.
func (m *oldMaker) sign(o *app.Outgoing) {
	smtpout.NewCapture(smtpout.Options{}).Send(context.Background(), o, func(_ context.Context, signature string) error {
		m.signature = signature
		return nil
	})
}

// start starts a server in cloud mode with two relays.
func (m *oldMaker) start() {
	cfg := server.Config{Cloud: true, Compat: app.CompatResend, WebhookTransport: &oldRoundTripper{ids: map[string]int{}}, Resolver: m.zone.Lookup, OpenDNS: dnsprovider.New(m.zone.Client())}
	m.Server = testserver.OpenDatabase(m.t, testserver.NewDatabase(m.t, testserver.Schema(m.t)), cfg, oldRelay(m.answer))
	sent := 0
	m.Relays = append(m.Relays, testserver.NewRelayOf(relayurl.Relay{Region: oldRegion, Host: "eu.relay.test", Port: 587, Connections: 1}, func(*app.Outgoing, int) testserver.Answer {
		if sent++; sent > sentHalf {
			return testserver.After(m.never, testserver.Accept)
		}
		return nil
	}))
	m.Start()
	for _, url := range []string{oldRegion + "=smtp://user:secret@eu.relay.test:587", "paused=smtp://user:secret@paused.relay.test:587"} {
		m.Relays = append(m.Relays, testserver.NewRelayOf(relayurl.Relay{Region: "paused", Host: "paused.relay.test", Port: 587}, nil))
		_, err := m.Services.Relays.Add(m.t.Context(), url)
		m.must(err)
	}
	_, err := m.Services.Relays.Pause(m.t.Context(), "paused", 10*24*time.Hour)
	m.must(err)
	testserver.Sleep(5 * time.Second)
}

// addKey adds an API key and remembers its token.
func (m *oldMaker) addKey(teamID string, in app.KeyInput) *app.Key {
	m.t.Helper()
	token, _, err := m.Services.Teams.CreateKey(m.t.Context(), teamID, in)
	m.must(err)
	key, err := m.Services.Teams.Authenticate(m.t.Context(), token)
	m.must(err)
	m.facts.Keys[in.Name] = token
	return key
}

// addTeams adds two teams with plans, brands, domains and keys.
func (m *oldMaker) addTeams() {
	ctx, s := m.t.Context(), m.Services
	alpha, err := s.Teams.FindTeam(ctx, "")
	m.must(err)
	beta, err := s.Teams.CreateTeam(ctx, "beta")
	m.must(err)
	for _, id := range []string{alpha.ID, beta.ID} {
		_, err = s.Teams.SetPlan(ctx, id, plan.Input{Name: plan.Pro, Included: 200_000, Overage: true})
		m.must(err)
	}
	d := m.CreateDomain(app.DomainInput{Name: "alpha.example", OpenTracking: true, ClickTracking: true})
	in := domains.PublishInput{Credentials: dnsplan.Credentials{Provider: dnsplan.Hetzner, Token: dnstest.Token}, Remember: true}
	p, err := s.Domains.PlanDNS(ctx, m.Key, d.ID, in)
	m.must(err)
	_, err = s.Domains.PublishDNS(ctx, m.Key, d.ID, in, p.Plan.ID())
	m.must(err)
	_, err = s.Domains.AddDomain(ctx, beta.ID, app.DomainInput{Name: "beta.example", Region: oldRegion, Trusted: true})
	m.must(err)
	_, err = s.Domains.AddDomain(ctx, beta.ID, app.DomainInput{Name: "pending.example", ClickTracking: true, TrackingSubdomain: "links"})
	m.must(err)
	_, err = s.Domains.RotateDKIM(ctx, beta.ID, "beta.example")
	m.must(err)
	testserver.Sleep(time.Minute)
	_, err = s.Domains.RotateDKIM(ctx, alpha.ID, "alpha.example")
	m.must(err)
	p, err = s.Domains.PlanDNS(ctx, m.Key, d.ID, domains.PublishInput{})
	m.must(err)
	_, err = s.Domains.PublishDNS(ctx, m.Key, d.ID, domains.PublishInput{}, p.Plan.ID())
	m.must(err)
	testserver.Sleep(time.Minute)
	_, err = s.Domains.RotateDKIM(ctx, alpha.ID, "alpha.example")
	m.must(err)
	m.AddDomain(beta.ID, "failed.example", app.DefaultRegion, app.DomainFailed)
	m.AddDomain(beta.ID, "waiting.example", app.DefaultRegion, app.DomainPending)
	m.Key = m.addKey(alpha.ID, app.KeyInput{Name: "alpha full", Permission: app.FullAccess, Role: app.RoleOwner})
	m.addKey(alpha.ID, app.KeyInput{Name: "alpha sending", Permission: app.SendingAccess, Role: app.RoleMember, Domain: "alpha.example", AllowedIPs: []string{"192.0.2.0/24"}})
	m.beta = m.addKey(beta.ID, app.KeyInput{Name: "beta full", Permission: app.FullAccess, Role: app.RoleAdmin})
	var logo bytes.Buffer
	m.must(png.Encode(&logo, image.NewNRGBA(image.Rect(0, 0, 4, 4))))
	_, err = s.Brands.SetLogo(ctx, alpha.ID, logo.Bytes())
	m.must(err)
	_, err = s.Brands.UpdateBrand(ctx, alpha.ID, teams.BrandChange{Color: set("#224466"), Footer: set("Alpha Ltd")})
	m.must(err)
	page := app.Change[brand.Page]{Set: true, Value: brand.Page{Background: "#ffffff", Texts: []brand.PageText{{Language: "en", Unsubscribe: "Do you leave?"}}}}
	_, err = s.Teams.UpdateTeamSettings(ctx, m.beta, teams.SettingsChange{LogoURL: set("https://beta.example/logo.png"), Page: page})
	m.must(err)
	gamma, err := s.Teams.CreateTeam(ctx, "gamma")
	m.must(err)
	_, err = s.Teams.SuspendTeam(ctx, gamma.ID, "spam")
	m.must(err)
	kept := &retention.Choice{Value: 20 * 365 * 24 * time.Hour}
	_, err = s.Retention.SetTeam(ctx, alpha.ID, retention.Change{Content: kept, Emails: kept, Broadcasts: kept})
	m.must(err)
	m.addHook("hooks.example.net", webhook.EventNames()...)
	m.addHook("down.example.net", webhook.EmailSent, webhook.ContactCreated)
	off := m.addHook("off.example.net", webhook.EmailSent)
	_, err = s.Webhooks.UpdateWebhook(ctx, m.Key, off, webhook.Patch{Status: webhook.Disabled})
	m.must(err)
}

func (m *oldMaker) addHook(host string, events ...webhook.EventName) (id string) {
	m.t.Helper()
	hook, err := m.Services.Webhooks.CreateWebhook(m.t.Context(), m.Key, webhook.Input{Endpoint: "https://" + host + "/in", Events: events})
	m.must(err)
	return hook.ID
}

func set(text string) app.Change[string] { return app.Change[string]{Set: true, Value: text} }

func oldVisitor() *accounts.Visitor {
	addr := netip.MustParseAddr("192.0.2.1")
	return &accounts.Visitor{Address: addr, Client: netip.PrefixFrom(addr, 32), Agent: "Browser/1"}
}

// addPeople adds accounts with sessions, second factors, passkeys and invitations.
func (m *oldMaker) addPeople() {
	ctx, s := m.t.Context(), m.Services.Accounts
	link, err := s.SetupLink(ctx)
	m.must(err)
	_, code, _ := strings.Cut(link, "#")
	ann, err := s.Setup(ctx, oldVisitor(), &accounts.SetupInput{Code: code, Email: "ann@alpha.example", Name: "Ann", Password: oldPassword})
	m.must(err)
	m.facts.Sessions["ann@alpha.example"] = ann.Token
	key, err := s.SignedIn(ctx, ann.Token, m.Key.TeamID, false)
	m.must(err)
	m.facts.Keys["of ann"], _, err = m.Services.Teams.CreateTeamKey(ctx, key, app.KeyInput{Name: "of ann", Permission: app.FullAccess, Role: app.RoleMember, ExpiresAt: time.Now().Add(300 * 24 * time.Hour)})
	m.must(err)
	offer, err := s.OfferTOTP(ctx, key)
	m.must(err)
	code, err = totp.GenerateCode(offer.Secret, time.Now())
	m.must(err)
	codes, err := s.ConfirmTOTP(ctx, key, code)
	m.must(err)
	m.facts.TOTP, m.facts.Recovery = offer.Secret, codes[0]
	_, err = s.SignIn(ctx, oldVisitor(), "ann@alpha.example", oldPassword) // waits for the second factor
	m.must(err)

	_, link, err = s.CreateAccount(ctx, "bea@beta.example", m.beta.TeamID, app.RoleAdmin, false)
	m.must(err)
	_, code, _ = strings.Cut(link, "#")
	bea, err := s.OpenLink(ctx, oldVisitor(), code)
	m.must(err)
	m.facts.Sessions["bea@beta.example"] = bea.Token
	key, err = s.SignedIn(ctx, bea.Token, "", false)
	m.must(err)
	m.addPasskey(key)
	language, theme := "de", "dark"
	_, err = s.UpdateMe(ctx, key, &accounts.MeInput{Language: &language, Theme: &theme})
	m.must(err)
	_, _, err = s.Invite(ctx, m.Key, "carl@example.net", app.RoleMember)
	m.must(err)
	_, link, err = s.Invite(ctx, m.Key, "eli@example.net", app.RoleMember)
	m.must(err)
	_, code, _ = strings.Cut(link, "#")
	eli, err := s.Accept(ctx, oldVisitor(), &accounts.AcceptInput{Code: code, Password: oldPassword})
	m.must(err)
	_, err = s.ChangeRole(ctx, m.Key, eli.User.ID, app.RoleAdmin)
	m.must(err)
	_, err = s.NewLink(ctx, "bea@beta.example")
	m.must(err)
}

func (m *oldMaker) addPasskey(key *app.Key) {
	options, err := m.Services.Passkeys.PasskeyOptions(m.t.Context(), key)
	m.must(err)
	text, err := json.Marshal(options)
	m.must(err)
	asked, err := virtualwebauthn.ParseAttestationOptions(string(text))
	m.must(err)
	m.facts.Passkey, m.facts.User = virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeRSA), []byte(asked.UserID)
	device := virtualwebauthn.NewAuthenticator()
	device.Options.UserHandle = m.facts.User
	answer := virtualwebauthn.CreateAttestationResponse(oldParty, device, m.facts.Passkey, *asked)
	_, _, err = m.Services.Passkeys.AddPasskey(m.t.Context(), key, "Phone", []byte(answer))
	m.must(err)
}

var oldParty = virtualwebauthn.RelyingParty{Name: "Mailer", ID: "mail.example.com", Origin: "https://mail.example.com"}

// addAudience adds contacts with everything that they can have, an import and suppressions.
func (m *oldMaker) addAudience() {
	ctx, s := m.t.Context(), m.Services
	_, err := s.Properties.CreateProperty(ctx, m.Key, app.PropertyInput{Key: "city", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: "Rome"}})
	m.must(err)
	_, err = s.Properties.CreateProperty(ctx, m.Key, app.PropertyInput{Key: "score", Type: app.NumberProperty})
	m.must(err)
	news := m.AddTopic("News", app.OptIn, app.PublicTopic)
	_, err = s.Topics.CreateTopic(ctx, m.Key, app.TopicInput{Name: "Offers", Description: "Cheaper", Default: app.OptOut, Visibility: app.PrivateTopic})
	m.must(err)
	m.topic = news.ID
	static, _ := m.AddSegment(nil), m.AddSegment(testserver.FilterOn("property:city", "equals", "Oslo"))
	var items []audience.ContactItem
	for i := range 4 {
		city := &app.PropertyValue{Type: app.StringProperty, Text: "Oslo"}
		score := &app.PropertyValue{Type: app.NumberProperty, Number: float64(i) + 0.5}
		items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: fmt.Sprintf("a%d@example.net", i), FirstName: "Al", LastName: "Æ'" + fmt.Sprint(i), Unsubscribed: i == 3,
			Properties: app.PropertyChanges{"city": city, "score": score}, Segments: []app.SegmentRef{{ID: static.ID}}, Topics: []app.TopicChoice{{ID: news.ID, Subscription: app.OptIn}}}})
	}
	_, err = s.Audience.PutContacts(ctx, m.Key, items, app.ConflictError, false)
	m.must(err)
	_, err = s.Audience.UpdateContact(ctx, m.Key, "a2@example.net", app.ContactPatch{Email: "new@example.net"})
	m.must(err)
	m.createImport("email,first_name\ni1@example.org,Ida\nnobody,x\n")
	m.createImport("email\n\"")
	_, err = s.Suppressions.AddSuppression(ctx, m.Key, app.SuppressionInput{Email: "blocked@example.org"})
	m.must(err)
	_, err = s.Pages.Unsubscribe(ctx, m.PageToken(app.UnsubscribePage, app.PageLink{Address: m.AddressHash("a1@example.net")}))
	m.must(err)
	alpha := m.Key
	m.Key = m.beta
	m.AddSubscribers(oldAudience)
	m.Key = alpha
	testserver.Sleep(10 * time.Second)
}

func (m *oldMaker) createImport(csv string) (id string) {
	m.t.Helper()
	id, err := m.Services.Imports.CreateImport(m.t.Context(), m.Key, func(file io.Writer) (contactfile.Input, error) {
		_, err := io.WriteString(file, csv)
		return contactfile.Input{}, err
	})
	m.must(err)
	return id
}

// email returns an email of alpha whose subject tells its outcome.
func email(subject string, to ...string) *app.EmailInput {
	in := testserver.Message(to...)
	in.From, in.Subject = "Ann <ann@alpha.example>", subject
	return in
}

func (m *oldMaker) send(in *app.EmailInput) string {
	m.t.Helper()
	id, err := m.Services.Mail.SendEmail(m.t.Context(), m.Key, in, mail.SendOptions{})
	m.must(err)
	return id
}

// addMail sends emails with every outcome.
func (m *oldMaker) addMail() {
	ctx, s := m.t.Context(), m.Services
	t := m.PublishTemplate(m.Key, "hello", app.TemplateContent{From: "ann@alpha.example", ReplyTo: []string{"ann@alpha.example"}, Subject: "Hi", HTML: "<p>Hello {{{NAME}}}</p>", Text: new("Hello"), Variables: []app.TemplateVariable{{Key: "NAME", Type: app.StringProperty}}})
	_, err := s.Templates.UpdateTemplate(ctx, m.Key, t.ID, app.TemplatePatch{HTML: "<p>Hello again {{{NAME}}}</p>"})
	m.must(err)
	rich := email("sent", "bob@example.net", "cy@example.net")
	rich.HTML, rich.Tags, rich.Headers = `<p><a href="https://a.test/0">x</a></p>`, []app.Tag{{Name: "kind", Value: "first"}}, map[string]string{"X-Order": "7"}
	rich.Cc, rich.Bcc, rich.ReplyTo = []string{"cc@example.net"}, []string{"bcc@example.net"}, []string{"ann@alpha.example"}
	rich.Attachments = []app.Attachment{{Filename: "a.txt", ContentID: "a", Content: []byte("attached")}}
	_, err = s.Mail.SendEmail(ctx, m.Key, rich, mail.SendOptions{IdempotencyKey: "order-7", Payload: []byte("{}")})
	m.must(err)
	made := email("sent", "gus@example.net")
	made.Template, made.Text = &app.TemplateUse{ID: t.ID, Variables: map[string]app.PropertyValue{"NAME": {Type: app.StringProperty, Text: "Gus"}}}, nil
	m.send(made)
	topical := email("sent", "a0@example.net")
	topical.TopicID = m.topic
	m.send(topical)
	tracked := email("sent", "a0@example.net")
	tracked.HTML = `<p><a href="https://a.test/0">x</a></p>`
	opened, clicked := m.send(tracked), m.send(tracked)
	m.send(email("sent", "unknown@example.net"))
	m.send(email("sent", "capture@example.net"))
	reports := []feedback.Report{{Kind: feedback.Complained}, {Kind: feedback.Delivered}, {Kind: feedback.Delayed}, {Kind: feedback.Clicked, Link: "https://a.test/0", UserAgent: testserver.Chrome}}
	for i := range reports {
		r := &reports[i]
		r.ID, r.Recipient = fmt.Sprint("r", i), string(r.Kind)+"@example.net"
		r.EmailID = m.send(email("sent", r.Recipient))
	}
	m.send(email("sent", "lost@example.net"))
	m.send(email("sent", "large@example.net"))
	canceled := email("sent", "canceled@example.net")
	canceled.ScheduledAt = "in 1 hour"
	m.must(m.Cancel(m.send(canceled)))
	_, err = s.Mail.SendEmail(ctx, m.Key, email("suppressed", "blocked@example.org"), mail.SendOptions{})
	testserver.WantCode(m.t, err, app.CodeAllRecipientsSuppressed)
	message := "From: Ann <ann@alpha.example>\r\nTo: bob@example.net\r\nSubject: sent\r\n\r\nHi\r\n"
	_, err = s.Mail.Submissions.Accept(ctx, m.Key, &mail.Submission{Recipients: []string{"bob@example.net"}, Message: []byte(message)})
	m.must(err)
	_, err = s.Mail.SendBatch(ctx, m.Key, []mail.BatchItem{{Input: email("sent", "fay@example.net")}}, false, mail.SendOptions{IdempotencyKey: "batch-7", Payload: []byte("[]")})
	m.must(err)
	testserver.Sleep(30 * time.Second)
	m.LoadPixel(opened, testserver.Chrome)
	m.Report(append(reports, feedback.Report{ID: "r9", EmailID: clicked, Recipient: "a0@example.net", Kind: feedback.Clicked, Link: "https://a.test/0", UserAgent: testserver.Chrome})...)
	m.Services.RequestLog.Note(&requestlog.Entry{ID: app.NewID(), TeamID: m.Key.TeamID, KeyID: m.Key.ID, Method: "POST", Endpoint: "/emails", Status: 200, Took: time.Millisecond, UserAgent: "test/1", EmailID: opened})
	testserver.Sleep(time.Minute)
}

// addBroadcasts adds broadcasts in every state. One of beta is sent to the first recipients.
func (m *oldMaker) addBroadcasts() {
	ctx, s := m.t.Context(), m.Services.Broadcasts
	segment := m.SQL(`SELECT id FROM segments WHERE filter IS NULL`)[0]
	add := func(key *app.Key, name string, send bool, at string) app.Broadcast {
		t := m.t
		t.Helper()
		from := "Ann <ann@alpha.example>"
		if key == m.beta {
			from = "Bea <bea@beta.example>"
		}
		in := app.BroadcastInput{Name: name, From: from, Subject: name, Preview: "See", ReplyTo: []string{"reply@alpha.example"}, Text: new("Hi"), Attachments: []app.Attachment{{Filename: "c.txt", Content: []byte("attached")}}, HTML: `<p>Hi {{{contact.first_name|you}}} <a href="https://a.test/0">x</a> <a href="{{{RESEND_UNSUBSCRIBE_URL}}}">leave</a></p>`, Send: send, ScheduledAt: at}
		if name == "scheduled" {
			in.SegmentID, in.TopicID = segment, m.topic
		}
		b, err := s.CreateBroadcast(ctx, key, in, mail.SendOptions{})
		m.must(err)
		return b.Broadcast
	}
	draft := add(m.Key, "draft", false, "")
	_, err := s.UpdateBroadcast(ctx, m.Key, draft.ID, app.BroadcastPatch{Subject: "draft, changed"})
	m.must(err)
	sent := add(m.Key, "sent", true, "")
	add(m.Key, "scheduled", true, "in 20 days")
	canceled := add(m.Key, "canceled", true, "in 10 days")
	_, _, err = s.CancelBroadcast(ctx, m.Key, canceled.ID)
	m.must(err)
	add(m.beta, "half", true, "")
	testserver.Sleep(time.Minute)
	paused := add(m.beta, "paused", true, "")
	testserver.Sleep(10 * time.Second)
	_, err = s.PauseBroadcast(ctx, m.beta, paused.ID)
	m.must(err)
	_, err = m.Services.Queue.Hold(ctx, queue.Filter{IDs: []string{paused.ID}})
	m.must(err)
	m.SQL(`INSERT INTO broadcast_clicks (recipient_id, n, clicks) SELECT mails || '00000001', 0, 1 FROM broadcasts WHERE id = ?`, sent.ID)
}

// addRecords adds rows that come from other programs, or after days only.
func (m *oldMaker) addRecords() {
	for _, s := range []string{
		`UPDATE team_plans SET quota_event_at = since, quota_event = 1`, `UPDATE audit_logs SET address = '192.0.2.1'`,
		`UPDATE request_logs SET user_id = (SELECT min(id) FROM users), error = 'not_found'`, `UPDATE domains SET pending_since = created_at WHERE status = 'pending'`,
		`UPDATE emails SET imported_at = created_at WHERE last_event = 'failed'`, `UPDATE attempts SET conversation = '> EHLO x'`,
		`UPDATE broadcasts SET aged_id = mails || '00000001' WHERE name = 'sent'`, `UPDATE broadcast_contents SET design = '{}'`, `UPDATE template_versions SET design = '{}'`,
		`UPDATE passkeys SET last_used_at = created_at`, `UPDATE schema_versions SET program = '0.4.0'`,
	} {
		m.SQL(s)
	}
	now, first := time.Now(), m.SQL(`SELECT id FROM emails ORDER BY id LIMIT 1`)[0]
	m.WriteDB(func(tx *db.Tx) error {
		c := db.Certificate{Name: "mail.example.com", Sealed: m.Config.Sealer.Seal(certificates.Purpose, "mail.example.com", []byte("certificate and key")), ExpiresAt: now.Add(60 * 24 * time.Hour)}
		state := db.CertificateState{Host: "mail.example.com", ExpiresAt: c.ExpiresAt, LookAt: now.Add(40 * 24 * time.Hour), Failures: 1, FailedAt: now, Failure: "no answer"}
		return errors.Join(tx.SetCertificate(&c), tx.SetCertificateState(&state), tx.InsertProviderID("0100018f-7f1e", app.NewID()),
			tx.KeepEnvelope(m.Key.TeamID, app.NewID(), []app.AddressHash{m.AddressHash("gone@example.net")}),
			tx.SetAgedUntil(m.Key.TeamID, db.AgedContent, first), tx.PutTooYoung(m.Key.TeamID, db.AgedContent, first, now))
	})
}

// addMailInProgress adds mail that a crash finds in progress, and mail that waits for an attempt.
func (m *oldMaker) addMailInProgress() {
	for _, to := range []string{"begun", "committed", "defer"} {
		m.send(email("leaves", to+"@example.net"))
	}
	testserver.Sleep(2 * time.Second)
}

// addWaiting adds work that no server has begun. It runs without workers.
func (m *oldMaker) addWaiting() {
	ctx, s := m.t.Context(), m.Services
	m.SQL(`UPDATE units SET signature = ? WHERE state = 'committed'`, m.signature)
	for to, at := range map[string]string{"queued": "", "scheduled": "in 10 minutes"} {
		in := email("leaves", to+"@example.net")
		in.TopicID, in.ExpiresIn = m.topic, "20h"
		in.ScheduledAt, in.HTML, in.Attachments = at, "<p>x</p>", []app.Attachment{{Filename: "b.txt", Content: []byte("attached")}}
		m.send(in)
	}
	far := email("stays", "far@example.net")
	far.ScheduledAt = "in 25 days"
	m.send(far)
	held := m.send(email("stays", "held@example.net"))
	_, err := s.Queue.Hold(ctx, queue.Filter{IDs: []string{held}})
	m.must(err)
	deferred := queue.Filter{IDs: m.SQL(`SELECT email_id FROM units WHERE deferred_at IS NOT NULL`)}
	_, err = s.Queue.Hold(ctx, deferred)
	m.must(err)
	testserver.Sleep(time.Second)
	_, err = s.Queue.Release(ctx, deferred)
	m.must(err)
	message := "From: Ann <ann@alpha.example>\r\nTo: raw@example.net\r\nSubject: leaves\r\n\r\nHi\r\n"
	_, err = s.Mail.Submissions.Accept(ctx, m.Key, &mail.Submission{Recipients: []string{"raw@example.net"}, Message: []byte(message)})
	m.must(err)
	m.must(s.Imports.DeleteImport(ctx, m.Key, m.createImport("email\nnever@example.org\n")))
	begun := m.createImport("email\ni2@example.org\n")
	m.createImport("email\ni3@example.org\n")
	m.SQL(`UPDATE imports SET status = 'in_progress' WHERE id = ?`, begun)
	m.SQL(`INSERT INTO imports SELECT '00dc6ad3-0000-7000-8000-000000000001', team_id, 'uploading', options, 1, 0, 0, 0, 0, NULL, created_at, NULL FROM imports WHERE id = ?`, begun)
	m.SQL(`UPDATE deliveries SET status = 'failed', next_at = NULL WHERE (webhook_id, event_id) = (SELECT webhook_id, event_id FROM deliveries WHERE next_at IS NOT NULL ORDER BY event_id LIMIT 1)`)
	hooks, _, err := s.Webhooks.ListWebhooks(ctx, m.Key, app.Page{Limit: 9})
	m.must(err)
	for _, hook := range hooks {
		if strings.Contains(hook.Endpoint, "//hooks") {
			_, err := s.Webhooks.UpdateWebhook(ctx, m.Key, hook.ID, webhook.Patch{Events: []webhook.EventName{webhook.EmailSent, webhook.ContactCreated}})
			m.must(err)
		}
	}
	topic := m.AddTopic("Deleted", app.OptIn, app.PublicTopic)
	_, _, err = s.Audience.SetContactTopics(ctx, m.Key, "a0@example.net", []app.TopicChoice{{ID: topic.ID, Subscription: app.OptOut}})
	m.must(err)
	m.must(s.Topics.DeleteTopic(ctx, m.Key, topic.ID))
	score := m.SQL(`SELECT id FROM properties WHERE key = 'score'`)[0]
	m.WriteDB(func(tx *db.Tx) error { return tx.DeleteProperty(m.Key.TeamID, score, app.NewID()) }) // the service would wait for the rest
	gone, err := s.Teams.CreateTeam(ctx, "gone")
	m.must(err)
	_, err = s.Teams.BeginDeletion(ctx, gone)
	m.must(err)
	_, _, err = s.Accounts.Invite(ctx, m.Key, "dora@example.net", app.RoleMember)
	m.must(err)
	news := m.SQL(`SELECT id FROM topics WHERE name = 'News'`)[0]
	for _, choice := range []app.Subscription{app.OptOut, app.OptIn} {
		_, err = s.Pages.SavePreferences(ctx, m.PageToken(app.PreferencesPage, app.PageLink{Address: m.AddressHash("a0@example.net")}), map[string]app.Subscription{news: choice}, "")
		m.must(err)
	}
	leaves, err := s.Audience.GetContact(ctx, m.Key, "a3@example.net")
	m.must(err)
	m.WriteDB(func(tx *db.Tx) error {
		_, err := s.Audience.BeginErasure(tx, m.Key.TeamID, []app.Contact{leaves})
		return err
	})
}

// write writes the file. Every table must have a row.
func (m *oldMaker) write() {
	m.Server.Stop()
	text, empty := dbtest.DumpRows(m.t, m.Path)
	m.wantStates()
	m.wantColumns()
	if len(empty) > 0 {
		m.t.Errorf("no rows in %s; log:\n%s", strings.Join(empty, " "), m.Log.String())
	}
	facts, err := json.Marshal(m.facts)
	m.must(err)
	head := "-- A database of version 0.4.0 with rows in every table: the INSERTs for the tables of base/schema.sql.\n" +
		"-- Made by TestMakeOldDatabase of app/server. The master key is 32 zero bytes.\n-- " + string(facts) + "\n"
	m.must(os.MkdirAll(filepath.Dir(oldDatabase), 0o755))
	m.must(os.WriteFile(oldDatabase, []byte(head+text), 0o644))
	m.t.Logf("%d bytes", len(head)+len(text))
}

// wantStates checks that each state in a CHECK list of the schema has a row.
func (m *oldMaker) wantStates() {
	pool, err := sql.Open("sqlite", "file:"+m.Path+"?mode=ro")
	m.must(err)
	defer pool.Close()
	conn, err := pool.Conn(m.t.Context())
	m.must(err)
	defer conn.Close()
	for _, table := range dbtest.Tables(m.t, conn) {
		for _, c := range table.Columns {
			if c.Name != "state" && c.Name != "status" && c.Name != "last_event" && c.Name != "origin" && c.Name != "permission" {
				continue
			}
			for _, value := range c.Allowed {
				var n int
				m.must(conn.QueryRowContext(m.t.Context(), "SELECT count(*) FROM "+table.Name+" WHERE CAST("+c.Name+" AS TEXT) = ?", value).Scan(&n))
				if name := table.Name + "." + c.Name + " " + value; n == 0 {
					m.t.Errorf("no row has %s", name)
				}
			}
		}
	}
}

// unusedColumns are the columns without a value in any row.
const unusedColumns = " doubts.broadcast_id relay_troubles.owner units.owner " // one unit of a broadcast in doubt; several servers

// wantColumns checks that each column has a value in a row.
func (m *oldMaker) wantColumns() {
	pool, err := sql.Open("sqlite", "file:"+m.Path+"?mode=ro")
	m.must(err)
	defer pool.Close()
	for table, columns := range oldColumns(m.t, pool, oldFileColumns) {
		for _, c := range columns {
			var n int
			m.must(pool.QueryRowContext(m.t.Context(), `SELECT count("`+c+`") FROM `+table).Scan(&n))
			if name := table + "." + c; n == 0 && !strings.Contains(unusedColumns, " "+name+" ") {
				m.t.Errorf("no row has a value of %s", name)
			}
		}
	}
}
