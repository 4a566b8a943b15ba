// Package routing matches mail with the rules by which an operator sends it through certain relays
// of a region. It does no I/O and keeps no state.
//
// Failure policy: mail that matches no rule leaves through the active relay of its region.
package routing

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"mailer/app/kit/mailbox"
)

// The streams of mail.
const (
	Transactional = "transactional" // emails
	Broadcast     = "broadcast"
)

// Rule sends mail that meets all its conditions through a relay. A condition that is not set holds
// for all mail.
type Rule struct {
	ID        string   `json:"id"`
	ToDomains []string `json:"to_domains,omitzero"` // of recipients, in lower-case A-labels
	Stream    string   `json:"stream,omitzero"`     // Transactional or Broadcast
	KeyID     string   `json:"key_id,omitzero"`     // of the API key that sent the email
	KeyName   string   `json:"key_name,omitzero"`   // when the rule was made
	Weight    int      `json:"weight,omitzero"`     // percent of the mail that meets the other conditions; 0: all
	Relay     string   `json:"relay"`               // in full
	Strict    bool     `json:"strict,omitzero"`     // the mail waits while the relay can't be used
	// Queue is the queue of the mail. It is set in the rules that a server publishes.
	Queue string `json:"queue,omitzero"`
}

// Mail is what rules are matched with: one recipient of an email or broadcast.
type Mail struct {
	EmailID string
	KeyID   string // empty: no API key sent it
	Stream  string
	To      string // address of the recipient
}

// Match returns the first rule that a recipient matches; nil: none.
func Match(rules []Rule, m *Mail) *Rule {
	domain := ""
	for i := range rules {
		r := &rules[i]
		if !r.covers(m.Stream, m.KeyID) {
			continue
		}
		if r.ToDomains != nil {
			if domain == "" {
				domain = mailbox.FoldDomain(m.To[strings.LastIndexByte(m.To, '@')+1:])
			}
			if !slices.Contains(r.ToDomains, domain) {
				continue
			}
		}
		if r.Weight == 0 || percentile(r.ID, m.EmailID) < r.Weight {
			return r
		}
	}
	return nil
}

// covers reports whether the conditions of a rule that do not depend on the recipient hold.
func (r *Rule) covers(stream, keyID string) bool {
	return (r.Stream == "" || r.Stream == stream) && (r.KeyID == "" || r.KeyID == keyID)
}

// percentile returns a number from 0 to 99 that depends on an email and a rule, so that the shares of
// several rules do not depend on each other.
func percentile(ruleID, emailID string) int {
	sum := sha256.Sum256([]byte(ruleID + "\x00" + emailID))
	return int(binary.BigEndian.Uint64(sum[:8]) % 100)
}

// Default returns the rule for all mail of a stream that an API key sends and that matches no rule
// before; nil: none. each reports whether there are such rules before, so that each recipient has to
// be matched.
func Default(rules []Rule, stream, keyID string) (rule *Rule, each bool) {
	for i := range rules {
		r := &rules[i]
		switch {
		case !r.covers(stream, keyID):
		case r.ToDomains == nil && r.Weight == 0:
			return r, each
		default:
			each = true
		}
	}
	return nil, each
}

// Words describes a rule, as in "mail to gmail.com through postmark".
func (r *Rule) Words() string {
	subject := map[string]string{"": "mail", Transactional: "transactional mail", Broadcast: "broadcasts"}[r.Stream]
	if r.Weight > 0 {
		subject = fmt.Sprintf("%d %% of %s", r.Weight, subject)
	}
	if r.KeyID != "" {
		subject += " of the key " + r.KeyName
	}
	if len(r.ToDomains) > 0 {
		subject += " to " + domainWords(r.ToDomains)
	}
	subject += " through " + r.Relay
	if r.Strict {
		subject += " only"
	}
	return subject
}

// maxNamed is how many domains Words names.
const maxNamed = 3

func domainWords(domains []string) string {
	named := domains[:min(len(domains), maxNamed)]
	text := strings.Join(named, ", ")
	if more := len(domains) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
