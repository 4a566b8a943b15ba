package signup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// The purposes that the tokens of forms are bound to, one for each use.
const (
	proofPurpose  = "sign-up proof v1"
	buttonPurpose = "sign-up button v1"
	openedPurpose = "sign-up page v1"
)

// Times of the tokens of forms.
const (
	proofFor  = 10 * time.Minute
	minButton = 5 * time.Second
	buttonFor = time.Hour
	minOpened = 2 * time.Second // a person can't fill in a form faster
	openedFor = 24 * time.Hour
)

// Difficulty of proofs, in leading zero bits.
const (
	quietBits = 18
	maxBits   = 22
)

// harder are the submissions of a form in a minute above which proofs have one bit more each.
var harder = [maxBits - quietBits]int{20, 60, 180, 540}

// maxNonce bounds the nonce of a proof, in digits.
const maxNonce = 20

// ticket is the content of a token of a form: one delimited text, so that no parameter can be read as
// another.
type ticket struct {
	form   string
	issued time.Time
	bits   int // of a proof; 0: another token
	id     [16]byte
}

// token signs a ticket for a purpose.
func (s *Service) token(purpose string, t ticket) string {
	text := strings.Join([]string{t.form, strconv.FormatInt(t.issued.UnixMilli(), 10), strconv.Itoa(t.bits), hex.EncodeToString(t.id[:])}, "|")
	return s.Sealer.SealToken(purpose, []byte(text))
}

// Bounds of the text of a ticket, in bytes.
const (
	minTicket = 36 + 1 + 1 + 1 + 1 + 1 + 32
	maxTicket = 36 + 1 + 20 + 1 + 2 + 1 + 32
)

// readTicket returns the ticket of a token of a form that was signed for a purpose; ok is false for any
// other text.
func (s *Service) readTicket(purpose, form, token string) (t ticket, ok bool) {
	message, ok := s.Sealer.OpenToken(purpose, token, minTicket, maxTicket)
	if !ok {
		return t, false
	}
	parts := strings.Split(string(message), "|")
	if len(parts) != 4 || parts[0] != form {
		return t, false
	}
	ms, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return t, false
	}
	t.form, t.issued = form, time.UnixMilli(ms)
	if t.bits, err = strconv.Atoi(parts[2]); err != nil {
		return t, false
	}
	n, err := hex.Decode(t.id[:], []byte(parts[3]))
	return t, err == nil && n == len(t.id)
}

func (s *Service) newTicket(form string, bits int) ticket {
	t := ticket{form: form, issued: clock.Now(), bits: bits}
	_, _ = rand.Read(t.id[:]) // never fails: crypto/rand aborts the program instead
	return t
}

// NewChallenge returns a challenge for a form. Error: CodeNotFound.
func (s *Service) NewChallenge(ctx context.Context, host, formID string) (Challenge, error) {
	view, err := s.FormPage(ctx, host, formID)
	if err != nil {
		return Challenge{}, err
	}
	t := s.newTicket(view.Form.ID, s.bitsNow(view.Form.ID))
	return Challenge{Token: s.token(proofPurpose, t), Bits: t.bits, Expires: t.issued.Add(proofFor)}, nil
}

// bitsNow returns how hard proofs of a form are now.
func (s *Service) bitsNow(form string) int {
	n, bits := s.submissions.AddN(form, clock.Now(), 0), quietBits
	for _, above := range harder {
		if n > above {
			bits++
		}
	}
	return bits
}

// openedToken returns the signed time of a page of a form.
func (s *Service) openedToken(form string) string {
	return s.token(openedPurpose, ticket{form: form, issued: clock.Now()})
}

// buttonToken returns the token of a page with a button.
func (s *Service) buttonToken(form string) string {
	return s.token(buttonPurpose, s.newTicket(form, 0))
}

// checkProof returns the ticket of a solved challenge of a form.
func (s *Service) checkProof(form, proof string) (t ticket, ok bool) {
	token, nonce, found := strings.Cut(proof, ".")
	if !found || nonce == "" || len(nonce) > maxNonce || strings.Trim(nonce, "0123456789") != "" {
		return t, false
	}
	t, ok = s.readTicket(proofPurpose, form, token)
	if !ok || t.bits < quietBits || t.bits > maxBits || !isBetween(t.issued, 0, proofFor) {
		return t, false
	}
	sum := sha256.Sum256([]byte(proof))
	return t, leadingZeros(sum[:]) >= t.bits
}

// checkButton returns the ticket of a button of a form that was pressed neither too early nor too late.
func (s *Service) checkButton(form, token string) (t ticket, ok bool) {
	t, ok = s.readTicket(buttonPurpose, form, token)
	return t, ok && isBetween(t.issued, minButton, buttonFor)
}

// isTooFast reports whether a page of a form was submitted faster than a person can. A page that does not
// tell when it was opened is not.
func (s *Service) isTooFast(form, opened string) bool {
	if opened == "" {
		return false
	}
	t, ok := s.readTicket(openedPurpose, form, opened)
	return !ok || !isBetween(t.issued, minOpened, openedFor)
}

// isBetween reports whether a time is at least least and at most most ago.
func isBetween(t time.Time, least, most time.Duration) bool {
	age := clock.Since(t)
	return age >= least && age <= most
}

// leadingZeros returns the number of zero bits at the beginning of b.
func leadingZeros(b []byte) (n int) {
	for _, c := range b {
		n += bits.LeadingZeros8(c)
		if c != 0 {
			return n
		}
	}
	return n
}

// pass is what lets a submission through: a solved challenge or a pressed button, which counts once.
type pass struct {
	id    [16]byte
	until time.Time // when it is void anyway
	proof bool
}

// admit returns the pass of a submission; ok is false if the visitor must press a button first.
func (s *Service) admit(form *app.Form, in *Submission) (p pass, ok bool) {
	now := clock.Now()
	s.submissions.Add(form.ID, now)
	crowd := 0
	if r := clientRange(in.Client); r != "" {
		crowd = s.ranges.Add(form.ID+" "+r, now)
	}
	if t, ok := s.checkButton(form.ID, in.Button); ok && in.Trap == "" {
		return pass{t.id, t.issued.Add(buttonFor), false}, true
	}
	t, ok := s.checkProof(form.ID, in.Proof)
	if !ok || in.Trap != "" || crowd > maxPerRange || s.isTooFast(form.ID, in.Opened) {
		return p, false
	}
	return pass{t.id, t.issued.Add(proofFor), true}, true
}

// maxPerRange is how many submissions of a form from one range in an hour pass with a proof alone.
const maxPerRange = 20
