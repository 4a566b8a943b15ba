package db

import (
	"reflect"
	"testing"

	"mailer/app"
)

// A version that knows neither syntax nor variants checks preview, html and plain alone, and must find
// another checksum: it holds such a broadcast instead of sending it.
func TestBroadcastWithSyntaxAndVariants(t *testing.T) {
	d, team := suppressionStore(t, 0)
	for name, c := range map[string]app.BroadcastContent{
		"plain":    {Preview: "p", HTML: "h", Text: new("t")},
		"liquid":   {Preview: "p", HTML: "h", Text: new("t"), Syntax: app.LiquidSyntax},
		"variants": {HTML: "h", Variants: app.Variants{"de": {HTML: "d", Text: new("")}, "fr": {Subject: "s", Preview: "p", Design: "{}"}}},
	} {
		b := app.Broadcast{ID: app.NewID(), TeamID: team.ID, Name: name, Subject: "s", Status: app.DraftBroadcast, BroadcastContent: c}
		writeOK(t, d, func(tx *Tx) error {
			if err := tx.InsertBroadcast(&b); err != nil {
				return err
			}
			return tx.UpdateBroadcast(&b)
		})
		writeOK(t, d, func(tx *Tx) error {
			got, err := tx.Broadcast(team.ID, b.ID)
			if err != nil {
				return err
			}
			if got.Attachments = nil; !reflect.DeepEqual(got.BroadcastContent, c) {
				t.Errorf("%s: read %+v, wrote %+v", name, got.BroadcastContent, c)
			}
			if size, err := tx.BroadcastSize(team.ID, b.ID); err != nil || size < int64(c.Variants.Size()) {
				t.Errorf("%s: size %d, %v", name, size, err)
			}
			var sum int64
			if err := tx.Row(`SELECT sum FROM broadcast_contents WHERE broadcast_id = ?`, []any{b.ID}, &sum); err != nil {
				return err
			}
			texts := []string{c.Preview, c.HTML}
			if c.Text != nil {
				texts = append(texts, *c.Text)
			}
			if old := contentChecksum(texts...); (sum == old) != (name == "plain") {
				t.Errorf("%s: an older version finds the checksum right: %v", name, sum == old)
			}
			return nil
		})
	}
}
