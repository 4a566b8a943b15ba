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
	Name     string // empty: not said
	Password string // argon2id with its parameters and salt; empty: none
	Language string // of the dashboard; empty: the browser's
	Theme    string // light or dark; empty: the system's
	Operator bool   // stands above teams
	// OnlyTeam is the one team that the person may belong to, whose invitation made the
	// account, as long as nobody proved to have the address; empty: proven.
	OnlyTeam  string
	CreatedAt time.Time
}

// Membership is what a person is in a team.
type Membership struct {
	UserID       string
	TeamID       string
	TeamName     string
	Role         app.Role
	SecondFactor bool      // the team demands one
	RoleSince    time.Time // when the role was changed: sessions from before are none in the team; zero: never
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

// HasUsers reports whether anybody has an account.
func (r *Reader) HasUsers() (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM users)`, nil, &has)
	return has, err
}

// User returns the person with that id.
func (r *Reader) User(id string) (User, error) {
	return one(r, scanUser, `SELECT `+userColumns+` FROM users AS u WHERE u.id = ?`, id)
}

// UserByAddress returns the person with that address, which is in lower case.
func (r *Reader) UserByAddress(address string) (User, error) {
	return one(r, scanUser, `SELECT `+userColumns+` FROM users AS u WHERE u.address = ?`, address)
}

// InsertUser adds a person. Error: ErrConflict for an address that somebody has.
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

// SetPassword replaces the hash of a person's password; empty: there is none any more.
func (tx *Tx) SetPassword(id, hash string) error {
	return tx.WriteOne(`UPDATE users SET password = ? WHERE id = ?`, nullText(hash), id)
}

// SetProven notes that a person proved to have the address of the account.
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

// maxMemberships is how many teams of a person are read at once.
const maxMemberships = 1000

// Memberships returns the teams of a person, oldest first.
func (r *Reader) Memberships(userID string) ([]Membership, error) {
	return list(r, scanMembership, `SELECT `+membershipColumns+` FROM `+membershipTables+`
		WHERE m.user_id = ? ORDER BY m.team_id LIMIT ?`, userID, maxMemberships)
}

// Membership returns what a person is in a team.
func (r *Reader) Membership(userID, teamID string) (Membership, error) {
	return one(r, scanMembership, `SELECT `+membershipColumns+` FROM `+membershipTables+` WHERE m.user_id = ? AND m.team_id = ?`, userID, teamID)
}

// OnlyMembership returns the membership of a person who has one alone. Error: ErrNotFound
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

// InsertMembership has a person belong to a team. Error: ErrConflict where he does
// already.
func (tx *Tx) InsertMembership(m *Membership) error {
	n, err := tx.Exec(`INSERT INTO memberships (user_id, team_id, role, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (user_id, team_id) DO NOTHING`,
		m.UserID, m.TeamID, string(m.Role), milli(m.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// Devices reports whether a person signed in with the browser whose cookie has that hash,
// and with any.
func (r *Reader) Devices(userID string, hash []byte) (known, others bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM devices WHERE user_id = ?1 AND hash = ?2), EXISTS (SELECT 1 FROM devices WHERE user_id = ?1)`,
		[]any{userID, hash}, &known, &others)
	return known, others, err
}

// KnowsDevice reports whether anybody signed in with the browser whose cookie has that
// hash.
func (r *Reader) KnowsDevice(hash []byte) (known bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM devices WHERE hash = ?)`, []any{hash}, &known)
	return known, err
}

// maxDevices is how many browsers of a person are known.
const maxDevices = 50

// PutDevice notes that a person signed in with a browser. Of more than maxDevices of a
// person the one that was seen longest ago goes.
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

// ForgetDevices forgets the browsers of a person but one.
func (tx *Tx) ForgetDevices(userID string, exceptHash []byte) error {
	if exceptHash == nil {
		exceptHash = []byte{}
	}
	err := tx.Write(`DELETE FROM devices WHERE user_id = ? AND hash <> ?`, userID, exceptHash)
	return err
}

// InsertSignInCode keeps the hash of a code that opens once; of nobody: the first run's.
func (tx *Tx) InsertSignInCode(hash []byte, userID string, expires time.Time) error {
	err := tx.Write(`INSERT INTO sign_in_codes (hash, user_id, expires_at) VALUES (?, ?, ?)`, hash, nullText(userID), milli(expires))
	return err
}

// SignInCode returns whom a code signs in, nobody for the first run's, unless it has
// expired. Error: ErrNotFound.
func (r *Reader) SignInCode(hash []byte, now time.Time) (userID string, err error) {
	var id sql.NullString
	err = r.Row(`SELECT user_id FROM sign_in_codes WHERE hash = ? AND expires_at > ?`, []any{hash, milli(now)}, &id)
	return id.String, err
}

// UseSignInCode ends a code.
func (tx *Tx) UseSignInCode(hash []byte) error {
	err := tx.Write(`DELETE FROM sign_in_codes WHERE hash = ?`, hash)
	return err
}

// DropSetupCodes ends the codes of the first run.
func (tx *Tx) DropSetupCodes() error {
	err := tx.Write(`DELETE FROM sign_in_codes WHERE user_id IS NULL`)
	return err
}

// DropSignInCodes ends the links of a person.
func (tx *Tx) DropSignInCodes(userID string) error {
	err := tx.Write(`DELETE FROM sign_in_codes WHERE user_id = ?`, userID)
	return err
}
