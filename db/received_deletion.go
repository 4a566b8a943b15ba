package db

import (
	"database/sql"
)

// DeleteReceived deletes a received email of a team with its content, and at most the given number of pieces of the
// message: the row goes last. more reports that pieces are left. Error: ErrNotFound.
func (tx *Tx) DeleteReceived(teamID, id string, pieces int) (more bool, err error) {
	if err := tx.Exists(`SELECT 1 FROM received_emails WHERE team_id = ? AND id = ?`, teamID, id); err != nil {
		return false, err
	}
	n, err := tx.Exec(`DELETE FROM received_pieces WHERE received_id = ?1 AND n IN (SELECT n FROM received_pieces WHERE received_id = ?1 ORDER BY n LIMIT ?2)`, id, pieces)
	if err != nil || n >= int64(pieces) {
		return true, err
	}
	return false, tx.WriteOne(`DELETE FROM received_emails WHERE team_id = ? AND id = ?`, teamID, id)
}

// purgedReceivedPieces is how many pieces of received emails one step of a team's deletion deletes.
const purgedReceivedPieces = 8

// purgeReceivedOf deletes received emails of a team, each with its pieces.
func (tx *Tx) purgeReceivedOf(teamID string, limit int) (more bool, err error) {
	ids, err := list(&tx.Reader, scanText, `SELECT id FROM received_emails WHERE team_id = ? ORDER BY id LIMIT ?`, teamID, min(limit, purgedReceivedPieces))
	for _, id := range ids {
		if left, err := tx.DeleteReceived(teamID, id, purgedReceivedPieces); err != nil || left {
			return true, err
		}
	}
	return len(ids) > 0, err
}

// ReceivedWithTraces searches the first limit received emails of a span and returns those with an address to erase in
// their envelope or their address fields. next is the last id examined; empty at the end of the span.
func (r *Reader) ReceivedWithTraces(teamID string, span Span, limit int, of SetOf) (hit []string, next string, err error) {
	ids, err := list(r, func(s scanner) (id string, err error) {
		var mailFrom, recipients, from, header string
		var fromEmail sql.NullString
		err = s.Scan(&id, &mailFrom, &recipients, &from, &fromEmail, &header)
		if e := of(id); e.Has(fromEmail.String) || e.Has(mailFrom) || e.In(from) || e.InJSON(recipients) || e.InJSON(header) {
			hit = append(hit, id)
		}
		return id, err
	}, `SELECT id, mail_from, recipients, from_text, from_email, header FROM received_emails WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`, teamID, span.After, span.Until, limit)
	if err != nil || len(ids) < limit {
		return hit, "", err
	}
	return hit, ids[len(ids)-1], nil
}
