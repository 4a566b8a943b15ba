package db

import (
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
)

// Lists of an export. Each list continues after an id in id order, so that snapshots are
// short and pages are small.

// PropertiesAfter returns declared properties of a team.
func (r *Reader) PropertiesAfter(teamID, after string, limit int) ([]app.Property, error) {
	return list(r, scanProperty, `SELECT `+propertyColumns+` FROM properties WHERE team_id = ? AND id > ? ORDER BY id LIMIT ?`, teamID, after, limit)
}

// SegmentsAfter returns segments of a team.
func (r *Reader) SegmentsAfter(teamID, after string, limit int) ([]app.Segment, error) {
	return list(r, scanSegment, `SELECT `+segmentColumns+` FROM segments AS s WHERE s.team_id = ? AND s.id > ? ORDER BY s.id LIMIT ?`, teamID, after, limit)
}

// TopicsAfter returns topics of a team.
func (r *Reader) TopicsAfter(teamID, after string, limit int) ([]app.Topic, error) {
	return list(r, scanTopic, `SELECT `+topicColumns+` FROM topics AS t WHERE t.team_id = ? AND t.id > ? ORDER BY t.id LIMIT ?`, teamID, after, limit)
}

// TemplatesAfter returns templates of a team without content.
func (r *Reader) TemplatesAfter(teamID, after string, limit int) ([]app.Template, error) {
	return list(r, scanTemplate, `SELECT `+templateColumns+` FROM templates AS t WHERE t.team_id = ? AND t.id > ? ORDER BY t.id LIMIT ?`, teamID, after, limit)
}

// ImagesAfter returns images of a team.
func (r *Reader) ImagesAfter(teamID, after string, limit int) ([]app.Image, error) {
	return list(r, scanImage, `SELECT `+imageColumns+` FROM images AS i WHERE i.team_id = ? AND i.id > ? ORDER BY i.id LIMIT ?`, teamID, after, limit)
}

// BroadcastsAfter returns broadcasts of a team without content.
func (r *Reader) BroadcastsAfter(teamID, after string, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.team_id = ? AND b.id > ? ORDER BY b.id LIMIT ?`, teamID, after, limit)
}

// DomainsAfter returns domains of a team without key pairs.
func (r *Reader) DomainsAfter(teamID, after string, limit int) ([]app.Domain, error) {
	return list(r, scanDomain, `SELECT `+domainColumns+` FROM domains AS d WHERE d.team_id = ? AND d.id > ? ORDER BY d.id LIMIT ?`, teamID, after, limit)
}

// WebhooksAfter returns webhooks of a team with sealed secrets.
func (r *Reader) WebhooksAfter(teamID, after string, limit int) ([]webhook.Webhook, error) {
	return list(r, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id > ? ORDER BY w.id LIMIT ?`, teamID, after, limit)
}

// KeysAfter returns API keys of a team.
func (r *Reader) KeysAfter(teamID, after string, limit int) ([]app.Key, error) {
	return list(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.team_id = ? AND k.id > ? ORDER BY k.id LIMIT ?`, teamID, after, limit)
}

// ContactsAfter returns contacts of a team.
func (r *Reader) ContactsAfter(teamID, after string, limit int) ([]app.Contact, error) {
	return list(r, scanContact, `SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? AND c.id > ? ORDER BY c.id LIMIT ?`, teamID, after, limit)
}

// OptedOutSince returns the unsubscribed contacts of a team that changed since a time. It
// scans all contacts of the team.
func (r *Reader) OptedOutSince(teamID, after string, since time.Time, limit int) ([]app.Contact, error) {
	return list(r, scanContact, `SELECT `+contactColumns+` FROM contacts AS c
		WHERE c.team_id = ? AND c.id > ? AND c.unsubscribed = 1 AND c.updated_at >= ? ORDER BY c.id LIMIT ?`, teamID, after, milli(since), limit)
}

// SuppressionsAfter returns suppressions of a team that are not erased.
func (r *Reader) SuppressionsAfter(teamID, after string, limit int) ([]app.Suppression, error) {
	return list(r, scanSuppression, `SELECT `+suppressionColumns+` FROM suppressions WHERE team_id = ? AND email IS NOT NULL AND id > ? ORDER BY id LIMIT ?`, teamID, after, limit)
}

// ErasedSuppressions returns the number of a team's erased suppressions.
func (r *Reader) ErasedSuppressions(teamID string) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM suppressions WHERE team_id = ? AND email IS NULL`, []any{teamID}, &n)
	return n, err
}

// Owned is a value that belongs to a contact: a segment id or a former address.
type Owned struct{ ContactID, Value string }

func scanOwned(s scanner) (o Owned, err error) { return o, s.Scan(&o.ContactID, &o.Value) }

// MembersBetween returns the explicit segment memberships of a team's contacts in a span,
// in contact order.
func (r *Reader) MembersBetween(teamID string, span Span) ([]Owned, error) {
	return list(r, scanOwned, `SELECT c.id, s.id FROM contacts AS c CROSS JOIN members AS m ON m.contact_id = c.id CROSS JOIN segments AS s ON s.id = m.segment_id
		WHERE c.team_id = ?1 AND c.id > ?2 AND c.id <= ?3 AND s.team_id = ?1 ORDER BY c.id, m.segment_id`, teamID, span.After, span.Until)
}

// FormerBetween returns the former addresses of a team's contacts in a span, in contact
// order.
func (r *Reader) FormerBetween(teamID string, span Span) ([]Owned, error) {
	return list(r, scanOwned, `SELECT contact_id, email FROM former_addresses
		WHERE team_id = ? AND contact_id > ? AND contact_id <= ? ORDER BY contact_id, address`, teamID, span.After, span.Until)
}

// AddressChoice is the choice of a known address about a topic.
type AddressChoice struct {
	Email, TopicID string
	Subscription   app.Subscription
	ChosenAt       time.Time
}

func scanAddressChoice(s scanner) (c AddressChoice, err error) {
	var chosen int64
	err = s.Scan(&c.Email, &c.TopicID, &c.Subscription, &chosen)
	c.ChosenAt = fromMilli(chosen)
	return c, err
}

// ContactChoices returns the choices of a team's contacts in a span, in contact order.
func (r *Reader) ContactChoices(teamID string, span Span) ([]AddressChoice, error) {
	return list(r, scanAddressChoice, `SELECT c.email, t.id, ch.subscription, ch.chosen_at FROM contacts AS c
		CROSS JOIN topics AS t ON t.team_id = c.team_id CROSS JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = c.address
		WHERE c.team_id = ? AND c.id > ? AND c.id <= ? ORDER BY c.id, t.id`, teamID, span.After, span.Until)
}

// FormerChoices returns the choices of former addresses of contacts in a span, if no
// contact of the team has the address now. Each choice appears once, with the first
// contact that had the address.
func (r *Reader) FormerChoices(teamID string, span Span) ([]AddressChoice, error) {
	return list(r, scanAddressChoice, `SELECT f.email, t.id, ch.subscription, ch.chosen_at FROM former_addresses AS f
		CROSS JOIN topics AS t ON t.team_id = f.team_id CROSS JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = f.address
		WHERE f.team_id = ?1 AND f.contact_id > ?2 AND f.contact_id <= ?3
		AND NOT EXISTS (SELECT 1 FROM contacts AS c WHERE c.team_id = ?1 AND c.address = f.address)
		AND NOT EXISTS (SELECT 1 FROM former_addresses AS o WHERE o.team_id = ?1 AND o.address = f.address AND o.contact_id < f.contact_id)
		ORDER BY f.contact_id, f.address, t.id`, teamID, span.After, span.Until)
}

// SuppressedChoices returns the choices of suppressed addresses in a span of suppressions,
// if no contact of the team has or had the address.
func (r *Reader) SuppressedChoices(teamID string, span Span) ([]AddressChoice, error) {
	return list(r, scanAddressChoice, `SELECT s.email, t.id, ch.subscription, ch.chosen_at FROM suppressions AS s
		CROSS JOIN topics AS t ON t.team_id = s.team_id CROSS JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = s.address
		WHERE s.team_id = ?1 AND s.email IS NOT NULL AND s.id > ?2 AND s.id <= ?3
		AND NOT EXISTS (SELECT 1 FROM contacts AS c WHERE c.team_id = ?1 AND c.address = s.address)
		AND NOT EXISTS (SELECT 1 FROM former_addresses AS f WHERE f.team_id = ?1 AND f.address = s.address)
		ORDER BY s.id`, teamID, span.After, span.Until)
}

// UnknownChoices returns the hashes, in order, of addresses with a choice about a team's
// topic that no contact and no suppression of the team has.
func (r *Reader) UnknownChoices(teamID, topicID string, after []byte, limit int) ([]app.AddressHash, error) {
	return list(r, func(s scanner) (h app.AddressHash, err error) {
		return h, s.Scan((*hashColumn)(&h))
	}, `SELECT ch.address FROM choices AS ch WHERE ch.topic_id = ?2 AND ch.address > ?3
		AND NOT EXISTS (SELECT 1 FROM contacts AS c WHERE c.team_id = ?1 AND c.address = ch.address)
		AND NOT EXISTS (SELECT 1 FROM former_addresses AS f WHERE f.team_id = ?1 AND f.address = ch.address)
		AND NOT EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = ?1 AND s.address = ch.address AND s.email IS NOT NULL)
		ORDER BY ch.address LIMIT ?4`, teamID, topicID, after, limit)
}

// ChoicesOf returns the choices of an address about a team's topics.
func (r *Reader) ChoicesOf(teamID string, address app.AddressHash) ([]AddressChoice, error) {
	return list(r, scanAddressChoice, `SELECT '', t.id, ch.subscription, ch.chosen_at FROM topics AS t
		CROSS JOIN choices AS ch ON ch.topic_id = t.id AND ch.address = ? WHERE t.team_id = ? ORDER BY t.id`, address[:], teamID)
}

// MailedAddress is a recipient of an email or broadcast email.
type MailedAddress struct{ ID, Email string }

func scanMailed(s scanner) (m MailedAddress, err error) { return m, s.Scan(&m.ID, &m.Email) }

// MailedBetween returns the recipients of a team's emails in a span.
func (r *Reader) MailedBetween(teamID string, span Span) ([]MailedAddress, error) {
	return list(r, scanMailed, `SELECT r.email_id, r.address FROM emails AS e CROSS JOIN recipients AS r ON r.email_id = e.id
		WHERE e.team_id = ? AND e.id > ? AND e.id <= ? AND e.unsent = 0 AND e.for_opt_in IS NULL ORDER BY e.id, r.n`, teamID, span.After, span.Until)
}

// MailedByBroadcast returns the recipients of the broadcast with the email id prefix
// mails.
func (r *Reader) MailedByBroadcast(mails, after string, limit int) ([]MailedAddress, error) {
	return list(r, scanMailed, `SELECT id, email FROM broadcast_recipients WHERE id > ?1 AND id > ?2 AND id < ?3 ORDER BY id LIMIT ?4`,
		after, mails, mails+lastID, limit)
}

// EmailIDsAfter returns ids of a team's emails.
func (r *Reader) EmailIDsAfter(teamID, after string, limit int) ([]string, error) {
	return list(r, scanText, `SELECT id FROM emails WHERE team_id = ? AND id > ? AND unsent = 0 AND for_opt_in IS NULL ORDER BY id LIMIT ?`, teamID, after, limit)
}

// ContactPageEnd returns the last id of the next limit contacts of a team; empty at the
// end.
func (r *Reader) ContactPageEnd(teamID, after string, limit int) (last string, err error) {
	err = r.Row(`SELECT coalesce(max(n.id), '') FROM (SELECT c.id FROM contacts AS c WHERE c.team_id = ? AND c.id > ? ORDER BY c.id LIMIT ?) AS n`, []any{teamID, after, limit}, &last)
	return last, err
}

// SuppressionPageEnd is ContactPageEnd for suppressions that are not erased.
func (r *Reader) SuppressionPageEnd(teamID, after string, limit int) (last string, err error) {
	err = r.Row(`SELECT coalesce(max(n.id), '') FROM (SELECT s.id FROM suppressions AS s WHERE s.team_id = ? AND s.email IS NOT NULL AND s.id > ? ORDER BY s.id LIMIT ?) AS n`,
		[]any{teamID, after, limit}, &last)
	return last, err
}

// IsOver reports whether an email has no open unit and no open doubt.
func (r *Reader) IsOver(emailID string) (over bool, err error) {
	err = r.Row(`SELECT NOT EXISTS (SELECT 1 FROM units WHERE email_id = ?1)
		AND NOT EXISTS (SELECT 1 FROM doubts WHERE email_id = ?1 AND settled_at IS NULL)`, []any{emailID}, &over)
	return over, err
}

// HasCapture reports whether an email has a captured message.
func (r *Reader) HasCapture(emailID string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM captures WHERE email_id = ?)`, []any{emailID}, &has)
	return has, err
}
