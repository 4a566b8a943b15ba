package engine

import "regexp"

// ChangesSuppressions matches statements that may change which addresses must not be sent to:
// suppressions, unsubscribed contacts, topics with their defaults, and choices.
var ChangesSuppressions = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) (suppressions|contacts|choices|topics)\b`)

// updatesActivity matches statements that store when a contact was sent to, opened or clicked,
// which does not affect suppression.
var updatesActivity = regexp.MustCompile(`\bUPDATE contacts SET last_(sent|opened|clicked)_at\b`)

// changesMail matches statements that change the state of mail, which is not cached from one
// transaction to the next. Such a write of another server requires no cache to be read again.
var changesMail = regexp.MustCompile(`\b(UPDATE webhooks SET (reached|failing_since)|UPDATE contacts SET last_(sent|opened|clicked)_at|(INSERT INTO|UPDATE|DELETE FROM) (attempts|attachments|attachment_pieces|broadcast_clicks|broadcast_links|broadcast_recipients|captures|contents|` +
	`broadcasts|deliveries|doubts|emails|events|feedback|webhook_events|webhook_event_counts|idempotency|mail_counts|outcomes|provider_ids|raw_pieces|recipients|region_outcomes|` +
	`relay_states|relay_troubles|relay_usage|request_logs|team_backlogs|team_days|units|webhook_attempts|webhook_terms))\b`)

// changesAny matches statements that change anything.
var changesAny = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) [a-z_]+\b`)

// changesErasures matches statements that change the progress of an erasure.
var changesErasures = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) erasures\b`)

// Kind is what a statement may change.
type Kind struct {
	Suppressions bool // which addresses must not be sent to
	Rules        bool // what servers cache, except texts of mail
	Erasures     bool // cached texts of mail
}

// KindOf returns what a statement may change, by its text.
func KindOf(query string) Kind {
	return Kind{
		Suppressions: len(ChangesSuppressions.FindAllString(query, -1)) > len(updatesActivity.FindAllString(query, -1)),
		Rules:        len(changesAny.FindAllString(query, -1)) > len(changesMail.FindAllString(query, -1)),
		Erasures:     changesErasures.MatchString(query),
	}
}

// counted counts the statements of a session that may have changed something of a Kind.
type counted struct{ suppressions, rules, erasures uint64 }

func (c *counted) add(k Kind) {
	if k.Suppressions {
		c.suppressions++
	}
	if k.Rules {
		c.rules++
	}
	if k.Erasures {
		c.erasures++
	}
}

// SuppressionVersion returns a number that identifies the state of suppressions, contacts,
// choices and topics, as this transaction has seen it so far. While later transactions of the
// same DB return the same number, what was read from these tables is still current, whichever
// process writes. It is never 0.
func (tx *Tx) SuppressionVersion() uint64 {
	if tx.baseSuppressions != nil {
		return 1 + *tx.baseSuppressions
	}
	return 1 + tx.counted.suppressions
}
