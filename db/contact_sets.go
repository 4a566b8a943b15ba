package db

import (
	"fmt"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

// Batches of contacts and their data, for imports: a separate statement for each row costs
// twice as much as the row.

const (
	setRows = 20 // rows of one INSERT
	setKeys = 50 // addresses or ids of one SELECT

	fiveKeys      = `?, ?, ?, ?, ?`
	keyParameters = fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys + `, ` + fiveKeys

	keyRow   = `(CAST(? AS BLOB))`
	fiveRows = keyRow + `, ` + keyRow + `, ` + keyRow + `, ` + keyRow + `, ` + keyRow
	keyRows  = fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows + `, ` + fiveRows

	contactInserted = `team_id, id, address, email, first_name, last_name, unsubscribed, properties, created_at, updated_at, last_sent_at, last_opened_at, last_clicked_at, last_replied_at`
	contactRow      = `(?, ?, ?, ?, ?, ?, ?, jsonb(?), ?, ?, ?, ?, ?, ?)`
	contactArgs     = 14
	contactRows5    = contactRow + `, ` + contactRow + `, ` + contactRow + `, ` + contactRow + `, ` + contactRow
	contactRows     = contactRows5 + `, ` + contactRows5 + `, ` + contactRows5 + `, ` + contactRows5

	memberRow   = `(?, ?)`
	memberRows5 = memberRow + `, ` + memberRow + `, ` + memberRow + `, ` + memberRow + `, ` + memberRow
	memberRows  = memberRows5 + `, ` + memberRows5 + `, ` + memberRows5 + `, ` + memberRows5

	choiceRow   = `(?, ?, ?, ?)`
	choiceRows5 = choiceRow + `, ` + choiceRow + `, ` + choiceRow + `, ` + choiceRow + `, ` + choiceRow
	choiceRows  = choiceRows5 + `, ` + choiceRows5 + `, ` + choiceRows5 + `, ` + choiceRows5

	suppressionRow   = `(?, ?, ?, ?, ?, ?, ?)`
	suppressionRows5 = suppressionRow + `, ` + suppressionRow + `, ` + suppressionRow + `, ` + suppressionRow + `, ` + suppressionRow
	suppressionRows  = suppressionRows5 + `, ` + suppressionRows5 + `, ` + suppressionRows5 + `, ` + suppressionRows5
)

// inSets calls query with ranges of at most setKeys of n.
func inSets(n int, query func(from, to int) error) error {
	for from := 0; from < n; from += setKeys {
		if err := query(from, min(n, from+setKeys)); err != nil {
			return err
		}
	}
	return nil
}

// ContactsByAddresses returns a team's contacts with the given addresses.
func (r *Reader) ContactsByAddresses(teamID string, addresses []app.AddressHash) (all []app.Contact, err error) {
	err = inSets(len(addresses), func(from, to int) error {
		// with IN the planner would scan all contacts of the team
		rows, err := list(r, scanContact, `WITH a (address) AS (VALUES `+keyRows+`)
			SELECT `+contactColumns+` FROM a CROSS JOIN contacts AS c ON c.team_id = ? AND c.address = a.address`,
			keysFirst(teamID, addresses[from:to])...)
		all = append(all, rows...)
		return err
	})
	return all, err
}

// SuppressionsAmong returns hash, origin and time of a team's suppressions of the given
// addresses, with one query for each setKeys addresses.
func (r *Reader) SuppressionsAmong(teamID string, addresses []app.AddressHash) (all []app.Suppression, err error) {
	err = inSets(len(addresses), func(from, to int) error {
		rows, err := list(r, scanBlock, `SELECT address, origin, created_at FROM suppressions WHERE team_id = ? AND address IN (`+keyParameters+`)`,
			padded(teamID, addresses[from:to], setKeys)...)
		all = append(all, rows...)
		return err
	})
	return all, err
}

// keysFirst returns the arguments of a query: addresses, padded with empty ones that no
// contact has, then the team.
func keysFirst(teamID string, addresses []app.AddressHash) []any {
	args := make([]any, 0, 1+setKeys)
	for i := range setKeys {
		if i < len(addresses) {
			args = append(args, addresses[i][:])
		} else {
			args = append(args, []byte{})
		}
	}
	return append(args, teamID)
}

// paddedIDs is padded for ids.
func paddedIDs(teamID string, ids []string) []any {
	args := make([]any, 1, 1+setKeys)
	args[0] = teamID
	for i := range setKeys {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return args
}

// ContactIDsTaken returns the given ids that contacts of a team already have.
func (r *Reader) ContactIDsTaken(teamID string, ids []string) (taken []string, err error) {
	err = inSets(len(ids), func(from, to int) error {
		rows, err := list(r, scanText, `SELECT id FROM contacts WHERE team_id = ? AND id IN (`+keyParameters+`)`, paddedIDs(teamID, ids[from:to])...)
		taken = append(taken, rows...)
		return err
	})
	return taken, err
}

// SuppressionIDsTaken returns the given ids that suppressions of any team already have.
func (r *Reader) SuppressionIDsTaken(ids []string) (taken []string, err error) {
	err = inSets(len(ids), func(from, to int) error {
		rows, err := list(r, scanText, `SELECT id FROM suppressions WHERE id IN (`+keyParameters+`)`, paddedIDs("", ids[from:to])[1:]...)
		taken = append(taken, rows...)
		return err
	})
	return taken, err
}

// InsertContacts is InsertContact for several new contacts of one team.
func (tx *Tx) InsertContacts(contacts []*app.Contact) error {
	tx.Changed(engine.Suppressions)
	args := make([]any, 0, contactArgs*setRows)
	for i, c := range contacts {
		tx.ChangedCounts(c.TeamID)
		properties, err := writeProperties(c.Properties)
		if err != nil {
			return err
		}
		args = append(args, insertedContact(c, properties)...)
		if (i+1)%setRows == 0 {
			if err := tx.Write(`INSERT INTO contacts (`+contactInserted+`) VALUES `+contactRows, args...); err != nil {
				return fmt.Errorf("insert contacts: %w", err)
			}
			args = args[:0]
		}
	}
	for ; len(args) > 0; args = args[contactArgs:] {
		if err := tx.Write(`INSERT INTO contacts (`+contactInserted+`) VALUES `+contactRow, args[:contactArgs]...); err != nil {
			return fmt.Errorf("insert contact: %w", err)
		}
	}
	return nil
}

// insertedContact returns the values of contactInserted.
func insertedContact(c *app.Contact, properties any) []any {
	return []any{c.TeamID, c.ID, c.Hash[:], c.Email, nullText(c.FirstName), nullText(c.LastName), c.Unsubscribed, properties,
		milli(c.CreatedAt), milli(c.UpdatedAt), nullTime(c.LastSentAt), nullTime(c.LastOpenedAt), nullTime(c.LastClickedAt), nullTime(c.LastRepliedAt)}
}

// SegmentMember is a contact that was added to a segment explicitly.
type SegmentMember struct{ SegmentID, ContactID string }

// AddMembers adds contacts to segments and returns the new members.
func (tx *Tx) AddMembers(members []SegmentMember) (added []SegmentMember, err error) {
	args := make([]any, 0, 2*setRows)
	note := func(rows []SegmentMember, err error) error {
		added = append(added, rows...)
		if err != nil {
			return fmt.Errorf("insert members: %w", err)
		}
		return nil
	}
	for i, m := range members {
		tx.ChangedCounts(m.SegmentID)
		args = append(args, m.SegmentID, m.ContactID)
		if (i+1)%setRows == 0 {
			if err := note(list(&tx.Reader, scanSegmentMember, `INSERT INTO members (segment_id, contact_id) VALUES `+memberRows+` ON CONFLICT DO NOTHING RETURNING segment_id, contact_id`, args...)); err != nil {
				return nil, err
			}
			args = args[:0]
		}
	}
	for ; len(args) > 0; args = args[2:] {
		if err := note(list(&tx.Reader, scanSegmentMember, `INSERT INTO members (segment_id, contact_id) VALUES `+memberRow+` ON CONFLICT DO NOTHING RETURNING segment_id, contact_id`, args[:2]...)); err != nil {
			return nil, err
		}
	}
	return added, nil
}

func scanSegmentMember(s scanner) (m SegmentMember, err error) {
	err = s.Scan(&m.SegmentID, &m.ContactID)
	return m, err
}

// Choice is the subscription of an address to a topic.
type Choice struct {
	TopicID      string
	Address      app.AddressHash
	Subscription app.Subscription
	At           time.Time
}

// ChoicesAmong returns the choices of addresses about a topic.
func (r *Reader) ChoicesAmong(topicID string, addresses []app.AddressHash) (all []Choice, err error) {
	err = inSets(len(addresses), func(from, to int) error {
		rows, err := list(r, func(s scanner) (Choice, error) {
			c := Choice{TopicID: topicID}
			var at int64
			err := s.Scan((*hashColumn)(&c.Address), &c.Subscription, &at)
			c.At = fromMilli(at)
			return c, err
		}, `SELECT address, subscription, chosen_at FROM choices WHERE topic_id = ? AND address IN (`+keyParameters+`)`, padded(topicID, addresses[from:to], setKeys)...)
		all = append(all, rows...)
		return err
	})
	return all, err
}

// SetChoices is SetChoice for several choices with distinct addresses or topics.
func (tx *Tx) SetChoices(choices []Choice) error {
	tx.Changed(engine.Suppressions)
	args := make([]any, 0, 4*setRows)
	for i := range choices {
		c := &choices[i]
		args = append(args, c.TopicID, c.Address[:], string(c.Subscription), milli(c.At))
		if (i+1)%setRows == 0 {
			if err := tx.Write(`INSERT INTO choices (topic_id, address, subscription, chosen_at) VALUES `+choiceRows+` ON CONFLICT (topic_id, address)
				DO UPDATE SET subscription = excluded.subscription, chosen_at = excluded.chosen_at WHERE choices.subscription <> excluded.subscription`, args...); err != nil {
				return fmt.Errorf("set choices: %w", err)
			}
			args = args[:0]
		}
	}
	for ; len(args) > 0; args = args[4:] {
		if err := tx.Write(`INSERT INTO choices (topic_id, address, subscription, chosen_at) VALUES `+choiceRow+` ON CONFLICT (topic_id, address)
			DO UPDATE SET subscription = excluded.subscription, chosen_at = excluded.chosen_at WHERE choices.subscription <> excluded.subscription`, args[:4]...); err != nil {
			return fmt.Errorf("set choice: %w", err)
		}
	}
	for i := range choices {
		if c := &choices[i]; c.Subscription == app.OptOut {
			if err := tx.optOutFormer(c.TopicID, c.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

// AddSuppressions is AddSuppression for several suppressions. It returns the ids of those
// that are new or listed again.
func (tx *Tx) AddSuppressions(all []app.Suppression) (ids []string, err error) {
	tx.Changed(engine.Suppressions)
	args := make([]any, 0, 7*setRows)
	note := func(rows []app.Suppression, err error) error {
		for i := range rows {
			ids = append(ids, rows[i].ID)
			tx.countListed(&rows[i], 1)
		}
		if err != nil {
			return fmt.Errorf("insert suppressions: %w", err)
		}
		return nil
	}
	scan := func(s scanner) (v app.Suppression, err error) {
		err = s.Scan(&v.ID, &v.TeamID, &v.Email)
		return v, err
	}
	for i := range all {
		s := &all[i]
		args = append(args, s.ID, s.TeamID, nullText(s.Email), s.Hash[:], string(s.Origin), nullText(s.SourceID), milli(s.CreatedAt))
		if (i+1)%setRows == 0 {
			if err := note(list(&tx.Reader, scan, `INSERT INTO suppressions (id, team_id, email, address, origin, source_id, created_at) VALUES `+suppressionRows+`
				ON CONFLICT (team_id, address) DO UPDATE SET email = excluded.email WHERE suppressions.email IS NULL RETURNING id, team_id, coalesce(email, '')`, args...)); err != nil {
				return nil, err
			}
			args = args[:0]
		}
	}
	for ; len(args) > 0; args = args[7:] {
		if err := note(list(&tx.Reader, scan, `INSERT INTO suppressions (id, team_id, email, address, origin, source_id, created_at) VALUES `+suppressionRow+`
			ON CONFLICT (team_id, address) DO UPDATE SET email = excluded.email WHERE suppressions.email IS NULL RETURNING id, team_id, coalesce(email, '')`, args[:7]...)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// UnsubscribeAmong marks a team's contacts with the given addresses as unsubscribed and
// returns how many changed.
func (tx *Tx) UnsubscribeAmong(teamID string, addresses []app.AddressHash) (n int64, err error) {
	tx.Changed(engine.Suppressions)
	for _, address := range addresses {
		changed, err := tx.Exec(`UPDATE contacts SET unsubscribed = 1, updated_at = ? WHERE team_id = ? AND address = ? AND unsubscribed = 0`, milli(tx.Now), teamID, address[:])
		if err != nil {
			return n, fmt.Errorf("unsubscribe a contact: %w", err)
		}
		n += changed
	}
	if n > 0 {
		tx.ChangedCounts(teamID)
	}
	return n, nil
}
