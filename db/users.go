package db

import (
	"database/sql"
	"time"

	"mailer/app"
)

// User is a person who can sign in.
type User struct {
	ID       string
	Address  string // lower case
	Name     string // empty: not given
	Password string // argon2id hash with parameters and salt; empty: none
	Language string // of the dashboard; empty: as the browser
	Theme    string // light or dark; empty: as the system
	Operator bool   // administers the server and all teams
	// OnlyTeam is the team whose invitation created the account. The person can join no other
	// team until the address is proven; empty: proven.
	OnlyTeam  string
	CreatedAt time.Time
}

// Membership is a person's membership in a team.
type Membership struct {
	UserID       string
	TeamID       string
	TeamName     string
	Role         app.Role
	SecondFactor bool      // the team requires one
	RoleSince    time.Time // when the role changed: older sessions have no access to the team; zero: never
	CreatedAt    time.Time
}

const userColumns = `u.id, u.address, u.name, u.password, u.language, u.theme, u.operator, u.only_team, u.created_at`

func scanUser(s scanner) (u User, err error) {
	var password, language, theme, only sql.NullString
	var created int64
	err = s.Scan(&u.ID, &u.Address, &u.Name, &password, &language, &theme, &u.Operator, &only, &created)
	u.OnlyTeam = only.String
	u.Password, u.Language, u.Theme, u.CreatedAt = password.String, language.String, theme.String, fromMilli(created)
	return u, err
}

// HasUsers reports whether there is any account.
func (r *Reader) HasUsers() (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM users)`, nil, &has)
	return has, err
}

// User returns the person with an id.
func (r *Reader) User(id string) (User, error) {
	return one(r, scanUser, `SELECT `+userColumns+` FROM users AS u WHERE u.id = ?`, id)
}

// UserByAddress returns the person with a lower-case address.
func (r *Reader) UserByAddress(address string) (User, error) {
	return one(r, scanUser, `SELECT `+userColumns+` FROM users AS u WHERE u.address = ?`, address)
}

// InsertUser adds a person. Error: ErrConflict if the address is taken.
func (tx *Tx) InsertUser(u *User) error {
	n, err := tx.Exec(`INSERT INTO users (id, address, name, password, language, theme, operator, only_team, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (address) DO NOTHING`,
		u.ID, u.Address, u.Name, nullText(u.Password), nullText(u.Language), nullText(u.Theme), u.Operator, nullText(u.OnlyTeam), milli(u.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// UpdateUser changes name, language and theme of a person.
func (tx *Tx) UpdateUser(u *User) error {
	return tx.WriteOne(`UPDATE users SET name = ?, language = ?, theme = ? WHERE id = ?`, u.Name, nullText(u.Language), nullText(u.Theme), u.ID)
}

// SetPassword replaces the hash of a person's password; empty removes the password.
func (tx *Tx) SetPassword(id, hash string) error {
	return tx.WriteOne(`UPDATE users SET password = ? WHERE id = ?`, nullText(hash), id)
}

// SetProven records that a person proved ownership of the account's address.
func (tx *Tx) SetProven(id string) error {
	return tx.WriteOne(`UPDATE users SET only_team = NULL WHERE id = ?`, id)
}

const (
	membershipColumns = `m.user_id, m.team_id, t.name, m.role, t.second_factor, m.role_since, m.created_at`
	membershipTables  = `memberships AS m JOIN teams AS t ON t.id = m.team_id`
)

func scanMembership(s scanner) (m Membership, err error) {
	var since sql.NullInt64
	var created int64
	err = s.Scan(&m.UserID, &m.TeamID, &m.TeamName, &m.Role, &m.SecondFactor, &since, &created)
	m.RoleSince, m.CreatedAt = fromMilli(since.Int64), fromMilli(created)
	return m, err
}

// maxMemberships is the most memberships of a person that are read.
const maxMemberships = 1000

// Memberships returns the memberships of a person, oldest team first.
func (r *Reader) Memberships(userID string) ([]Membership, error) {
	return list(r, scanMembership, `SELECT `+membershipColumns+` FROM `+membershipTables+`
		WHERE m.user_id = ? ORDER BY m.team_id LIMIT ?`, userID, maxMemberships)
}

// Membership returns the membership of a person in a team.
func (r *Reader) Membership(userID, teamID string) (Membership, error) {
	return one(r, scanMembership, `SELECT `+membershipColumns+` FROM `+membershipTables+` WHERE m.user_id = ? AND m.team_id = ?`, userID, teamID)
}

// OnlyMembership returns the membership of a person with exactly one. Error: ErrNotFound
// for none or several.
func (r *Reader) OnlyMembership(userID string) (Membership, error) {
	rows, err := list(r, scanMembership, `SELECT `+membershipColumns+` FROM `+membershipTables+` WHERE m.user_id = ? LIMIT 2`, userID)
	if err == nil && len(rows) != 1 {
		err = ErrNotFound
	}
	if err != nil {
		return Membership{}, err
	}
	return rows[0], nil
}

// InsertMembership adds a person to a team. Error: ErrConflict if the person is a member.
func (tx *Tx) InsertMembership(m *Membership) error {
	n, err := tx.Exec(`INSERT INTO memberships (user_id, team_id, role, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (user_id, team_id) DO NOTHING`,
		m.UserID, m.TeamID, string(m.Role), milli(m.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// Devices reports whether a person signed in before with the browser with that cookie
// hash, and with any other.
func (r *Reader) Devices(userID string, hash []byte) (known, others bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM devices WHERE user_id = ?1 AND hash = ?2), EXISTS (SELECT 1 FROM devices WHERE user_id = ?1)`,
		[]any{userID, hash}, &known, &others)
	return known, others, err
}

// KnowsDevice reports whether anybody signed in before with the browser with that cookie
// hash.
func (r *Reader) KnowsDevice(hash []byte) (known bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM devices WHERE hash = ?)`, []any{hash}, &known)
	return known, err
}

// maxDevices is the number of stored browsers of a person.
const maxDevices = 50

// PutDevice records that a person signed in with a browser. It deletes the person's least
// recently seen browser above maxDevices.
func (tx *Tx) PutDevice(userID string, hash []byte) error {
	err := tx.Write(`INSERT INTO devices (user_id, hash, seen_at) VALUES (?, ?, ?) ON CONFLICT (user_id, hash) DO UPDATE SET seen_at = excluded.seen_at`,
		userID, hash, milli(tx.Now))
	if err != nil {
		return err
	}
	err = tx.Write(`DELETE FROM devices WHERE user_id = ?1 AND hash IN
		(SELECT hash FROM devices WHERE user_id = ?1 ORDER BY seen_at DESC, hash DESC LIMIT 1000 OFFSET ?2)`, userID, maxDevices)
	return err
}

// ForgetDevices deletes the browsers of a person except exceptHash.
func (tx *Tx) ForgetDevices(userID string, exceptHash []byte) error {
	if exceptHash == nil {
		exceptHash = []byte{}
	}
	err := tx.Write(`DELETE FROM devices WHERE user_id = ? AND hash <> ?`, userID, exceptHash)
	return err
}

// InsertSignInCode stores the hash of a one-time sign-in code. An empty userID is the
// first run's code.
func (tx *Tx) InsertSignInCode(hash []byte, userID string, expires time.Time) error {
	err := tx.Write(`INSERT INTO sign_in_codes (hash, user_id, expires_at) VALUES (?, ?, ?)`, hash, nullText(userID), milli(expires))
	return err
}

// SignInCode returns the user id of an unexpired code, or "" for the first run's. Error:
// ErrNotFound.
func (r *Reader) SignInCode(hash []byte, now time.Time) (userID string, err error) {
	var id sql.NullString
	err = r.Row(`SELECT user_id FROM sign_in_codes WHERE hash = ? AND expires_at > ?`, []any{hash, milli(now)}, &id)
	return id.String, err
}

// UseSignInCode deletes a code.
func (tx *Tx) UseSignInCode(hash []byte) error {
	err := tx.Write(`DELETE FROM sign_in_codes WHERE hash = ?`, hash)
	return err
}

// DropSetupCodes deletes the first run's codes.
func (tx *Tx) DropSetupCodes() error {
	err := tx.Write(`DELETE FROM sign_in_codes WHERE user_id IS NULL`)
	return err
}

// DropSignInCodes deletes the sign-in codes of a person.
func (tx *Tx) DropSignInCodes(userID string) error {
	err := tx.Write(`DELETE FROM sign_in_codes WHERE user_id = ?`, userID)
	return err
}
