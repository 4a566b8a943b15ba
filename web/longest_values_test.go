package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/tenants/teams"
	"mailer/app/testing/apptest"
	"mailer/db"
	"mailer/db/pgtest"
)

// random is a text of that many characters of four bytes each, which nothing makes smaller.
func random(characters int) string {
	var b strings.Builder
	for range characters {
		b.WriteRune(rune(0x20000 + rand.IntN(0xa000))) // CJK Unified Ideographs Extension B
	}
	return b.String()
}

// randomWord returns one-byte letters.
func randomWord(letters int) string {
	b := make([]byte, letters)
	for i := range b {
		b[i] = 'a' + byte(rand.IntN(26))
	}
	return string(b)
}

// longAddress is one of that many bytes.
func longAddress(bytes int) string {
	return randomWord(mailbox.MaxLocal) + "@" + longDomain(bytes-mailbox.MaxLocal-len("@"))
}

// longDomain is one of that many bytes.
func longDomain(bytes int) string {
	domain := "example"
	for left := bytes - len(domain); left > 0; left = bytes - len(domain) {
		label := min(left-len("."), 60)
		if left-len(".")-label == 1 { // no label is empty
			label--
		}
		domain = randomWord(label) + "." + domain
	}
	return domain
}

// TestLongestValuesAreStored: each indexed text may have its maximum length, on both engines: an index
// of PostgreSQL has a smaller limit than SQLite's. Longer texts are refused with the field's name.
func TestLongestValuesAreStored(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	t.Run("a file", func(t *testing.T) { storesLongest(t, newTestAPI(t, captured())) })
	t.Run("PostgreSQL", func(t *testing.T) {
		storesLongest(t, newTestAPIOn(t, pgtest.Database(t, pgtest.Server(t), ""), captured()))
	})
}

func storesLongest(t *testing.T, r *testAPI) {
	r.domain(r.team.ID, "example.com", true)
	for _, route := range []struct {
		path, body, field string // body has the text at %s
		longest           int
		text              func(n int) string
	}{
		{"/topics", `{"name":%q,"default_subscription":"opt_in"}`, "name", app.MaxTopicName, random},
		{"/contact-properties", `{"key":%q,"type":"string"}`, "key", app.MaxPropertyKey, randomWord},
		{"/templates", `{"name":"t","html":"<p>x</p>","alias":%q}`, "alias", app.MaxTemplateAlias, randomWord},
		{"/contacts", `{"email":%q}`, "email", mailbox.MaxLength, longAddress},
		{"/suppressions", `{"email":%q}`, "email", mailbox.MaxLength, longAddress},
		{"/invitations", `{"email":%q,"role":"member"}`, "email", mailbox.MaxLength, longAddress},
		{"/emails", `{"from":"a@example.com","to":%q,"subject":"Hi","text":"t"}`, "to", mailbox.MaxLength, longAddress},
		{"/domains", `{"name":%q}`, "name", 231, longDomain}, // a DKIM record is below it
	} {
		if w := r.as(r.full, "POST", route.path, fmt.Sprintf(route.body, route.text(route.longest))); w.Code/100 != 2 {
			t.Errorf("%s with the longest %s: %d %s", route.path, route.field, w.Code, w.Body)
		}
		w := r.as(r.full, "POST", route.path, fmt.Sprintf(route.body, route.text(route.longest+1)))
		if wantError(t, w, http.StatusUnprocessableEntity, app.CodeValidation); !strings.Contains(w.Body.String(), route.field) {
			t.Errorf("%s with a longer one does not name %s: %s", route.path, route.field, w.Body)
		}
	}
	// Recipients are indexed some time after their mail.
	if err := r.store.Write(t.Context(), func(tx *db.Tx) error { _, err := tx.IndexRecipients("", "g"); return err }); err != nil {
		t.Error(err)
	}
	send, key := `{"from":"a@example.com","to":"b@example.org","subject":"Hi","text":"t"}`, random(app.MaxIdempotencyKey)
	if id, again := r.send(r.full, send, "Idempotency-Key: "+key), r.send(r.full, send, "Idempotency-Key: "+key); id != again {
		t.Errorf("one key became %s and %s", id, again)
	}
	wantError(t, r.as(r.full, "POST", "/emails", send, "Idempotency-Key: "+key+"x"), http.StatusBadRequest, app.CodeInvalidIdempotencyKey)
	if _, err := r.server.Teams.CreateTeam(t.Context(), random(teams.MaxName)); err != nil {
		t.Errorf("a team: %v", err)
	}
	if _, err := r.server.Teams.CreateTeam(t.Context(), random(teams.MaxName+1)); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "name") {
		t.Errorf("a longer one: %v", err)
	}
	// A path has any length, and is in the audit log.
	wantStatus(t, r.as(r.full, "GET", strings.Repeat("/", 5000)+"topics", "", "Accept: text/csv"), http.StatusOK)
	entries, err := r.server.Teams.AuditLog(t.Context(), r.team.ID, time.Time{}, 1)
	if err != nil || len(entries) != 1 || entries[0].Action != "export" || len(entries[0].Target) > 1000 {
		t.Errorf("%+v %v", entries, err)
	}
}
