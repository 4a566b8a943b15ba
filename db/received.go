package db

import (
	"database/sql"
	"errors"
	"time"

	"mailer/app"
)

const receivedColumns = `m.id, m.team_id, m.domain_id, m.mail_from, m.recipients, m.peer, m.from_text, m.from_email, m.header, m.subject, m.message_id, m.size, m.files, m.auth, m.auto, m.answers, m.proven, m.contact_id, m.spam, m.effects, m.created_at`

// receivedPeer and receivedHeader are columns of received_emails.
type receivedPeer struct {
	IP   string `json:"ip"`
	Helo string `json:"helo,omitzero"`
}

type receivedHeader struct {
	To      []string `json:"to,omitzero"`
	Cc      []string `json:"cc,omitzero"`
	Bcc     []string `json:"bcc,omitzero"`
	ReplyTo []string `json:"reply_to,omitzero"`
}

func scanReceived(s scanner) (m app.Received, err error) {
	var recipients, peer, header, files, auth, spam, effects, fromEmail, messageID, auto, answers, contact sql.NullString
	var created int64
	err = s.Scan(&m.ID, &m.TeamID, &m.DomainID, &m.MailFrom, &recipients, &peer, &m.From, &fromEmail, &header, &m.Subject, &messageID, &m.Size, &files, &auth, &auto, &answers, &m.Proven, &contact, &spam, &effects, &created)
	if err != nil {
		return m, err
	}
	var p receivedPeer
	var h receivedHeader
	err = errors.Join(fromJSON(recipients, &m.Recipients), fromJSON(peer, &p), fromJSON(header, &h), fromJSON(files, &m.Files), fromJSON(auth, &m.Auth), fromJSON(spam, &m.Spam), fromJSON(effects, &m.Effects))
	m.RemoteIP, m.Helo = p.IP, p.Helo
	m.To, m.Cc, m.Bcc, m.ReplyTo = h.To, h.Cc, h.Bcc, h.ReplyTo
	m.FromEmail, m.MessageID, m.AutoSubmitted, m.Answers, m.ContactID = fromEmail.String, messageID.String, app.AutoSubmitted(auto.String), answers.String, contact.String
	m.CreatedAt = fromMilli(created)
	return m, err
}

// InsertReceivedPiece stores the n-th piece of a message whose row is inserted later.
func (tx *Tx) InsertReceivedPiece(id string, n int, content []byte) error {
	return tx.Write(`INSERT INTO received_pieces (received_id, n, content) VALUES (?, ?, ?)`, id, n, content)
}

// InsertReceived adds a received email with its readable content, and counts it. Its pieces are stored before, or in
// the same transaction.
func (tx *Tx) InsertReceived(m *app.Received, digest []byte) error {
	recipients, err1 := jsonText(m.Recipients)
	peer, err2 := jsonText(receivedPeer{m.RemoteIP, m.Helo})
	header, err3 := jsonText(receivedHeader{m.To, m.Cc, m.Bcc, m.ReplyTo})
	auth, err4 := jsonText(m.Auth)
	headers, err5 := jsonText(m.Headers)
	var files, spam, effects any
	var err6, err7, err8 error
	if len(m.Files) > 0 {
		files, err6 = jsonText(m.Files)
	}
	if m.Spam != nil {
		spam, err7 = jsonText(m.Spam)
	}
	if len(m.Effects) > 0 {
		effects, err8 = jsonText(m.Effects)
	}
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		return err
	}
	if err := tx.Write(`INSERT INTO received_emails (id, team_id, domain_id, mail_from, recipients, peer, from_text, from_email, header, subject, message_id, size, digest, files, auth, auto, answers, proven, contact_id, spam, effects, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.TeamID, m.DomainID, m.MailFrom, recipients, peer, m.From, nullText(m.FromEmail), header, m.Subject, nullText(m.MessageID), m.Size, digest, files, auth, nullText(string(m.AutoSubmitted)),
		nullText(m.Answers), m.Proven, nullText(m.ContactID), spam, effects, milli(m.CreatedAt)); err != nil {
		return err
	}
	if err := tx.Write(`INSERT INTO received_contents (received_id, headers, text, html, reply_text) VALUES (?, ?, ?, ?, ?)`, m.ID, headers, nullText(m.Text), nullText(m.HTML), nullText(m.ReplyText)); err != nil {
		return err
	}
	return tx.Write(`INSERT INTO received_days (team_id, day, emails, bytes) VALUES (?, ?, 1, ?)
		ON CONFLICT (team_id, day) DO UPDATE SET emails = received_days.emails + 1, bytes = received_days.bytes + excluded.bytes`, m.TeamID, m.CreatedAt.UTC().Format(time.DateOnly), m.Size)
}

// HasReceived reports whether a team received the same message since a time.
func (r *Reader) HasReceived(teamID string, digest []byte, since time.Time) (bool, error) {
	err := r.Exists(`SELECT 1 FROM received_emails WHERE team_id = ? AND digest = ? AND created_at >= ?`, teamID, digest, milli(since))
	return err == nil, ignoreNotFound(err)
}

// ReceivedOn returns how many emails and bytes a team received on a day.
func (r *Reader) ReceivedOn(teamID string, day time.Time) (emails, bytes int64, err error) {
	err = r.Row(`SELECT emails, bytes FROM received_days WHERE team_id = ? AND day = ?`, []any{teamID, day.UTC().Format(time.DateOnly)}, &emails, &bytes)
	return emails, bytes, ignoreNotFound(err)
}

// Received returns a received email of a team without its content. Error: ErrNotFound.
func (r *Reader) Received(teamID, id string) (app.Received, error) {
	return one(r, scanReceived, `SELECT `+receivedColumns+` FROM received_emails AS m WHERE m.team_id = ? AND m.id = ?`, teamID, id)
}

// ReceivedContentSize returns about how many bytes ReadReceivedContent reads. Error: ErrNotFound.
func (r *Reader) ReceivedContentSize(teamID, id string) (bytes int64, err error) {
	err = r.Row(`SELECT coalesce(octet_length(c.headers), 0) + coalesce(octet_length(c.text), 0) + coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.reply_text), 0)
		FROM received_emails AS m LEFT JOIN received_contents AS c ON c.received_id = m.id WHERE m.team_id = ? AND m.id = ?`, []any{teamID, id}, &bytes)
	return bytes, err
}

// ReadReceivedContent reads headers, text, HTML and reply text of a received email. Error: ErrNotFound.
func (r *Reader) ReadReceivedContent(m *app.Received) error {
	var headers, text, html, reply sql.NullString
	if err := r.Row(`SELECT headers, text, html, reply_text FROM received_contents WHERE received_id = ?`, []any{m.ID}, &headers, &text, &html, &reply); err != nil {
		return err
	}
	m.Text, m.HTML, m.ReplyText = text.String, html.String, reply.String
	return fromJSON(headers, &m.Headers)
}

// ReceivedPiece returns the n-th piece of a received email. Error: ErrNotFound after the last one.
func (r *Reader) ReceivedPiece(id string, n int) (content []byte, err error) {
	err = r.Row(`SELECT content FROM received_pieces WHERE received_id = ? AND n = ?`, []any{id, n}, &content)
	return content, err
}

// ListReceived returns a page of the received emails of a team, newest first, without content. Error: ErrNotFound
// for a cursor that is not in the list.
func (r *Reader) ListReceived(teamID string, page app.Page) ([]app.Received, bool, error) {
	exists := func(cursor string) error {
		_, err := r.Received(teamID, cursor)
		return err
	}
	return listPage(r, page, exists, scanReceived,
		`SELECT `+receivedColumns+` FROM received_emails AS m WHERE m.team_id = ? AND m.id < ? ORDER BY m.id DESC LIMIT ?`,
		`SELECT `+receivedColumns+` FROM received_emails AS m WHERE m.team_id = ? AND m.id > ? ORDER BY m.id LIMIT ?`, teamID)
}

// AnswersTo returns the received emails that answer an email or claim to, newest first, at most limit.
func (r *Reader) AnswersTo(teamID, emailID string, limit int) ([]app.Received, error) {
	return list(r, scanReceived, `SELECT `+receivedColumns+` FROM received_emails AS m WHERE m.team_id = ? AND m.answers = ? ORDER BY m.id DESC LIMIT ?`, teamID, emailID, limit)
}

// ReceivedFrom returns a page of the mail that a contact sent to its team, newest first, without content. A cursor need
// not be in the list.
func (r *Reader) ReceivedFrom(teamID, contactID string, page app.Page) ([]app.Received, bool, error) {
	return listPage(r, page, func(string) error { return nil }, scanReceived,
		`SELECT `+receivedColumns+` FROM received_emails AS m WHERE m.team_id = ? AND m.contact_id = ? AND m.id < ? ORDER BY m.id DESC LIMIT ?`,
		`SELECT `+receivedColumns+` FROM received_emails AS m WHERE m.team_id = ? AND m.contact_id = ? AND m.id > ? ORDER BY m.id LIMIT ?`, teamID, contactID)
}

// ReceivingDomain is what receiving needs to know about a domain.
type ReceivingDomain struct {
	ID, TeamID string
	Verified   bool
	Wanted     bool      // the team wants its mail
	Receives   bool      // the last check found what receiving needs
	ReceivesAt time.Time // when a check last found it; zero: never
}

// DomainsNamed returns the domains of all teams that have a name, in A-labels.
func (r *Reader) DomainsNamed(name string) ([]ReceivingDomain, error) {
	return list(r, func(s scanner) (d ReceivingDomain, err error) {
		var at sql.NullInt64
		var wanted, receives sql.NullBool
		err = s.Scan(&d.ID, &d.TeamID, &d.Verified, &wanted, &receives, &at)
		d.Wanted, d.Receives, d.ReceivesAt = wanted.Bool, receives.Bool, fromMilli(at.Int64)
		return d, err
	}, `SELECT id, team_id, CASE WHEN status = 'verified' THEN 1 ELSE 0 END, receiving, receives, receives_at FROM domains WHERE name = ?`, name)
}

// OldReceived returns the ids and teams of received emails from before a time, oldest first, at most limit.
func (r *Reader) OldReceived(before time.Time, limit int) ([]app.Received, error) {
	return list(r, func(s scanner) (m app.Received, err error) {
		err = s.Scan(&m.ID, &m.TeamID)
		return m, err
	}, `SELECT id, team_id FROM received_emails WHERE created_at < ? ORDER BY created_at, id LIMIT ?`, milli(before), limit)
}

// DeleteReceivedPieces deletes the first pieces of a message, at most limit, and reports whether there may be more.
func (tx *Tx) DeleteReceivedPieces(id string, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM received_pieces WHERE received_id = ? AND n IN (SELECT p.n FROM received_pieces AS p WHERE p.received_id = ? ORDER BY p.n LIMIT ?)`, id, id, limit)
	return n == int64(limit), err
}

// OrphanedPieces looks at the messages after an id and before another, at most limit, and returns those that are in no
// email. last is the last one that it looked at; empty: there are no more.
func (r *Reader) OrphanedPieces(after, before string, limit int) (orphans []string, last string, err error) {
	for range limit {
		var id string
		err := r.Row(`SELECT received_id FROM received_pieces WHERE received_id > ? AND received_id < ? ORDER BY received_id LIMIT 1`, []any{after, before}, &id)
		if errors.Is(err, ErrNotFound) {
			return orphans, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		err = r.Exists(`SELECT 1 FROM received_emails WHERE id = ?`, id)
		if errors.Is(err, ErrNotFound) {
			orphans = append(orphans, id)
		} else if err != nil {
			return nil, "", err
		}
		after = id
	}
	return orphans, after, nil
}

// PurgeReceivedDays deletes what is known about the days of a team before a time.
func (tx *Tx) PurgeReceivedDays(teamID string, before time.Time) error {
	return tx.Write(`DELETE FROM received_days WHERE team_id = ? AND day < ?`, teamID, before.UTC().Format(time.DateOnly))
}

// AllReceived returns how many emails and bytes all teams received since the beginning of a day.
func (r *Reader) AllReceived(since time.Time) (emails, bytes int64, err error) {
	err = r.Row(`SELECT coalesce(sum(emails), 0), coalesce(sum(bytes), 0) FROM received_days WHERE day >= ?`, []any{since.UTC().Format(time.DateOnly)}, &emails, &bytes)
	return emails, bytes, err
}

// ReceivedBytes returns the bytes that a team received since a day.
func (r *Reader) ReceivedBytes(teamID string, since time.Time) (n int64, err error) {
	err = r.Row(`SELECT COALESCE(SUM(bytes), 0) FROM received_days WHERE team_id = ? AND day >= ?`, []any{teamID, since.UTC().Format(time.DateOnly)}, &n)
	return n, err
}
