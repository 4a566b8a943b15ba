package db

import (
	"database/sql"
	"time"

	"mailer/app"
)

// Member is a person as the other members of a team see them.
type Member struct {
	ID       string
	Address  string
	Name     string // empty: not given
	Operator bool
	Role     app.Role // empty: not a member of the team in question
	Factor   bool     // has a second factor
	SeenAt   time.Time
	JoinedAt time.Time
}

const (
	memberColumns = `u.id, u.address, u.name, u.operator,
		EXISTS (SELECT 1 FROM totp AS o WHERE o.user_id = u.id AND o.confirmed_at IS NOT NULL) OR EXISTS (SELECT 1 FROM passkeys AS p WHERE p.user_id = u.id),
		(SELECT max(s.seen_at) FROM sessions AS s WHERE s.user_id = u.id AND s.half = 0), (SELECT max(d.seen_at) FROM devices AS d WHERE d.user_id = u.id)`
	memberTables = `memberships AS m JOIN users AS u ON u.id = m.user_id`
)

func scanMember(s scanner) (m Member, err error) {
	var session, device sql.NullInt64
	var joined int64
	err = s.Scan(&m.ID, &m.Address, &m.Name, &m.Operator, &m.Factor, &session, &device, &m.Role, &joined)
	m.SeenAt, m.JoinedAt = fromMilli(max(session.Int64, device.Int64)), fromMilli(joined)
	return m, err
}

// Member returns one person of a team.
func (r *Reader) Member(teamID, userID string) (Member, error) {
	return one(r, scanMember, `SELECT `+memberColumns+`, m.role, m.created_at FROM `+memberTables+` WHERE m.team_id = ? AND m.user_id = ?`, teamID, userID)
}

// Members returns a page of the members of a team, newest account first, and whether there
// are more. Error: ErrNotFound for an unknown cursor.
func (r *Reader) Members(teamID string, page app.Page) ([]Member, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Member(teamID, cursor)) }, scanMember,
		`SELECT `+memberColumns+`, m.role, m.created_at FROM `+memberTables+` WHERE m.team_id = ? AND m.user_id < ? ORDER BY m.user_id DESC LIMIT ?`,
		`SELECT `+memberColumns+`, m.role, m.created_at FROM `+memberTables+` WHERE m.team_id = ? AND m.user_id > ? ORDER BY m.user_id LIMIT ?`, teamID)
}

// Accounts returns the next limit people of the server after an id, oldest account first.
func (r *Reader) Accounts(after string, limit int) ([]Member, error) {
	return list(r, scanMember, `SELECT `+memberColumns+`, '', u.created_at FROM users AS u WHERE u.id > ? ORDER BY u.id LIMIT ?`, after, limit)
}

// ListAccounts returns a page of the people of the server, newest account first. Error:
// ErrNotFound for an unknown cursor.
func (r *Reader) ListAccounts(page app.Page) ([]Member, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.User(cursor)) }, scanMember,
		`SELECT `+memberColumns+`, '', u.created_at FROM users AS u WHERE u.id < ? ORDER BY u.id DESC LIMIT ?`,
		`SELECT `+memberColumns+`, '', u.created_at FROM users AS u WHERE u.id > ? ORDER BY u.id LIMIT ?`)
}

// Person returns one person of the server. Error: ErrNotFound.
func (r *Reader) Person(id string) (Member, error) {
	return one(r, scanMember, `SELECT `+memberColumns+`, '', u.created_at FROM users AS u WHERE u.id = ?`, id)
}

// SetOperator makes a person an operator or revokes it.
func (tx *Tx) SetOperator(id string, operator bool) error {
	return tx.WriteOne(`UPDATE users SET operator = ? WHERE id = ?`, operator, id)
}

// SetRole changes a person's role in a team, which ends the person's sessions in the team.
func (tx *Tx) SetRole(teamID, userID string, role app.Role) error {
	return tx.WriteOne(`UPDATE memberships SET role = ?, role_since = ? WHERE user_id = ? AND team_id = ?`, string(role), milli(tx.Now), userID, teamID)
}

// DeleteMembership removes a person from a team.
func (tx *Tx) DeleteMembership(teamID, userID string) error {
	return tx.WriteOne(`DELETE FROM memberships WHERE user_id = ? AND team_id = ?`, userID, teamID)
}

// DeleteUser deletes a person and all dependent rows; memberships are deleted before.
func (tx *Tx) DeleteUser(id string) error {
	return tx.WriteOne(`DELETE FROM users WHERE id = ?`, id)
}

// OtherOwner reports whether a team has an owner other than a person.
func (r *Reader) OtherOwner(teamID, userID string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM memberships WHERE team_id = ? AND role = 'owner' AND user_id <> ?)`, []any{teamID, userID}, &has)
	return has, err
}

// OtherOperator reports whether there is an operator other than a person.
func (r *Reader) OtherOperator(userID string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM users WHERE operator = 1 AND id > '' AND id <> ?)`, []any{userID}, &has)
	return has, err
}

// DropFactors deletes all second factors and recovery codes of a person.
func (tx *Tx) DropFactors(userID string) (n int64, err error) {
	for _, statement := range []string{
		`DELETE FROM totp WHERE user_id = ?`, `DELETE FROM passkeys WHERE user_id = ?`, `DELETE FROM recovery_codes WHERE user_id = ?`,
	} {
		deleted, err := tx.Exec(statement, userID)
		if err != nil {
			return n, err
		}
		n += deleted
	}
	return n, nil
}
