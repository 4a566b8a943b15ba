package engine

import "regexp"

// ChangesSuppressions finds the statements that may change whom mail may not go to:
// suppressions, contacts that are unsubscribed, and choices of topics and their defaults.
var ChangesSuppressions = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) (suppressions|contacts|choices|topics)\b`)

// updatesActivity finds the statements that note when a contact was sent to, opened or clicked,
// on which it does not depend whom mail may not go to.
var updatesActivity = regexp.MustCompile(`\bUPDATE contacts SET last_(sent|opened|clicked)_at\b`)

// changesMail finds the statements that change what becomes of mail, of which nothing is
// remembered from one transaction to the next: that another server wrote it is no reason to
// read again what is.
var changesMail = regexp.MustCompile(`\b(UPDATE webhooks SET (reached|failing_since)|UPDATE contacts SET last_(sent|opened|clicked)_at|(INSERT INTO|UPDATE|DELETE FROM) (attempts|attachments|attachment_pieces|broadcast_clicks|broadcast_links|broadcast_recipients|captures|contents|` +
	`broadcasts|deliveries|doubts|emails|events|feedback|webhook_events|webhook_event_counts|idempotency|mail_counts|outcomes|provider_ids|raw_pieces|recipients|region_outcomes|` +
	`relay_states|relay_troubles|relay_usage|request_logs|team_backlogs|team_days|units|webhook_attempts|webhook_terms))\b`)

// changesAny finds the statements that change anything.
var changesAny = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) [a-z_]+\b`)

// changesErasures finds the statements that say of an erasure how far it is.
var changesErasures = regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM) erasures\b`)

// Kind is what a statement may change.
type Kind struct {
	Suppressions bool // whom mail may not go to
	Rules        bool // what servers remember, but for texts of mail
	Erasures     bool // those too
}

func KindOf(query string) Kind {
	return Kind{
		Suppressions: len(ChangesSuppressions.FindAllString(query, -1)) > len(updatesActivity.FindAllString(query, -1)),
		Rules:        len(changesAny.FindAllString(query, -1)) > len(changesMail.FindAllString(query, -1)),
		Erasures:     changesErasures.MatchString(query),
	}
}

// counted counts the statements of a session that may have changed something of a kind.
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

// SuppressionVersion is a mark of whom mail may not go to, as this transaction has it up to now: as
// long as a later transaction of the same DB returns the same, what was read of
// suppressions, contacts, choices and topics still stands, whoever else may write. It is
// never 0.
func (tx *Tx) SuppressionVersion() uint64 {
	if tx.baseSuppressions != nil {
		return 1 + *tx.baseSuppressions
	}
	return 1 + tx.counted.suppressions
}
