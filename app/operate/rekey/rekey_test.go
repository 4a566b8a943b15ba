package rekey_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/operate/rekey"
	"mailer/app/rules/tracking"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/tenants/domains"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/engine"
)

// keyed starts a server whose keys come from a file.
func keyed(t *testing.T, relays ...*testserver.FakeRelay) (w *testserver.Server, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "mailer.db.key")
	f, err := rekey.OpenFile(path, true)
	testserver.Must(t, err)
	return testserver.NewWithConfig(t, server.Config{KeyFile: f}, relays...), path
}

// fill adds n sealed values to a domain of a team.
func fill(w *testserver.Server, key *app.Key, domain string, n int) (domainID string) {
	w.T.Helper()
	d, err := w.Services.Domains.DomainByName(w.T.Context(), key.TeamID, domain)
	testserver.Must(w.T, err)
	for part := range slices.Chunk(slices.Collect(numbers(n)), 500) {
		w.WriteDB(func(tx *db.Tx) error {
			for _, i := range part {
				pair := app.DKIMPair{Selector: fmt.Sprintf("s%d", i), State: app.DKIMRetired, Public: "p", CreatedAt: tx.Now,
					Sealed: w.Config.Sealer.Seal(domains.DKIMPurpose, d.ID, fmt.Appendf(nil, "secret %d", i))}
				if err := tx.InsertDKIMKey(d.ID, &pair); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return d.ID
}

func numbers(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// opened returns how many values of a domain can be opened and are correct.
func opened(w *testserver.Server, domainID string) (n int) {
	w.T.Helper()
	var after db.SealedRow
	for {
		var rows []db.SealedRow
		w.Read(func(r *db.Reader) (err error) {
			rows, err = r.Sealed(db.SealedDKIMKeys, after, 1000)
			return err
		})
		if len(rows) == 0 {
			return n
		}
		for _, row := range rows {
			plain, err := w.Services.Sealer.Open(domains.DKIMPurpose, row.ID, row.Sealed)
			if err == nil && row.ID == domainID && string(plain) == "secret "+row.Part[1:] {
				n++
			}
		}
		after = rows[len(rows)-1]
	}
}

// withRunningServer returns the services of a command beside the server, with its own copy of the
// keys.
func withRunningServer(t *testing.T, w *testserver.Server, path string) *server.Server {
	t.Helper()
	f, err := rekey.OpenFile(path, false)
	testserver.Must(t, err)
	e, err := server.New(t.Context(), server.Config{DB: w.DB, Sealer: f.Sealer, KeyFile: f})
	testserver.Must(t, err)
	return e
}

func rotate(t *testing.T, e *server.Server, serving bool) rekey.Rotation {
	t.Helper()
	r, err := e.Rekey.Rotate(t.Context(), func() bool { return serving }, func(int, int) {})
	testserver.Must(t, err)
	if r.Left != 0 {
		t.Fatalf("after a rotation %+v", r)
	}
	return r
}

// accept accepts emails until ctx is done, at least one, and returns how long each took.
func accept(ctx context.Context, t *testing.T, w *testserver.Server, keys ...*app.Key) (took []time.Duration) {
	for n := 0; n == 0 || ctx.Err() == nil; n++ {
		key := keys[n%len(keys)]
		in := testserver.Message(fmt.Sprintf("p%d@example.net", n))
		if n%len(keys) == 1 {
			in.From = "Bob <bob@third.example>"
		}
		began := time.Now()
		if _, err := w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{}); err != nil {
			t.Errorf("email %d: %v", n, err)
			return took
		}
		took = append(took, time.Since(began))
	}
	return took
}

// resealing seals a number of values again while mail is accepted and returns the durations of
// accepts before and during it.
func resealing(t *testing.T, values int, duration time.Duration) (before, during []time.Duration) {
	relay := testserver.NewRelay(testserver.Always(testserver.Accept))
	w, path := keyed(t, relay)
	other := w.AddTeam("other", "other.example")
	id := fill(w, other, "other.example", values)
	third := w.AddTeam("third", "third.example") // whose mail is signed with one key
	w.Start()
	ctx, end := context.WithTimeout(t.Context(), duration)
	before = accept(ctx, t, w, w.Key, third)
	end()
	ctx, end = context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { during = accept(ctx, t, w, w.Key, third) })
	r := rotate(t, withRunningServer(t, w, path), true)
	end()
	wg.Wait()
	if r.Keys != 2 || r.Left != 0 { // the server may have started before the command counted
		t.Errorf("%+v", r)
	}
	if n := opened(w, id); n != values {
		t.Errorf("%d of %d values can be opened", n, values)
	}
	return before, during
}

func TestResealDuringSending(t *testing.T) {
	resealing(t, 300, 0)
}

// tokens are links of a team.
type tokens struct{ unsubscribe, preferences, open, click, path string }

func newTokens(s *app.Sealer, teamID, emailID string) tokens {
	link := app.PageLink{TeamID: teamID, Address: s.AddressHash(teamID, app.KeyOf("a@example.org")), Source: emailID}
	return tokens{
		s.PageToken(app.UnsubscribePage, link), s.PageToken(app.PreferencesPage, link), tracking.OpenToken(s, emailID),
		tracking.ClickToken(s, tracking.ClickLink{TeamID: teamID, EmailID: emailID, Host: "links.example.com", Links: 1, Target: "https://example.org/"}),
		s.ReturnPath("send.example.com", app.ReturnPath{EmailID: emailID}),
	}
}

// work returns which links are valid: u, p, o, c, r.
func (k tokens) work(s *app.Sealer) (out string) {
	_, u := s.ReadPageToken(app.UnsubscribePage, k.unsubscribe)
	_, p := s.ReadPageToken(app.PreferencesPage, k.preferences)
	_, o := tracking.ReadOpenToken(s, k.open)
	_, c := tracking.ReadClickToken(s, k.click, "links.example.com")
	_, r := s.ReadReturnPath(k.path)
	for i, ok := range []bool{u, p, o, c, r} {
		if ok {
			out += "upocr"[i : i+1]
		}
	}
	return out
}

func TestOldLinksSurviveRotations(t *testing.T) {
	testserver.BothEngines(t)
	w, path := keyed(t)
	other := w.AddTeam("other", "other.example")
	id := fill(w, other, "other.example", 120)
	s := w.Services.Sealer
	hash := s.AddressHash(w.Key.TeamID, app.KeyOf("a@example.org"))
	var all []tokens
	for round := range 3 {
		if round > 0 {
			rotate(t, w.Services, false)
		}
		for _, key := range []*app.Key{w.Key, other} {
			all = append(all, newTokens(s, key.TeamID, app.NewID()))
		}
	}
	for i, k := range all {
		if got := k.work(s); got != "upocr" {
			t.Errorf("after two rotations the links of %d work as %q", i, got)
		}
	}
	r, err := w.Services.Rekey.Retire(t.Context())
	testserver.Must(t, err)
	if r != (rekey.Retirement{Keys: 1, Retired: 2}) {
		t.Errorf("%+v", r)
	}
	w.Services = withRunningServer(t, w, path)
	s = w.Services.Sealer
	for i, k := range all {
		want := "upoc"
		if i >= 4 {
			want += "r"
		}
		if got := k.work(s); got != want {
			t.Errorf("after a retirement the links of %d work as %q, want %q", i, got, want)
		}
	}
	if s.AddressHash(w.Key.TeamID, app.KeyOf("a@example.org")) != hash {
		t.Error("the hash of an address changed with the master key")
	}
	if n := opened(w, id); n != 120 {
		t.Errorf("%d of 120 values can be opened", n)
	}
}

func TestRetireIsRefusedWhileValuesRemain(t *testing.T) {
	testserver.BothEngines(t)
	w, path := keyed(t)
	testserver.WantCode(t, retire(w), app.CodeConflict) // there is only one key
	sealed := w.Services.Sealer.Seal(domains.DKIMPurpose, "x", []byte("x"))
	add := func(keys []seal.MasterKey) ([]seal.MasterKey, error) {
		return append([]seal.MasterKey{{Key: seal.NewMasterKey()}}, keys...), nil
	}
	keys, err := engine.ChangeMasterKeys(path, add) // and the command was killed
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Sealer.SetKeys(keys))
	err = retire(w)
	testserver.WantCode(t, err, app.CodeConflict)
	if !strings.Contains(err.Error(), "still sealed with older master keys") {
		t.Error(err)
	}
	rotate(t, w.Services, false)
	testserver.Must(t, retire(w))
	keys, err = engine.MasterKeys(path, false)
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Sealer.SetKeys(keys))
	if _, err := w.Services.Sealer.Open(domains.DKIMPurpose, "x", sealed); !errors.Is(err, seal.ErrRetired) {
		t.Errorf("what a retired key sealed: %v", err)
	}
	if again, err := w.Services.Sealer.Reseal(domains.DKIMPurpose, "x", sealed); err != nil || seal.SealedWith(again) != w.Services.Sealer.Newest() {
		t.Errorf("it can't be sealed anew: %v", err)
	}
}

func retire(w *testserver.Server) error {
	_, err := w.Services.Rekey.Retire(w.T.Context())
	return err
}

// TestProcessSeesNewKeyAfterRotation: a process that read the file before a rotation finds values
// of the new key.
func TestProcessSeesNewKeyAfterRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mailer.db.key")
	early, err := rekey.OpenFile(path, true)
	testserver.Must(t, err)
	keys, err := engine.ChangeMasterKeys(path, func(keys []seal.MasterKey) ([]seal.MasterKey, error) {
		return append([]seal.MasterKey{{Key: seal.NewMasterKey()}}, keys...), nil
	})
	testserver.Must(t, err)
	late, err := app.NewSealer(keys...)
	testserver.Must(t, err)
	plain, err := early.Sealer.Open("x", "y", late.Seal("x", "y", []byte("new")))
	if err != nil || string(plain) != "new" {
		t.Errorf("%q, %v", plain, err)
	}
}

// TestInvalidKeyFileIsIgnored: the server keeps its keys if the file is damaged or retires a
// needed key.
func TestInvalidKeyFileIsIgnored(t *testing.T) {
	w, path := keyed(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
	old, err := engine.MasterKeys(path, false)
	testserver.Must(t, err)
	w.Start()
	line := func(retired string, key []byte) string {
		return retired + base64.StdEncoding.EncodeToString(key) + "\n"
	}
	for _, c := range []struct{ text, said string }{
		{"not a key\n", "can't be read"},
		{line("", seal.NewMasterKey()), "contains another key"},
	} {
		testserver.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
		w.Config.KeyFile.Look()
		await(t, w, c.said)
	}
	testserver.Must(t, os.WriteFile(path, []byte(line("", old[0].Key)), 0o600))
	w.Config.KeyFile.Look()
	if err := w.Services.CheckMasterKey(t.Context()); err != nil {
		t.Error(err)
	}
}

// await waits until the log contains a text.
func await(t *testing.T, w *testserver.Server, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !w.Log.Contains(text); {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not say %q", text)
		}
		<-time.After(20 * time.Millisecond)
	}
}
