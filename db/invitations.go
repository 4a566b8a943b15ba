package db

import (
	"time"

	"mailer/app"
)

// Invitation is somebody who was asked to join a team.
type Invitation struct {
	ID        string
	TeamID    string
	TeamName  string
	Address   string // lower case
	Role      app.Role
	Hash      []byte // SHA-256 of the code
	InvitedBy string // id of the person or key, name of the system's user
	CreatedAt time.Time
	ExpiresAt time.Time
}

const (
	invitationColumns = `i.id, i.team_id, t.name, i.address, i.role, i.hash, i.invited_by, i.created_at, i.expires_at`
	invitationTables  = `invitations AS i JOIN teams AS t ON t.id = i.team_id`
)

func scanInvitation(s scanner) (i Invitation, err error) {
	var created, expires int64
	err = s.Scan(&i.ID, &i.TeamID, &i.TeamName, &i.Address, &i.Role, &i.Hash, &i.InvitedBy, &created, &expires)
	i.CreatedAt, i.ExpiresAt = fromMilli(created), fromMilli(expires)
	return i, err
}

// Invitation returns one invitation of a team.
func (r *Reader) Invitation(teamID, id string) (Invitation, error) {
	return one(&r.session, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.id = ?`, teamID, id)
}

// InvitationTo returns the invitation of a team to an address.
func (r *Reader) InvitationTo(teamID, address string) (Invitation, error) {
	return one(&r.session, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.address = ?`, teamID, address)
}

// InvitationByCode returns the invitation whose code has that hash, unless it has expired
// or its team is being deleted.
func (r *Reader) InvitationByCode(hash []byte, now time.Time) (Invitation, error) {
	return one(&r.session, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.hash = ? AND i.expires_at > ? AND t.deleted_at IS NULL`, hash, milli(now))
}

// Invitations returns a page of a team's invitations, newest first, and whether there are
// more. Error: ErrNotFound for a cursor that is none of them.
func (r *Reader) Invitations(teamID string, page app.Page) ([]Invitation, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Invitation(teamID, cursor)) }, scanInvitation,
		`SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.id < ? ORDER BY i.id DESC LIMIT ?`,
		`SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.id > ? ORDER BY i.id LIMIT ?`, teamID)
}

// ManyInvitations reports whether a team has as many invitations as a number, or more.
func (r *Reader) ManyInvitations(teamID string, most int) (many bool, err error) {
	err = r.row(`SELECT EXISTS (SELECT 1 FROM invitations WHERE team_id = ? ORDER BY id LIMIT 1 OFFSET ?)`, []any{teamID, most - 1}, &many)
	return many, err
}

// InsertInvitation adds an invitation. Error: ErrConflict where the team has asked that
// address already.
func (tx *Tx) InsertInvitation(i *Invitation) error {
	n, err := tx.exec(`INSERT INTO invitations (id, team_id, address, role, hash, invited_by, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, address) DO NOTHING`,
		i.ID, i.TeamID, i.Address, string(i.Role), i.Hash, i.InvitedBy, milli(i.CreatedAt), milli(i.ExpiresAt))
	return oneRow(n, err, ErrConflict)
}

// DeleteInvitation takes an invitation back.
func (tx *Tx) DeleteInvitation(teamID, id string) error {
	return tx.one(`DELETE FROM invitations WHERE team_id = ? AND id = ?`, teamID, id)
}

// PurgeInvitations forgets at most limit invitations that have expired, and reports
// whether there may be more.
func (tx *Tx) PurgeInvitations(limit int) (more bool, err error) {
	n, err := tx.exec(`DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at <= ? LIMIT ?)`, milli(tx.Now), limit)
	return n == int64(limit), err
}
