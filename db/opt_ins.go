package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mailer/app"
)

// OptInMail is the state of the confirmation of an opt-in.
type OptInMail string

// The states. Only due ones are sent.
const (
	OptInDue      OptInMail = "due"
	OptInHeld     OptInMail = "held" // by a restore
	OptInNotSent  OptInMail = "none"
	OptInMailSent OptInMail = "sent"
)

// OptIn is a stored opt-in with the state of its confirmation, which the team never sees.
type OptIn struct {
	app.SignUp
	Mail    OptInMail
	Range   string    // that requests share limits with; empty: none
	LinkID  string    // the opt-in of the same address whose link was sent before; empty: this one
	EmailID string    // of the confirmation; empty: not sent
	SentAt  time.Time // zero: not sent
}

const optInColumns = `o.id, o.team_id, o.form_id, o.form_version, o.address, o.email, o.status, o.mail, o.ip_range, o.request, o.link_id, o.email_id, o.sent_at, o.contact_id, o.requested_at, o.decided_at`

func scanOptIn(s scanner) (OptIn, error) {
	var o OptIn
	var request, link, email, contact sql.NullString
	var sent, decided sql.NullInt64
	var requested int64
	err := s.Scan(&o.ID, &o.TeamID, &o.FormID, &o.FormVersion, (*hashColumn)(&o.Hash), &o.Email, &o.Status, &o.Mail, &o.Range, &request, &link, &email, &sent, &contact, &requested, &decided)
	if err == nil {
		err = fromJSON(request, &o.Request)
	}
	o.LinkID, o.EmailID, o.ContactID = link.String, email.String, contact.String
	o.SentAt, o.RequestedAt, o.DecidedAt = fromMilli(sent.Int64), fromMilli(requested), fromMilli(decided.Int64)
	return o, err
}

func scanSignUp(s scanner) (app.SignUp, error) {
	o, err := scanOptIn(s)
	return o.SignUp, err
}

// InsertOptIn adds an opt-in.
func (tx *Tx) InsertOptIn(o *OptIn) error {
	request, err := jsonText(&o.Request)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO opt_ins (id, team_id, form_id, form_version, address, email, status, mail, ip_range, request, link_id, email_id, sent_at, contact_id, requested_at, decided_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, o.ID, o.TeamID, o.FormID, o.FormVersion, o.Hash[:], o.Email, string(o.Status), string(o.Mail), o.Range, request,
		nullText(o.LinkID), nullText(o.EmailID), nullTime(o.SentAt), nullText(o.ContactID), milli(o.RequestedAt), nullTime(o.DecidedAt))
	if err != nil {
		return fmt.Errorf("insert opt-in: %w", err)
	}
	return nil
}

// OptIn returns one opt-in of a team.
func (r *Reader) OptIn(teamID, id string) (OptIn, error) {
	return one(r, scanOptIn, `SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.id = ?`, teamID, id)
}

// PublicOptIn returns one opt-in of a team for its public pages. Those of a team that is being deleted are
// not found.
func (r *Reader) PublicOptIn(teamID, id string) (OptIn, error) {
	return one(r, scanOptIn, `SELECT `+optInColumns+` FROM opt_ins AS o JOIN teams AS t ON t.id = o.team_id WHERE o.team_id = ? AND o.id = ? AND t.deleted_at IS NULL`, teamID, id)
}

// ListOptIns returns a page of a team's opt-ins, newest first, and whether there are more. An empty
// status selects all. Error: ErrNotFound for a cursor that is not in that list.
func (r *Reader) ListOptIns(teamID string, status app.OptInStatus, page app.Page) ([]app.SignUp, bool, error) {
	exists := func(cursor string) error {
		o, err := r.OptIn(teamID, cursor)
		if err == nil && status != "" && o.Status != status {
			return ErrNotFound
		}
		return err
	}
	if status != "" {
		return listPage(r, page, exists, scanSignUp,
			`SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.status = ? AND o.id < ? ORDER BY o.id DESC LIMIT ?`,
			`SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.status = ? AND o.id > ? ORDER BY o.id LIMIT ?`, teamID, string(status))
	}
	return listPage(r, page, exists, scanSignUp,
		`SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.id < ? ORDER BY o.id DESC LIMIT ?`,
		`SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.id > ? ORDER BY o.id LIMIT ?`, teamID)
}

// OptInsAfter returns at most limit opt-ins of a team after an id, in id order.
func (r *Reader) OptInsAfter(teamID, after string, limit int) ([]OptIn, error) {
	return list(r, scanOptIn, `SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.id > ? ORDER BY o.id LIMIT ?`, teamID, after, limit)
}

// PendingOptIns returns the pending opt-ins of an address among its newest opt-ins of a team, newest
// first, at most limit.
func (r *Reader) PendingOptIns(teamID string, address app.AddressHash, limit int) ([]OptIn, error) {
	rows, err := list(r, scanOptIn, `SELECT `+optInColumns+` FROM opt_ins AS o WHERE o.team_id = ? AND o.address = ? ORDER BY o.id DESC LIMIT ?`, teamID, address[:], limit)
	pending := rows[:0]
	for i := range rows {
		if rows[i].Status == app.OptInPending {
			pending = append(pending, rows[i])
		}
	}
	return pending, err
}

// CountDueOfRange returns how many confirmations of a form to a range of addresses are due, at most
// limit.
func (r *Reader) CountDueOfRange(teamID, formID, ipRange string, limit int) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM opt_ins WHERE team_id = ? AND form_id = ? AND ip_range = ? AND mail = 'due' LIMIT ?) AS rows_due`, []any{teamID, formID, ipRange, limit}, &n)
	return n, err
}

// CountDue returns how many confirmations of a form are due, at most limit.
func (r *Reader) CountDue(teamID, formID string, limit int) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM opt_ins WHERE team_id = ? AND form_id = ? AND mail = 'due' LIMIT ?) AS rows_due`, []any{teamID, formID, limit}, &n)
	return n, err
}

// DueForm names a form with due confirmations. FormID is empty for opt-ins that were asked for by API.
type DueForm struct{ TeamID, FormID string }

// NextDueForm returns the first form after another with due confirmations, in the order of teams and
// forms. Error: ErrNotFound.
func (r *Reader) NextDueForm(after DueForm) (f DueForm, err error) {
	err = r.Row(`SELECT team_id, form_id FROM opt_ins WHERE mail = 'due' AND team_id = ? AND form_id > ? ORDER BY form_id LIMIT 1`, []any{after.TeamID, after.FormID}, &f.TeamID, &f.FormID)
	if errors.Is(err, ErrNotFound) {
		err = r.Row(`SELECT team_id, form_id FROM opt_ins WHERE mail = 'due' AND team_id > ? ORDER BY team_id, form_id LIMIT 1`, []any{after.TeamID}, &f.TeamID, &f.FormID)
	}
	return f, err
}

// DueRange is a range of addresses with due confirmations of a form.
type DueRange struct {
	Sent   int    // confirmations of the form to the range since a time
	Due    int    // due confirmations
	Oldest string // id of the oldest opt-in of them
}

func scanDueRange(s scanner) (d DueRange, err error) {
	err = s.Scan(&d.Oldest, &d.Due, &d.Sent)
	return d, err
}

// DueRanges returns at most limit ranges with due confirmations of a form: those to which the fewest
// confirmations were sent since a time, then those with the fewest due ones, then the oldest.
func (r *Reader) DueRanges(teamID, formID string, since time.Time, limit int) ([]DueRange, error) {
	return list(r, scanDueRange, `SELECT min(d.id), count(*), (SELECT count(*) FROM confirmations AS c WHERE c.form_id = ?2 AND c.sent_at > ?3 AND c.ip_range = d.ip_range) AS sent
		FROM opt_ins AS d WHERE d.team_id = ?1 AND d.form_id = ?2 AND d.mail = 'due' AND d.ip_range > '' GROUP BY d.ip_range ORDER BY 3, 2, 1 LIMIT ?4`, teamID, formID, milli(since), limit)
}

// DueWithoutRange returns the ids of the oldest due confirmations of a form whose requests share limits
// with no others, at most limit.
func (r *Reader) DueWithoutRange(teamID, formID string, limit int) ([]string, error) {
	return list(r, scanText, `SELECT id FROM opt_ins WHERE team_id = ? AND form_id = ? AND ip_range = '' AND mail = 'due' ORDER BY id LIMIT ?`, teamID, formID, limit)
}

// SetOptInNotSent records that the confirmation of an opt-in is not sent. linkID is the opt-in whose link
// was sent before; empty: none. An opt-in that is not due is not changed.
func (tx *Tx) SetOptInNotSent(teamID, id, linkID string) error {
	return tx.Write(`UPDATE opt_ins SET mail = 'none', link_id = ? WHERE team_id = ? AND id = ? AND mail = 'due'`, nullText(linkID), teamID, id)
}

// SetOptInSent records the confirmation of an opt-in. Error: ErrNotFound if none is due.
func (tx *Tx) SetOptInSent(teamID, id, emailID string) error {
	return tx.WriteOne(`UPDATE opt_ins SET mail = 'sent', email_id = ?, sent_at = ? WHERE team_id = ? AND id = ? AND mail = 'due'`, emailID, milli(tx.Now), teamID, id)
}

// DecideOptIn ends a pending opt-in. contactID is empty unless it is confirmed. Error: ErrNotFound if it
// is not pending.
func (tx *Tx) DecideOptIn(teamID, id string, status app.OptInStatus, contactID string) error {
	return tx.WriteOne(`UPDATE opt_ins SET status = ?, contact_id = ?, decided_at = ?, mail = CASE WHEN mail IN ('due', 'held') THEN 'none' ELSE mail END WHERE team_id = ? AND id = ? AND status = 'pending'`,
		string(status), nullText(contactID), milli(tx.Now), teamID, id)
}

// ExpireOptIns ends at most limit opt-ins that were asked for before waiting and whose confirmation is
// still due, or before pending and that nobody decided. It returns how many.
func (tx *Tx) ExpireOptIns(waiting, pending time.Time, limit int) (int, error) {
	n, err := tx.Exec(`UPDATE opt_ins SET status = 'expired', mail = 'none', decided_at = ? WHERE id IN (SELECT id FROM opt_ins WHERE mail = 'due' AND requested_at < ? LIMIT ?)`, milli(tx.Now), milli(waiting), limit)
	if err != nil {
		return 0, fmt.Errorf("expire waiting opt-ins: %w", err)
	}
	more, err := tx.Exec(`UPDATE opt_ins SET status = 'expired', mail = CASE WHEN mail IN ('due', 'held') THEN 'none' ELSE mail END, decided_at = ?
		WHERE id IN (SELECT id FROM opt_ins WHERE status = 'pending' AND requested_at < ? LIMIT ?)`, milli(tx.Now), milli(pending), limit)
	if err != nil {
		return 0, fmt.Errorf("expire opt-ins: %w", err)
	}
	return int(max(n, more)), nil
}

// PurgeOptIns deletes at most limit opt-ins that were asked for before a time and are not confirmed, and
// the request of those that are. It returns how many.
func (tx *Tx) PurgeOptIns(before time.Time, limit int) (int, error) {
	ids, err := list(&tx.Reader, scanText, `SELECT id FROM opt_ins WHERE request <> '{}' AND requested_at < ? ORDER BY requested_at LIMIT ?`, milli(before), limit)
	if err != nil {
		return 0, fmt.Errorf("read old opt-ins: %w", err)
	}
	for _, id := range ids {
		if err := tx.Write(`DELETE FROM opt_ins WHERE id = ? AND status <> 'confirmed'`, id); err != nil {
			return 0, fmt.Errorf("delete an opt-in: %w", err)
		}
		if err := tx.Write(`UPDATE opt_ins SET request = '{}' WHERE id = ?`, id); err != nil {
			return 0, fmt.Errorf("delete the request of an opt-in: %w", err)
		}
	}
	return len(ids), nil
}

// Confirmation is a confirmation of the last 30 days.
type Confirmation struct {
	TeamID  string
	SentAt  time.Time
	Settled bool // a later decision of the person took it off the count of the team
}

func scanConfirmation(s scanner) (c Confirmation, err error) {
	var sent, settled int64
	err = s.Scan(&c.TeamID, &sent, &settled)
	c.SentAt, c.Settled = fromMilli(sent), settled == 1
	return c, err
}

// Confirmations returns the confirmations to a person of all teams since a time, newest first, at most
// limit. person is the keyed hash of the address that is the same for all teams.
func (r *Reader) Confirmations(person []byte, since time.Time, limit int) ([]Confirmation, error) {
	return list(r, scanConfirmation, `SELECT team_id, sent_at, settled FROM confirmations WHERE person = ? AND sent_at > ? ORDER BY sent_at DESC, opt_in_id DESC LIMIT ?`, person, milli(since), limit)
}

// FormConfirmations returns when the newest confirmations of a form were sent since a time, newest first,
// at most limit.
func (r *Reader) FormConfirmations(formID string, since time.Time, limit int) ([]time.Time, error) {
	return list(r, func(s scanner) (time.Time, error) {
		var sent int64
		err := s.Scan(&sent)
		return fromMilli(sent), err
	}, `SELECT sent_at FROM confirmations WHERE form_id = ? AND sent_at > ? ORDER BY sent_at DESC LIMIT ?`, formID, milli(since), limit)
}

// InsertConfirmation counts the confirmation of an opt-in for the limits.
func (tx *Tx) InsertConfirmation(person []byte, o *OptIn) error {
	err := tx.Write(`INSERT INTO confirmations (person, team_id, form_id, ip_range, sent_at, opt_in_id) VALUES (?, ?, ?, ?, ?, ?)`, person, o.TeamID, o.FormID, o.Range, milli(tx.Now), o.ID)
	if err != nil {
		return fmt.Errorf("insert confirmation: %w", err)
	}
	return nil
}

// SettleConfirmations takes the confirmations of a team to a person off the count of the team.
func (tx *Tx) SettleConfirmations(person []byte, teamID string) error {
	return tx.Write(`UPDATE confirmations SET settled = 1 WHERE person = ? AND team_id = ? AND settled = 0`, person, teamID)
}

// PurgeConfirmations deletes at most limit confirmations that were sent before a time, as many refusals
// that are over, and as many used proofs that are void. It returns the largest of the numbers.
func (tx *Tx) PurgeConfirmations(before time.Time, limit int) (int, error) {
	sent, err := tx.Exec(`DELETE FROM confirmations WHERE (person, sent_at, opt_in_id) IN (SELECT person, sent_at, opt_in_id FROM confirmations WHERE sent_at < ? LIMIT ?)`, milli(before), limit)
	if err != nil {
		return 0, fmt.Errorf("purge confirmations: %w", err)
	}
	refused, err := tx.Exec(`DELETE FROM refusals WHERE (team_id, address) IN (SELECT team_id, address FROM refusals WHERE until < ? LIMIT ?)`, milli(tx.Now), limit)
	if err != nil {
		return 0, fmt.Errorf("purge refusals: %w", err)
	}
	used, err := tx.Exec(`DELETE FROM used_proofs WHERE id IN (SELECT id FROM used_proofs WHERE until < ? LIMIT ?)`, milli(tx.Now), limit)
	if err != nil {
		return 0, fmt.Errorf("purge used proofs: %w", err)
	}
	return int(max(sent, refused, used)), nil
}

// IsRefused reports whether an address refused the opt-ins of a team, and the refusal is not over.
func (r *Reader) IsRefused(teamID string, address app.AddressHash, now time.Time) (bool, error) {
	err := r.Exists(`SELECT 1 FROM refusals WHERE team_id = ? AND address = ? AND until > ?`, teamID, address[:], milli(now))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InsertRefusal records that an address refuses the opt-ins of a team until a time.
func (tx *Tx) InsertRefusal(teamID string, address app.AddressHash, until time.Time) error {
	return tx.Write(`INSERT INTO refusals (team_id, address, until) VALUES (?, ?, ?) ON CONFLICT (team_id, address) DO UPDATE SET until = excluded.until`, teamID, address[:], milli(until))
}

// DeleteRefusal forgets that an address refused the opt-ins of a team.
func (tx *Tx) DeleteRefusal(teamID string, address app.AddressHash) error {
	return tx.Write(`DELETE FROM refusals WHERE team_id = ? AND address = ?`, teamID, address[:])
}

// UseProof records that a proof or button was used, and reports whether that is the first time. It is
// void after until.
func (tx *Tx) UseProof(id [16]byte, until time.Time) (first bool, err error) {
	n, err := tx.Exec(`INSERT INTO used_proofs (id, until) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, id[:], milli(until))
	if err != nil {
		return false, fmt.Errorf("use a proof: %w", err)
	}
	return n == 1, nil
}

// RefuseOptIn records that a person refused an opt-in, which is pending or expired. Error: ErrNotFound.
func (tx *Tx) RefuseOptIn(teamID, id string) error {
	return tx.WriteOne(`UPDATE opt_ins SET status = 'refused', decided_at = ?, mail = CASE WHEN mail IN ('due', 'held') THEN 'none' ELSE mail END WHERE team_id = ? AND id = ? AND status IN ('pending', 'expired')`,
		milli(tx.Now), teamID, id)
}

// maxSignUpRanges bounds the opt-ins that SignUpRanges looks at.
const maxSignUpRanges = 100

// SignUpRanges returns how many of the newest opt-ins of forms since a time there are, and how many of them
// came from private addresses. It looks at a bounded number.
func (r *Reader) SignUpRanges(since time.Time) (all, private int, err error) {
	err = r.Row(`SELECT count(*), coalesce(sum(CASE WHEN ip_range = '' THEN 1 ELSE 0 END), 0) FROM (SELECT ip_range FROM opt_ins
		WHERE request <> '{}' AND requested_at > ? AND form_id > '' ORDER BY requested_at DESC LIMIT ?) AS newest`, []any{milli(since), maxSignUpRanges}, &all, &private)
	return all, private, err
}
