package jobs_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/dbtest"
)

// erasedColumns are the columns that an erasure searches. Those of other rows stay.
var erasedColumns = strings.Fields(`forward_addresses.address mail_routes.actions mail_routes.match attempts.conversation attempts.detail audit_logs.after audit_logs.before audit_logs.target automation_run_steps.error automation_run_steps.output
	automation_runs.context automation_signals.payload broadcast_recipients.email
	broadcasts.reply_to broadcasts.sender captures.message consents.record contacts.email contents.headers doubts.recipients emails.bcc_list emails.cc_list emails.reply_to
	emails.sender emails.to_list events.detail events.recipient former_addresses.email idempotency.key idempotency.response import_errors.value
	import_pieces.content opt_ins.email opt_ins.request raw_pieces.content received_contents.headers received_contents.html received_contents.reply_text received_contents.text received_emails.from_email received_emails.from_text received_emails.header
	received_emails.mail_from received_emails.recipients received_emails.subject received_pieces.content recipients.address relay_troubles.detail request_logs.endpoint request_logs.user_agent segments.filter
	suppressions.email template_versions.reply_to template_versions.sender webhook_attempts.response webhook_events.payload webhooks.endpoint`)

// otherColumns hold no address of a contact: names and ids of tables or columns.
var otherColumns = strings.Fields(`
	automation_counts automation_entries automation_listeners automation_members automation_teams automations custom_events
	mail_report_days mail_report_sources mail_report_warnings mail_reports reverse_names
	certificate_states certificates changes dkim_keys dns_credentials dns_published domains feeds issues logos nodes origin pages_hosts relay_states relays schema_versions settings teams writes state
	received_days route_effects emails.forward_id received_emails.effects
	received_emails.peer received_emails.message_id received_emails.files received_emails.auth received_emails.spam received_emails.answers received_emails.auto received_emails.digest received_contents.received_id received_pieces.received_id
	devices invitation_mails invitations memberships passkeys recovery_codes sessions sign_in_codes totp users
	id team_id email_id broadcast_id block_id version_id key_id user_id topic_id template_id segment_id contact_id import_id webhook_id event_id attachment_id owner_id recipient_id domain_id
	source_id aged_id current_id published_id actor_type actor actor_id kind type status state outcome origin source relay region domain subscription visibility permission
	role method route scope webhook_scope hash address created_at error message settled held property topics events mails bound owner name language recipient_language content_syntax template_syntax
	topics.topic_archive
	image_id images.sizes image_pieces.content form_id opt_in_id link_id confirm mail person ip_range for_opt_in used_proofs
	emails.message_id emails.tags emails.last_event contents.unsubscribe contents.tracking contents.insights attachments.content_type attachments.content_id
	automation_id run_id step_key step_type waits_for reason automation_run automation_step automation_signals.chain teams.time_zone
	account_texts.sealed erasures.addresses webhooks.secrets units.stood units.signature units.part recipients.queue emails.routed suppressions.address contacts.address choices.address
	keys.public keys.allowed_ips keys.made_by properties.key templates.alias imports.options audit_logs.action audit_logs.address`)

// plantInColumns stores ErasedAddress in all columns of erasedColumns and freeText.
func plantInColumns(w *testserver.Server) app.Contact {
	w.T.Helper()
	const address = testserver.ErasedAddress
	team, list := w.Key.TeamID, `[{"local":"Vic.Tim","domain":"erase.example"}]`
	hook := w.AddWebhook("in", webhook.ContactCreated)
	c := plantAddress(w, w.Key, "ann@"+testserver.TestDomain, 15)
	_, err := w.Services.Mail.Submissions.Accept(w.T.Context(), w.Key, &mail.Submission{Recipients: []string{address, "eve@example.net"},
		Message: []byte("From: ann@" + testserver.TestDomain + "\r\nTo: " + address + ", eve@example.net\r\n\r\nHi\r\n")})
	testserver.Must(w.T, err)
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		emails, _, err := tx.ListEmails(team, app.Page{Limit: 100})
		for i := range emails {
			id, detail := emails[i].ID, app.EventDetail{Message: "x", Reply: "no " + address}
			err = errors.Join(err,
				tx.InsertEvent(app.Event{ID: app.NewID(), EmailID: id, Type: "failed", Recipient: address, CreatedAt: tx.Now, Detail: detail}),
				tx.InsertAttempt(id, db.Attempt{ID: app.NewID(), Outcome: "refused", Detail: detail, Conversation: "RCPT TO:<" + address + ">", CreatedAt: tx.Now}),
				tx.InsertDoubt(app.Doubt{ID: app.NewID(), TeamID: team, EmailID: id, Recipients: []string{address}, Relay: "r", CreatedAt: tx.Now}))
			if len(emails[i].To) == 3 {
				err = errors.Join(err, tx.InsertCapture(id, []byte("To: "+address)))
			}
		}
		return errors.Join(err, tx.InsertRequestLogs([]db.RequestLog{{ID: app.NewID(), TeamID: team, Method: "GET", Endpoint: "/contacts/" + address, UserAgent: "of " + address}}))
	}))
	id := app.NewID()
	hash := w.AddressHash(address)
	for _, row := range [][]any{
		{`INSERT INTO received_emails (id, team_id, domain_id, mail_from, recipients, peer, from_text, from_email, header, subject, size, digest, auth, proven, created_at)
			VALUES (?1, ?2, 'x', ?3, ?4, '{}', ?3, ?3, ?4, ?3, 1, ?5, '{}', 0, 1)`, id, team, strings.ToLower(address), `["` + address + `"]`, hash[:]},
		{`INSERT INTO received_contents (received_id, headers, text, html, reply_text) VALUES (?1, ?2, ?2, ?2, ?2)`, id, `["` + address + `"]`},
		{`INSERT INTO received_pieces (received_id, n, content) VALUES (?1, 0, ?2)`, id, []byte("From: " + address)},
		{`INSERT INTO mail_routes (id, team_id, position, match, actions, created_at) VALUES (?, ?, 1, ?, '[{"type":"drop"}]', 1)`, app.NewID(), team, strings.ToLower(address)},
		{`INSERT INTO mail_routes (id, team_id, position, match, actions, created_at) VALUES (?, ?, 2, '+x', ?, 1)`, app.NewID(), team, `[{"type":"forward","to":"` + strings.ToLower(address) + `"}]`},
		{`INSERT INTO forward_addresses (id, team_id, address, asked_at, refusals, created_at) VALUES (?, ?, ?, 1, 0, 1)`, app.NewID(), team, strings.ToLower(address)},
		{`UPDATE emails SET sender = ? WHERE id = (SELECT min(id) FROM emails)`, list},
		{`UPDATE broadcasts SET sender = ? WHERE status = 'draft'`, list},
		{`UPDATE broadcast_contents SET design = ?`, `{"text":"` + address + `"}`},
		{`UPDATE template_versions SET design = ?`, `{"text":"` + address + `"}`},
		{`UPDATE template_versions SET template_variants = ?`, `{"de":{"html":"` + address + `"}}`},
		{`INSERT INTO blocks (id, team_id, name, html, created_at, updated_at) VALUES (?1, ?2, ?3, ?3, 1, 1)`, id, team, address},
		{`UPDATE contacts SET first_name = ?1, last_name = ?1 WHERE email = 'c0@example.net'`, address},
		{`INSERT INTO images (id, team_id, name, type, alt, on_base, sizes, uploaded_at, created_at) VALUES (?1, ?2, ?1, 'image/png', ?3, 0, '[]', 1, 1)`, id, team, "of " + address},
		{`INSERT INTO forms (id, team_id, name, version, confirm, domain, definition, created_at, updated_at) VALUES (?, ?, 'x', 1, 'double', 'x', ?, 1, 1)`, id, team, `{"from":"` + address + `"}`},
		{`INSERT INTO opt_ins (id, team_id, form_id, form_version, address, email, status, mail, ip_range, request, requested_at) VALUES (?1, ?2, '', 0, ?3, ?4, 'pending', 'none', '', ?5, 1)`, id, team, hash[:], address,
			`{"first_name":"` + address + `"}`},
		{`INSERT INTO consents (id, team_id, contact_id, record, created_at) VALUES (?, ?, ?, ?, 1)`, id, team, c.ID, `{"email":"` + address + `"}`},
		{`INSERT INTO automation_signals (id, team_id, contact_id, name, payload, created_at, done) VALUES (?1, ?2, ?1, 'x', ?3, 1, 1)`, id, team, `{"to":"` + address + `"}`},
		{`INSERT INTO automations (id, team_id, name, status, version, created_at, updated_at) VALUES (?, ?, 'x', 'enabled', 1, 1, 1)`, id, team},
		{`INSERT INTO automation_versions (automation_id, version, flow, created_at) VALUES (?, 1, ?, 1)`, id, `{"steps":[{"from":"` + address + `"}]}`},
		{`INSERT INTO automation_runs (id, team_id, automation_id, version, contact_id, status, step_key, step_n, sends, context, created_at, started_at) VALUES (?1, ?2, ?1, 1, ?1, 'running', 'a', 1, 0, ?3, 1, 1)`,
			id, team, `{"event":{"to":"` + address + `"}}`},
		{`INSERT INTO automation_run_steps (run_id, n, step_key, step_type, status, output, error, started_at) VALUES (?1, 1, 'a', 'delay', 'failed', ?2, ?2, 1)`, id, `{"to":"` + address + `"}`},
		{`UPDATE webhooks SET endpoint = ?`, "https://hooks.test/?to=" + address},
		{`INSERT INTO properties (id, team_id, key, type, fallback, created_at) VALUES (?, ?, 'who', 'string', ?, 1)`, id, team, `"` + address + `"`},
		{`INSERT INTO former_addresses (team_id, contact_id, address, email) VALUES (?, ?, ?, ?)`, team, id, hash[:], address},
		{`INSERT INTO versions (id, team_id, owner_id, n, actor_type, actor, content, created_at) VALUES (?, ?, 'b', 1, 'cli', 'x', ?, 1)`, id, team,
			`{"name":"of ` + address + `","from":"Vic <` + address + `>","reply_to":["` + address + `"],"html":"` + address + `"}`},
		{`INSERT INTO versions (id, team_id, owner_id, n, actor_type, actor, content, created_at) VALUES (?, ?, 't', 1, 'cli', 'x', ?, 1)`, app.NewID(), team,
			`{"From":"` + address + `","ReplyTo":["` + address + `"],"HTML":"` + address + `"}`},
		{`INSERT INTO audit_logs (id, team_id, actor_type, actor, action, target, before, after, created_at) VALUES (?1, ?2, 'cli', 'x', 'suppression.remove', ?3, ?4, ?4, 1)`, id, team, address,
			`{"email":"` + address + `"}`},
		{`INSERT INTO imports (id, team_id, status, options, stored, created, updated, skipped, failed, created_at) VALUES (?, ?, 'completed', '{}', 1, 0, 0, 0, 1, 1)`, id, team},
		{`INSERT INTO import_pieces (import_id, n, content) VALUES (?, 0, ?)`, id, []byte("email\n" + address + "\n")},
		{`INSERT INTO import_errors (import_id, id, line, message, value) VALUES (?1, ?1, 1, 'x', ?2)`, id, address},
		{`INSERT INTO webhook_attempts (webhook_id, event_id, id, team_id, response, sent_at) VALUES (?1, ?2, ?2, ?3, ?4, 1)`, hook.ID, id, team, "you sent " + address},
	} {
		w.SQL(row[0].(string), row[1:]...)
	}
	return c
}

// TestErasureByColumn: every column is erased, free text, or known to hold no address.
func TestErasureByColumn(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	c := plantInColumns(w)
	known := slices.Concat(erasedColumns, freeText, otherColumns)
	for _, column := range w.Columns() {
		table, name, _ := strings.Cut(column, ".")
		if !slices.Contains(known, column) && !slices.Contains(known, table) && !slices.Contains(known, name) {
			t.Errorf("does an erasure search %s?", column)
		}
	}
	before := count(w.Traces(testserver.ErasedAddress))
	for _, column := range slices.Concat(erasedColumns, freeText) {
		if before[column] == 0 {
			t.Errorf("nothing was planted in %s", column)
		}
	}
	for column := range before {
		if !slices.Contains(erasedColumns, column) && !slices.Contains(freeText, column) {
			t.Errorf("%s holds an address", column)
		}
	}
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
	wantErased(w)
	wantOnlyFreeText(w)
	after := count(w.Traces(testserver.ErasedAddress))
	for _, column := range freeText {
		if after[column] == 0 {
			t.Errorf("%s was searched", column)
		}
	}
	// Only mail to the address alone loses its texts.
	if got := w.SQL(`SELECT count(*) FROM emails WHERE content_deleted_at IS NOT NULL AND subject = 'Alone, [erased]'`)[0] + " " + w.SQL(`SELECT count(*) FROM emails AS e WHERE NOT EXISTS (SELECT 1 FROM contents AS c WHERE c.email_id = e.id)`)[0]; got != "1 1" {
		t.Errorf("content of emails was deleted and is missing: %s", got)
	}
	for _, content := range w.SQL(`SELECT content FROM versions UNION ALL SELECT frozen FROM broadcast_contents WHERE frozen IS NOT NULL`) {
		if !strings.Contains(content, app.Erased) {
			t.Errorf("the address fields were not searched: %s", content)
		}
	}
	w.WantUndamaged()
}

func count(columns []string) map[string]int {
	n := map[string]int{}
	for _, column := range columns {
		n[column]++
	}
	return n
}

// Content that can't be read is left. A write would fail at it.
func TestErasureSkipsDamagedRows(t *testing.T) {
	testserver.SQLiteOnly(t)
	for name, corrupt := range map[string]string{"contents": "words", "a piece of a file": "file"} {
		t.Run(name, func(t *testing.T) {
			w := testserver.New(t, testserver.NewRelay(nil))
			send := func(text string, to ...string) string {
				t.Helper()
				in := testserver.Message(to...)
				in.HTML = strings.Repeat(text+" words ", 1000)
				in.Attachments = []app.Attachment{{Filename: "a", Content: []byte(strings.Repeat(text+" file ", 1000))}}
				id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
				testserver.Must(t, err)
				return id
			}
			send("broken", testserver.ErasedAddress)
			send("harmed", testserver.ErasedAddress, "eve@example.net")
			sound, both := send("sound", testserver.ErasedAddress), send("sound", testserver.ErasedAddress, "eve@example.net")
			for _, id := range []string{sound, both} {
				w.SQL(`INSERT INTO events (email_id, id, type, detail, created_at) VALUES (?, ?, 'failed', ?, 1)`, id, app.NewID(), `{"message":"no `+testserver.ErasedAddress)
			}
			w.SQL(`UPDATE emails SET reply_to = '[{' WHERE id = ?`, both)
			w.Stop()
			for _, text := range []string{"broken ", "broken ", "harmed ", "harmed "} {
				dbtest.Corrupt(t, w.Path, []byte(text+corrupt+" "+text), func(page []byte) { copy(page, bytes.Repeat([]byte{0xa5}, len(page))) })
			}
			w.Open()
			_, err := w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.ErasedAddress, true)
			testserver.Must(t, err)
			wantErased(w)
			if columns := w.SQL(`SELECT to_list || detail FROM emails AS e JOIN events AS v ON v.email_id = e.id WHERE lower(to_list || detail) LIKE '%vic%'`); len(columns) > 0 {
				t.Errorf("it is in %q", columns)
			}
			if got := w.SQL(`SELECT count(*) FROM contents WHERE email_id = ?`, sound)[0] + w.SQL(`SELECT count(*) FROM contents WHERE email_id = ?`, both)[0]; got != "01" {
				t.Errorf("contents: %s", got)
			}
			testserver.Must(t, w.DB.Err())
		})
	}
}
