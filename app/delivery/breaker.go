package delivery

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"mailer/app"
)

// ruling is what becomes of an email that was refused without a recipient being
// named.
type ruling int

const (
	rulingWait ruling = iota // once more, soon: the relay may be refusing everything
	rulingFail               // refused twice while other mail was not: it is the message
	rulingOpen               // many emails, one refusal: it is the relay
)

// breakerTrips is how many different emails must meet the same refusal, with no
// message accepted in between, before it counts as the relay's trouble.
const breakerTrips = 3

// maxSuspects bounds the memory of first refusals.
const maxSuspects = 10_000

// breaker tells a message that a relay refuses from a relay that refuses
// everything (an account suspended, a list that blocks us): a queue must not be
// bounced for the latter.
type breaker struct {
	mu        sync.Mutex
	signature string
	burst     map[string]bool   // emails that met signature since the last success, while not tripped
	tripped   bool              // breakerTrips emails did
	suspects  map[string]string // email -> the refusal that it met first
}

// refused rules on an email's refusal.
func (b *breaker) refused(emailID, signature string) ruling {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.signature != signature || b.burst == nil {
		b.signature, b.burst, b.tripped = signature, map[string]bool{}, false
	}
	if b.tripped {
		return rulingOpen
	}
	b.burst[emailID] = true
	if b.tripped = len(b.burst) >= breakerTrips; b.tripped {
		return rulingOpen
	}
	if b.suspects[emailID] == signature {
		delete(b.suspects, emailID)
		delete(b.burst, emailID)
		return rulingFail
	}
	if b.suspects == nil || len(b.suspects) >= maxSuspects {
		b.suspects = map[string]string{}
	}
	b.suspects[emailID] = signature
	return rulingWait
}

// accepted notes that the relay took a message: what it refuses now it refuses
// for that message's sake.
func (b *breaker) accepted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signature, b.burst, b.tripped = "", nil, false
}

// refusalSignature is a refusal without what differs from message to message:
// words with digits (queue ids, addresses, times) are left out.
func refusalSignature(stage app.Stage, r app.Reply) string {
	words := strings.FieldsFunc(r.Text, unicode.IsSpace)
	kept := words[:0]
	for _, w := range words {
		if !strings.ContainsAny(w, "0123456789@") {
			kept = append(kept, w)
		}
	}
	return string(stage) + " " + strconv.Itoa(r.Code) + " " + r.Enhanced + " " + strings.Join(kept, " ")
}
