package db

import (
	"time"

	"mailer/app"
)

// Invitation is an invitation of a person to a team.
type Invitation struct {
	ID        string
	TeamID    string
	TeamName  string
	Address   string // lower case
	Role      app.Role
	Hash      []byte // SHA-256 of the code of the link shown to the inviter
	Mailed    []byte // SHA-256 of the code of the mailed link; nil: not mailed
	Vouched   bool   // an operator made the invitation
	Posted    bool   // a link was mailed on creation: set by Invite only
	InvitedBy string // id of the person or key, or name of the system user
	CreatedAt time.Time
	ExpiresAt time.Time
}

const (
	invitationColumns = `i.id, i.team_id, t.name, i.address, i.role, i.hash, i.mailed, i.vouched, i.invited_by, i.created_at, i.expires_at`
	invitationTables  = `invitations AS i JOIN teams AS t ON t.id = i.team_id`
)

func scanInvitation(s scanner) (i Invitation, err error) {
	var created, expires int64
	err = s.Scan(&i.ID, &i.TeamID, &i.TeamName, &i.Address, &i.Role, &i.Hash, &i.Mailed, &i.Vouched, &i.InvitedBy, &created, &expires)
	i.CreatedAt, i.ExpiresAt = fromMilli(created), fromMilli(expires)
	return i, err
}

// Invitation returns one invitation of a team.
func (r *Reader) Invitation(teamID, id string) (Invitation, error) {
	return one(r, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.id = ?`, teamID, id)
}

// InvitationTo returns the invitation of a team to an address.
func (r *Reader) InvitationTo(teamID, address string) (Invitation, error) {
	return one(r, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.address = ?`, teamID, address)
}

// InvitationByCode returns the invitation with a code of that hash, unless it has expired
// or its team is being deleted.
func (r *Reader) InvitationByCode(hash []byte, now time.Time) (Invitation, error) {
	return one(r, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE (i.hash = ?1 OR i.mailed = ?1) AND i.expires_at > ?2 AND t.deleted_at IS NULL`, hash, milli(now))
}

// InvitationsTo returns the latest unexpired invitations to an address from all teams that
// are not being deleted, newest first.
func (r *Reader) InvitationsTo(address string, now time.Time, limit int) ([]Invitation, error) {
	return list(r, scanInvitation, `SELECT `+invitationColumns+` FROM `+invitationTables+`
		WHERE i.address = ? AND i.expires_at > ? AND t.deleted_at IS NULL ORDER BY i.id DESC LIMIT ?`, address, milli(now), limit)
}

// InvitationMails returns how many invitations were mailed since a time: from the team to
// the address with that hash, from the team to anyone, and from all teams to the address.
func (r *Reader) InvitationMails(teamID string, hash []byte, since time.Time) (both, team, address int, err error) {
	err = r.Row(`SELECT (SELECT count(*) FROM invitation_mails WHERE team_id = ?1 AND hash = ?2 AND sent_at > ?3),
		(SELECT count(*) FROM invitation_mails WHERE team_id = ?1 AND sent_at > ?3), (SELECT count(*) FROM invitation_mails WHERE hash = ?2 AND sent_at > ?3)`,
		[]any{teamID, hash, milli(since)}, &both, &team, &address)
	return both, team, address, err
}

// PutInvitationMail records that an invitation is mailed.
func (tx *Tx) PutInvitationMail(teamID string, hash []byte) error {
	return tx.Write(`INSERT INTO invitation_mails (team_id, hash, sent_at) VALUES (?, ?, ?) ON CONFLICT (team_id, hash) DO UPDATE SET sent_at = excluded.sent_at`,
		teamID, hash, milli(tx.Now))
}

// Invitations returns a page of a team's invitations, newest first, and whether there are
// more. Error: ErrNotFound for an unknown cursor.
func (r *Reader) Invitations(teamID string, page app.Page) ([]Invitation, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Invitation(teamID, cursor)) }, scanInvitation,
		`SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.id < ? ORDER BY i.id DESC LIMIT ?`,
		`SELECT `+invitationColumns+` FROM `+invitationTables+` WHERE i.team_id = ? AND i.id > ? ORDER BY i.id LIMIT ?`, teamID)
}

// HasInvitations reports whether a team has at least limit invitations.
func (r *Reader) HasInvitations(teamID string, maxRows int) (many bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM invitations WHERE team_id = ? ORDER BY id LIMIT 1 OFFSET ?)`, []any{teamID, maxRows - 1}, &many)
	return many, err
}

// InsertInvitation adds an invitation. Error: ErrConflict if the team has already invited
// the address.
func (tx *Tx) InsertInvitation(i *Invitation) error {
	n, err := tx.Exec(`INSERT INTO invitations (id, team_id, address, role, hash, mailed, vouched, invited_by, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, address) DO NOTHING`,
		i.ID, i.TeamID, i.Address, string(i.Role), i.Hash, nullBytes(i.Mailed), i.Vouched, i.InvitedBy, milli(i.CreatedAt), milli(i.ExpiresAt))
	return oneRow(n, err, ErrConflict)
}

// DeleteInvitation withdraws an invitation.
func (tx *Tx) DeleteInvitation(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM invitations WHERE team_id = ? AND id = ?`, teamID, id)
}

// PurgeInvitations deletes at most limit expired invitations, and as many records of mails
// sent before a time. It reports whether there may be more.
func (tx *Tx) PurgeInvitations(mailed time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at <= ? LIMIT ?)`, milli(tx.Now), limit)
	if err != nil {
		return false, err
	}
	notes, err := tx.Exec(`DELETE FROM invitation_mails WHERE (team_id, hash) IN (SELECT team_id, hash FROM invitation_mails WHERE sent_at <= ? LIMIT ?)`, milli(mailed), limit)
	return n == int64(limit) || notes == int64(limit), err
}
