package db

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
)

// ChoiceNews are the topics of an address whose changed choices were not yet sent to
// webhooks.
type ChoiceNews struct {
	TeamID  string
	Address app.AddressHash
	Topics  []string
}

// HoldChoiceNews delays the webhook event for choices if one was sent for the same address
// less than every ago, and returns true. Else it notes that an event is sent now and
// returns false.
func (tx *Tx) HoldChoiceNews(n *ChoiceNews, every time.Duration) (held bool, err error) {
	var kept sql.NullString
	err = tx.Row(`SELECT topics FROM choice_news WHERE team_id = ? AND address = ?`, []any{n.TeamID, n.Address[:]}, &kept)
	if errors.Is(err, ErrNotFound) {
		return false, tx.setChoiceNews(n, nil, every)
	}
	if err != nil {
		return false, fmt.Errorf("read delayed choices: %w", err)
	}
	var topics []string
	if err := fromJSON(kept, &topics); err != nil {
		return false, err
	}
	for _, id := range n.Topics {
		if !slices.Contains(topics, id) {
			topics = append(topics, id)
		}
	}
	text, err := asJSON(topics)
	if err != nil {
		return false, err
	}
	err = tx.Write(`UPDATE choice_news SET topics = ? WHERE team_id = ? AND address = ?`, text, n.TeamID, n.Address[:])
	return true, err
}

func (tx *Tx) setChoiceNews(n *ChoiceNews, topics any, every time.Duration) error {
	err := tx.Write(`INSERT INTO choice_news (team_id, address, topics, next_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (team_id, address) DO UPDATE SET topics = excluded.topics, next_at = excluded.next_at`,
		n.TeamID, n.Address[:], topics, milli(tx.Now.Add(every)))
	return err
}

// DueChoiceNews returns at most limit addresses whose interval is over, longest due first.
// Most have no delayed choices.
func (r *Reader) DueChoiceNews(now time.Time, limit int) ([]ChoiceNews, error) {
	return list(r, func(s scanner) (ChoiceNews, error) {
		var n ChoiceNews
		var topics sql.NullString
		if err := s.Scan(&n.TeamID, (*hashColumn)(&n.Address), &topics); err != nil {
			return n, err
		}
		return n, fromJSON(topics, &n.Topics)
	}, `SELECT team_id, address, topics FROM choice_news WHERE next_at <= ? ORDER BY next_at, team_id, address LIMIT ?`, milli(now), limit)
}

// EndChoiceNews notes that the delayed event is sent now. Without topics it deletes the
// row.
func (tx *Tx) EndChoiceNews(n *ChoiceNews, every time.Duration) error {
	if len(n.Topics) > 0 {
		return tx.setChoiceNews(n, nil, every)
	}
	err := tx.Write(`DELETE FROM choice_news WHERE team_id = ? AND address = ?`, n.TeamID, n.Address[:])
	return err
}
