package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/rules/webhook"
	"mailer/db"
)

type importAnswer struct {
	Object      string
	ID          string
	Status      string
	CompletedAt *string `json:"completed_at"`
	CreatedAt   string  `json:"created_at"`
	Counts      struct{ Total, Created, Updated, Skipped, Failed int }
	Error       *string
	Errors      []struct {
		Line    int
		Message string
	}
}

func (a importAnswer) counts() string {
	c := a.Counts
	return fmt.Sprintf("%d=%d+%d+%d+%d", c.Total, c.Created, c.Updated, c.Skipped, c.Failed)
}

func (a importAnswer) errors() string {
	var lines []string
	for _, e := range a.Errors {
		lines = append(lines, fmt.Sprintf("%d: %s", e.Line, e.Message))
	}
	return strings.Join(lines, "\n")
}

// field is a part of a form; the one named file is sent as a file.
type field struct{ name, value string }

func csvFile(lines ...string) field { return field{"file", strings.Join(lines, "\n")} }

func form(t testing.TB, fields ...field) (body, header string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, f := range fields {
		create := w.CreateFormField
		if f.name == "file" {
			create = func(string) (io.Writer, error) { return w.CreateFormFile("file", "contacts.csv") }
		}
		part, err := create(f.name)
		if err == nil {
			_, err = part.Write([]byte(f.value))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String(), "Content-Type: " + w.FormDataContentType()
}

// upload posts a form.
func (r *testAPI) upload(key string, fields ...field) *httptest.ResponseRecorder {
	r.t.Helper()
	body, header := form(r.t, fields...)
	return r.as(key, "POST", "/contacts/imports", body, header)
}

// imported uploads a good form and returns the import once it is over.
func (r *testAPI) imported(fields ...field) importAnswer {
	r.t.Helper()
	w := r.upload(r.full, fields...)
	wantStatus(r.t, w, 201)
	return r.finished(decodeImport(r.t, w).ID)
}

func decodeImport(t testing.TB, w *httptest.ResponseRecorder) importAnswer {
	t.Helper()
	var a importAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if _, ok := app.ParseID(a.ID); !ok || a.Object != "contact_import" {
		t.Fatalf("answer %s", w.Body)
	}
	return a
}

// finished waits for the end of an import.
func (r *testAPI) finished(id string) importAnswer {
	r.t.Helper()
	return decodeImport(r.t, r.eventually(r.full, "/contacts/imports/"+id, `"completed_at":"`))
}

// contact reads what the store has of an address.
func (r *testAPI) contact(email string) (c app.Contact) {
	r.t.Helper()
	err := r.store.Read(r.t.Context(), func(reader *db.Reader) (err error) {
		c, err = reader.ContactByAddress(r.team.ID, r.sealer.AddressHash(r.team.ID, app.KeyOf(email)))
		return err
	})
	if err != nil {
		r.t.Fatalf("contact %s: %v", email, err)
	}
	return c
}

func (r *testAPI) write(fn func(tx *db.Tx) error) {
	r.t.Helper()
	if err := r.store.Write(r.t.Context(), fn); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testAPI) segment(teamID string) string {
	s := app.Segment{ID: app.NewID(), TeamID: teamID, Name: "s", CreatedAt: time.Now()}
	r.write(func(tx *db.Tx) error { return tx.InsertSegment(&s) })
	return s.ID
}

func (r *testAPI) topic(teamID string) string {
	topic := app.Topic{ID: app.NewID(), TeamID: teamID, Name: "t", Default: app.OptIn, Visibility: app.PublicTopic, CreatedAt: time.Now()}
	r.write(func(tx *db.Tx) error { return tx.InsertTopic(&topic) })
	return topic.ID
}

func TestImport(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	a := r.imported(csvFile("\ufeffE-Mail,First Name,surname,Unsubscribed,Plan,Größe,名前,",
		"Ann@Example.org,Ann,Lee,yes,pro,1.5,x,", "", `"bob@example.org", "Bob ""B""",,0,,,,`, ",,,,,,,"))
	if a.Status != "completed" || a.counts() != "2=2+0+0+0" || a.Error != nil || a.Errors == nil || a.CreatedAt == "" {
		t.Fatalf("%+v", a)
	}
	r.eventually(r.full, "/audit-logs", `"file_name":"contacts.csv"`)
	ann, bob := r.contact("ann@example.org"), r.contact("bob@example.org")
	if ann.Email != "Ann@Example.org" || ann.FirstName != "Ann" || ann.LastName != "Lee" || !ann.Unsubscribed {
		t.Errorf("ann %+v", ann)
	}
	if len(ann.Properties) != 2 || ann.Properties["Plan"].Text != "pro" || ann.Properties["Gr__e"].Text != "1.5" {
		t.Errorf("properties %+v", ann.Properties)
	}
	if bob.FirstName != `Bob "B"` || bob.LastName != "" || bob.Unsubscribed || len(bob.Properties) != 0 {
		t.Errorf("bob %+v", bob)
	}
	var types map[string]app.PropertyType
	err := r.store.Read(t.Context(), func(reader *db.Reader) (err error) {
		types, err = reader.PropertyTypes(r.team.ID)
		return err
	})
	if err != nil || len(types) != 2 || types["Plan"] != app.StringProperty {
		t.Errorf("declared %v, %v", types, err)
	}
}

func TestImportColumnMap(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	r.write(func(tx *db.Tx) error {
		return tx.InsertProperty(&app.Property{ID: app.NewID(), TeamID: r.team.ID, Key: "age", Type: app.NumberProperty, CreatedAt: time.Now()})
	})
	a := r.imported(field{"column_map", `{"email":"Mail","first_name":"vorname","last_name":null,"properties":{"age":"Alter","spent":{"column":"Umsatz","type":"number_comma"},"vip":{"column":"VIP","type":"boolean"}}}`},
		csvFile("Mail\tVorname\tAlter\tVIP\tEmail\tUmsatz", "a@example.org\tAnn\t42\tYES\tx@example.org\t1.234,50", "b@example.org\t\told\tno\t\t", "c@example.org\t\t\tperhaps\t\t"))
	if a.counts() != "3=1+0+0+2" || a.errors() != "3: Column \"Alter\" must be a number\n4: Column \"VIP\" must be true or false" {
		t.Errorf("%s\n%s", a.counts(), a.errors())
	}
	c := r.contact("a@example.org")
	if c.FirstName != "Ann" || len(c.Properties) != 3 || c.Properties["age"].Number != 42 || c.Properties["spent"].Number != 1234.5 || c.Properties["vip"].Text != "true" {
		t.Errorf("%+v", c)
	}
}

func TestImportOnConflict(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	hook := webhook.Input{Endpoint: "https://hooks.example.com", Events: webhook.EventNames()}
	if _, err := r.server.Webhooks.CreateWebhook(t.Context(), &app.Key{TeamID: r.team.ID}, hook); err != nil {
		t.Fatal(err)
	}
	segment, topic := r.segment(r.team.ID), r.topic(r.team.ID)
	lists := []field{{"segments", `[{"id":"` + segment + `"}]`}, {"topics", `[{"id":"` + topic + `","subscription":"opt_out"}]`}}
	first := []string{"email;first name;last name;unsubscribed;plan", "a@example.org;Ann;;true;pro", "A@example.org;Bea;Lee;;"}
	if a := r.imported(append(slices.Clone(lists), csvFile(first...))...); a.counts() != "2=1+0+1+0" {
		t.Errorf("%+v", a)
	}
	if c := r.contact("a@example.org"); c.FirstName != "Ann" || c.LastName != "" {
		t.Errorf("skipped, but %+v", c)
	}
	a := r.imported(csvFile("email,last name,unsubscribed,size", "a@example.org,Lee,false,1", "b@example.org,,,2", "a@example.org,,,3"), field{"on_conflict", "upsert"})
	if a.counts() != "3=1+2+0+0" {
		t.Errorf("%+v", a)
	}
	c := r.contact("a@example.org")
	if c.FirstName != "Ann" || c.LastName != "Lee" || !c.Unsubscribed || c.Properties["plan"].Text != "pro" || c.Properties["size"].Text != "3" {
		t.Errorf("merged %+v", c)
	}
	err := r.store.Read(t.Context(), func(reader *db.Reader) error {
		s, err := reader.Segment(r.team.ID, segment)
		if err != nil {
			return err
		}
		choice, err := reader.TopicFor(r.team.ID, topic, c.Hash)
		count, cerr := reader.ContactCount(r.team.ID)
		if s.Members != 1 || choice.Subscription != app.OptOut || count != 2 {
			t.Errorf("%d members, %s, %d contacts", s.Members, choice.Subscription, count)
		}
		if cerr != nil {
			return cerr
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	r.write(func(tx *db.Tx) error {
		reported, err := tx.PurgeWebhookEvents(tx.Now.Add(time.Hour), 1)
		if reported {
			t.Error("webhooks are told of the contacts")
		}
		return err
	})
}

func TestImportRowErrors(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	long := strings.Repeat("secret", 200)
	a := r.imported(csvFile("email,first_name,unsubscribed,\"pl\"\"an\",x@y.z",
		"secret,a,,,", ",secret,,,", "secret@example.org,\"sec\nret\",,,", "secret@example.org,,maybe-secret,,", "secret@example.org,,,"+long+",",
		"secret@example.org,,,", "secret@example.org,,,,,", "secret@example.org,ä\xff,,,", "secret@example.org,,,,secret\xff", `secret@example.org,sec"ret,,,`,
		"sec ret@example.org,,,,", "secret<x@example.org>,,,,", "good@example.org,,,,"))
	if a.Status != "completed" || a.counts() != "13=1+0+0+12" {
		t.Errorf("%s", a.counts())
	}
	if strings.Contains(a.errors(), "secret") || strings.Contains(a.errors(), "@y") {
		t.Errorf("the errors repeat what the rows hold:\n%s", a.errors())
	}
	for i, want := range []string{`2: Column "email"`, `3: Column "email" is empty`, `4: Column "first_name" must not contain line breaks`, `6: Column "unsubscribed" must be true or false`,
		`7: Column "plan" can have at most 1000 characters`, `8: The row has 4 columns`, `9: The row has 6 columns`, `10: Column "first_name" is not valid UTF-8`, `11: Column 5 is not valid UTF-8`,
		`12: The row has a double quote`, `13: Column "email"`, `14: Column "email"`} {
		if got := strings.Split(a.errors(), "\n"); i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("error %d is not %s", i, want)
		}
	}
}

func TestUnreadableImportFails(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	a := r.imported(csvFile("email", "a@example.org", "nobody", `"b@example.org`, "c@example.org"))
	if a.Status != "failed" || a.counts() != "2=1+0+0+1" || a.Error == nil || *a.Error != "Line 4: a value in double quotes has no proper end" || a.CompletedAt == nil {
		t.Errorf("%+v %s", a, *a.Error)
	}
	a = r.imported(csvFile("email", "a@example.org", "b@example.org", `"`+strings.Repeat("x\n", contactfile.MaxRecord)))
	if a.Status != "failed" || a.counts() != "2=1+0+1+0" || !strings.HasPrefix(*a.Error, "Line 4: a row is longer than") {
		t.Errorf("%+v %s", a, *a.Error)
	}
	r.contact("b@example.org")
}

func TestImportResubscribesNobody(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	topic := r.topic(r.team.ID)
	opt := func(choice string) field {
		return field{"topics", `[{"id":"` + topic + `","subscription":"` + choice + `"}]`}
	}
	rows := csvFile("email,unsubscribed", "a@example.org,no", "b@example.org,no")
	gone := r.sealer.AddressHash(r.team.ID, app.KeyOf("b@example.org"))
	r.write(func(tx *db.Tx) error { // b was a contact once, and opted out of everything
		_, err := tx.AddSuppression(app.Suppression{ID: app.NewID(), TeamID: r.team.ID, Email: "b@example.org", Hash: gone, Origin: app.OriginUnsubscribe, CreatedAt: tx.Now})
		if err == nil {
			_, err = tx.SetChoice(topic, gone, app.OptOut)
		}
		return err
	})
	if a := r.imported(opt("opt_in"), rows); a.Counts.Created != 2 {
		t.Fatalf("%+v", a)
	}
	want := func(email string, unsubscribed bool, choice app.Subscription) {
		t.Helper()
		c := r.contact(email)
		r.write(func(tx *db.Tx) error {
			current, err := tx.TopicFor(r.team.ID, topic, c.Hash)
			if c.Unsubscribed != unsubscribed || current.Subscription != choice || !current.Explicit {
				t.Errorf("%s: unsubscribed %v, %s", email, c.Unsubscribed, current.Subscription)
			}
			return err
		})
	}
	want("a@example.org", false, app.OptIn)
	want("b@example.org", true, app.OptOut)
	r.imported(csvFile("email,unsubscribed", "a@example.org,yes"), opt("opt_out"), field{"on_conflict", "upsert"})
	want("a@example.org", true, app.OptOut)
	r.imported(rows, opt("opt_in"), field{"on_conflict", "upsert"})
	want("a@example.org", true, app.OptOut)
	want("b@example.org", true, app.OptOut)
}

func TestDeleteImport(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	_, outsider := r.newTeam("Other")
	i := r.imported(csvFile("email", "a@example.org", "nobody"))
	path := "/contacts/imports/" + i.ID
	wantError(t, r.as(outsider, "DELETE", path, ""), 404, app.CodeNotFound, "import")
	wantError(t, r.as(r.full, "DELETE", "/contacts/imports/"+unknownID, ""), 404, app.CodeNotFound, "import")
	wantJSON(t, r.as(r.full, "DELETE", path, ""), `{"object":"contact_import","id":"`+i.ID+`","deleted":true}`)
	for _, method := range []string{"DELETE", "GET"} {
		wantError(t, r.as(r.full, method, path, ""), 404, app.CodeNotFound, "import")
	}
	wantError(t, r.as(r.full, "GET", path+"/errors", ""), 404, app.CodeNotFound, "import")
	if p := r.page(r.full, "/contacts/imports"); len(p.Data) != 0 {
		t.Errorf("%d imports are listed", len(p.Data))
	}
	r.contact("a@example.org")
}

func TestImportQueueLimit(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	r.write(func(tx *db.Tx) error {
		for range contactfile.MaxUnfinished { // uploads that no worker takes
			if err := tx.InsertImport(&contactfile.Import{ID: app.NewID(), TeamID: r.team.ID, CreatedAt: tx.Now}); err != nil {
				return err
			}
		}
		return nil
	})
	wantError(t, r.as(r.full, "POST", "/contacts/imports", "no form at all", "Content-Type: multipart/form-data; boundary=x"),
		409, app.CodeConflict, "at most 10 imports", "delete one")
	_, other := r.newTeam("Other")
	wantStatus(t, r.upload(other, csvFile("email", "a@example.org")), 201)
}
