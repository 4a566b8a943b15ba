package signup_test

import (
	"crypto/sha256"
	"math/bits"
	"net/netip"
	"regexp"
	"strconv"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/signup"
	"mailer/app/testing/testserver"
)

// pagesHost is the host of the pages in tests: that of the base URL, while there is one team.
const pagesHost = "mail.example.com"

// addForm adds a form of the team of a key. change may change its definition.
func addForm(w *testserver.Server, key *app.Key, change func(in *app.FormInput)) app.Form {
	w.T.Helper()
	in := app.FormInput{Name: "Newsletter", FormDefinition: app.FormDefinition{From: "Ann <ann@" + testserver.TestDomain + ">"}}
	if change != nil {
		change(&in)
	}
	f, err := w.Services.SignUp.CreateForm(w.T.Context(), key, in)
	testserver.Must(w.T, err)
	return f
}

// client returns an address in the n-th /24 range.
func client(n int) netip.Addr { return netip.AddrFrom4([4]byte{11, byte(n >> 8), byte(n), 7}) }

// solve returns the proof of a challenge.
func solve(c signup.Challenge) string {
	for nonce := 0; ; nonce++ {
		proof := c.Token + "." + strconv.Itoa(nonce)
		sum := sha256.Sum256([]byte(proof))
		zeros := 0
		for _, b := range sum {
			zeros += bits.LeadingZeros8(b)
			if b != 0 {
				break
			}
		}
		if zeros >= c.Bits {
			return proof
		}
	}
}

// proof returns the proof of a new challenge of a form.
func proof(w *testserver.Server, host string, f app.Form) string {
	w.T.Helper()
	c, err := w.Services.SignUp.NewChallenge(w.T.Context(), host, f.ID)
	testserver.Must(w.T, err)
	return solve(c)
}

// press submits a form, waits on the page with the button, and presses it.
func press(w *testserver.Server, in signup.Submission) *signup.Submitted {
	w.T.Helper()
	out, err := w.Services.SignUp.Submit(w.T.Context(), pagesHost, &in)
	testserver.Must(w.T, err)
	if out.Button == "" {
		w.T.Fatal("a submission without proof passed")
	}
	time.Sleep(6 * time.Second)
	in.Button = out.Button
	out, err = w.Services.SignUp.Submit(w.T.Context(), pagesHost, &in)
	testserver.Must(w.T, err)
	synctest.Wait()
	return out
}

// signUp submits an address to a form by the button, and waits until its confirmation was sent if it is.
func signUp(w *testserver.Server, f app.Form, email string, from int) {
	w.T.Helper()
	if out := press(w, signup.Submission{FormID: f.ID, Email: email, Client: client(from)}); out.Button != "" {
		w.T.Fatalf("the button did not let %s through", email)
	}
	time.Sleep(time.Second)
	synctest.Wait()
}

// mailsTo returns the confirmations of an address that the first relay took, oldest first.
func mailsTo(w *testserver.Server, email string) (mails []*app.Mail) {
	w.T.Helper()
	for _, id := range w.SQL(`SELECT email_id FROM opt_ins WHERE email = ? AND email_id IS NOT NULL ORDER BY sent_at, id`, email) {
		for _, t := range w.Relays[0].Transactions(id) {
			mails = append(mails, t.Message.Mail)
		}
	}
	return mails
}

var linkPattern = regexp.MustCompile(`https://[^/]+/opt-in/([A-Za-z0-9_-]+)\n`)

// linkIn returns the token in a confirmation.
func linkIn(w *testserver.Server, m *app.Mail) string {
	w.T.Helper()
	found := linkPattern.FindStringSubmatch(m.Text)
	if found == nil {
		w.T.Fatalf("no link in %s", m.Text)
	}
	return found[1]
}

// optIns returns the opt-ins of a team, newest first.
func optIns(w *testserver.Server, key *app.Key) []app.SignUp {
	w.T.Helper()
	rows, _, err := w.Services.SignUp.ListOptIns(w.T.Context(), key, "", app.Page{Limit: 100})
	testserver.Must(w.T, err)
	return rows
}
