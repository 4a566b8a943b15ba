package db

import (
	"fmt"

	"mailer/app"
)

// addedCounts adds to the counters of broadcast_languages and of broadcasts, in the order of countArgs.
const addedCounts = `sent = sent + ?, delivery_delayed = delivery_delayed + ?, delivered = delivered + ?, opened = opened + ?,
		clicked = clicked + ?, bounced = bounced + ?, complained = complained + ?, suppressed = suppressed + ?, failed = failed + ?, canceled = canceled + ?,
		unsubscribed = unsubscribed + ?`

// countArgs returns the parameters of addedCounts.
func countArgs(first map[app.Seen]int64) []any {
	return []any{first[app.SeenSent], first[app.SeenDelayed], first[app.SeenDelivered], first[app.SeenOpened], first[app.SeenClicked], first[app.SeenBounced],
		first[app.SeenComplained], first[app.SeenSuppressed], first[app.SeenFailed], first[app.SeenCanceled], first[app.SeenUnsubscribed]}
}

// InsertBroadcastLanguages stores the languages of a queued broadcast with variants, before its
// recipients. Stored languages stay.
func (tx *Tx) InsertBroadcastLanguages(broadcastID string, languages []string) error {
	if len(languages) == 0 {
		return nil
	}
	for _, language := range append([]string{""}, languages...) {
		err := tx.Write(`INSERT INTO broadcast_languages (broadcast_id, language) VALUES (?, ?) ON CONFLICT (broadcast_id, language) DO NOTHING`, broadcastID, language)
		if err != nil {
			return fmt.Errorf("insert language of a broadcast: %w", err)
		}
	}
	return nil
}

// hasLanguages reports whether recipients of a broadcast are counted by language. The answer never
// changes once a broadcast has recipients, so it is cached.
func (tx *Tx) hasLanguages(broadcastID string) (has bool, err error) {
	if tx.db != nil {
		if has, ok := tx.db.languages.Get(broadcastID); ok {
			return has, nil
		}
	}
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM broadcast_languages WHERE broadcast_id = ?)`, []any{broadcastID}, &has)
	if err == nil && tx.db != nil {
		tx.db.languages.Put(broadcastID, has, tx.db.languages.Mark())
	}
	return has, err
}

// countLanguages adds expanded recipients to the counters of their languages.
func (tx *Tx) countLanguages(broadcastID string, recipients []app.BroadcastRecipient) error {
	has, err := tx.hasLanguages(broadcastID)
	if err != nil || !has {
		return err
	}
	counts := map[string]int{}
	for i := range recipients {
		counts[recipients[i].Language]++
	}
	for _, language := range app.SortedKeys(counts) {
		err := tx.Write(`UPDATE broadcast_languages SET recipients = recipients + ? WHERE broadcast_id = ? AND language = ?`, counts[language], broadcastID, language)
		if err != nil {
			return fmt.Errorf("count recipients by language: %w", err)
		}
	}
	return nil
}

// addToLanguage adds the events of one recipient to the counters of its language.
func (tx *Tx) addToLanguage(broadcastID, emailID string, first map[app.Seen]int64) error {
	return tx.Write(`UPDATE broadcast_languages SET `+addedCounts+`
		WHERE broadcast_id = ? AND language = (SELECT coalesce(r.recipient_language, '') FROM broadcast_recipients AS r WHERE r.id = ?)`,
		append(countArgs(first), broadcastID, emailID)...)
}

// BroadcastLanguages returns the numbers of a broadcast by language, that of the broadcast itself
// first; none without variants. The caller checks that the broadcast belongs to the team.
func (r *Reader) BroadcastLanguages(broadcastID string) ([]app.LanguageCounts, error) {
	return list(r, func(s scanner) (app.LanguageCounts, error) {
		var l app.LanguageCounts
		c := &l.BroadcastCounts
		err := s.Scan(&l.Language, &l.Recipients, &c.Sent, &c.DeliveryDelayed, &c.Delivered, &c.Opened, &c.Clicked, &c.Bounced, &c.Complained, &c.Suppressed, &c.Failed, &c.Canceled, &c.Unsubscribed)
		return l, err
	}, `SELECT language, recipients, sent, delivery_delayed, delivered, opened, clicked, bounced, complained, suppressed, failed, canceled, unsubscribed
		FROM broadcast_languages WHERE broadcast_id = ? ORDER BY language`, broadcastID)
}

// EndBroadcastLanguages stores the numbers by language of a broadcast that another server sent.
func (tx *Tx) EndBroadcastLanguages(broadcastID string, counts []app.LanguageCounts) error {
	for _, l := range counts {
		c := &l.BroadcastCounts
		err := tx.Write(`INSERT INTO broadcast_languages (broadcast_id, language, recipients, sent, delivery_delayed, delivered, opened, clicked, bounced, complained, suppressed, failed, canceled, unsubscribed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, broadcastID, l.Language, l.Recipients,
			c.Sent, c.DeliveryDelayed, c.Delivered, c.Opened, c.Clicked, c.Bounced, c.Complained, c.Suppressed, c.Failed, c.Canceled, c.Unsubscribed)
		if err != nil {
			return fmt.Errorf("insert counts of a language: %w", err)
		}
	}
	return nil
}
